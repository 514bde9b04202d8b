internal import Foundation
internal import GRDB
internal import StrataCore

/// Reads and writes the model versions of entity rows. The versions are recorded in a table of the app's database.
enum EntityVersions {
  /// A range of the rows of a table, in primary key order. All rows of a part have the same model versions. A table has
  /// several parts only during a migration.
  struct Part: Equatable {
    /// The model version of each class, by registered class name.
    var models: [String: Int]
    /// The primary key of the part's last row, or `nil` for the last part of the table.
    var last: [DatabaseValue]?

    /// Returns the recorded name and version of a model, or `nil` if there is no record.
    func record(of schema: ModelSchema) -> (typeName: String, modelVersion: Int)? {
      models.first { schema.isNamed($0.key) }.map { ($0.key, $0.value) }
    }

    func version(of schema: ModelSchema) -> Int { record(of: schema)?.modelVersion ?? schema.modelVersion }
  }

  /// Returns whether the version table exists. Queries SQLite directly, because GRDB's schema cache misses changes made by
  /// other processes.
  static func exist(_ db: Database) throws -> Bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'strata_entity_versions')"
    return try Bool.fetchOne(db, sql: sql) == true
  }

  /// Returns the recorded parts of a table, in primary key order. Empty if there is no record.
  static func parts(of table: String, _ db: Database) throws -> [Part] {
    guard try exist(db) else { return [] }
    var parts: [Part] = []
    let sql = "SELECT part, model, version, last FROM strata_entity_versions WHERE name = ? ORDER BY part"
    for row in try Row.fetchAll(db, sql: sql, arguments: [table]) {
      if row[0] == parts.count {
        let last = try (row[3] as Data?).map { try ArchiveDecoder().decode([ArchiveValue].self, from: $0) }
        parts.append(Part(models: [:], last: try last?.map { try ColumnCoding(.unconverted, .none).stored($0) }))
      }
      parts[parts.count - 1].models[row[1]] = row[2]
    }
    return parts
  }

  static func set(_ parts: [Part], of table: String, _ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS strata_entity_versions (
          name TEXT NOT NULL COLLATE NOCASE, part INTEGER NOT NULL, model TEXT NOT NULL, version INTEGER NOT NULL, last BLOB,
          PRIMARY KEY (name, part, model)) WITHOUT ROWID
        """)
    try db.execute(sql: "DELETE FROM strata_entity_versions WHERE name = ?", arguments: [table])
    for (place, part) in parts.enumerated() {
      let last = try part.last.map { try ArchiveEncoder().encode($0.map(\.archiveValue)) }
      for (model, version) in part.models {
        try db.execute(
          sql: "INSERT INTO strata_entity_versions VALUES (?, ?, ?, ?, ?)",
          arguments: [table, place, model, version, last])
      }
    }
  }
}

/// Checks that the recorded row versions match the versions of the store's models.
final class EntityVersionCheck: Sendable {
  /// The schemas of each table's classes, by lowercased table name.
  private let schemas: [String: [ModelSchema]]
  /// A cache of whether the version table exists. Valid as long as `schema` is the database's current schema version, which SQLite
  /// increments with each schema change.
  private let known = Mutex<(schema: Int32, isRecorded: Bool)?>(nil)

  init(_ tables: [EntityTable], _ types: [EntityType]) {
    schemas = Dictionary(grouping: types) { tables[$0.table].name.lowercased() }.mapValues { types in
      types.flatMap { [$0.schema] + $0.schema.superclasses }
    }
  }

  /// Compares the recorded versions of all rows with the versions of the models.
  ///
  /// - Throws: ``EntityError`` with the code `newerModel` or `unmigrated` if the version of the rows differs from the model's
  ///   version.
  /// - Complexity: one or two statements on each call, because another process can migrate the rows at any time.
  func run(_ db: Database) throws {
    let schema = try db.schemaVersion()
    if known.withLock({ $0?.schema != schema }) {
      let isRecorded = try EntityVersions.exist(db)
      known.withLock { $0 = (schema, isRecorded) }
    }
    guard known.withLock({ $0?.isRecorded == true }) else { return }
    let sql = "SELECT name, part, model, version FROM strata_entity_versions"
    let records = try StatementRow.all(of: db.cachedStatement(sql: sql)) { row in
      (try row.column(0) as String, try row.column(1) as Int, try row.column(2) as String, try row.column(3) as Int)
    }
    for (table, part, model, version) in records {
      for schema in schemas[table.lowercased()] ?? [] where schema.isNamed(model) {
        guard version <= schema.modelVersion else { throw Self.newer(version, schema, table) }
        guard version == schema.modelVersion, part == 0 else {
          throw EntityError(
            .unmigrated,
            "the rows have version \(version) or are only partly migrated, but the model has version "
              + "\(schema.modelVersion); run EntityMigrator first",
            entity: schema.name, table: table)
        }
      }
    }
  }

  static func newer(_ version: Int, _ schema: ModelSchema, _ table: String) -> EntityError {
    EntityError(
      .newerModel,
      "the rows have version \(version), but this program supports only version \(schema.modelVersion); update the "
        + "program",
      entity: schema.name, table: table)
  }
}
