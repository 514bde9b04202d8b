public import Foundation
public import GRDB

/// Models as they were at every save: each save is a revision that one can return to.
///
///     let store = try SnapshotStore(url: url)
///     try await store.save(issue, as: "issue/7", author: "ann", note: "closed")
///     let issue = try await store.value(Issue.self, for: "issue/7")
///     let before = try await store.value(Issue.self, for: "issue/7", at: .revision(1))
///
/// A save that has returned is on the disk: it survives the end of the process and of the power. A store can be used by any
/// number of tasks and processes at once; readers and the one writer do not wait for each other. Docs/Store.md is the guide.
public final class SnapshotStore: Sendable {
  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  /// Opens the store in a file, which is made where there is none.
  ///
  /// Beside the file are, while it is open, one with the suffix `-wal` and one with `-shm`, which belong to it.
  ///
  /// - Throws: ``StoreError`` with the code `notAStore` where the file is something else, `newerStore`, `readOnly` where there
  ///   is no file and none may be made, `damaged`, `busy`, `fileSystem`. A store of a newer program that this one may read
  ///   is opened for reading, see ``isReadOnly``. All of this is decided before anything is written.
  /// - Complexity: constant, whatever is in the store; linear in the file where the store has an older format.
  public convenience init(url: URL, options: StoreOptions = StoreOptions()) throws {
    guard url.isFileURL else {
      throw StoreError(.fileSystem, "“\(url.absoluteString)” is not the URL of a file; make one with URL(filePath:)")
    }
    do { self.init(try StoreOpening(options).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// Makes a store in memory, which ends with this object: for tests and for previews.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` where SQLite refuses.
  public convenience init(inMemory options: StoreOptions) throws {
    do { self.init(try StoreOpening(options).openInMemory()) } catch { throw StoreError.ofDatabase(error) }
  }

  /// Opens the store in a database that the app has already, beside the app's own tables.
  ///
  /// How durable a save is, and how long it waits for others, is then up to the settings of that database: `synchronous`
  /// is `NORMAL` in a `DatabasePool` unless the app sets it, which survives the end of the process and not that of the power.
  ///
  /// - Parameters:
  ///   - writer: the database.
  ///   - prefix: what the names of the store's tables begin with.
  ///   - options: how values are encoded and decoded, and the clock.
  /// - Throws: as ``init(url:options:)``; `invalid` for a prefix that is no beginning of a name.
  public convenience init(
    in writer: any DatabaseWriter, prefix: String = "strata_", options: StoreOptions = StoreOptions()
  ) throws {
    do { self.init(try StoreOpening(options).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// Whether the store can only be read: it was opened so, or a newer program asks for it.
  public var isReadOnly: Bool { core.isReadOnly }

  /// Closes the file, where the store has one of its own. Whatever is called afterwards throws.
  ///
  /// A store that nothing refers to closes by itself.
  ///
  /// - Throws: ``StoreError`` where a transaction still runs. The store is then open.
  public func close() throws {
    guard core.tables.prefix.isEmpty else { return }
    do { try core.close() } catch { throw StoreError.ofDatabase(error) }
  }

  // MARK: Transactions

  /// Reads in one transaction: what others save meanwhile is not seen. Nobody waits for it, but while it runs the journal
  /// cannot be shortened.
  ///
  /// - Throws: what `body` throws; ``StoreError`` with the code `newerStore` where a newer program changed the format since the
  ///   store was opened, `damaged`, `fileSystem`; `CancellationError` where the task was cancelled before.
  public func read<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try await core.read(body)
  }

  /// As ``read(_:)``, where there is no concurrency.
  ///
  /// - Throws: also ``StoreError`` with the code `invalid` within another reading of the store, or a transaction of one that has a single
  ///   connection.
  public func read<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try core.read(body)
  }

  /// Saves in one transaction: all that `body` does is kept, or, where it throws, nothing. When this returns, it is on the
  /// disk.
  ///
  /// - Throws: what `body` throws; ``StoreError`` with the code `readOnly` or `newerStore` where the store may not be written,
  ///   `busy` where others saved for longer than ``StoreOptions/busyTimeout``, `full`, `fileSystem`; `CancellationError` where the
  ///   task was cancelled before. Nothing is then saved. Only if the disk fails from the commit to the end of the process, the next
  ///   opening may find what was saved.
  /// - Complexity: one wait for the disk, whatever is saved. Past 8 MiB of journal, up to a tenth of a second more.
  public func write<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try core.checkCanWrite()
    do {
      let result = try await core.writer.write { [core] db in try core.write(db, isWhole: true, body) }
      await core.journal?.shorten(core.writer)
      return result
    } catch { throw core.failure(error) }
  }

  /// As ``write(_:)``, where there is no concurrency.
  ///
  /// - Throws: also ``StoreError`` with the code `invalid` within another transaction of the store that saves, or one of a store that has a
  ///   single connection.
  public func write<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try core.checkCanWrite()
    return try core.save(body)
  }

  /// Saves within a transaction of the app's own, together with what that changes in other tables.
  ///
  ///     try await pool.write { db in
  ///       try order.insert(db)
  ///       try store.write(in: db) { try $0.save(receipt, as: "receipt/7") }
  ///     }
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: what saves; it must not keep the transaction.
  /// - Throws: what `body` throws, after which nothing of it is kept, and ``StoreError``.
  public func write<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    try core.checkCanWrite()
    do {
      var result: R?
      try db.inSavepoint {
        result = try core.write(db, isWhole: false, body)
        return .commit
      }
      guard let result else { throw StoreError(.fileSystem, "the transaction did not run") }
      return result
    } catch { throw StoreError.ofDatabase(error) }
  }

  /// Reads within a transaction of the app's own.
  ///
  /// - Parameters:
  ///   - db: a connection to the database that the store was opened in.
  ///   - body: what reads; it must not keep the transaction.
  /// - Throws: what `body` throws, and ``StoreError`` as `read(_:)`.
  public func read<R>(in db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    do {
      return try core.read(db, isWhole: false, body)
    } catch { throw StoreError.ofDatabase(error) }
  }
}

extension SnapshotStore {
  /// Opens the store in a file as a program does that knows other formats than this one: for tests of a change of format.
  package convenience init(url: URL, options: StoreOptions = StoreOptions(), schema: StoreSchema) throws {
    do { self.init(try StoreOpening(options, schema).open(url.path)) } catch { throw StoreError.ofFile(error) }
  }

  /// As ``init(in:prefix:options:)`` of a program with other steps.
  package convenience init(
    in writer: any DatabaseWriter, prefix: String, options: StoreOptions = StoreOptions(), schema: StoreSchema
  ) throws {
    do { self.init(try StoreOpening(options, schema).open(in: writer, prefix: prefix)) } catch {
      throw StoreError.ofDatabase(error)
    }
  }

  /// What `PRAGMA synchronous` says on the connection that writes: 2 where each commit waits for the disk.
  package var synchronous: Int? {
    get throws { try core.writer.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } }
  }
}
