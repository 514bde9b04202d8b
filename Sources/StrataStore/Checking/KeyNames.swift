internal import GRDB

/// Looks up the names of keys by their identifiers in a damaged store. A name is found if either the index or the table of keys
/// can still be read.
struct KeyNames {
  /// The result of looking up the name of a key.
  struct Name {
    /// The name of the key, or `nil` if neither the index nor the table contains a readable name.
    var name: String?
    /// The name of the key in the index, if it differs from the name in the table. Otherwise `nil`.
    var other: String?
  }

  private var last: (id: Int64, name: Name)?
  /// The names in the table of keys, by key identifier. `nil` until the table is read, which happens only once a name is missing from
  /// the index or cannot be confirmed with the table.
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
    // If the ascending read stops at a damaged page, the descending read can still reach the names after this page.
    for order in ["ASC", "DESC"] {
      do {
        let rows = try StatementRow.fetchCursor(
          transaction.db, sql: "SELECT id, name FROM \(transaction.tables.keys) NOT INDEXED ORDER BY name \(order)")
        while let row = try rows.next() {
          // A row with damaged columns is skipped.
          guard let id: Int64 = try? row.column(0), let name: String = try? row.column(1) else { continue }
          names[id] = name
        }
        break
      } catch  where StoreError.isDamage(error, transaction.db) {
        // A damaged page ended this read. Names that neither of the two reads reaches are missing from the result, and the callers
        // report them as lost.
      }
    }
    fromTable = names
    return names
  }
}
