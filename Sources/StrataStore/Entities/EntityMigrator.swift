public import Foundation
public import GRDB
internal import StrataCore

/// Migrates the rows of entities with the migration steps of their models.
///
///     var rows = EntityMigrator()
///     rows.register(Person.self, unrecorded: 1)
///     try rows.migrate(pool, backup: backupURL)
///     let entities = try EntityStore(pool, Person.self)
///
/// The app first changes the tables themselves, with GRDB's `DatabaseMigrator`. An `EntityMigrator` is a value and contains no
/// rows. See the guide in Docs/Entities.md.
public struct EntityMigrator: Sendable {
  struct Registration: Sendable {
    let unrecorded: Int?
    let columns: [String: FormerColumn]
  }

  private var types: [any Entity.Type] = []
  private var registered: [String: Registration] = [:]

  /// Creates a migrator without entities.
  public init() {}

  /// Registers an entity. If it is already registered, replaces the registration. Entities that are reachable through relations need
  /// not be registered, but subclasses must be.
  ///
  /// - Parameters:
  ///   - type: the entity.
  ///   - version: the model version of the rows, used if the database does not record the version. In that case, it is required if the
  ///     table has rows and the model has migration steps.
  ///   - columns: the columns and types of fields in older versions, by the field's key in the older version. Required for a field
  ///     whose column is not named after its old or current key, and for a field whose type is changed by a closure.
  public mutating func register<E: Entity>(
    _ type: E.Type, unrecorded version: Int? = nil, columns: [String: FormerColumn] = [:]
  ) {
    if !types.contains(where: { $0 == type }) { types.append(type) }
    registered[type.schema.name] = Registration(unrecorded: version, columns: columns)
  }

  // MARK: Columns

  /// Returns the SQL statements that add missing columns to the tables of the registered entities. No columns are proposed for
  /// lists. The statements are not run. The app can copy them into one of its migrations. If a property was renamed, the app
  /// can rename the column instead of adding a new column.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping`, or `database` if a table does not exist.
  public func proposedSQL(_ db: Database) throws -> [String] {
    do {
      return try types.flatMap { type in
        try type.schema.fields.compactMap { try ColumnProposal($0, of: type, db).statement }
      }
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Returns the columns that no mapping uses, by table. After the migration, the app can drop the columns that it does not need for
  /// other purposes.
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

  /// Migrates all rows in memory, without writing them. The report lists the rows that cannot be migrated. A dry run does not
  /// detect violations of the table's constraints.
  ///
  /// - Throws: ``EntityError`` with the code `newerModel`, `notReadable`, `busy` or `database`, or with the code
  ///   `invalidMapping` if mappings and tables do not match or the version of the rows is unknown.
  /// - Complexity: linear in the number of rows. Only one batch of rows is in memory at a time.
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

  /// Upgrades rows of older versions to the current versions of their models. Records the versions of all registered entities in the
  /// database.
  ///
  /// Each batch and the progress of the migration are written in one transaction. If a migration fails or its process is killed, the
  /// next run continues after the last finished batch. If there is nothing to migrate, the method does not write.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - backup: a file to which the database is copied before the first batch. If an interrupted migration continues and the
  ///     file exists, the existing backup is kept.
  ///   - count: the number of rows in a batch. A batch of large rows ends after 8 MiB.
  ///   - progress: a closure that is called after each batch. If the closure throws, the migration stops and throws the same
  ///     error.
  /// - Returns: a report of the rows that this call has read.
  /// - Throws: the same errors as ``dryRun(_:)``, or `full`. For the first row that cannot be migrated, throws
  ///   `migrationFailed`, `invalid`, `notReadable`, `missingValue`, `notStorable`, `clash` or `constraint`, with the row's
  ///   ``EntityError/primaryKey``. Finished batches are kept.
  /// - Complexity: linear in the number of rows. Only one batch of rows is in memory at a time. A table without a primary key
  ///   is migrated in a single transaction.
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
        // This query starts the read transaction, so that all steps of the copy see the same snapshot.
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
