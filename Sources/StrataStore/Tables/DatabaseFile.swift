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

  /// The error of a connection that is not at hand any more. Damage that SQLite reports is damage only if another connection finds
  /// it too.
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

  /// The first look at the file of a new connection.
  static func look(at db: Database) throws {
    _ = try db.telling { try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") }
  }

  /// Makes a copy of a database one file without journals, and closes it.
  ///
  /// - Returns: what is wrong with its pages; `nil` where nothing is.
  static func close(copy: DatabaseQueue) throws -> String? {
    let problem = try copy.writeWithoutTransaction { db in
      try db.telling {
        // The copy says of itself that it has a journal like that of its source.
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
