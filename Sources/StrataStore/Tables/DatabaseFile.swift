internal import GRDB

/// A database of SQLite in a file, outside of the store's own connections.
enum DatabaseFile {
  /// Opens a connection to a database. Unlike GRDB alone, it does not report a failure of the system to read the file as damage.
  static func open(_ path: String, _ configuration: Configuration = Configuration()) throws -> DatabaseQueue {
    do { return try connection(path, configuration) } catch { throw failure(error, ofFile: path) }
  }

  private static func connection(_ path: String, _ configuration: Configuration) throws -> DatabaseQueue {
    var configuration = configuration
    configuration.prepareDatabase { try look(at: $0) }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Returns the error of a connection that is no longer available. Damage that SQLite reports counts only if another connection
  /// finds it too; otherwise it was a failure of the system.
  static func failure(_ error: any Error, ofFile path: String) -> any Error {
    guard let cause = error as? DatabaseError, cause.resultCode == .SQLITE_CORRUPT else { return error }
    var configuration = Configuration()
    configuration.readonly = true
    do {
      let queue = try connection(path, configuration)
      let isWhole = try queue.read { db in try db.telling { try db.pageProblems("quick_check(1)").isEmpty } }
      return isWhole ? StoreError.unreadable(cause) : error
    } catch { return error }
  }

  /// Reads the file of a new connection for the first time.
  static func look(at db: Database) throws {
    _ = try db.telling { try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") }
  }

  /// Turns a copy of a database into one file without journals, and closes it.
  ///
  /// - Returns: the first problem of its pages; `nil` if there is none.
  static func close(copy: DatabaseQueue) throws -> String? {
    let problem = try copy.writeWithoutTransaction { db in
      try db.telling {
        // The header of the copy has the journal mode of its source.
        guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
          throw StoreError(.fileSystem, "the copy could not be made a single file")
        }
        return try db.pageProblems("quick_check").first
      }
    }
    try copy.close()
    return problem
  }
}
