internal import GRDB

/// A database of SQLite in a file, outside of the store's own connections.
enum DatabaseFile {
  /// Opens a connection to a database. Unlike that of GRDB alone, a failure of the system to read the file is not told as damage.
  static func open(_ path: String, _ configuration: Configuration = Configuration()) throws -> DatabaseQueue {
    var configuration = configuration
    configuration.prepareDatabase { try look(at: $0) }
    return try DatabaseQueue(path: path, configuration: configuration)
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
