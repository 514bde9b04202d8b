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

  init(_ writer: any DatabaseWriter, _ tables: StoreTables, _ options: StoreOptions, isReadOnly: Bool) {
    self.writer = writer
    self.tables = tables
    self.options = options
    self.isReadOnly = isReadOnly
  }

  /// The place of the last revision among all of the store; 0 where there is none.
  func lastSequence(in db: Database) throws -> Int64 {
    let statement = try db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = ?")
    return try Int64.fetchOne(statement, arguments: [tables.revisions]) ?? 0
  }

  func read<R>(_ db: Database, _ body: (StoreTransaction) throws -> R) throws -> R {
    try body(StoreTransaction(db, self, canWrite: false, isWhole: true))
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
