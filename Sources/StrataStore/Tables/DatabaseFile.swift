internal import Foundation
internal import GRDB
internal import StrataCore

/// Operations on SQLite database files with temporary connections, which are separate from the connections of a store.
enum DatabaseFile {
  /// Opens a connection to a database. Throws `fileSystem` if the system fails to read the file. GRDB alone would report damage
  /// in this case.
  static func open(_ path: String, _ configuration: Configuration = Configuration()) throws -> DatabaseQueue {
    do { return try connection(path, configuration) } catch { throw failure(error, ofFile: path) }
  }

  private static func connection(_ path: String, _ configuration: Configuration) throws -> DatabaseQueue {
    var configuration = configuration
    configuration.prepareDatabase { try readSchema(of: $0) }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Returns the error to throw after a connection has failed and is no longer available. If SQLite has reported damage, checks
  /// the file with a new connection. If this check finds no damage, returns an error that reports a system failure instead.
  static func failure(_ error: any Error, ofFile path: String) -> any Error {
    guard let cause = error as? DatabaseError, cause.resultCode == .SQLITE_CORRUPT else { return error }
    var configuration = Configuration()
    configuration.readonly = true
    do {
      let queue = try connection(path, configuration)
      let isWhole = try queue.read { db in try db.withStoreErrors { try db.pageProblems("quick_check(1)").isEmpty } }
      return isWhole ? StoreError.unreadable(cause) : error
    } catch { return error }
  }

  /// Reads the schema, so that an unreadable file is detected as soon as a connection is opened.
  static func readSchema(of db: Database) throws {
    _ = try db.withStoreErrors { try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") }
  }

  /// Converts a copy of a database to a single file without journals, and closes the copy.
  ///
  /// - Returns: the first problem found in the pages of the copy, or `nil` if there is none.
  static func close(copy: DatabaseQueue) throws -> String? {
    let problem = try copy.writeWithoutTransaction { db in
      try db.withStoreErrors {
        // The copy has inherited the journal mode of the source, so the mode is changed to one without a separate log.
        guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
          throw StoreError(.fileSystem, "SQLite could not write the copy as a single file without a journal")
        }
        return try db.pageProblems("quick_check").first
      }
    }
    try copy.close()
    return problem
  }

  // MARK: Backup

  /// Writes a backup to a file. An existing file is replaced only if the backup is complete and undamaged.
  ///
  /// - Parameters:
  ///   - path: the path of the database file, or `nil` if the database has no file.
  ///   - body: a closure that copies the database to the given connection.
  /// - Returns: the result of `body`, and the size of the backup in bytes.
  static func backup<R>(to url: URL, of path: String?, _ body: (DatabaseQueue) throws -> R) throws -> (R, size: Int) {
    do {
      try checkTarget(url, path)
      let folder = url.deletingLastPathComponent()
      guard try FileStatus(ofPath: folder.path) != nil else {
        throw StoreError(
          .fileSystem, "the folder “\(folder.path)” for the backup does not exist; create the folder first")
      }
      return try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let queue = try open(copy.path)
        let result = try body(queue)
        if let problem = try close(copy: queue) {
          throw StoreError(
            .damaged, "the database is damaged, so no backup was made: \(problem); check the database, then salvage it")
        }
        let size = try FileStatus(ofPath: copy.path)?.size ?? 0
        try AtomicFile.place(copy, at: url)
        return (result, size)
      }
    } catch { throw StoreError.ofFile(error, "the backup could not be written") }
  }

  /// Copies the snapshot of the source's current transaction to a different database.
  static func copy(_ source: Database, to queue: DatabaseQueue, _ work: StoreWork) throws {
    try queue.writeWithoutTransaction { target in
      try target.withStoreErrors { try source.backup(to: target, pagesPerStep: 1024) { _ in try work.check() } }
    }
    try work.check()
  }

  private static func checkTarget(_ url: URL, _ path: String?) throws {
    if let path, let own = try FileStatus(ofPath: path),
      let other = try FileStatus(ofPath: url.path), own.device == other.device, own.inode == other.inode
    {
      throw StoreError(.invalid, "a database cannot be backed up to itself; choose a different file")
    }
    // Returns whether the backup file has a journal. If the journal cannot be removed, the backup is refused, because SQLite would
    // apply the journal to the new backup.
    func hasJournal() throws -> Bool {
      try ["-wal", "-journal"].contains { try FileStatus(ofPath: url.path + $0) != nil }
    }
    guard try hasJournal() else { return }
    // Changing the journal mode removes a stale journal, unless another connection has the file open. Errors are ignored
    // because the check below detects a remaining journal.
    if try FileStatus(ofPath: url.path) != nil, let old = try? DatabaseQueue(path: url.path) {
      // Ignores the error, because the check below detects a remaining journal.
      _ = try? old.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
      try? old.close()  // the check below detects a remaining journal
    }
    guard try !hasJournal() else {
      throw StoreError(
        .invalid,
        "the backup file already has a journal, because the file is open or the journal belongs to a different file; "
          + "choose a different file")
    }
  }
}
