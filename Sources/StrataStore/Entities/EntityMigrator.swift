public import Foundation
public import GRDB
internal import StrataCore

/// Migrates the rows of entities with the steps of their models.
///
///     var rows = EntityMigrator()
///     rows.register(Person.self, unrecorded: 1)
///     try rows.migrate(pool, backup: backupURL)
///     let entities = try EntityStore(pool, Person.self)
///
/// A `DatabaseMigrator` of GRDB changes the tables first. A migrator is a value, and holds no rows. Docs/Entities.md is the guide.
public struct EntityMigrator: Sendable {
  struct Registration: Sendable {
    let unrecorded: Int?
    let columns: [String: FormerColumn]
  }

  private var types: [any Entity.Type] = []
  private var registered: [String: Registration] = [:]

  /// Creates a migrator without entities.
  public init() {}

  /// Adds an entity, or replaces its registration. Entities that its relations refer to are found; subclasses must be registered.
  ///
  /// - Parameters:
  ///   - type: the entity.
  ///   - version: the version of the rows if the database has no record of it. Required if the table has rows and the model has steps.
  ///   - columns: the columns and types of keys in older versions, by the keys in those versions. Only for keys whose column
  ///     has neither their name nor the current key, and for keys whose type a closure changes.
  public mutating func register<E: Entity>(
    _ type: E.Type, unrecorded version: Int? = nil, columns: [String: FormerColumn] = [:]
  ) {
    if !types.contains(where: { $0 == type }) { types.append(type) }
    registered[type.schema.name] = Registration(unrecorded: version, columns: columns)
  }

  // MARK: Columns

  /// Returns the statements that add the missing columns of registered entities to their tables, without lists. They are for the app's
  /// migrations and are not run. A column whose property was renamed can be renamed instead.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping`; `database` if a table does not exist.
  public func proposedSQL(_ db: Database) throws -> [String] {
    do {
      return try types.flatMap { type in
        try type.schema.fields.compactMap { try ColumnProposal($0, of: type, db).statement }
      }
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Returns the columns that no mapping uses, by table. The app can drop them after the migration, unless it uses them itself.
  ///
  /// - Throws: the same errors as ``dryRun(_:)``.
  public func unusedColumns(_ db: Database) throws -> [String: [String]] {
    do {
      let tables = try EntityCatalog(types, db, inserts: false).tables
      return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.unusedColumns.map(\.name)) })
        .filter { !$0.value.isEmpty }
    } catch { throw EntityError.ofDatabase(error) }
  }

  // MARK: Rows

  /// Reads all rows that a migration would change, and changes nothing. The report lists the rows that cannot be migrated. Violations of
  /// the table's constraints are not found.
  ///
  /// - Throws: ``EntityError`` with the code `newerModel`; `invalidMapping` if mappings and tables do not match, or the version of the
  ///   rows is not known; `notReadable`, `busy`, `database`.
  /// - Complexity: linear in the number of rows. Memory holds one batch.
  public func dryRun(_ db: Database) throws -> EntityMigrationReport {
    do {
      var report = EntityMigrationReport()
      for var table in try tables(db) where table.isOld {
        var rows = table.report
        try table.dryRun(&rows, db)
        report.tables.append(rows)
      }
      return report
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Upgrades the rows of older versions, and records the versions of all registered entities.
  ///
  /// Each batch is one transaction, together with its progress. A migration that was killed or that failed continues with the next
  /// batch when it runs again. A migration with nothing to do writes nothing.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - backup: a file to which the database is written before the first batch, unless the migration continues and the file exists.
  ///   - count: the number of rows in a batch. A batch of large rows ends after 8 MiB.
  ///   - progress: called after each batch. If it throws, the migration ends with its error.
  /// - Returns: a report of the rows that this call has read.
  /// - Throws: the same errors as ``dryRun(_:)``; for the first row that cannot be migrated, `migrationFailed`, `invalid`, `notReadable`,
  ///   `missingValue`, `notStorable`, `clash` or `constraint`, and ``EntityError/primaryKey``; `full`. Finished batches are kept.
  /// - Complexity: linear in the number of rows. Memory holds one batch; of a table without a primary key, all rows are one transaction.
  @discardableResult
  public func migrate(
    _ writer: any DatabaseWriter, backup: URL? = nil, batchSize count: Int = 1000,
    progress: (EntityMigrationReport) throws -> Void = { _ in }
  ) throws -> EntityMigrationReport {
    do { return try run(writer, backup, max(1, count), progress) } catch { throw Self.failure(error) }
  }

  private func tables(_ db: Database) throws -> [TableMigration] {
    let catalog = try EntityCatalog(types, db, inserts: false)
    return try Set(catalog.types.map(\.table)).sorted().map { try TableMigration($0, catalog, registered, db) }
  }

  private func run(
    _ writer: any DatabaseWriter, _ backup: URL?, _ count: Int, _ progress: (EntityMigrationReport) throws -> Void
  ) throws -> EntityMigrationReport {
    var report = EntityMigrationReport()
    let tables = try writer.read { db in try self.tables(db) }
    if let backup, tables.contains(where: \.isOld),
      try !tables.contains(where: \.isInterrupted) || FileStatus(ofPath: backup.path) == nil
    {
      try writer.read { db in
        // Begins the transaction, so that all steps copy one snapshot.
        _ = try EntityVersions.exist(db)
        let path = try String.fetchOne(db, sql: "SELECT nullif(file, '') FROM pragma_database_list WHERE name = 'main'")
        _ = try DatabaseFile.backup(to: backup, of: path) { try DatabaseFile.copy(db, to: $0, StoreWork()) }
      }
    }
    for var table in tables where !table.isRecorded {
      var rows = table.report
      var isDone = false
      while !isDone {
        try writer.writeWithoutTransaction { db in
          try db.inTransaction(.immediate) {
            isDone = try table.advance(count, &rows, db)
            return .commit
          }
        }
        guard rows.rows > 0 else { continue }
        try progress(EntityMigrationReport(tables: report.tables + [rows]))
      }
      if rows.rows > 0 { report.tables.append(rows) }
    }
    return report
  }

  private static func failure(_ error: any Error) -> any Error {
    guard let error = error as? StoreError else { return EntityError.ofDatabase(error) }
    let code: EntityError.Code = error.code == .full ? .full : error.code == .busy ? .busy : .database
    return EntityError(code, error.reason, underlying: error.underlyingError)
  }
}
