internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// The system's errors for the files of a connection, which SQLite's result codes leave out: SQLite reports a page that the
/// system fails to read (`EIO`) as corruption, and only some cases of a full disk as `SQLITE_FULL`.
extension Database {
  /// The last error numbers of the system for the file and its journal, without zeros. `sqlite3_system_errno` lacks those of a commit.
  var systemErrors: [Int32] { files.map(Self.lastError).filter { $0 != 0 } }

  /// Runs `body` with reset error numbers, which distinguish damage from a failure of the system. Both are thrown as errors of the store.
  ///
  /// - Parameter other: another connection that `body` uses.
  func withStoreErrors<R>(beside other: Database? = nil, _ body: () throws -> R) throws -> R {
    for file in files + (other?.files ?? []) where Self.lastError(file) != 0 {
      // A read past the end is not a system error, and sets the number to 0.
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

  /// The problems found by a page check (`quick_check`, `integrity_check`); empty if there are none.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` if the system fails to read the file.
  func pageProblems(_ check: String) throws -> [String] {
    let lines = try String.fetchAll(self, sql: "PRAGMA \(check)")
    guard lines != ["ok"] else { return [] }
    // SQLite reports a page that it could not read as damaged.
    guard systemErrors.isEmpty else { throw StoreError.unreadable(nil) }
    return lines.isEmpty ? ["\(check) says nothing"] : lines.filter { $0 != "ok" }
  }

  /// The open file and its open journal.
  private var files: [UnsafeMutablePointer<sqlite3_file>] {
    // A closed connection has no files.
    guard let sqliteConnection else { return [] }
    return [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER].compactMap { operation in
      var file: UnsafeMutablePointer<sqlite3_file>?
      // A database in memory has no files.
      guard sqlite3_file_control(sqliteConnection, nil, operation, &file) == SQLITE_OK, file?.pointee.pMethods != nil
      else { return nil }
      return file
    }
  }

  private static func lastError(_ file: UnsafeMutablePointer<sqlite3_file>) -> Int32 {
    var number: Int32 = 0
    // Other kinds of files do not support the request, and have no number.
    guard file.pointee.pMethods?.pointee.xFileControl?(file, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK else {
      return 0
    }
    return number
  }
}
