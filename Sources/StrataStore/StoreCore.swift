internal import Foundation
internal import GRDB
internal import GRDBSQLite

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
    guard let least = try Int.fetchOne(statement), least <= tables.schema.format else {
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

  /// Saves in one transaction, and shortens the journal where it became long.
  func save<R>(_ body: (StoreTransaction) throws -> R) throws -> R {
    do {
      let result = try writer.write { db in try write(db, isWhole: true, body) }
      journal?.shorten(writer)
      return result
    } catch { throw failure(error) }
  }

  /// The error of a transaction that failed. SQLite calls only one of the ways in which there is no room by its name: for the limits
  /// of the process (`RLIMIT_FSIZE`), of the user and of the file system one has to ask what the system said.
  func failure(_ error: any Error) -> any Error {
    guard let cause = error as? DatabaseError, cause.resultCode == .SQLITE_IOERR else {
      return StoreError.ofDatabase(error)
    }
    let numbers = writer.writeWithoutTransaction { $0.systemErrors }
    return numbers.contains { [ENOSPC, EFBIG, EDQUOT].contains($0) }
      ? StoreError.full(cause) : StoreError.ofDatabase(error)
  }

  func checkCanWrite() throws {
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened for reading only") }
  }
}

extension Database {
  /// What the system said last of the file and of its journal. `sqlite3_system_errno` does not tell it of a commit.
  fileprivate var systemErrors: [Int32] {
    var number: Int32 = 0
    var numbers: [Int32] = []
    if sqlite3_file_control(sqliteConnection, nil, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK {
      numbers.append(number)
    }
    var journal: UnsafeMutablePointer<sqlite3_file>?
    number = 0
    if sqlite3_file_control(sqliteConnection, nil, SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK, let journal,
      journal.pointee.pMethods?.pointee.xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK
    {
      numbers.append(number)
    }
    return numbers
  }
}
