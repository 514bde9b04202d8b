internal import GRDB
internal import StrataCore

/// The keys of a salvaged store whose last revision was lost.
///
/// Whoever has read such a revision has its number, and must not save on the condition that it is still the last one when it is
/// not there at all. So the last revision that is left is saved again, under a number above all that the key can have had.
struct LostHeads {
  /// How many keys are looked at in one transaction.
  private static let batch = 512

  /// The damaged store.
  let source: StoreTransaction

  /// - Parameters:
  ///   - target: the salvaged store, which has all that is intact, and the number that was given last.
  ///   - count: gets the number of new revisions, transaction by transaction.
  func repeatLast(in target: StoreCore, _ work: StoreWork, count: (Int) -> Void) throws {
    var name: String?
    repeat {
      try work.check()
      let after = name
      try count(
        target.save { transaction in
          let keys = try StatementRow.all(
            of: transaction.statement(
              "SELECT name, id FROM \(target.tables.keys) WHERE name > ? ORDER BY name LIMIT \(Self.batch)"),
            [after ?? ""]
          ) { (name: try $0.column(0) as String, id: try $0.column(1) as Int64) }
          name = keys.last?.name
          let last = try target.lastSequence(in: transaction.db)
          return try source.db.telling(beside: transaction.db) {
            try keys.count { try repeatLast(ofKey: $0.id, $0.name, last, transaction) }
          }
        })
    } while name != nil
  }

  private func repeatLast(ofKey id: Int64, _ name: String, _ last: Int64, _ transaction: StoreTransaction) throws
    -> Bool
  {
    guard let head = try transaction.head(of: name)?.row,
      let number = try highestNumber(ofKey: id, head, last), number > head.seq, number < .max
    else { return false }
    var row = StoredRow(
      id: try transaction.takeID(), key: id, seq: number + 1,
      time: transaction.core.options.clock().milliseconds, form: .whole, action: .restore)
    row.origin = head.seq
    row.note = "salvage: later revisions of this key are lost, or may be"
    return try transaction.adopt(row, as: name, transaction.content(of: head))
  }

  /// The highest number that a revision of a key can have had; `nil` where that is more than there are numbers.
  ///
  /// - Parameters:
  ///   - head: the last revision that is left.
  ///   - last: the sequence that was given last. Since each number of a key takes one of the store's, there were at most as many
  ///     as lie between.
  private func highestNumber(ofKey id: Int64, _ head: StoredRow, _ last: Int64) throws -> Int64? {
    let (most, overflows) = head.seq.addingReportingOverflow(max(0, last - head.id))
    let told = try source.intact {
      try Int64.fetchOne(
        source.statement("SELECT head FROM \(source.tables.keys) WHERE id = ?"), arguments: [id])
    }
    let indexed = try source.intact {
      try StatementRow.first(
        of: source.statement(
          "SELECT seq, id FROM \(source.tables.revisions) WHERE key = ? ORDER BY seq DESC LIMIT 1"), [id]
      ) { row in (seq: try row.column(0) as Int64, id: try row.column(1) as Int64) }
    }
    if let indexed, indexed.seq >= head.seq, indexed.seq <= most, told.map({ $0 <= indexed.id }) ?? true {
      return indexed.seq
    }
    if told == head.id { return head.seq }
    return overflows ? nil : most
  }
}
