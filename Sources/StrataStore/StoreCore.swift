internal import Foundation
internal import GRDB

/// The state that all transactions of a store share.
final class StoreCore: Sendable {
  let writer: any DatabaseWriter
  let tables: StoreTables
  let options: StoreOptions
  let isReadOnly: Bool
  let definitions = DefinitionCache()
  let signal = StoreSignal()
  /// The journal of the store's own file; `nil` if it has none.
  let journal: StoreJournal?
  private let use = StoreUse()

  /// - Parameter path: the store's own file; `nil` if it has none.
  init(
    _ writer: any DatabaseWriter, _ tables: StoreTables, _ options: StoreOptions, isReadOnly: Bool, path: String? = nil
  ) {
    self.writer = writer
    self.tables = tables
    self.options = options
    self.isReadOnly = isReadOnly
    journal = path.map { StoreJournal(of: $0) }
  }

  /// The ``StoreRevision/sequence`` of the last revision of the store; 0 if there is none.
  func lastSequence(in db: Database) throws -> Int64 {
    let statement = try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = ?")
    return try Int64.fetchOne(statement, arguments: [tables.revisions]) ?? 0
  }

  func read<R>(_ db: Database, isWhole: Bool = true, _ body: (StoreTransaction) throws -> R) throws -> R {
    try db.telling {
      try checkReadable(db)
      let transaction = StoreTransaction(db, self, canWrite: false, isWhole: isWhole)
      defer { transaction.end() }
      return try use.run(.read) { try body(transaction) }
    }
  }

  /// Reads in one transaction.
  func read<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try use.check(.read, sharesConnection: writer is DatabaseQueue)
    do { return try writer.read { db in try read(db, body) } } catch { throw readingFailure(error) }
  }

  /// Like ``read(_:)-(_)``, without blocking a thread.
  func read<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws -> R {
    try use.checkOpen()
    do { return try await writer.read { db in try self.read(db, body) } } catch { throw readingFailure(error) }
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
        return try db.telling { try body(db) }
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
    try db.telling { try use.run(.write) { try writeNow(db, isWhole: isWhole, body) } }
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

  /// Saves in one transaction, and shortens the journal if it is too long.
  func save<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    try use.check(.write, sharesConnection: writer is DatabaseQueue)
    do {
      let result = try writer.write { db in try write(db, isWhole: true, body) }
      journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// Converts the error of a failed transaction, which may come from its begin or its commit.
  func failure(_ error: any Error) -> any Error {
    guard error is DatabaseError else { return error }
    return writer.writeWithoutTransaction { StoreError.ofDatabase(error, $0.systemErrors) }
  }

  /// Closes all connections.
  func close() throws {
    // A pool closes its writing connection first. Only that one can checkpoint and remove the journal, and only as the last one.
    (writer as? DatabasePool)?.invalidateReadOnlyConnections()
    try writer.close()
    use.close()
  }

  func checkCanWrite() throws {
    try use.checkOpen()
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened for reading only") }
  }
}
