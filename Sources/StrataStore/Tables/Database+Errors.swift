internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// What the system said of the files of a connection, which SQLite's result codes leave out: it reports a page that the system
/// fails to read (`EIO`) as corruption, and only some ways in which there is no room as `SQLITE_FULL`.
extension Database {
  /// The last error numbers of the system for the file and its journal, without zeros. `sqlite3_system_errno` does not have
  /// those of a commit.
  var systemErrors: [Int32] { files.map(Self.lastError).filter { $0 != 0 } }

  /// Runs `body` with error numbers of its own, which tell damage from a failure of the system: both are thrown as errors of the
  /// store.
  ///
  /// - Parameter other: another connection that `body` uses.
  func telling<R>(beside other: Database? = nil, _ body: () throws -> R) throws -> R {
    for file in files + (other?.files ?? []) where Self.lastError(file) != 0 {
      // A read past the end is no error of the system, and sets the number to 0.
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

  /// What a check of pages finds (`quick_check`, `integrity_check`); nothing where all is well.
  ///
  /// - Throws: ``StoreError`` with the code `fileSystem` where the system fails to read the file.
  func pageProblems(_ check: String) throws -> [String] {
    let lines = try String.fetchAll(self, sql: "PRAGMA \(check)")
    guard lines != ["ok"] else { return [] }
    // SQLite tells of a page that it could not read as of one that is damaged.
    guard systemErrors.isEmpty else { throw StoreError.unreadable(nil) }
    return lines.isEmpty ? ["\(check) says nothing"] : lines.filter { $0 != "ok" }
  }

  /// The open file and its open journal.
  private var files: [UnsafeMutablePointer<sqlite3_file>] {
    // A connection that is closed has none.
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
    // Another kind of file does not know the request, and has no number.
    guard file.pointee.pMethods?.pointee.xFileControl?(file, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK else {
      return 0
    }
    return number
  }
}
