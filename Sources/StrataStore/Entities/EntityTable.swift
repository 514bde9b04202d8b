package import GRDB
internal import StrataCore

/// The structure of a table. A column that a mapping uses is identified by its slot, which is its index in `columns`.
package struct EntityTable: Sendable {
  package struct Column: Sendable {
    /// The name of the column, as spelled in the table's declaration.
    package let name: String
    let affinity: ColumnAffinity
    package let isNotNull: Bool
    let hasDefault: Bool
    fileprivate let quoted: String

    init(name: String, affinity: ColumnAffinity, isNotNull: Bool, hasDefault: Bool) {
      (self.name, self.affinity, self.isNotNull, self.hasDefault) = (name, affinity, isNotNull, hasDefault)
      quoted = name.quotedDatabaseIdentifier
    }
  }

  package let name: String
  /// The name of the table, quoted for SQL.
  let quotedName: String
  package private(set) var columns: [Column] = []
  /// The indices of the primary key columns in `columns`. If the table has no primary key, this is the index of the hidden
  /// `rowid`.
  package private(set) var primaryKey: [Int] = []
  /// The index of the rowid in `columns`, or `nil` if it is not one of these columns. If a new row has no value for the rowid,
  /// SQLite generates one.
  package private(set) var rowID: Int?
  /// Whether the table has no primary key. If so, its rows are identified by the hidden rowid, which `VACUUM` can change.
  private(set) var hasHiddenKey = false
  /// Whether rows have a rowid. False for `WITHOUT ROWID` tables.
  let hasRowID: Bool
  /// The primary key and the unique indexes, except indexes that are partial or contain expressions. The dictionary key is the
  /// sorted list of the lowercased column names. The dictionary value maps each column name to the collation that the index uses
  /// for the column. The value is empty for a primary key without an index.
  private(set) var uniqueKeys: [[String]: [String: String]] = [:]
  /// The indices of the columns that are part of the primary key or may be part of a unique index.
  package var uniqueSlots: Set<Int> {
    Set(columns.indices.filter { uniqueNames.contains(columns[$0].name.lowercased()) })
  }
  private var uniqueNames: Set<String> = []
  /// The SQL column list for selecting all columns in `columns`, in the same order. Each name is qualified with the table alias
  /// `t`.
  package private(set) var selection = ""
  private var slots: [String: Int] = [:]
  private let known: [String: Column]
  /// Whether a foreign key of the table references the table itself.
  package let refersToItself: Bool
  /// The table and column that each single-column foreign key references, by the lowercased name of the foreign key column.
  private let references: [String: (table: String, column: String)]

  /// Reads the structure of a table from the database.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping` if the table does not exist.
  init(_ name: String, _ db: Database) throws {
    guard try db.tableExists(name) else {
      throw EntityError(
        .invalidMapping, "the table does not exist; create the table in the app's migrations first", table: name)
    }
    self.name = name
    quotedName = name.quotedDatabaseIdentifier
    let options = try Row.fetchOne(db, sql: "SELECT wr, strict FROM pragma_table_list(?)", arguments: [name])
    let isStrict = options?["strict"] == true
    hasRowID = options?["wr"] != true
    var known: [String: Column] = [:]
    let sql = "SELECT name, type, \"notnull\", dflt_value, hidden FROM pragma_table_xinfo(?)"
    for column in try Row.fetchAll(db, sql: sql, arguments: [name]) {
      // A generated column has a `hidden` value of 2 or 3. It is treated as a column with a default, because SQLite supplies its
      // value.
      known[(column["name"] as String).lowercased()] = Column(
        name: column["name"], affinity: ColumnAffinity(declared: column["type"] ?? "", isStrict: isStrict),
        isNotNull: column["notnull"],
        hasDefault: !(column["dflt_value"] as DatabaseValue).isNull || (column["hidden"] as Int) >= 2)
    }
    let key = try db.primaryKey(name)
    let indexes = "SELECT name, partial FROM pragma_index_list(?) WHERE \"unique\""
    for index in try Row.fetchAll(db, sql: indexes, arguments: [name]) {
      let parts = try Row.fetchAll(
        db, sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key", arguments: [index["name"] as String])
      let names = parts.map { ($0["name"] as String?)?.lowercased() }
      // An index on an expression has no column name, so any column of the table may be part of the index.
      uniqueNames.formUnion(names.contains(nil) ? Array(known.keys) : names.compactMap(\.self))
      guard index["partial"] == 0, !names.contains(nil) else { continue }
      let collations = zip(names, parts).map { ($0 ?? "", $1["coll"] as String? ?? "BINARY") }
      uniqueKeys[names.compactMap(\.self).sorted()] = Dictionary(collations, uniquingKeysWith: { first, _ in first })
    }
    let primary = key.columns.map { $0.lowercased() }.sorted()
    if uniqueKeys[primary] == nil { uniqueKeys[primary] = [:] }
    uniqueNames.formUnion(key.columns.map { $0.lowercased() })
    // Adds the hidden rowid of a table without a primary key.
    for column in key.columns where known[column.lowercased()] == nil {
      known[column.lowercased()] = Column(name: column, affinity: .integer, isNotNull: false, hasDefault: true)
      hasHiddenKey = true
    }
    self.known = known
    var references: [String: (table: String, column: String)] = [:]
    let foreignKeys = try db.foreignKeys(on: name)
    refersToItself = foreignKeys.contains { $0.destinationTable.lowercased() == name.lowercased() }
    for foreignKey in foreignKeys where foreignKey.mapping.count == 1 {
      references[foreignKey.mapping[0].origin.lowercased()] = (
        foreignKey.destinationTable, foreignKey.mapping[0].destination
      )
    }
    self.references = references
    primaryKey = try key.columns.map { try slot(of: $0) }
    rowID = try key.rowIDColumn.map { try slot(of: $0) } ?? (key.columns == ["rowid"] ? primaryKey[0] : nil)
  }

  /// Returns the slot of a column (its index in `columns`). Adds the column to `columns` if necessary.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping` if the table has no such column.
  mutating func slot(of name: String) throws -> Int {
    if let slot = slots[name.lowercased()] { return slot }
    guard let column = known[name.lowercased()] else {
      let names = known.values.map(\.name).sorted().joined(separator: ", ")
      throw EntityError(
        .invalidMapping, "the table has no column “\(name)”; its columns are \(names)", table: self.name,
        columns: [name])
    }
    slots[name.lowercased()] = columns.count
    selection += (columns.isEmpty ? "t." : ", t.") + column.quoted
    columns.append(column)
    return columns.count - 1
  }

  /// The columns of the table that are not in `columns` because no mapping uses them, sorted by name.
  var unusedColumns: [Column] {
    known.filter { slots[$0.key] == nil }.map(\.value).sorted { $0.name < $1.name }
  }

  /// The names of the NOT NULL columns that no mapping uses and that have no default. New rows would have no value for these
  /// columns.
  var missingColumns: [String] { unusedColumns.filter { $0.isNotNull && !$0.hasDefault }.map(\.name) }

  /// Returns the column in the given table that a foreign key column of this table references, or `nil` if this table does not
  /// declare the foreign key.
  func reference(of column: String, to table: String) -> String? {
    guard let found = references[column.lowercased()], found.table.lowercased() == table.lowercased() else {
      return nil
    }
    return found.column
  }

  /// Returns whether SQLite supplies the column's value if a new row has no value for the column.
  func suppliesValue(of slot: Int) -> Bool { columns[slot].hasDefault || slot == rowID }

  // MARK: SQL

  /// Returns the name of a column, quoted for SQL.
  package func quoted(_ slot: Int) -> String { columns[slot].quoted }

  /// Returns the column values of a row that begins with the columns of ``selection``.
  package func values(_ row: Row) -> [DatabaseValue] { columns.indices.map { row[$0] as DatabaseValue } }

  /// Returns the column values of a row in which the columns of ``selection`` begin at index `start`.
  func values(_ row: StatementRow, from start: Int) -> [DatabaseValue] {
    columns.indices.map { row.value(start + $0) }
  }

  /// Returns a normalized form of a value, which is the same for all values that are equal under the collation.
  static func folded(_ value: DatabaseValue, _ collation: String?) -> DatabaseValue {
    guard case .string(let text) = value.storage else { return value }
    switch collation?.uppercased() {
    case "NOCASE":
      let bytes = text.utf8.map { 65...90 ~= $0 ? $0 + 32 : $0 }
      return String(decoding: bytes, as: UTF8.self).databaseValue
    case "RTRIM":
      let end = text.utf8.lastIndex { $0 != 32 }.map { text.utf8.index(after: $0) } ?? text.utf8.startIndex
      return String(text[..<end]).databaseValue
    default: return value
    }
  }
}
