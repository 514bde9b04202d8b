public import Foundation
public import GRDB

/// A store that keeps every save of a model as a revision, to which a program can return.
///
///     let store = try SnapshotStore(url: url)
///     try await store.save(issue, as: "issue/7", author: "ann", note: "closed")
///     let issue = try await store.value(Issue.self, for: "issue/7")
///     let before = try await store.value(Issue.self, for: "issue/7", at: .revision(1))
///
/// A save that has returned is on the disk: it survives a crash or a power failure. Any number of tasks and processes can
/// use a store at once; readers and the one writer do not wait for each other. Docs/Store.md is the guide.
public final class SnapshotStore: Sendable {
  let writer: any DatabaseWriter
  let tables: StoreTables
  let options: StoreOptions
  /// Whether the store can only be read, because it was opened read-only or a newer program requires it.
  public let isReadOnly: Bool
  let definitions = DefinitionCache()
  let signal = StoreSignal()
  /// The journal of the store's own file; `nil` if it has none.
  let journal: StoreJournal?
  private let use = StoreUse()

  /// An opened database with the tables of a store.
  struct Parts {
    var writer: any DatabaseWriter
    var tables: StoreTables
    var options: StoreOptions
    var isReadOnly = false
    /// The store's own file; `nil` if it has none.
    var path: String?
  }

  init(_ parts: Parts) {
    (writer, tables, options, isReadOnly) = (parts.writer, parts.tables, parts.options, parts.isReadOnly)
    journal = parts.path.map { StoreJournal(of: $0) }
  }

  /// Opens the store in a file, which is created if needed.
  ///
  /// While it is open, two files beside it with the suffixes `-wal` and `-shm` belong to it.
  ///
  /// - Throws: ``StoreError`` with the code `notAStore` if the file is something else, `newerStore`, `readOnly` if there is no
  ///   file and none may be created, `damaged`, `busy`, `fileSystem`. A store of a newer program that this one may read is
  ///   opened for reading, see ``isReadOnly``. All of this is decided before anything is written.
  /// - Complexity: constant, whatever the store contains; linear in the size of the file if the store has an older format.
  public convenience init(url: URL, options: StoreOptions = StoreOptions()) throws {
    guard url.isFileURL else {
      throw StoreError(.fileSystem, "“\(url.absoluteString)” is not the URL of a file; make one with URL(filePath:)")
    }
    do { self.init(try StoreOpening(options).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// Creates a store in memory, for tests and previews. It is lost when this object is deallocated.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` if SQLite fails.
  public convenience init(inMemory options: StoreOptions) throws {
    do { self.init(try StoreOpening(options).openInMemory()) } catch { throw StoreError.ofDatabase(error) }
  }

  /// Opens the store in the app's own database, beside the app's tables.
  ///
  /// The settings of that database determine how durable a save is, and how long it waits for others. `synchronous` is
  /// `NORMAL` in a `DatabasePool` unless the app sets it, which survives a crash of the process but not a power failure.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - prefix: the prefix of the names of the store's tables.
  ///   - options: the options for encoding and decoding, and the clock.
  /// - Throws: the same errors as ``init(url:options:)``; `invalid` for a prefix that table names cannot have.
  public convenience init(
    in writer: any DatabaseWriter, prefix: String = "strata_", options: StoreOptions = StoreOptions()
  ) throws {
    do { self.init(try StoreOpening(options).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// Closes the store if it is not in the app's own database. All later calls throw.
  ///
  /// A store also closes when it is deallocated.
  ///
  /// - Throws: ``StoreError`` if a transaction still runs. The store is then still open.
  public func close() throws {
    guard tables.prefix.isEmpty else { return }
    do {
      // A pool closes its writing connection first. Only that one can checkpoint and remove the journal, and only as the last one.
      (writer as? DatabasePool)?.invalidateReadOnlyConnections()
      try writer.close()
    } catch { throw StoreError.ofDatabase(error) }
    use.close()
  }

  // MARK: Transactions

  /// Reads one snapshot of the store in one transaction. No other reader or writer waits for it, but the journal cannot be
  /// shortened while it runs.
  ///
  /// - Throws: the errors of `body`; ``StoreError`` with the code `newerStore` if a newer program changed the format since the
  ///   store was opened, `damaged`, `fileSystem`; `CancellationError` if the task was cancelled before.
  public func read<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try use.checkOpen()
    do { return try await writer.read { db in try self.read(db, body) } } catch { throw readingFailure(error) }
  }

  /// Like ``read(_:)``, for synchronous code.
  ///
  /// - Throws: also ``StoreError`` with the code `invalid` within another read of the store, or within any transaction of a store that
  ///   has a single connection.
  public func read<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try use.check(.read, sharesConnection: writer is DatabaseQueue)
    do { return try writer.read { db in try read(db, body) } } catch { throw readingFailure(error) }
  }

  /// Saves in one transaction. If `body` throws, none of its changes are kept. They are on the disk when this returns.
  ///
  /// - Throws: the errors of `body`; ``StoreError`` with the code `readOnly` or `newerStore` if the store may not be written,
  ///   `busy` if others saved for longer than ``StoreOptions/busyTimeout``, `full`, `fileSystem`; `CancellationError` if the task
  ///   was cancelled before. Nothing is then saved. Only if the disk fails from the commit until the process ends, the next opening
  ///   may find the changes.
  /// - Complexity: one wait for the disk, however much is saved. With more than 8 MiB of journal, up to a tenth of a second more.
  public func write<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try checkCanWrite()
    do {
      let result = try await writer.write { db in try self.write(db, isWhole: true, body) }
      await journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// Like ``write(_:)``, for synchronous code.
  ///
  /// - Throws: also ``StoreError`` with the code `invalid` within another transaction of the store that saves, or within any transaction of
  ///   a store that has a single connection.
  public func write<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try checkCanWrite()
    try use.check(.write, sharesConnection: writer is DatabaseQueue)
    do {
      let result = try writer.write { db in try write(db, isWhole: true, body) }
      journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// Saves within a transaction of the app, together with its changes in other tables.
  ///
  ///     try await pool.write { db in
  ///       try order.insert(db)
  ///       try store.write(in: db) { try $0.save(receipt, as: "receipt/7") }
  ///     }
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: the closure that saves; it must not keep the transaction.
  /// - Throws: the errors of `body`, after which none of its changes are kept, and ``StoreError``.
  public func write<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    try checkCanWrite()
    do {
      var result: R?
      try db.inSavepoint {
        result = try write(db, isWhole: false, body)
        return .commit
      }
      guard let result else { throw StoreError(.fileSystem, "the transaction did not run") }
      return result
    } catch { throw StoreError.ofDatabase(error) }
  }

  /// Reads within a transaction of the app.
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: the closure that reads; it must not keep the transaction.
  /// - Throws: the errors of `body`, and ``StoreError`` as `read(_:)`.
  public func read<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    do {
      return try read(db, isWhole: false, body)
    } catch { throw StoreError.ofDatabase(error) }
  }
}

extension SnapshotStore {
  /// The ``StoreRevision/sequence`` of the last revision of the store; 0 if there is none.
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

  /// Reads in one transaction, even if pages are damaged. It is rolled back, because SQLite refuses to commit after
  /// damage, even if the transaction only reads.
  func readDamaged<R>(_ body: (Database) throws -> R) throws -> R {
    do {
      return try writer.unsafeRead { db in
        try db.beginTransaction(.deferred)
        defer {
          // If the rollback fails, the connection cannot be used any more either.
          try? db.rollback()
        }
        return try db.withStoreErrors { try body(db) }
      }
    } catch { throw readingFailure(error) }
  }

  /// Converts the error of a read, which may have failed before its transaction.
  private func readingFailure(_ error: any Error) -> any Error {
    let path = (writer as? DatabasePool)?.path ?? (writer as? DatabaseQueue)?.path
    return StoreError.ofDatabase(path.map { DatabaseFile.failure(error, ofFile: $0) } ?? error)
  }

  /// Checks that no newer program has changed the format since the store was opened. Costs one query of a small table.
  func checkReadable(_ db: Database) throws {
    let statement = try db.cachedStatement(sql: "SELECT value FROM \(tables.meta) WHERE name = 'minimumReader'")
    guard let least = try Int.fetchOne(statement), least <= tables.schema.format else {
      guard let versions = try tables.versions(in: db) else {
        throw StoreError(.notAStore, "the tables of the store are gone")
      }
      return try versions.checkReadable()
    }
  }

  /// Runs a save within a transaction. Checks the format first, because another process may have changed it.
  func write<R>(_ db: Database, isWhole: Bool, _ body: (StoreTransaction) throws -> R) throws -> R {
    try db.withStoreErrors { try use.run(.write) { try writeNow(db, isWhole: isWhole, body) } }
  }

  private func writeNow<R>(_ db: Database, isWhole: Bool, _ body: (StoreTransaction) throws -> R) throws -> R {
    guard let versions = try tables.versions(in: db) else {
      throw StoreError(.notAStore, "the tables of the store are gone")
    }
    try versions.checkWritable()
    let transaction = StoreTransaction(db, self, canWrite: true, isWhole: isWhole)
    defer { transaction.end() }
    let result = try body(transaction)
    try transaction.finish()
    if transaction.hasSaved { db.afterNextTransaction(onCommit: { [signal] _ in signal.notify() }) }
    return result
  }

  /// Converts the error of a failed transaction, which may come from its begin or its commit.
  func failure(_ error: any Error) -> any Error {
    guard error is DatabaseError else { return error }
    return writer.writeWithoutTransaction { StoreError.ofDatabase(error, $0.systemErrors) }
  }

  func checkCanWrite() throws {
    try use.checkOpen()
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened for reading only") }
  }
}

extension SnapshotStore {
  /// Opens the store in a file like a program that knows other formats, for tests of format changes.
  package convenience init(url: URL, options: StoreOptions = StoreOptions(), schema: StoreSchema) throws {
    do { self.init(try StoreOpening(options, schema).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// Like ``init(in:prefix:options:)``, with other formats.
  package convenience init(
    in writer: any DatabaseWriter, prefix: String, options: StoreOptions = StoreOptions(), schema: StoreSchema
  ) throws {
    do { self.init(try StoreOpening(options, schema).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// The value of `PRAGMA synchronous` of the writing connection: 2 if each commit waits for the disk.
  package var synchronous: Int? {
    get throws { try writer.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } }
  }
}
