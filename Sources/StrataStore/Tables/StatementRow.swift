internal import GRDB
internal import GRDBSQLite

/// The row that a statement is at. Its columns are read by index, and only until the statement takes its next step.
///
/// GRDB's `Row` makes a table of the names of its columns each time that a statement runs.
struct StatementRow: StatementColumnConvertible, DatabaseValueConvertible {
  private let statement: SQLiteStatement

  init(sqliteStatement: SQLiteStatement, index: CInt) { statement = sqliteStatement }

  // GRDB's own refuses a row whose first column is null.
  static func fromStatement(_ statement: SQLiteStatement, atUncheckedIndex index: CInt) -> StatementRow? {
    StatementRow(sqliteStatement: statement, index: index)
  }

  /// A row is no value: no column holds one.
  var databaseValue: DatabaseValue { .null }
  static func fromDatabaseValue(_ value: DatabaseValue) -> StatementRow? { nil }

  /// The value of a column.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` where it is of another type, or null.
  func column<T: StatementColumnConvertible>(_ index: Int) throws -> T {
    guard let value: T = try nullable(index) else { throw Self.damage(index) }
    return value
  }

  /// The value of a column that may be null.
  func nullable<T: StatementColumnConvertible>(_ index: Int) throws -> T? {
    guard sqlite3_column_type(statement, CInt(index)) != SQLITE_NULL else { return nil }
    guard let value = T(sqliteStatement: statement, index: CInt(index)) else { throw Self.damage(index) }
    return value
  }

  /// The value of a column as SQLite has it.
  func value(_ index: Int) -> DatabaseValue { DatabaseValue(sqliteStatement: statement, index: CInt(index)) }

  /// The value of a column that holds an integer; `nil` for any other.
  func integer(_ index: Int) -> Int64? {
    guard sqlite3_column_type(statement, CInt(index)) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(statement, CInt(index))
  }

  // The cause would tell the value.
  private static func damage(_ index: Int) -> StoreError {
    StoreError(.damaged, "column \(index) of a row holds no value of its type; check the store, then salvage it")
  }
}

extension StatementRow {
  /// What `body` makes of the first row of a statement; `nil` where there is none.
  static func first<R>(
    of statement: Statement, _ arguments: StatementArguments? = nil, _ body: (StatementRow) throws -> R
  ) throws -> R? {
    let rows = try fetchCursor(statement, arguments: arguments)
    guard let row = try rows.next() else { return nil }
    // The cursor resets the statement when nothing refers to it.
    return try withExtendedLifetime(rows) { try body(row) }
  }

  /// What `body` makes of each row of a statement.
  static func all<R>(
    of statement: Statement, _ arguments: StatementArguments? = nil, _ body: (StatementRow) throws -> R
  ) throws -> [R] {
    var found: [R] = []
    try fetchCursor(statement, arguments: arguments).forEach { found.append(try body($0)) }
    return found
  }
}
