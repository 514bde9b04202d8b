internal import GRDB

/// The names of keys by their numbers, as far as the index or the table still has them.
struct KeyNames {
  /// What is known of the name of a key.
  struct Name {
    /// `nil` where nothing that can be read tells it.
    var name: String?
    /// What the index says where the table says something else.
    var other: String?
  }

  private var last: (id: Int64, name: Name)?
  /// What the table itself has, read where the index failed for the first time.
  private var fromTable: [Int64: String]?

  mutating func name(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    if let last, last.id == id { return last.name }
    let name = try find(id, transaction)
    last = (id, name)
    return name
  }

  private mutating func find(_ id: Int64, _ transaction: StoreTransaction) throws -> Name {
    let keys = transaction.tables.keys
    // An index that cannot be read, or has lost the number, does not end it: the table has the names too.
    let indexed = try transaction.intact {
      try String.fetchOne(transaction.statement("SELECT name FROM \(keys) WHERE id = ?"), arguments: [id])
    }
    if let indexed {
      // No checksum covers a name. Where the table cannot be read, the index is all that there is.
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
    // From both ends: what one of them meets a damaged page before, the other one may have.
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
        // The names beyond are not known, and whoever asks for one says so.
      }
    }
    fromTable = names
    return names
  }
}
