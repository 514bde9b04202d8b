internal import Foundation
internal import GRDB

/// A database of SQLite and the files beside it.
enum DatabaseFile {
  /// Removes a database that nobody needs, with its journals.
  static func remove(_ path: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
      // Mostly they are not there; what cannot be removed cannot be written over either, which is then told.
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
  }

  /// Makes a copy of a database one file without journals, and closes it.
  ///
  /// - Returns: what is wrong with its pages; `nil` where nothing is.
  static func close(copy: DatabaseQueue) throws -> String? {
    let lines = try copy.writeWithoutTransaction { db in
      // The copy says of itself that it has a journal like that of its source.
      guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else {
        throw StoreError(.fileSystem, "the copy could not be made a single file")
      }
      return try String.fetchAll(db, sql: "PRAGMA quick_check")
    }
    try copy.close()
    return lines == ["ok"] ? nil : lines.first ?? "quick_check says nothing"
  }
}
