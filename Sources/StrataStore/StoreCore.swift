internal import Foundation
internal import GRDB

/// What all the transactions of a store share.
final class StoreCore: Sendable {
  let writer: any DatabaseWriter
  let tables: StoreTables
  let options: StoreOptions
  let isReadOnly: Bool
  let definitions = DefinitionCache()
  let signal = StoreSignal()
  /// The journal of the file, where the store has one of its own.
  let journal: StoreJournal?

  /// - Parameter path: the file, where the store has one of its own.
  init(
    _ writer: any DatabaseWriter, _ tables: StoreTables, _ options: StoreOptions, isReadOnly: Bool, path: String? = nil
  ) {
    self.writer = writer
    self.tables = tables
    self.options = options
    self.isReadOnly = isReadOnly
    journal = path.map { StoreJournal(of: $0) }
  }

  /// The ``StoreRevision/sequence`` of the last revision of the store; 0 where there is none.
  func lastSequence(in db: Database) throws -> Int64 {
    let statement = try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = ?")
    return try Int64.fetchOne(statement, arguments: [tables.revisions]) ?? 0
  }

  func read<R>(_ db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    try checkReadable(db)
    return try body(StoreTransaction(db, self, canWrite: false, isWhole: true))
  }

  /// Reads in one transaction, though pages may be damaged: having met one, SQLite refuses to commit even what only reads.
  func readDamaged<R>(_ body: (Database) throws -> R) throws -> R {
    try writer.unsafeRead { db in
      try db.beginTransaction(.deferred)
      defer {
        // What keeps it from ending ends the connection.
        try? db.rollback()
      }
      return try body(db)
    }
  }

  /// Checks that no newer program has changed the format since the store was opened. Costs one look at a table of a few rows.
  func checkReadable(_ db: Database) throws {
    let statement = try db.cachedStatement(sql: "SELECT value FROM \(tables.meta) WHERE name = 'minimumReader'")
    guard let least = try Int.fetchOne(statement), least <= StoreTables.format else {
      guard let versions = try tables.versions(in: db) else {
        throw StoreError(.notAStore, "the tables of the store are gone")
      }
      return try versions.checkReadable()
    }
  }

  /// Runs what saves, within a transaction that another process may have changed the format before.
  func write<R>(_ db: Database, isWhole: Bool, _ body: (StoreTransaction) throws -> R) throws -> R {
    guard let versions = try tables.versions(in: db) else {
      throw StoreError(.notAStore, "the tables of the store are gone")
    }
    try versions.checkWritable()
    let transaction = StoreTransaction(db, self, canWrite: true, isWhole: isWhole)
    let result = try body(transaction)
    try transaction.finish()
    if transaction.hasSaved { db.afterNextTransaction(onCommit: { [signal] _ in signal.notify() }) }
    return result
  }

  func checkCanWrite() throws {
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened for reading only") }
  }
}
