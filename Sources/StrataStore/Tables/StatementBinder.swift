internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// Binds the arguments of a statement, in the order of the statement's parameters.
///
/// This is faster than GRDB's `StatementArguments`, because that type creates two arrays of values for each run of a statement.
struct StatementBinder {
  private let statement: SQLiteStatement
  private var index: CInt = 0
  private var code = SQLITE_OK

  /// `SQLITE_TRANSIENT`, which tells SQLite to copy the bound bytes.
  private static let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  private init(_ statement: SQLiteStatement) { self.statement = statement }

  /// Binds all arguments of a statement, so that the statement can run without `StatementArguments`.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses a value, for example because it is too long.
  static func bind(_ statement: Statement, _ body: (inout StatementBinder) -> Void) throws {
    // SQLite can bind arguments only after a reset. The result code is ignored, because it only repeats the error of the last
    // run, which has already been thrown.
    _ = sqlite3_reset(statement.sqliteStatement)
    var binder = StatementBinder(statement.sqliteStatement)
    body(&binder)
    guard binder.code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: binder.code)) }
  }

  private mutating func next(_ bind: (SQLiteStatement, CInt) -> CInt) {
    index += 1
    let code = bind(statement, index)
    if self.code == SQLITE_OK { self.code = code }
  }

  mutating func bind(_ number: Int64?) {
    guard let number else { return next { sqlite3_bind_null($0, $1) } }
    next { sqlite3_bind_int64($0, $1, number) }
  }

  mutating func bind(_ text: String?) {
    guard var text else { return next { sqlite3_bind_null($0, $1) } }
    text.withUTF8 { bytes in
      // The buffer of an empty string may have no address, in which case SQLite would bind null.
      next { statement, index in
        guard let start = bytes.baseAddress else { return sqlite3_bind_text(statement, index, "", 0, Self.copies) }
        return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
          sqlite3_bind_text64(statement, index, $0, UInt64(bytes.count), Self.copies, UInt8(SQLITE_UTF8))
        }
      }
    }
  }

  mutating func bind(_ data: Data?) {
    guard let data else { return next { sqlite3_bind_null($0, $1) } }
    data.withUnsafeBytes { bytes in
      next { statement, index in
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob64(statement, index, start, UInt64(bytes.count), Self.copies)
      }
    }
  }
}
