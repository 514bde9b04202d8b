internal import Foundation
internal import GRDB
internal import StrataCore

/// Upgrades the tables of a store to the format that this program writes.
///
/// All steps run in one transaction, so the store still has the old format after a failure or a crash. Before the steps, the file
/// is copied to a safety copy, `NAME.before-schema-N`. After the commit, a new connection checks the file. Until the check has
/// finished, a row in the `meta` table marks the change as unfinished, and no program can save (``StoreVersions/checkWritable()``).
/// If the process ends before the check, the next program that opens the store finds this row and checks the file. If the check
/// fails, the safety copy is restored. This loses no saves, because no program could save in the meantime.
struct SchemaChange {
  let tables: StoreTables
  /// The path of the store's file, or `nil` for a store in memory or in the app's own database. Without a path, no safety copy
  /// is written.
  let path: String?
  /// The time in seconds to wait while another process finishes a change.
  let busyTimeout: TimeInterval

  /// Returns the path of the safety copy that is written before a change to the given format.
  private static func copyPath(_ path: String, format: Int) -> String { "\(path).before-schema-\(format)" }

  /// Finishes an interrupted change, then upgrades the tables if they have an older format.
  ///
  /// - Throws: ``StoreError`` with the code `schemaChangeFailed`, in which case the store is back in its old state unless the
  ///   safety copy was lost. Errors of the database are also thrown.
  func run(in writer: any DatabaseWriter) throws {
    // First finishes a change that was interrupted after its commit.
    try finish(in: writer)
    guard let found = try versions(writer), found.format < tables.schema.format else { return }
    do { try change(writer) } catch let error as StoreError { throw error } catch let error as DatabaseError
      where error.resultCode != .SQLITE_CONSTRAINT && error.resultCode != .SQLITE_ERROR
    {
      // System errors are thrown with their own codes, such as `busy` or `full`. The store is unchanged.
      throw StoreError.ofDatabase(error)
    } catch { throw Self.failed(Self.unchanged, error) }
    try tables.schema.afterCommit()
    try finish(in: writer)
  }

  private func versions(_ writer: any DatabaseWriter) throws -> StoreVersions? {
    try writer.read { db in try db.withStoreErrors { try tables.versions(in: db) } }
  }

  private static let unchanged =
    "the tables could not be converted to this program's format, so the store is unchanged; open the store read-only, "
    + "or with the previous program"

  private static func failed(_ reason: String, _ error: (any Error)?) -> StoreError {
    StoreError(.schemaChangeFailed, reason, underlying: error)
  }

  private func change(_ writer: any DatabaseWriter) throws {
    try writer.writeWithoutTransaction { db in try db.withStoreErrors { try change(writer, db) } }
  }

  private func change(_ writer: any DatabaseWriter, _ db: Database) throws {
    // Turns off foreign keys, because a step may replace a table with a new table of the same name while rows of other tables
    // refer to it. The setting can only be changed outside of a transaction.
    let hadKeys = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? true
    try db.execute(sql: "PRAGMA foreign_keys = OFF")
    defer {
      // Ignores the error, because the statement only changes a setting and fails only if the connection is closed.
      try? db.execute(sql: "PRAGMA foreign_keys = \(hadKeys ? "ON" : "OFF")")
    }
    try db.inTransaction(.immediate) {
      // Checks again, because another process may have made the change. From now on, the transaction prevents other processes
      // from saving.
      guard let found = try tables.versions(in: db), found.format < tables.schema.format else { return .commit }
      try copy(writer)
      try tables.apply(from: found.format, in: db)
      if path != nil { try tables.setChanging(true, in: db) }
      if let problem = try problem(db) {
        throw Self.failed(Self.unchanged, StoreError(.damaged, problem))
      }
      return .commit
    }
  }

  /// Returns the first problem of the store's tables, or `nil` if there is none. Does not check other tables of the app's
  /// database.
  private func problem(_ db: Database) throws -> String? {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ?",
      arguments: [tables.prefix.utf8.count, tables.prefix])
    // A store in its own file is checked as a whole, because the file's free list is not part of any table.
    for name in tables.prefix.isEmpty ? ["1"] : names.map(\.quotedDatabaseIdentifier) {
      if let problem = try db.pageProblems("quick_check(\(name))").first { return problem }
    }
    for name in names {
      let broken = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check(\(name.quotedDatabaseIdentifier))")
      if broken != nil { return "a row of the table \(name) refers to a missing row" }
    }
    return nil
  }

  /// Writes the safety copy. Must be called while the write transaction prevents other connections from saving.
  private func copy(_ writer: any DatabaseWriter) throws {
    guard let path else { return }
    let url = URL(fileURLWithPath: Self.copyPath(path, format: tables.schema.format))
    do {
      try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let target = try DatabaseFile.open(copy.path)
        // Copies the file with a separate connection, which sees only committed data.
        let source = try DatabaseFile.open(path)
        try source.backup(to: target)
        try source.close()
        if let problem = try DatabaseFile.close(copy: target) {
          throw StoreError(
            .damaged,
            "the store is damaged, so its tables were not changed: \(problem); check the store, then salvage it")
        }
        try AtomicFile.place(copy, at: url)
      }
    } catch { throw StoreError.ofFile(error, "the safety copy could not be written, so the store is unchanged") }
  }

  /// Checks a store after a format change. Restores the safety copy if the store is damaged.
  private func finish(in writer: any DatabaseWriter) throws {
    // Reads the format from the file, because the interrupted change may have been made by a program with a different format.
    guard let path, let versions = try versions(writer), versions.isChanging else { return }
    let copyPath = Self.copyPath(path, format: versions.format)
    // The lock on the safety copy ensures that only one process at a time finishes the change.
    try withLock(onFile: copyPath) { exists in
      guard try self.versions(writer)?.isChanging == true else { return }
      guard let problem = try problem(ofFile: path) else {
        return try writer.write { try tables.setChanging(false, in: $0) }
      }
      let cause = StoreError(.damaged, problem)
      guard exists else {
        throw Self.failed(
          "the tables could not be converted to this program's format, and the safety copy no longer exists, so the "
            + "store stays as it is; open the store read-only, or with the previous program", cause)
      }
      let copy = try DatabaseFile.open(copyPath, readOnly)
      try copy.backup(to: writer)
      try copy.close()
      throw Self.failed(
        "the tables could not be converted to this program's format, so the safety copy was restored; open the store "
          + "read-only, or with the previous program", cause)
    }
  }

  private func problem(ofFile path: String) throws -> String? {
    do {
      let reader = try DatabaseFile.open(path)
      defer {
        // Ignores the error, because the connection was only used for reading and is closed at the latest when it is
        // deallocated.
        try? reader.close()
      }
      return try reader.read { db in try db.withStoreErrors { try problem(db) } }
    } catch  where StoreError.isDamage(error) { return "SQLite cannot read the file" }
  }

  /// Runs `body` while holding a write lock on an SQLite database. Other connections can still read the database. If the file
  /// does not exist, `body` runs without a lock.
  private func withLock(onFile path: String, _ body: (_ exists: Bool) throws -> Void) throws {
    guard try FileStatus(ofPath: path) != nil else { return try body(false) }
    var configuration = Configuration()
    configuration.busyMode = .timeout(busyTimeout)
    let queue = try DatabaseFile.open(path, configuration)
    try queue.writeWithoutTransaction { db in
      try db.inTransaction(.immediate) {
        try body(true)
        return .rollback
      }
    }
    try queue.close()
  }

  private var readOnly: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    return configuration
  }
}
