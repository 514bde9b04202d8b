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
    try forEachStatementRow(where: slots, in: tuples, collations: collations, order: order, db) { index, row in
      try body(index, values(row, from: 1))
    }
  }

  /// Like ``forEachRow(where:in:collations:order:_:_:)``, without an array for each row.
  ///
  /// - Parameter body: called with the index of the tuple, and a row whose columns from 1 on are those of ``selection``.
  func forEachStatementRow(
    where slots: [Int], in tuples: [[DatabaseValue]], collations: [String?] = [], order: String? = nil, _ db: Database,
    _ body: (Int, StatementRow) throws -> Void
  ) throws {
    // Only nulls are compared by `IS`, because SQLite finds other values faster by `=`.
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
        // Most queries have one tuple. The statements for several tuples would fill the cache.
        let statement = try places.count == 1 ? db.cachedStatement(sql: sql) : db.makeStatement(sql: sql)
        try StatementRow.fetchCursor(statement, arguments: arguments).forEach { row in
          try body(places[row.column(0) as Int], row)
        }
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

extension EntityCatalog {
  /// Calls `body` with each row that a relation refers to.
  ///
  /// - Parameters:
  ///   - keys: the values of ``EntityType/Relation/slot`` in the rows with the relation.
  ///   - withPairs: whether the columns of the table of pairs are read too. An index on the two foreign keys covers the query only
  ///     without them.
  ///   - body: called with the index of the key, and a row. The columns of the row from 1 on are those of the entity's table, then
  ///     those of the table of pairs.
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
      // Positions are in the table of pairs; any other order is a column of the entities.
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
