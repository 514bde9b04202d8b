package import GRDB

extension EntityTable {
  /// Calls `body` for each row whose columns equal one of several tuples. Runs one query, or a few if tuples contain nulls or
  /// exceed SQLite's limit of arguments.
  ///
  /// SQLite compares the values, so the collation and the affinity of the columns apply.
  ///
  /// - Parameters:
  ///   - slots: the columns.
  ///   - tuples: the values, one for each column.
  ///   - collations: the collation of each column; `nil` for the column's own.
  ///   - order: the SQL terms that order the rows of one tuple, in the table `t`.
  ///   - body: called with the index of the tuple and the values of the row by slot.
  package func forEachRow(
    where slots: [Int], in tuples: [[DatabaseValue]], collations: [String?] = [], order: String? = nil, _ db: Database,
    _ body: (Int, [DatabaseValue]) throws -> Void
  ) throws {
    // Tuples with nulls have queries of their own: nulls need IS, and = is faster for other values.
    for (nulls, places) in Dictionary(grouping: tuples.indices, by: { tuples[$0].map(\.isNull) })
      .sorted(by: { $0.value[0] < $1.value[0] })
    {
      let match = slots.indices.map { place in
        let collation = collations.indices.contains(place) ? collations[place] : nil
        let column = "t.\(quoted(slots[place]))" + (collation.map { " COLLATE \($0.quotedDatabaseIdentifier)" } ?? "")
        return "\(column) \(nulls[place] ? "IS" : "=") v.column\(place + 2)"
      }
      try forEachTuple(places.map { tuples[$0] }, db) { values, arguments in
        var sql = """
          SELECT v.column1, \(selection(of: "t")) FROM \(values) AS v \
          CROSS JOIN \(name.quotedDatabaseIdentifier) AS t ON \(match.joined(separator: " AND "))
          """
        if let order { sql += " ORDER BY v.column1, \(order)" }
        let cursor = try Row.fetchCursor(db, sql: sql, arguments: arguments)
        while let row = try cursor.next() { try body(places[row[0] as Int], self.values(row, from: 1)) }
      }
    }
  }

  /// Calls `body` with a SQL table of the tuples, whose first column is the index of the tuple. Splits the tuples at SQLite's limit of
  /// arguments.
  func forEachTuple(
    _ tuples: [[DatabaseValue]], _ db: Database, _ body: (String, StatementArguments) throws -> Void
  ) throws {
    guard let width = tuples.first?.count, width > 0 else { return }
    let limit = max(1, min(db.maximumStatementArgumentCount, 30_000) / width)
    let marks = String(repeating: ",?", count: width)
    var start = 0
    while start < tuples.count {
      let end = min(start + limit, tuples.count)
      let rows = (start..<end).map { "(\($0)\(marks))" }.joined(separator: ",")
      try body("(VALUES \(rows))", StatementArguments(tuples[start..<end].flatMap(\.self)))
      start = end
    }
  }
}
