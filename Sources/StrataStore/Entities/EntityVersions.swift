internal import Foundation
internal import GRDB
internal import StrataCore

/// The versions of the rows of entities, recorded in a table of the app's database.
enum EntityVersions {
  /// Consecutive rows of a table with the same versions. A table has several parts only while it is migrated.
  struct Part: Equatable {
    /// The version of each class, by registered name.
    var models: [String: Int]
    /// The primary key of the last row; `nil` for the last part of the table.
    var last: [DatabaseValue]?

    /// The recorded name and version of a model; `nil` if none is recorded.
    func version(of schema: ModelSchema) -> (name: String, version: Int)? {
      models.first { schema.isNamed($0.key) }.map { ($0.key, $0.value) }
    }
  }

  static func make(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS strata_entity_versions (
          name TEXT NOT NULL COLLATE NOCASE, part INTEGER NOT NULL, models TEXT NOT NULL, last BLOB,
          PRIMARY KEY (name, part)) WITHOUT ROWID
        """)
  }

  /// Whether the table of versions exists. GRDB's cache does not see the changes of other processes.
  static func exist(_ db: Database) throws -> Bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'strata_entity_versions')"
    return try Bool.fetchOne(db, sql: sql) ?? false
  }

  /// The recorded parts of a table, in the order of its primary key; empty if there is no record.
  static func parts(of table: String, _ db: Database) throws -> [Part] {
    guard try exist(db) else { return [] }
    let sql = "SELECT models, last FROM strata_entity_versions WHERE name = ? ORDER BY part"
    return try Row.fetchAll(db, sql: sql, arguments: [table]).map { row in
      let last = try (row[1] as Data?).map { try ArchiveDecoder().decode([ArchiveValue].self, from: $0) }
      let coding = ColumnCoding(.unconverted, .none)
      return Part(models: try models(in: row[0]), last: try last?.map { try coding.stored($0) })
    }
  }

  static func models(in text: String) throws -> [String: Int] {
    do { return try JSONDecoder().decode([String: Int].self, from: Data(text.utf8)) } catch {
      throw EntityError(
        .notReadable, "the recorded version is damaged; restore a backup", table: "strata_entity_versions",
        columns: ["models"], underlying: error)
    }
  }

  static func set(_ parts: [Part], of table: String, _ db: Database) throws {
    try db.execute(sql: "DELETE FROM strata_entity_versions WHERE name = ?", arguments: [table])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    for (place, part) in parts.enumerated() {
      try db.execute(
        sql: "INSERT INTO strata_entity_versions VALUES (?, ?, ?, ?)",
        arguments: [
          table, place, String(decoding: try encoder.encode(part.models), as: UTF8.self),
          try part.last.map { try ArchiveEncoder().encode($0.map(\.archiveValue)) },
        ])
    }
  }
}

/// Compares the recorded versions with the models of a store.
final class EntityVersionCheck: Sendable {
  /// The classes of each table, by its lowercased name.
  private let schemas: [String: [ModelSchema]]
  private let state = Mutex(State())

  private struct State {
    /// The version of the schema in which the table of versions was looked for.
    var schema: Int32?
    var isRecorded = false
    /// The last records without a mistake.
    var records: [String] = []
  }

  init(_ tables: [EntityTable], _ types: [EntityType]) {
    schemas = Dictionary(grouping: types) { tables[$0.table].name.lowercased() }.mapValues { types in
      types.flatMap { [$0.schema] + $0.schema.superclasses }
    }
  }

  /// - Throws: ``EntityError`` with the code `newerModel` or `unmigrated` if rows have another version.
  /// - Complexity: one or two statements, because another process can migrate at any time.
  func run(_ db: Database) throws {
    var known = state.withLock { $0 }
    let schema = try db.schemaVersion()
    if known.schema != schema { known = State(schema: schema, isRecorded: try EntityVersions.exist(db)) }
    if known.isRecorded {
      let records = try StatementRow.all(
        of: db.cachedStatement(sql: "SELECT name, part, models FROM strata_entity_versions")
      ) { (try $0.column(0) as String, try $0.column(1) as Int, try $0.column(2) as String) }
      let texts = records.map { "\($0) \($1) \($2)" }
      guard texts != known.records else { return }
      for (table, part, models) in records { try check(table, part, EntityVersions.models(in: models)) }
      known.records = texts
    }
    state.withLock { $0 = known }
  }

  private func check(_ table: String, _ part: Int, _ models: [String: Int]) throws {
    let recorded = EntityVersions.Part(models: models)
    for schema in schemas[table.lowercased()] ?? [] {
      let found = recorded.version(of: schema)?.version
      if let found, found > schema.modelVersion { throw Self.newer(found, schema, table) }
      guard part == 0, found == schema.modelVersion else {
        throw EntityError(
          .unmigrated,
          "the rows have version \(found ?? 0) or are not completely migrated, and the model's version is \(schema.modelVersion); run the EntityMigrator first",
          entity: schema.name, table: table)
      }
    }
  }

  static func newer(_ version: Int, _ schema: ModelSchema, _ table: String) -> EntityError {
    EntityError(
      .newerModel,
      "the rows have version \(version), and this program knows version \(schema.modelVersion); update the program",
      entity: schema.name, table: table)
  }
}
