internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// Access to the system errors (`errno`) for the files of a connection, because SQLite's result codes are not precise enough. For
/// example, SQLite reports a page that the system fails to read (`EIO`) as corruption, and only some cases of a full disk as
/// `SQLITE_FULL`.
extension Database {
  /// The last `errno` values for the database file and its journal, without zeros. The values are read from SQLite's file
  /// objects, because `sqlite3_system_errno` does not include errors of a commit.
  var systemErrors: [Int32] { files.map(Self.lastError).filter { $0 != 0 } }

  /// Resets the connection's `errno` values and runs `body`. If `body` fails, the values show whether the cause is damage or a
  /// system failure. Throws a ``StoreError`` in both cases.
  ///
  /// - Parameter other: a second connection that `body` uses, or `nil` if `body` uses only this connection.
  func withStoreErrors<R>(beside other: Database? = nil, _ body: () throws -> R) throws -> R {
    for file in files + (other?.files ?? []) where Self.lastError(file) != 0 {
      // Resets the `errno` value to 0 by reading past the end of the file, which SQLite does not treat as a system error.
      var size: sqlite3_int64 = 0, byte: UInt8 = 0
      guard let methods = file.pointee.pMethods?.pointee, methods.xFileSize?(file, &size) == SQLITE_OK else { continue }
      _ = methods.xRead?(file, &byte, 1, size)
    }
    do { return try body() } catch let error as DatabaseError
      where [.SQLITE_IOERR, .SQLITE_CORRUPT].contains(error.resultCode)
    {
      throw StoreError.ofDatabase(error, systemErrors + (other?.systemErrors ?? []))
    }
  }

  /// Returns the problems found by a page check (`quick_check` or `integrity_check`). Empty if there are none.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` if the system fails to read the file.
  func pageProblems(_ check: String) throws -> [String] {
    let lines = try String.fetchAll(self, sql: "PRAGMA \(check)")
    guard lines != ["ok"] else { return [] }
    // If the system fails to read a page, SQLite reports the page as damaged, although its data may be intact.
    guard systemErrors.isEmpty else { throw StoreError.unreadable(nil) }
    return lines.isEmpty ? ["the SQLite check \(check) returned no result"] : lines.filter { $0 != "ok" }
  }

  /// The open files of the connection: the database and its journal.
  private var files: [UnsafeMutablePointer<sqlite3_file>] {
    // Returns no files if the connection is closed.
    guard let sqliteConnection else { return [] }
    return [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER].compactMap { operation in
      var file: UnsafeMutablePointer<sqlite3_file>?
      // Skips files that do not exist, such as those of an in-memory database.
      guard sqlite3_file_control(sqliteConnection, nil, operation, &file) == SQLITE_OK, file?.pointee.pMethods != nil
      else { return nil }
      return file
    }
  }

  private static func lastError(_ file: UnsafeMutablePointer<sqlite3_file>) -> Int32 {
    var number: Int32 = 0
    // Some kinds of files do not support this request. They are treated as files without an error.
    guard file.pointee.pMethods?.pointee.xFileControl?(file, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK else {
      return 0
    }
    return number
  }
}
