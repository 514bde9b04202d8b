package import GRDB

extension EntityTable {
  /// Calls `body` for each row whose columns match one of the given tuples. Runs several queries if tuples contain nulls or exceed
  /// SQLite's limit on the number of arguments.
  ///
  /// SQLite itself compares the values, using the collations and affinities of the columns.
  ///
  /// - Parameters:
  ///   - slots: the indices of the columns to compare.
  ///   - tuples: the tuples to find. Each tuple has one value per column.
  ///   - collations: the collation of each column, or `nil` for the column's default collation.
  ///   - order: the SQL terms that sort the rows that match the same tuple. The terms refer to the table as `t`.
  ///   - body: a closure that is called with the index of the tuple in `tuples` and the column values of the row.
  package func forEachRow(
    where slots: [Int], in tuples: [[DatabaseValue]], collations: [String?] = [], order: String? = nil, _ db: Database,
    _ body: (Int, [DatabaseValue]) throws -> Void
  ) throws {
    try forEachStatementRow(where: slots, in: tuples, collations: collations, order: order, db) { index, row in
      try body(index, values(row, from: 1))
    }
  }

  /// Calls `body` for the same rows as ``forEachRow(where:in:collations:order:_:_:)``, but passes the row of the query instead of
  /// an array of column values.
  ///
  /// - Parameter body: a closure that is called with the index of the tuple in `tuples` and a row of the query. The first column
  ///   of the query is used internally, so the columns of ``selection`` begin at index 1.
  func forEachStatementRow(
    where slots: [Int], in tuples: [[DatabaseValue]], collations: [String?] = [], order: String? = nil, _ db: Database,
    _ body: (Int, StatementRow) throws -> Void
  ) throws {
    // Groups tuples by the positions of their nulls, because nulls must be compared with `IS`, while `=` is faster for other values.
    let hasNulls = tuples.contains { $0.contains(where: \.isNull) }
    let groups =
      hasNulls
      ? Dictionary(grouping: tuples.indices, by: { tuples[$0].map(\.isNull) }).sorted(by: { $0.value[0] < $1.value[0] })
      : [(key: slots.map { _ in false }, value: Array(tuples.indices))]
    for (nulls, places) in groups where !places.isEmpty {
      let match = slots.indices.map { place in
        let collation = collations.indices.contains(place) ? collations[place] : nil
        let column = "t.\(quoted(slots[place]))" + (collation.map { " COLLATE \($0.quotedDatabaseIdentifier)" } ?? "")
        return "\(column) \(nulls[place] ? "IS" : "=") v.column\(place + 2)"
      }
      try forEachTuple(places.map { tuples[$0] }, db) { values, arguments in
        var sql = """
          SELECT v.column1, \(selection) FROM \(values) AS v \
          CROSS JOIN \(quotedName) AS t ON \(match.joined(separator: " AND "))
          """
        if let order { sql += " ORDER BY v.column1, \(order)" }
        // Only statements with one tuple are cached, because they are the most frequent. The SQL for several tuples depends on
        // the number of tuples and would fill the cache.
        let statement = try places.count == 1 ? db.cachedStatement(sql: sql) : db.makeStatement(sql: sql)
        try StatementRow.fetchCursor(statement, arguments: arguments).forEach { row in
          try body(places[row.column(0) as Int], row)
        }
      }
    }
  }

  /// Calls `body` with an SQL table expression that has a row for each tuple: the index of the tuple in `tuples`, followed by
  /// the values of the tuple. If the tuples exceed SQLite's limit on the number of arguments, `body` is called several times,
  /// each time with a part of the tuples.
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

extension EntityCatalog {
  /// Follows a relation from the rows with the given keys and calls `body` with each related row.
  ///
  /// - Parameters:
  ///   - keys: the values of the column ``EntityType/Relation/slot`` in the rows from which the relation starts.
  ///   - withPairs: whether to read the columns of the join table as well. If false, SQLite need not read the join table if an
  ///     index contains both foreign keys.
  ///   - body: a closure that is called with the index of the key in `keys` and a row of the query. In this row, the columns of
  ///     the entity's table begin at index 1, and the columns of the join table follow.
  func forEachLink(
    _ relation: EntityType.Relation, _ keys: [DatabaseValue], _ db: Database, withPairs: Bool = false,
    _ body: (Int, StatementRow) throws -> Void
  ) throws {
    let table = table(of: relation.target), tuples = keys.map { [$0] }
    switch relation.cardinality {
    case .toOne(_, let referenced): try table.forEachStatementRow(where: [referenced], in: tuples, db, body)
    case .toMany(let slot, _, let order, _):
      try table.forEachStatementRow(where: [slot], in: tuples, order: table.order(order), db, body)
    case .through(let pairs, let order, _):
      let pairTable = tables[pairs.table]
      // Positions are stored in the join table. Any other order refers to a column of the entity's table.
      let sorting =
        if case .kept(let slot)? = order { "p.\(pairTable.quoted(slot)), \(table.order(nil))" } else {
          table.order(order)
        }
      let columns = withPairs ? pairTable.columns.indices.map { ", p.\(pairTable.quoted($0))" }.joined() : ""
      try table.forEachTuple(tuples, db) { values, arguments in
        let sql = """
          SELECT v.column1, \(table.selection)\(columns) FROM \(values) AS v \
          CROSS JOIN \(pairTable.quotedName) AS p ON p.\(pairTable.quoted(pairs.from)) = v.column2 \
          CROSS JOIN \(table.quotedName) AS t ON t.\(table.quoted(pairs.toReferenced)) = p.\(pairTable.quoted(pairs.to)) \
          ORDER BY v.column1, \(sorting)
          """
        try StatementRow.fetchCursor(db, sql: sql, arguments: arguments).forEach { try body($0.column(0), $0) }
      }
    }
  }
}
