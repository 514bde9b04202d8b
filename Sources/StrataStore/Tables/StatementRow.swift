internal import GRDB
internal import GRDBSQLite

/// The current row of a statement. Its columns are read by index. The row is valid only until the next step of the statement.
///
/// This is faster than GRDB's `Row`, because a `Row` creates a table of column names each time a statement runs.
struct StatementRow: StatementColumnConvertible, DatabaseValueConvertible {
  private let statement: SQLiteStatement

  init(sqliteStatement: SQLiteStatement, index: CInt) { statement = sqliteStatement }

  // Replaces the default implementation, which rejects a row whose first column is null.
  static func fromStatement(_ statement: SQLiteStatement, atUncheckedIndex index: CInt) -> StatementRow? {
    StatementRow(sqliteStatement: statement, index: index)
  }

  /// Required by GRDB, but never used, because a row is not stored in a column.
  var databaseValue: DatabaseValue { .null }
  static func fromDatabaseValue(_ value: DatabaseValue) -> StatementRow? { nil }

  /// Returns the value of a column.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the value has a different type or is null.
  func column<T: StatementColumnConvertible>(_ index: Int) throws -> T {
    guard let value: T = try nullable(index) else { throw Self.damage(index) }
    return value
  }

  /// Returns the value of a column, or `nil` if the value is null.
  func nullable<T: StatementColumnConvertible>(_ index: Int) throws -> T? {
    guard sqlite3_column_type(statement, CInt(index)) != SQLITE_NULL else { return nil }
    guard let value = T(sqliteStatement: statement, index: CInt(index)) else { throw Self.damage(index) }
    return value
  }

  /// Returns the value of a column without conversion.
  func value(_ index: Int) -> DatabaseValue { DatabaseValue(sqliteStatement: statement, index: CInt(index)) }

  /// Returns the value of a column and adds the size of a text or blob to `bytes`. Returns `nil` for text that contains a NUL or
  /// invalid UTF-8, because the conversion to `String` would change the text.
  func exactValue(_ index: Int, _ bytes: inout Int) -> DatabaseValue? {
    let value = value(index)
    switch value.storage {
    case .string(var text):
      let size = Int(sqlite3_column_bytes(statement, CInt(index))), stored = sqlite3_column_text(statement, CInt(index))
      bytes += size
      return text.withUTF8 { $0.elementsEqual(UnsafeBufferPointer(start: stored, count: size)) }
        ? value : nil
    case .blob(let data):
      bytes += data.count
      return value
    case .null, .int64, .double: return value
    }
  }

  /// Returns the integer in a column, or `nil` if the value is not an integer.
  func integer(_ index: Int) -> Int64? {
    guard sqlite3_column_type(statement, CInt(index)) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(statement, CInt(index))
  }

  // GRDB's error is not included as the underlying error, because it would contain the value.
  private static func damage(_ index: Int) -> StoreError {
    StoreError(.damaged, "column \(index) of a row has a value of the wrong type; check the store, then salvage it")
  }
}

extension StatementRow {
  /// Returns the result of `body` for the first row of a statement, or `nil` if the statement returns no rows.
  static func first<R>(
    of statement: Statement, _ arguments: StatementArguments? = nil, _ body: (StatementRow) throws -> R
  ) throws -> R? {
    let rows = try fetchCursor(statement, arguments: arguments)
    guard let row = try rows.next() else { return nil }
    // The cursor must stay alive while `body` runs, because releasing the cursor resets the statement.
    return try withExtendedLifetime(rows) { try body(row) }
  }

  /// Returns the results of `body` for all rows of a statement.
  static func all<R>(
    of statement: Statement, _ arguments: StatementArguments? = nil, _ body: (StatementRow) throws -> R
  ) throws -> [R] {
    var found: [R] = []
    try fetchCursor(statement, arguments: arguments).forEach { found.append(try body($0)) }
    return found
  }
}
