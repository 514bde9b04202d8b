internal import GRDB

/// Looks up the names of keys by identifier in a damaged store, as far as the index or the table can still be read.
struct KeyNames {
  /// The result of looking up the name of a key.
  struct Name {
    /// The name, or `nil` if it is lost.
    var name: String?
    /// The name in the index, if it differs from the name in the table.
    var other: String?
  }

  private var last: (id: Int64, name: Name)?
  /// A cache of the names in the table, by identifier. The table is read when a lookup in the index fails for the first time.
  private var fromTable: [Int64: String]?

  mutating func name(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    if let last, last.id == id { return last.name }
    let name = try find(id, transaction)
    last = (id, name)
    return name
  }

  private mutating func find(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    let keys = transaction.tables.keys
    // If the index cannot be read or lacks the identifier, the table may still contain the name.
    let indexed = try transaction.intact {
      try String.fetchOne(transaction.statement("SELECT name FROM \(keys) WHERE id = ?"), arguments: [id])
    }
    if let indexed {
      // A name in the index has no checksum, so it is compared with the table. If the table cannot be read, the name in the
      // index is used.
      let confirmed = try transaction.intact {
        try Int64.fetchOne(
          transaction.statement("SELECT id FROM \(keys) NOT INDEXED WHERE name = ?"), arguments: [indexed])
      }
      if confirmed == id { return Name(name: indexed) }
    }
    guard let stored = try namesOfTable(transaction)[id] else { return Name(name: indexed) }
    return Name(name: stored, other: indexed == stored ? nil : indexed)
  }

  private mutating func namesOfTable(_ transaction: StoreTransaction) throws -> [Int64: String] {
    if let fromTable { return fromTable }
    var names: [Int64: String] = [:]
    // Reads the table in ascending and then in descending order, because each direction can reach the names before the first
    // damaged page.
    for order in ["ASC", "DESC"] {
      do {
        let rows = try StatementRow.fetchCursor(
          transaction.db, sql: "SELECT id, name FROM \(transaction.tables.keys) NOT INDEXED ORDER BY name \(order)")
        while let row = try rows.next() {
          // Skips a row with damaged columns.
          guard let id: Int64 = try? row.column(0), let name: String = try? row.column(1) else { continue }
          names[id] = name
        }
        break
      } catch  where StoreError.isDamage(error, transaction.db) {
        // Names that cannot be reached stay unknown. The callers report these names.
      }
    }
    fromTable = names
    return names
  }
}
