import Foundation
import GRDB
import StrataCore
import StrataStore

// `Incident` is the fifth version of a model, and `Incident1` is the first one. Both contain a nested record and a relation.
// The tables have the columns of the first version.

/// The first version of ``Incident``.
struct Incident1: DescribedModel, Entity, Sendable {
  let id: Int
  var summary: String
  var opened: String
  var points: Int?
  var legacy: String?
  var mark: Mark1
  var reporter: Reporter?
  var size: Double

  static let fields = Fields(
    Incident1.self, name: "Incident", version: 1, Field("id", \.id), Field("summary", \.summary),
    Field("opened", \.opened),
    Field("points", \.points), Field("legacy", \.legacy), Field("mark", \.mark), Field("reporter", \.reporter),
    Field("size", \.size),
    make: {
      Incident1(id: $0, summary: $1, opened: $2, points: $3, legacy: $4, mark: $5, reporter: $6, size: $7)
    })
  static let entityMapping = EntityMapping(
    table: "ticket", columns: ["size": "sizeInPages"], relations: ["reporter": .toOne("reporter")])

  /// Creates the tables, without foreign keys.
  static func tables(_ db: GRDB.Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE ticket (
          id INTEGER PRIMARY KEY, summary TEXT, opened TEXT, points INTEGER, legacy TEXT, mark BLOB, reporter INTEGER,
          sizeInPages REAL);
        CREATE TABLE reporter (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        """)
  }

  static func make(_ number: Int) -> Incident1 {
    Incident1(
      id: number * 3, summary: "s\(number) é", opened: "2019-03-0\(1 + number % 9)T12:30:00Z",
      points: number.isMultiple(of: 3) ? nil : number, legacy: number.isMultiple(of: 2) ? "x" : nil,
      mark: Mark1(text: "m\(number)"),
      reporter: number.isMultiple(of: 4) ? nil : Reporter(id: number % 5, name: "r\(number % 5)"),
      size: Double(number) / 2)
  }
}

struct Mark1: DescribedModel, Hashable, Sendable {
  var text: String
  static let fields = Fields(Mark1.self, name: "Mark", version: 1, Field("text", \.text), make: { Mark1(text: $0) })
}

struct Mark: DescribedModel, Migratable, Hashable, Sendable {
  var title: String
  static let fields = Fields(Mark.self, version: 2, Field("title", \.title), make: { Mark(title: $0) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("text", to: "title")))
}

struct Reporter: DescribedModel, Entity, Hashable, Sendable {
  let id: Int
  var name: String
  static let fields = Fields(
    Reporter.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Reporter(id: $0, name: $1) })
  static let entityMapping = EntityMapping(table: "reporter")
}

struct Incident: DescribedModel, Entity, Migratable, Hashable, Sendable {
  let id: Int
  var title: String
  var opened: Date
  var points: Int
  var stars: Int
  var mark: Mark
  var owner: Reporter?
  var pages: Double

  static let fields = Fields(
    Incident.self, version: 5, Field("id", \.id), Field("title", \.title), Field("opened", \.opened),
    Field("points", \.points), Field("stars", \.stars), Field("mark", \.mark), Field("owner", \.owner),
    Field("pages", \.pages),
    make: { Incident(id: $0, title: $1, opened: $2, points: $3, stars: $4, mark: $5, owner: $6, pages: $7) })
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("summary", to: "title"), .drop("legacy")),
    .step(from: 2, to: 3, .convert("opened", .toDate), .setDefault("stars", 3)),
    .step(
      from: 3, to: 4, .replaceNull("points", with: 1), .rename("reporter", to: "owner"), .rename("size", to: "pages")),
    .step(from: 4, to: 5, "mark the title") { record in
      if let title = record["title"]?.stringValue { record["title"] = .string("\(title)!") }
    })
  static let entityMapping = EntityMapping(table: "ticket", relations: ["owner": .toOne("owner")])

  static var migrator: EntityMigrator {
    var migrator = EntityMigrator()
    migrator.register(
      Incident.self, unrecorded: 1, columns: ["size": .init(Double.self, in: "sizeInPages", before: 4)])
    return migrator
  }
}

/// Creates a database file that contains tickets of the first version.
func incidentFile(_ url: URL, _ count: Int) throws -> DatabaseQueue {
  let queue = try DatabaseQueue(path: url.path)
  try queue.write(Incident1.tables)
  let entities = try EntityStore(queue, Incident1.self)
  try queue.write { db in _ = try entities.save((0..<count).map(Incident1.make), in: db) }
  return queue
}

/// Adds the columns of the fifth version.
func addIncidentColumns(_ writer: any DatabaseWriter) throws {
  try writer.write { db in for sql in try Incident.migrator.proposedSQL(db) { try db.execute(sql: sql) } }
}

/// Archives models of the first version and decodes the archives as the current version.
func upgradedIncidents(_ count: Int) throws -> [Incident] {
  try (0..<count).map { try ArchiveDecoder().decode(Incident.self, from: ArchiveEncoder().encode(Incident1.make($0))) }
}

extension DatabaseReader {
  /// The rows of a table as typed values, sorted by the first column.
  func content(_ table: String) throws -> [[DatabaseValue]] {
    try read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY 1").map { Array($0.databaseValues) }
    }
  }
}

// Versions of a model. Each migration step appends its number to the `text` field, which reveals a step that ran twice or never.

enum Log {
  static func queue(_ count: Int) throws -> DatabaseQueue {
    let queue = try database { _ in }
    try queue.write { try tables($0, count) }
    return queue
  }

  static func tables(_ db: GRDB.Database, _ count: Int) throws {
    try db.execute(
      sql: """
        CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) INSERT INTO log SELECT i * 7, '1' FROM n;
        """)
  }

  static func step(to version: Int) -> MigrationStep {
    .step(from: version - 1, to: version, "add \(version)") { record in
      guard let text = record["text"]?.stringValue else { throw CocoaError(.coderInvalidValue) }
      record["text"] = .string(text + "\(version)")
    }
  }

  static func migrator<E: Entity>(of type: E.Type) -> EntityMigrator {
    var migrator = EntityMigrator()
    migrator.register(type, unrecorded: 1)
    return migrator
  }
}

struct Log2: DescribedModel, Entity, Migratable, Sendable {
  let id: Int
  var text: String
  static let fields = Fields(
    Log2.self, name: "Log", version: 2, Field("id", \.id), Field("text", \.text), make: { Log2(id: $0, text: $1) })
  static let migration = MigrationPlan(Log.step(to: 2))
  static let entityMapping = EntityMapping(table: "log")
  static let migrator = Log.migrator(of: Log2.self)
}

struct Log3: DescribedModel, Entity, Migratable, Sendable {
  let id: Int
  var text: String
  static let fields = Fields(
    Log3.self, name: "Log", version: 3, Field("id", \.id), Field("text", \.text), make: { Log3(id: $0, text: $1) })
  static let migration = MigrationPlan(Log.step(to: 2), Log.step(to: 3))
  static let entityMapping = EntityMapping(table: "log")
  static let migrator = Log.migrator(of: Log3.self)
}

struct Log4: DescribedModel, Entity, Migratable, Sendable {
  let id: Int
  var text: String
  static let fields = Fields(
    Log4.self, name: "Log", version: 4, Field("id", \.id), Field("text", \.text), make: { Log4(id: $0, text: $1) })
  static let migration = MigrationPlan(Log.step(to: 2), Log.step(to: 3), Log.step(to: 4))
  static let entityMapping = EntityMapping(table: "log")
  static let migrator = Log.migrator(of: Log4.self)
}
