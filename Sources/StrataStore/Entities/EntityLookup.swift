package import GRDB

extension EntityTable {
  /// The rows whose columns have the values of one of several tuples: one query, however many there are, as far as SQLite allows.
  ///
  /// SQLite compares, so that the collation and the affinity of the columns count.
  ///
  /// - Parameters:
  ///   - slots: the columns.
  ///   - tuples: the values, as many in each as there are columns.
  ///   - collations: how texts are compared in each column; as the column says where that is `nil`.
  ///   - order: what the rows of one tuple are ordered by, as SQL over the table `t`.
  ///   - body: called with the place of the tuple and the values of the row by slot.
  package func forEachRow(
    where slots: [Int], in tuples: [[DatabaseValue]], collations: [String?] = [], order: String? = nil, _ db: Database,
    _ body: (Int, [DatabaseValue]) throws -> Void
  ) throws {
    // A null is looked for apart: SQLite finds other values faster by equality.
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

  /// Calls `body` with a table of the tuples, each with its place before it, in as few parts as SQLite's limit of arguments makes necessary.
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
