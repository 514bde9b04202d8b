import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// A model whose migration step is set by each test.
struct Probe: DescribedModel, Entity, Migratable, Validating, Sendable {
  enum Kind: String, Archivable { case small, large }

  let id: Int
  var text: String
  var total: Int?
  var kind: Kind
  var items: [ProbeItem]

  static let change = Mutex<@Sendable (inout ModelRecord) throws -> Void>({ _ in })
  static let fields = Fields(
    Probe.self, version: 2, Field("id", \.id), Field("text", \.text), Field("total", \.total),
    Field("kind", \.kind, unknown: .useDefault, default: .small), Field("items", \.items, default: []),
    make: { Probe(id: $0, text: $1, total: $2, kind: $3, items: $4) })
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2, .rename("parts", to: "items"), .custom("as the test has it") { try change.withLock(\.self)(&$0) })
  )
  static let entityMapping = EntityMapping(
    table: "probe", columns: ["total": .readOnly("total")],
    relations: ["items": .toMany(foreignKey: "probeID", order: .by("id"))])
  static let validation = Validation<Probe>(.check("text", \.text, .nonEmpty))
  static let migrator = Log.migrator(of: Probe.self)

  static func queue() throws -> DatabaseQueue {
    try database { db in
      try db.execute(
        sql: """
          CREATE TABLE probe (id INTEGER PRIMARY KEY, text TEXT, total AS (length(text)), kind TEXT, more TEXT UNIQUE);
          CREATE TABLE probeItem (id INTEGER PRIMARY KEY, probeID INTEGER);
          INSERT INTO probe VALUES (1, 'a', 'huge', 'x'), (2, 'bb', NULL, 'y');
          INSERT INTO probeItem VALUES (5, 1);
          """)
    }
  }
}

struct ProbeItem: DescribedModel, Entity, Sendable {
  let id: Int
  static let fields = Fields(ProbeItem.self, version: 1, Field("id", \.id), make: { ProbeItem(id: $0) })
  static let entityMapping = EntityMapping(table: "probeItem")
}

@Suite("Entities: migration steps and rows", .serialized)
struct RowUpgradeTests {
  @Test("A step that throws, changes a key or sets an unstorable value fails and changes nothing")
  func refused() throws {
    let key = ArchiveError.PathComponent.key
    let changes: [(@Sendable (inout ModelRecord) throws -> Void, EntityError.Code, [ArchiveError.PathComponent])] = [
      ({ $0["id"] = 9 }, .migrationFailed, []), ({ $0["total"] = 9 }, .notStorable, [key("total")]),
      ({ $0["items"] = [1] }, .migrationFailed, [key("items")]),
      ({ $0["other"] = 1 }, .migrationFailed, [key("other")]), ({ $0["text"] = 5 }, .migrationFailed, [key("text")]),
      ({ $0["text"] = nil }, .missingValue, [key("text")]), ({ $0["text"] = "a\0b" }, .notStorable, [key("text")]),
      ({ _ in throw CocoaError(.coderInvalidValue) }, .migrationFailed, []),
    ]
    for (change, code, path) in changes {
      Probe.change.withLock { $0 = change }
      let queue = try Probe.queue(), before = try queue.content("probe")
      let error = entityError(code) { try Probe.migrator.migrate(queue) }
      #expect(
        error?.path == path && error?.primaryKey == [1.databaseValue] && error?.entity == "Probe", "\(error as Any)")
      #expect(try queue.content("probe") == before)
      #expect(try queue.lines("SELECT * FROM sqlite_master WHERE name LIKE 'strata%'") == [])
    }
  }

  @Test("Migration keeps lists and unknown cases, and closures can read unmapped columns")
  func kept() throws {
    Probe.change.withLock {
      $0 = { $0["text"] = .string("\($0["text"]?.stringValue ?? "")\($0["more"]?.stringValue ?? "")") }
    }
    let queue = try Probe.queue()
    try Probe.migrator.migrate(queue)
    #expect(try queue.lines("SELECT * FROM probe") == ["1|ax|2|huge|x", "2|bby|3|small|y"])
    #expect(try queue.lines("SELECT * FROM probeItem") == ["5|1"])
    let entities = try EntityStore(queue, Probe.self)
    let found = try queue.read { try entities.fetchAll(Probe.order(Column("id")), in: $0) }
    #expect(found.map(\.items.count) == [1, 0] && found.map(\.kind) == [.small, .small])
  }

  @Test("Invalid text, unique clashes and ignored updates fail the migration and name the row or column")
  func tables() throws {
    Probe.change.withLock { $0 = { $0["text"] = "same" } }
    let queue = try Probe.queue()
    try queue.write { try $0.execute(sql: "CREATE UNIQUE INDEX texts ON probe (text)") }
    let before = try queue.content("probe")
    #expect(entityError(.clash) { try Probe.migrator.migrate(queue) }?.primaryKey == [2.databaseValue])
    #expect(try queue.content("probe") == before)
    try queue.write { try $0.execute(sql: "UPDATE probe SET more = CAST(x'61ff' AS TEXT) WHERE id = 1") }
    #expect(entityError(.notReadable) { try Probe.migrator.migrate(queue) }?.columns == ["more"])
    try queue.write {
      try $0.execute(
        sql: "UPDATE probe SET more = NULL; CREATE TRIGGER t BEFORE UPDATE ON probe BEGIN SELECT raise(IGNORE); END")
    }
    #expect(entityError(.constraint) { try Probe.migrator.migrate(queue) }?.primaryKey == [1.databaseValue])
  }

  // MARK: Columns

  struct Paper: DescribedModel, Entity, Migratable, Validating, Equatable, Sendable {
    let id: Int
    var name: String
    var count: Int
    var remark: String?
    var due: Date?
    var isOpen: Bool
    static let fields = Fields(
      Paper.self, version: 3, Field("id", \.id), Field("name", \.name), Field("count", \.count, default: 7),
      Field("remark", \.remark, formerly: ["note"]), Field("due", \.due), Field("isOpen", \.isOpen, default: true),
      make: { Paper(id: $0, name: $1, count: $2, remark: $3, due: $4, isOpen: $5) })
    static let migration = MigrationPlan(
      .step(from: 1, to: 2, .rename("label", to: "name"), .setDefault("isOpen", false)),
      .step(from: 2, to: 3, .convert("due", .toDate)))
    static let entityMapping = EntityMapping(table: "paper")
    static let validation = Validation<Paper>(.check("name", \.name, .nonEmpty))
  }

  private func papers(_ sql: String, _ columns: [String: FormerColumn] = [:]) throws -> (DatabaseQueue, EntityMigrator)
  {
    var migrator = EntityMigrator()
    migrator.register(Paper.self, unrecorded: 1, columns: columns)
    return (try database { try $0.execute(sql: sql) }, migrator)
  }

  private func fetch(_ queue: DatabaseQueue) throws -> [Paper] {
    let entities = try EntityStore(queue, Paper.self)
    return try queue.read { try entities.fetchAll(Paper.order(Column("id")), in: $0) }
  }

  @Test("Renamed columns, added columns, former keys and defaults are migrated")
  func columns() throws {
    let expected = [Paper(id: 1, name: "a", count: 7, remark: "n", due: Date(timeIntervalSince1970: 60), isOpen: false)]
    let added = "name TEXT, count INTEGER, remark TEXT, isOpen BOOLEAN NOT NULL DEFAULT 1"
    for (sql, columns) in [
      (
        "(id INTEGER PRIMARY KEY, label TEXT, note TEXT, due REAL, \(added)); INSERT INTO paper (id, label, note, due) VALUES (1, 'a', 'n', 60)",
        [:]
      ),
      (
        "(id INTEGER PRIMARY KEY, name TEXT, remark TEXT, due REAL, count INTEGER, isOpen BOOLEAN); INSERT INTO paper VALUES (1, 'a', 'n', 60, NULL, NULL)",
        [:]
      ),
      (
        "(id INTEGER PRIMARY KEY, heading TEXT, note TEXT, due REAL, \(added)); INSERT INTO paper (id, heading, note, due) VALUES (1, 'a', 'n', 60)",
        ["label": .init(in: "heading", before: 2)]
      ),
      (
        "(id INTEGER PRIMARY KEY, label TEXT, note TEXT, born INTEGER, due TEXT, \(added)); INSERT INTO paper (id, label, note, born) VALUES (1, 'a', 'n', 60000)",
        ["due": .init(Date.self, in: .date("born", .millisecondsSince1970), before: 3)]
      ),
    ] as [(String, [String: FormerColumn])] {
      let (queue, migrator) = try papers("CREATE TABLE paper \(sql)", columns)
      try migrator.migrate(queue)
      #expect(try fetch(queue) == expected)
    }
  }

  @Test("Rows of two versions, left by an interrupted earlier migration, are all migrated")
  func parts() throws {
    let (queue, migrator) = try papers(
      """
      CREATE TABLE paper (
        id INTEGER PRIMARY KEY, label TEXT, name TEXT, count INTEGER, remark TEXT, due REAL, isOpen BOOLEAN);
      INSERT INTO paper VALUES (1, 'old', 'a', 1, 'r', 60, 1), (2, 'b', NULL, 2, NULL, 120, NULL), (3, 'c', NULL, 3, NULL, 180, NULL);
      """)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE strata_entity_versions (name TEXT, part INTEGER, model TEXT, version INTEGER, last BLOB);
          INSERT INTO strata_entity_versions VALUES ('paper', 0, 'Paper', 2, ?), ('paper', 1, 'Paper', 1, NULL)
          """, arguments: [ArchiveEncoder().encode([ArchiveValue.int(1)])])
    }
    let trial = try queue.read { try migrator.dryRun($0) }
    let report = try migrator.migrate(queue, batchSize: 1)
    #expect("\(report)" == "\(trial)" && "\(report)" == "paper 1 → 3: 2 of 3 rows changed")
    let found = try fetch(queue)
    #expect(found.map(\.name) == ["a", "b", "c"] && found.map(\.isOpen) == [true, false, false])
    #expect(found.map(\.due?.timeIntervalSince1970) == [60, 120, 180])
  }

  @Test("A value under another column name, or in the column of a new key, requires an explicit mapping")
  func ambiguous() throws {
    let added = "name TEXT, count INTEGER, remark TEXT, due REAL, isOpen BOOLEAN"
    var (queue, migrator) = try papers(
      "CREATE TABLE paper (id INTEGER PRIMARY KEY, heading TEXT, \(added)); INSERT INTO paper (id, heading) VALUES (1, 'a')"
    )
    #expect(entityError(.invalidMapping) { try migrator.migrate(queue) }?.path == [.key("label")])
    (queue, migrator) = try papers(
      "CREATE TABLE paper (id INTEGER PRIMARY KEY, label TEXT, \(added)); INSERT INTO paper (id, label, isOpen) VALUES (1, 'a', 1)"
    )
    #expect(entityError(.migrationFailed) { try migrator.migrate(queue) }?.columns == ["isOpen"])
    var named = EntityMigrator()
    named.register(Paper.self, unrecorded: 1, columns: ["isOpen": .init(Bool.self, in: "isOpen", before: 2)])
    try named.migrate(queue)
    #expect(try fetch(queue).map(\.isOpen) == [true])
  }

  @Test("Invalid rows fail the migration; an unmapped NOT NULL column fails only the store")
  func rules() throws {
    let (queue, migrator) = try papers(
      """
      CREATE TABLE paper (
        id INTEGER PRIMARY KEY, label TEXT NOT NULL, name TEXT, count INTEGER, remark TEXT, due REAL, isOpen BOOLEAN);
      INSERT INTO paper (id, label) VALUES (1, 'a'), (2, '');
      """)
    #expect(entityError(.invalid) { try migrator.migrate(queue) }?.primaryKey == [2.databaseValue])
    try queue.write { try $0.execute(sql: "DELETE FROM paper WHERE id = 2") }
    try migrator.migrate(queue)
    #expect(entityError(.invalidMapping) { try EntityStore(queue, Paper.self) }?.columns == ["label"])
    try queue.write { try $0.execute(sql: "ALTER TABLE paper DROP COLUMN label") }
    #expect(try fetch(queue).map(\.name) == ["a"])
  }

  // MARK: Keys

  struct Pair: DescribedModel, Entity, Migratable, Sendable {
    let a: String
    let b: Double
    var text: String
    static let fields = Fields(
      Pair.self, version: 2, Field("a", \.a), Field("b", \.b), Field("text", \.text),
      make: { Pair(a: $0, b: $1, text: $2) })
    static let migration = MigrationPlan(Log.step(to: 2))
    static let entityMapping = EntityMapping(table: "pair")
  }

  struct Named: DescribedModel, Entity, Migratable, Sendable {
    let key: String
    var text: String
    static let fields = Fields(
      Named.self, version: 2, Field("key", \.key), Field("text", \.text), make: { Named(key: $0, text: $1) })
    static let migration = MigrationPlan(Log.step(to: 2))
    static let entityMapping = EntityMapping(table: "named")
  }

  struct Free: DescribedModel, Entity, Migratable, Sendable {
    var text: String
    static let fields = Fields(Free.self, version: 2, Field("text", \.text), make: { Free(text: $0) })
    static let migration = MigrationPlan(Log.step(to: 2))
    static let entityMapping = EntityMapping(table: "free")
  }

  @Test("Tables with composite keys, no rowid, other orders or no key are migrated", arguments: [1, 2, 3, 100])
  func keys(batch: Int) throws {
    var migrator = EntityMigrator()
    migrator.register(Pair.self, unrecorded: 1)
    migrator.register(Named.self, unrecorded: 1)
    migrator.register(Free.self, unrecorded: 1)
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE pair (a TEXT COLLATE NOCASE, b REAL, text TEXT, PRIMARY KEY (a, b DESC)) WITHOUT ROWID;
          INSERT INTO pair VALUES ('B', 1.5, '1'), ('a', 1e300, '1'), ('A', -0.25, '1'), ('b', 0.1, '1'), ('é', 2, '1'), ('', 3, '1');
          CREATE TABLE named (key TEXT PRIMARY KEY COLLATE NOCASE, text TEXT) WITHOUT ROWID;
          INSERT INTO named VALUES ('b', '1'), ('A', '1'), ('c', '1'), ('_', '1'), ('Z', '1');
          CREATE TABLE free (text TEXT);
          INSERT INTO free VALUES ('1'), ('1'), ('1');
          """)
    }
    var runs = 0
    while try Interrupted.migrate(migrator, queue, after: 1, batchSize: batch).isInterrupted { runs += 1 }
    #expect(runs > 0)
    #expect(
      try queue.lines(
        "SELECT DISTINCT text FROM (SELECT text FROM pair UNION ALL SELECT text FROM named UNION ALL SELECT text FROM free)"
      ) == ["12"])
    #expect(
      try queue.lines(
        "SELECT count(*) FROM pair UNION ALL SELECT count(*) FROM named UNION ALL SELECT count(*) FROM free") == [
          "6", "5", "3",
        ])
  }

  @Test("Each batch is read by the primary key index, starting after the previous batch")
  func plans() throws {
    let queue = try Log.queue(10), statements = Mutex<[String]>([])
    try queue.write { db in db.trace { event in statements.withLock { $0.append("\(event)") } } }
    try Log2.migrator.migrate(queue, batchSize: 3)
    try queue.write { db in db.trace(nil) }
    let reads = statements.withLock { $0 }.filter { $0.hasPrefix("SELECT") && $0.contains(" AS t") }
    #expect(reads.count == 4)
    for (place, sql) in reads.enumerated() {
      let plan = try queue.lines("EXPLAIN QUERY PLAN \(sql.replacing("?", with: "1"))").joined()
      #expect(
        plan.contains(place == 0 ? "SCAN t" : "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)") && !plan.contains("TEMP"),
        "\(plan)")
    }
  }

  // MARK: Classes

  class Beast: VersionedModel, Entity, Migratable {
    let id: Int
    var name: String
    init(_ id: Int, _ name: String) { (self.id, self.name) = (id, name) }
    class var kind: String { "beast" }
    class var schema: ModelSchema { beastSchema }
    private static let beastSchema = ModelSchema(
      Beast.self, name: "Beast", version: 2,
      fields: [FieldInfo("kind", String.self), FieldInfo("id", Int.self), FieldInfo("name", String.self)])
    required init(fields reader: inout ArchiveReader) throws {
      _ = try reader.field(0) as String
      id = try reader.field(1)
      name = try reader.field(2)
    }
    func encodeFields(to writer: inout ArchiveWriter) throws {
      try writer.field(0, Self.kind)
      try writer.field(1, id)
      try writer.field(2, name)
    }
    func adoptFields(of other: Beast) throws { name = other.name }
    class var migration: MigrationPlan {
      MigrationPlan(for: Beast.self, .step(from: 1, to: 2, .rename("title", to: "name")))
    }
    class var entityMapping: EntityMapping {
      EntityMapping(
        table: "beast",
        subclass: { row in try row.value(String.self, in: "kind") == "hound" ? Hound.self : Beast.self })
    }
  }

  final class Hound: Beast {
    var sound: String
    init(_ id: Int, _ name: String, _ sound: String) {
      self.sound = sound
      super.init(id, name)
    }
    override class var kind: String { "hound" }
    override class var schema: ModelSchema { houndSchema }
    private static let houndSchema = ModelSchema(
      Hound.self, name: "Hound", version: 3, superclass: Beast.self, fields: [FieldInfo("sound", String.self)])
    required init(fields reader: inout ArchiveReader) throws {
      sound = try reader.field(0)
      reader.beginSuperclass(after: 1)
      try super.init(fields: &reader)
      reader.endSuperclass(after: 1)
    }
    override func encodeFields(to writer: inout ArchiveWriter) throws {
      try writer.field(0, sound)
      writer.beginSuperclass(after: 1)
      try super.encodeFields(to: &writer)
      writer.endSuperclass(after: 1)
    }
    override class var migration: MigrationPlan {
      MigrationPlan(
        for: Hound.self, .step(from: 1, to: 2, .rename("bark", to: "sound")),
        .step(from: 2, to: 3, "louder") { $0["sound"] = .string(($0["sound"]?.stringValue ?? "") + "!") })
    }
  }

  @Test(
    "Each row is migrated with its class and superclass steps; unregistered classes are rejected"
  )
  func classes() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE beast (id INTEGER PRIMARY KEY, kind TEXT, title TEXT, bark TEXT, name TEXT, sound TEXT);
          INSERT INTO beast (id, kind, title, bark) VALUES (1, 'beast', 'a', NULL), (2, 'hound', 'b', 'wau');
          """)
    }
    var migrator = EntityMigrator()
    migrator.register(Beast.self, unrecorded: 1)
    entityError(.invalidMapping) { try migrator.migrate(queue) }
    migrator.register(Hound.self, unrecorded: 1)
    try migrator.migrate(queue)
    #expect(try queue.lines("SELECT * FROM beast") == ["1|beast|a|-|a|-", "2|hound|b|wau|b|wau!"])
    #expect(try queue.lines("SELECT model, version FROM strata_entity_versions") == ["Beast|2", "Hound|3"])
    let entities = try EntityStore(queue, Beast.self, Hound.self)
    let found = try queue.read { try entities.fetchAll(Beast.order(Column("id")), in: $0) }
    #expect(found.map(\.name) == ["a", "b"] && (found[1] as? Hound)?.sound == "wau!")
    // Every class with recorded rows must be registered, and two models cannot share the same rows.
    var lone = EntityMigrator()
    lone.register(Beast.self)
    try queue.write { try $0.execute(sql: "UPDATE strata_entity_versions SET version = 1 WHERE model = 'Beast'") }
    #expect(entityError(.invalidMapping) { try lone.migrate(queue) }?.reason.contains("Hound") == true)
    let logs = try Log.queue(1)
    var two = EntityMigrator()
    two.register(Log2.self)
    two.register(Log3.self)
    entityError(.invalidMapping) { try two.migrate(logs) }
  }

  // MARK: In a migration

  @Test("A store created inside a migration can be used only there")
  func inMigration() async throws {
    let queue = try DatabaseQueue()
    var migrator = DatabaseMigrator()
    migrator.registerMigration("papers") { db in
      try db.execute(
        sql:
          "CREATE TABLE paper (id INTEGER PRIMARY KEY, name TEXT, count INTEGER, remark TEXT, due REAL, isOpen BOOLEAN)"
      )
      let entities = try EntityStore(in: db, Paper.self)
      try entities.save(Paper(id: 1, name: "a", count: 2, remark: nil, due: nil, isOpen: true), in: db)
      #expect(try entities.fetchAll(Paper.all(), in: db).map(\.count) == [2])
    }
    try migrator.migrate(queue)
    let store = try await queue.read { try EntityStore(in: $0, Paper.self) }
    #expect(throws: EntityError.self) { try store.writer }
    await #expect(throws: EntityError.self) { try await store.fetchAll(Paper.all()) }
    await #expect(throws: EntityError.self) {
      try await store.save(Paper(id: 2, name: "b", count: 2, remark: nil, due: nil, isOpen: true))
    }
    await #expect(throws: EntityError.self) { for try await _ in store.values(of: Paper.all()) {} }
    let count = try await queue.read { try Paper.fetchCount($0) }
    #expect(count == 1)
  }
}
