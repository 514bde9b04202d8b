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

  /// Adds an entity. Entities that its relations refer to are found; subclasses must be registered.
  ///
  /// - Parameters:
  ///   - type: the entity.
  ///   - version: the version of the rows if the database has no record of it. Required if the table has rows and the model has steps.
  ///   - columns: the columns and types of keys in older versions, by the keys in those versions. Only for keys whose column
  ///     has neither their name nor that of today's key, and for keys whose type a closure changes.
  public mutating func register<E: Entity>(
    _ type: E.Type, unrecorded version: Int? = nil, columns: [String: FormerColumn] = [:]
  ) {
    types.append(type)
    registered[type.schema.name] = Registration(unrecorded: version, columns: columns)
  }

  // MARK: Columns

  /// Returns the statements that add the missing columns of the mappings to existing tables. They are for the app's migrations and are
  /// not run. A column whose property was renamed can be renamed instead.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping`; `database`.
  public func proposedSQL(_ db: Database) throws -> [String] {
    do {
      var proposal = ColumnProposal(db)
      for type in types { try proposal.add(type) }
      return proposal.statements
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Returns the columns that no mapping uses, by table. The app can drop them after the migration, unless it uses them itself.
  ///
  /// - Throws: as ``dryRun(_:)``.
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
      for var table in try tables(db) where try !table.isFinished(db) {
        var rows = try table.report(db)
        try table.dryRun(&rows, db)
        report.tables.append(rows)
      }
      return report
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Upgrades the rows of older versions, and records the versions of all registered entities.
  ///
  /// Each batch is one transaction, together with its progress. A migration that was killed or cancelled, or that failed, continues with the next
  /// batch when it runs again. A migration with nothing to do writes nothing.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - backup: a file to which the database is written before the first batch, unless the migration continues and the file exists.
  ///   - count: the number of rows in a batch. A batch of large rows ends after 8 MiB.
  ///   - progress: called after each batch.
  /// - Returns: a report of the rows that this call has read.
  /// - Throws: as ``dryRun(_:)``; for the first row that cannot be migrated, `migrationFailed`, `invalid`, `notReadable`, `missingValue`,
  ///   `notStorable`, `clash` or `constraint`, and ``EntityError/primaryKey``; `full`. Finished batches are kept.
  /// - Complexity: linear in the number of rows. Memory holds one batch; of a table without a primary key, all rows are one transaction.
  @discardableResult
  public func migrate(
    _ writer: any DatabaseWriter, backup: URL? = nil, batchSize count: Int = 1000,
    progress: ((EntityMigrationReport) -> Void)? = nil
  ) throws -> EntityMigrationReport {
    do { return try run(writer, backup, max(1, count), StoreWork(), progress) } catch { throw Self.failure(error) }
  }

  /// Like the synchronous call, and ends after a batch if the task is cancelled.
  @discardableResult
  public func migrate(
    _ writer: any DatabaseWriter, backup: URL? = nil, batchSize count: Int = 1000,
    progress: (@Sendable (EntityMigrationReport) -> Void)? = nil
  ) async throws -> EntityMigrationReport {
    do { return try await StoreWork.run { try run(writer, backup, max(1, count), $0, progress) } } catch {
      throw Self.failure(error)
    }
  }

  private func tables(_ db: Database) throws -> [TableMigration] {
    let catalog = try EntityCatalog(types, db, inserts: false)
    return try Set(catalog.types.map(\.table)).sorted().map { try TableMigration($0, catalog, registered) }
  }

  private func run(
    _ writer: any DatabaseWriter, _ backup: URL?, _ count: Int, _ work: StoreWork,
    _ progress: ((EntityMigrationReport) -> Void)?
  ) throws -> EntityMigrationReport {
    var report = EntityMigrationReport()
    let tables = try writer.read { db in try self.tables(db).filter { try !$0.isRecorded(db) } }
    let isPending = try writer.read { db in try tables.contains { try !$0.isFinished(db) } }
    let isInterrupted = try writer.read { db in try tables.contains { try $0.isInterrupted(db) } }
    if let backup, isPending, try !isInterrupted || FileStatus(ofPath: backup.path) == nil {
      try writeBackup(writer, backup, work)
    }
    for var table in tables {
      var rows = try writer.read { try table.report($0) }
      var isDone = false
      while !isDone {
        try work.check()
        try writer.writeWithoutTransaction { db in
          try db.inTransaction(.immediate) {
            isDone = try table.advance(count, &rows, db)
            return .commit
          }
        }
        guard rows.rows > 0 else { continue }
        progress?(EntityMigrationReport(tables: report.tables + [rows]))
      }
      if rows.rows > 0 { report.tables.append(rows) }
    }
    return report
  }

  private func writeBackup(_ writer: any DatabaseWriter, _ url: URL, _ work: StoreWork) throws {
    let path = try writer.read {
      try String.fetchOne($0, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
    }
    _ = try DatabaseFile.backup(to: url, of: path.flatMap { $0.isEmpty ? nil : $0 }) { copy in
      try writer.read { db in
        // Begins the transaction, so that all steps copy one snapshot.
        _ = try EntityVersions.exist(db)
        try DatabaseFile.copy(db, to: copy, work)
      }
    }
  }

  private static func failure(_ error: any Error) -> any Error {
    guard let error = error as? StoreError else { return EntityError.ofDatabase(error) }
    let code: EntityError.Code =
      switch error.code {
      case .busy: .busy
      case .full: .full
      default: .database
      }
    return EntityError(code, error.reason, underlying: error.underlyingError)
  }
}
