public import Foundation
public import GRDB

/// A store that keeps every saved state of a model as a revision. A program can later read, compare and restore the revisions.
///
///     let store = try SnapshotStore(url: url)
///     try await store.save(issue, as: "issue/7", author: "ann", note: "closed")
///     let issue = try await store.value(Issue.self, for: "issue/7")
///     let before = try await store.value(Issue.self, for: "issue/7", at: .revision(1))
///
/// When a save returns, its data has been written to disk and survives a crash or a power failure. Any number of tasks and
/// processes can use a store at once. Readers and the single writer do not block each other. See the guide in Docs/Store.md.
public final class SnapshotStore: Sendable {
  let writer: any DatabaseWriter
  let tables: StoreTables
  let options: StoreOptions
  /// Whether the store refuses saves, because it was opened read-only or a newer program changed its format to one that this program
  /// may only read.
  public let isReadOnly: Bool
  let definitions = DefinitionCache()
  let signal = StoreSignal()
  /// The object that truncates the write-ahead log of the store's file, or `nil` if the store is in memory or in the app's
  /// database.
  let journal: StoreJournal?
  private let use = StoreUse()

  /// An open database that contains the tables of a store.
  struct Parts {
    var writer: any DatabaseWriter
    var tables: StoreTables
    var options: StoreOptions
    var isReadOnly = false
    /// The path of the store's file, or `nil` if the store is in memory or in the app's database.
    var path: String?
  }

  init(_ parts: Parts) {
    (writer, tables, options, isReadOnly) = (parts.writer, parts.tables, parts.options, parts.isReadOnly)
    journal = parts.path.map { StoreJournal(of: $0) }
  }

  /// Opens the store in a file. Creates the file if it does not exist.
  ///
  /// While the store is open, two more files exist in the same folder, with the suffixes `-wal` and `-shm`. They are part of
  /// the store.
  ///
  /// If a newer program changed the format but this program can still read it, the store is opened read-only, and
  /// ``isReadOnly`` is true.
  ///
  /// - Throws: ``StoreError`` with the code `notAStore` if the file is not a store, `newerStore`, `readOnly` if the file does not
  ///   exist and the options forbid creating it, `damaged`, `busy` or `fileSystem`. Nothing is written to the file before all
  ///   checks have succeeded.
  /// - Complexity: constant, regardless of the store's content. If the store has an older format, linear in the size of the
  ///   file.
  public convenience init(url: URL, options: StoreOptions = StoreOptions()) throws {
    guard url.isFileURL else {
      throw StoreError(
        .fileSystem, "the URL “\(url.absoluteString)” is not a file URL; create the URL with URL(filePath:)")
    }
    do { self.init(try StoreOpening(options).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// Creates a store in memory, for tests and previews. The content is lost when the store is deallocated.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` if SQLite fails.
  public convenience init(inMemory options: StoreOptions) throws {
    do { self.init(try StoreOpening(options).openInMemory()) } catch { throw StoreError.ofDatabase(error) }
  }

  /// Opens the store in the app's own database, alongside the app's tables.
  ///
  /// The settings of that database determine how durable a save is and how long it waits for other connections. By default, a
  /// `DatabasePool` sets `synchronous` to `NORMAL`. With this setting, saves survive a crash of the process, but a power failure can
  /// lose the last saves.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - prefix: the prefix for the names of the store's tables.
  ///   - options: the options for encoding and decoding, and the clock.
  /// - Throws: the same errors as ``init(url:options:)``, or `invalid` if `prefix` cannot begin a table name.
  public convenience init(
    in writer: any DatabaseWriter, prefix: String = "strata_", options: StoreOptions = StoreOptions()
  ) throws {
    do { self.init(try StoreOpening(options).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// Closes the store. After that, all calls throw. Does nothing if the store is in the app's own database.
  ///
  /// A store is also closed when it is deallocated.
  ///
  /// - Throws: ``StoreError`` if a transaction is still running, in which case the store stays open.
  public func close() throws {
    guard tables.prefix.isEmpty else { return }
    do {
      // Closes the reading connections first. The last connection to close checkpoints and removes the write-ahead log, so it
      // must be the writing connection.
      (writer as? DatabasePool)?.invalidateReadOnlyConnections()
      try writer.close()
    } catch { throw StoreError.ofDatabase(error) }
    use.close()
  }

  // MARK: Transactions

  /// Runs `body` in a read transaction. The transaction sees one snapshot of the store. Other readers and writers do not wait
  /// for the transaction, but the write-ahead log cannot be truncated while the transaction runs.
  ///
  /// - Throws: any error that `body` throws, ``StoreError`` with the code `newerStore` if a newer program has changed the
  ///   format since the store was opened, `damaged` or `fileSystem`, or `CancellationError` if the task was cancelled before
  ///   the transaction began.
  public func read<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try use.checkOpen()
    do { return try await writer.read { db in try self.read(db, body) } } catch { throw readingFailure(error) }
  }

  /// The synchronous variant of ``read(_:)``.
  ///
  /// - Throws: the errors of the asynchronous method, except `CancellationError`. Throws ``StoreError`` with the code `invalid`
  ///   if called within another read of the store or, if the store has a single connection, within any transaction of the store.
  public func read<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try use.check(.read, sharesConnection: writer is DatabaseQueue)
    do { return try writer.read { db in try read(db, body) } } catch { throw readingFailure(error) }
  }

  /// The synchronous variant of `read(_:)`, for asynchronous code that reads objects that are not `Sendable`. Blocks the thread until
  /// `body` has returned.
  public func readNow<R>(_ body: (StoreTransaction) throws -> R) throws -> R { try read(body) }

  /// Runs `body` in a write transaction. If `body` throws, all of its changes are rolled back. When this method returns, the
  /// changes have been written to disk.
  ///
  /// If this method throws, nothing has been saved. The only exception is a disk that fails during the commit and keeps failing
  /// until the process ends. In that case, the changes may be present when the store is next opened.
  ///
  /// - Throws: any error that `body` throws, ``StoreError`` with the code `readOnly` or `newerStore` if the store is read-only,
  ///   `busy` if other connections kept the store locked for longer than ``StoreOptions/busyTimeout``, `full` or `fileSystem`,
  ///   or `CancellationError` if the task was cancelled before the transaction began.
  /// - Complexity: one wait for the disk, regardless of the amount of data. If the write-ahead log is larger than 8 MiB,
  ///   truncating it takes up to a tenth of a second more.
  @discardableResult
  public func write<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try checkCanWrite()
    do {
      let result = try await writer.write { db in try self.write(db, isWhole: true, body) }
      await journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// The synchronous variant of ``write(_:)``.
  ///
  /// - Throws: the errors of the asynchronous method, except `CancellationError`. Throws ``StoreError`` with the code `invalid`
  ///   if called within another write of the store or, if the store has a single connection, within any transaction of the store.
  @discardableResult
  public func write<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try checkCanWrite()
    try use.check(.write, sharesConnection: writer is DatabaseQueue)
    do {
      let result = try writer.write { db in try write(db, isWhole: true, body) }
      journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// The synchronous variant of `write(_:)`, for asynchronous code that saves objects that are not `Sendable`. Blocks the thread until
  /// the changes have been written to disk.
  @discardableResult
  public func writeNow<R>(_ body: (StoreTransaction) throws -> R) throws -> R { try write(body) }

  /// Runs `body` as part of the app's own transaction, so that the saves in `body` and the app's changes to other tables are
  /// committed together.
  ///
  ///     try await pool.write { db in
  ///       try order.insert(db)
  ///       try store.write(in: db) { try $0.save(receipt, as: "receipt/7") }
  ///     }
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: the closure that saves. It must not use the transaction after it has returned.
  /// - Throws: any error that `body` throws, or ``StoreError``. The changes made by `body` are then rolled back.
  @discardableResult
  public func write<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    try checkCanWrite()
    do {
      var result: R?
      try db.inSavepoint {
        result = try write(db, isWhole: false, body)
        return .commit
      }
      guard let result else { throw StoreError(.fileSystem, "SQLite did not run the transaction") }
      return result
    } catch { throw StoreError.ofDatabase(error) }
  }

  /// Runs `body`, which reads the store, as part of the app's own transaction.
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: the closure that reads. It must not use the transaction after it has returned.
  /// - Throws: any error that `body` throws, and the same ``StoreError`` as `read(_:)`.
  public func read<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    do {
      return try read(db, isWhole: false, body)
    } catch { throw StoreError.ofDatabase(error) }
  }
}

extension SnapshotStore {
  /// Returns the ``StoreRevision/sequence`` of the store's last revision, or 0 if the store has never had a revision.
  func lastSequence(in db: Database) throws -> Int64 {
    let statement = try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = ?")
    return try Int64.fetchOne(statement, arguments: [tables.revisions]) ?? 0
  }

  func read<R>(_ db: Database, isWhole: Bool = true, _ body: (StoreTransaction) throws -> R) throws -> R {
    try db.withStoreErrors {
      try checkReadable(db)
      let transaction = StoreTransaction(db, self, canWrite: false, isWhole: isWhole)
      defer { transaction.end() }
      return try use.run(.read) { try body(transaction) }
    }
  }

  /// Runs `body` in one read transaction that tolerates damaged pages. The transaction is rolled back, because SQLite refuses
  /// to commit once it has found damage, even if the transaction only reads.
  func readDamaged<R>(_ body: (Database) throws -> R) throws -> R {
    do {
      return try writer.unsafeRead { db in
        try db.beginTransaction(.deferred)
        defer {
          // Ignores the error, because after a failed rollback every later use of the connection fails anyway.
          try? db.rollback()
        }
        return try db.withStoreErrors { try body(db) }
      }
    } catch { throw readingFailure(error) }
  }

  /// Converts an error that a read has thrown to a ``StoreError``. The read may have failed before its transaction began.
  private func readingFailure(_ error: any Error) -> any Error {
    let path = (writer as? DatabasePool)?.path ?? (writer as? DatabaseQueue)?.path
    return StoreError.ofDatabase(path.map { DatabaseFile.failure(error, ofFile: $0) } ?? error)
  }

  /// Throws if a newer program has changed the format since the store was opened. The check costs one query of a small table.
  func checkReadable(_ db: Database) throws {
    let statement = try db.cachedStatement(sql: "SELECT value FROM \(tables.meta) WHERE name = 'minimumReader'")
    guard let least = try Int.fetchOne(statement), least <= tables.schema.format else {
      guard let versions = try tables.versions(in: db) else {
        throw StoreError(.notAStore, "the store's tables no longer exist")
      }
      return try versions.checkReadable()
    }
  }

  /// Runs `body` within an open transaction. Checks the format first, because another process may have changed it.
  func write<R>(_ db: Database, isWhole: Bool, _ body: (StoreTransaction) throws -> R) throws -> R {
    try db.withStoreErrors { try use.run(.write) { try writeChecked(db, isWhole: isWhole, body) } }
  }

  private func writeChecked<R>(_ db: Database, isWhole: Bool, _ body: (StoreTransaction) throws -> R) throws -> R {
    guard let versions = try tables.versions(in: db) else {
      throw StoreError(.notAStore, "the store's tables no longer exist")
    }
    try versions.checkWritable()
    let transaction = StoreTransaction(db, self, canWrite: true, isWhole: isWhole)
    defer { transaction.end() }
    let result = try body(transaction)
    try transaction.finish()
    if transaction.hasSaved { db.afterNextTransaction(onCommit: { [signal] _ in signal.notify() }) }
    return result
  }

  /// Converts an error that a write transaction has thrown to a ``StoreError``. The error may also come from `BEGIN` or `COMMIT`.
  func failure(_ error: any Error) -> any Error {
    guard error is DatabaseError else { return error }
    return writer.writeWithoutTransaction { StoreError.ofDatabase(error, $0.systemErrors) }
  }

  func checkCanWrite() throws {
    try use.checkOpen()
    guard !isReadOnly else {
      throw StoreError(
        .readOnly,
        "the store cannot be changed because it was opened read-only")
    }
  }
}

extension SnapshotStore {
  /// Opens the store in a file with the given schema instead of the current schema, for tests of format changes.
  package convenience init(url: URL, options: StoreOptions = StoreOptions(), schema: StoreSchema) throws {
    do { self.init(try StoreOpening(options, schema).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// Opens the store in the app's own database with the given schema instead of the current schema, for tests of format changes.
  package convenience init(
    in writer: any DatabaseWriter, prefix: String, options: StoreOptions = StoreOptions(), schema: StoreSchema
  ) throws {
    do { self.init(try StoreOpening(options, schema).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// The value of `PRAGMA synchronous` on the writing connection. With 2 (`FULL`), each commit waits for the disk.
  package var synchronous: Int? {
    get throws { try writer.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } }
  }
}
