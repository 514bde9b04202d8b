internal import GRDB

/// The names of keys by their numbers, as far as the index or the table still has them.
struct KeyNames {
  /// The name of a key, as far as it is known.
  struct Name {
    /// `nil` if it is lost.
    var name: String?
    /// The name in the index, if it differs from the table's.
    var other: String?
  }

  private var last: (id: Int64, name: Name)?
  /// The names in the table itself, read when the index fails for the first time.
  private var fromTable: [Int64: String]?

  mutating func name(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    if let last, last.id == id { return last.name }
    let name = try find(id, transaction)
    last = (id, name)
    return name
  }

  private mutating func find(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    let keys = transaction.tables.keys
    // If the index cannot be read or lacks the number, the table may still have the name.
    let indexed = try transaction.intact {
      try String.fetchOne(transaction.statement("SELECT name FROM \(keys) WHERE id = ?"), arguments: [id])
    }
    if let indexed {
      // No checksum covers a name in the index, so the table must confirm it. If the table cannot be read, only the
      // index is left.
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
    // The table is read from both ends: one direction may reach names that are behind a damaged page in the other.
    for order in ["ASC", "DESC"] {
      do {
        let rows = try StatementRow.fetchCursor(
          transaction.db, sql: "SELECT id, name FROM \(transaction.tables.keys) NOT INDEXED ORDER BY name \(order)")
        while let row = try rows.next() {
          // A row whose columns are damaged names no key.
          guard let id: Int64 = try? row.column(0), let name: String = try? row.column(1) else { continue }
          names[id] = name
        }
        break
      } catch  where StoreError.isDamage(error, transaction.db) {
        // The names behind the damage stay unknown, and the callers report that.
      }
    }
    fromTable = names
    return names
  }
}
