internal import Foundation
internal import GRDB
internal import StrataCore

/// Opens stores. Before a file has been identified as a store, nothing is written to it.
struct StoreOpening {
  /// The size in bytes to which SQLite truncates the write-ahead log (`PRAGMA journal_size_limit`).
  private static let journalLimit = 32 << 20
  /// The numeric value of `PRAGMA synchronous = FULL`, which makes each commit wait for the disk.
  private static let full = 2

  let options: StoreOptions
  private let schema: StoreSchema

  init(_ options: StoreOptions, _ schema: StoreSchema = .today) {
    self.options = options
    self.schema = schema
  }

  func open(_ path: String) throws -> SnapshotStore.Parts {
    let path = try Self.resolved(path)
    do { return try open(resolved: path) } catch { throw DatabaseFile.failure(error, ofFile: path) }
  }

  private func open(resolved path: String) throws -> SnapshotStore.Parts {
    let tables = try StoreTables(prefix: "", schema)
    let versions = try versions(ofFile: path, tables)
    try versions?.checkReadable()
    guard !options.isReadOnly, versions?.isWritable ?? true else {
      guard versions != nil else {
        throw StoreError(
          .readOnly,
          "the store cannot be opened read-only because no store exists at the path; check the path")
      }
      return .init(
        writer: try DatabasePool(path: path, configuration: configuration(isReadOnly: true)), tables: tables,
        options: options, isReadOnly: true, path: path)
    }
    let pool = try DatabasePool(path: path, configuration: configuration(isReadOnly: false))
    try prepare(pool)
    try makeTables(in: pool, tables)
    try SchemaChange(tables: tables, path: path, busyTimeout: options.boundedBusyTimeout).run(in: pool)
    return .init(writer: pool, tables: tables, options: options, path: path)
  }

  func openInMemory() throws -> SnapshotStore.Parts {
    let tables = try StoreTables(prefix: "", schema)
    let queue = try DatabaseQueue(configuration: configuration(isReadOnly: false))
    try makeTables(in: queue, tables)
    return .init(writer: queue, tables: tables, options: options)
  }

  func open(in writer: any DatabaseWriter, prefix: String) throws -> SnapshotStore.Parts {
    guard !prefix.isEmpty else {
      throw StoreError(.invalid, "a store in the app's own database needs a table prefix; specify a prefix")
    }
    let tables = try StoreTables(prefix: prefix, schema)
    let versions = try writer.read { db in try db.withStoreErrors { try tables.versions(in: db) } }
    try versions?.checkReadable()
    let isReadOnly = options.isReadOnly || writer.configuration.readonly || !(versions?.isWritable ?? true)
    if isReadOnly {
      guard versions != nil else {
        throw StoreError(
          .readOnly,
          "the store cannot be opened read-only because the database does not contain a store")
      }
    } else {
      try makeTables(in: writer, tables)
      try SchemaChange(tables: tables, path: nil, busyTimeout: options.boundedBusyTimeout).run(in: writer)
    }
    return .init(writer: writer, tables: tables, options: options, isReadOnly: isReadOnly)
  }

  /// Opens a file for salvage. SQLite must be able to find the tables of a store in the file.
  ///
  /// - Throws: ``StoreError`` with the code `notAStore` if the file is a different database, or `newerStore`. If the tables
  ///   cannot be found, throws an error that indicates damage.
  func openDamaged(_ path: String, isReadOnly: Bool = true) throws -> (any DatabaseWriter, StoreTables) {
    let tables = try StoreTables(prefix: "", schema)
    try checkJournal(ofFile: path, .notAStore)
    let queue = try DatabaseFile.open(path, configuration(isReadOnly: isReadOnly))
    try queue.read { db in try db.withStoreErrors { try checkTables(tables, db) } }
    return (queue, tables)
  }

  private func checkTables(_ tables: StoreTables, _ db: Database) throws {
    let missing = try tables.all.filter { try !db.tableExists($0) }
    guard missing.isEmpty else {
      // A file with the application ID of a store must once have contained these tables, so the missing tables are reported as
      // damage.
      guard try Int.fetchOne(db, sql: "PRAGMA application_id") == StoreTables.applicationID else {
        throw StoreError(.notAStore, "the file does not contain the tables of a store")
      }
      throw StoreError(.damaged, "the file lacks some of the store's tables: \(missing.joined(separator: ", "))")
    }
    do { try tables.versions(in: db)?.checkReadable() } catch let error as StoreError where error.code == .damaged {
      // The `meta` table is damaged, so the format is unknown. Assumes the first format, because every store is created in this
      // format.
    } catch let error as DatabaseError where StoreError.isDamage(error, db) {
      // SQLite cannot read the `meta` table, so the format is unknown. The first format is assumed.
    }
  }

  /// Resolves a symbolic link to the store, because SQLite writes the journal next to the linked file. The file need not exist
  /// yet.
  static func resolved(_ path: String) throws -> String {
    do { return try AtomicFile.target(of: path).path } catch { throw StoreError.ofFile(error) }
  }

  private func configuration(isReadOnly: Bool) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(options.boundedBusyTimeout)
    configuration.label = "StrataStore"
    configuration.prepareDatabase { db in
      // This setting is effective only before the first table is created. It must therefore precede the journal mode, which
      // GRDB sets later.
      if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      try DatabaseFile.readSchema(of: db)
    }
    return configuration
  }

  /// Reads the format versions of a file without changing the file. Returns `nil` if the file does not exist or is empty.
  private func versions(ofFile path: String, _ tables: StoreTables) throws -> StoreVersions? {
    guard let size = try FileStatus(ofPath: path)?.size else { return nil }
    guard size > 0 else {
      try checkJournal(ofFile: path, .damaged)
      return nil
    }
    // SQLite treats a file of less than 512 bytes as empty, and would overwrite it.
    guard size >= 512 else {
      throw StoreError(.notAStore, "the file is too short for an SQLite database")
    }
    let queue = try DatabaseFile.open(path, configuration(isReadOnly: true))
    defer { closeQuietly(queue) }
    return try queue.read { db in try db.withStoreErrors { try versions(in: db, tables) } }
  }

  private func versions(in db: Database, _ tables: StoreTables) throws -> StoreVersions? {
    if try Int.fetchOne(db, sql: "PRAGMA application_id") == StoreTables.applicationID,
      let versions = try tables.versions(in: db)
    {
      return versions
    }
    guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
      throw StoreError(
        .notAStore,
        "the file is a database with tables that are not part of a store; open the database with GRDB, and use "
          + "SnapshotStore(in:)")
    }
    return nil
  }

  /// Throws if the file is empty but has a write-ahead log. SQLite would delete the log, which may contain the last saves.
  private func checkJournal(ofFile path: String, _ code: StoreError.Code) throws {
    guard try FileStatus(ofPath: path)?.size == 0, try FileStatus(ofPath: path + "-wal")?.size ?? 0 > 0 else { return }
    throw StoreError(
      code,
      "the file is empty, but its journal may contain the last saves, so neither was changed; keep copies of both, and "
        + "open a backup under a different name")
  }

  private func closeQuietly(_ queue: DatabaseQueue) {
    // Ignores the error, because the connection was only used for reading and is closed at the latest when it is deallocated.
    try? queue.close()
  }

  /// Makes each commit wait for the disk. The setting cannot be part of the configuration, because a pool sets a weaker mode
  /// after it has prepared its connection.
  private func prepare(_ pool: DatabasePool) throws {
    try pool.writeWithoutTransaction { db in
      try db.withStoreErrors {
        try db.execute(sql: "PRAGMA synchronous = FULL")
        try db.execute(sql: "PRAGMA journal_size_limit = \(Self.journalLimit)")
        guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == Self.full else {
          throw StoreError(.fileSystem, "SQLite did not accept the setting synchronous = FULL")
        }
      }
    }
  }

  private func makeTables(in writer: any DatabaseWriter, _ tables: StoreTables) throws {
    try writer.write { db in
      try db.withStoreErrors {
        // Checks again, because another process may have created the tables.
        guard try tables.versions(in: db) == nil else { return }
        if tables.prefix.isEmpty { try db.execute(sql: "PRAGMA application_id = \(StoreTables.applicationID)") }
        try tables.create(in: db)
      }
    }
  }
}
