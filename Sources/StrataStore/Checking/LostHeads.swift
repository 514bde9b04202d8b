internal import GRDB
internal import StrataCore

/// Adds a revision to each key of a salvaged store if the key's last revision was lost or may have been lost.
///
/// A program that has read the lost revision may later save with the condition that this revision is still the last one. To make such a
/// save fail in the salvaged store, the last remaining revision is saved again, with a number higher than any that a revision of the
/// key can have had.
struct LostHeads {
  /// The number of keys that are processed in one transaction.
  private static let batch = 512

  /// The read transaction of the damaged store.
  let source: StoreTransaction

  /// Examines all keys. If later revisions of a key were lost or may have been lost, saves the key's last remaining revision
  /// again.
  ///
  /// - Parameters:
  ///   - target: the salvaged store. All intact revisions must already have been copied to it, and its last sequence must have
  ///     been set.
  ///   - count: a closure that is called after each transaction with the number of revisions that the transaction added.
  func saveLastAgain(in target: SnapshotStore, _ work: StoreWork, count: (Int) -> Void) throws {
    var name: String?
    repeat {
      try work.check()
      let after = name
      try count(
        target.write { transaction in
          let keys = try StatementRow.all(
            of: transaction.statement(
              "SELECT name, id FROM \(target.tables.keys) WHERE name > ? ORDER BY name LIMIT \(Self.batch)"),
            [after ?? ""]
          ) { (name: try $0.column(0) as String, id: try $0.column(1) as Int64) }
          name = keys.last?.name
          let last = try target.lastSequence(in: transaction.db)
          return try source.db.withStoreErrors(beside: transaction.db) {
            try keys.count { try saveLastAgain(ofKey: $0.id, $0.name, last, transaction) }
          }
        })
    } while name != nil
  }

  private func saveLastAgain(ofKey id: Int64, _ name: String, _ last: Int64, _ transaction: StoreTransaction) throws
    -> Bool
  {
    guard let head = try transaction.head(of: name)?.row,
      let number = try highestNumber(ofKey: id, head, last), number > head.seq, number < .max
    else { return false }
    var row = StoredRow(
      id: try transaction.reserveID(), key: id, seq: number + 1,
      time: transaction.store.options.clock().milliseconds, form: .whole, action: .restore)
    row.origin = head.seq
    row.note = "salvage: this revision was saved again because later revisions of the key may have been lost"
    return try transaction.adopt(row, as: name, transaction.content(of: head))
  }

  /// Returns the highest number that a revision of the key can have had in the damaged store, or `nil` if the number would
  /// overflow.
  ///
  /// - Parameters:
  ///   - head: the last remaining revision of the key.
  ///   - last: the last sequence of the store. Each revision of the store has its own sequence, so at most `last - head.id`
  ///     revisions of the key can have been lost after `head`.
  private func highestNumber(ofKey id: Int64, _ head: StoredRow, _ last: Int64) throws -> Int64? {
    let (most, overflows) = head.seq.addingReportingOverflow(max(0, last - head.id))
    let recorded = try source.intact {
      try Int64.fetchOne(
        source.statement("SELECT head FROM \(source.tables.keys) WHERE id = ?"), arguments: [id])
    }
    let indexed = try source.intact {
      try StatementRow.first(
        of: source.statement(
          "SELECT seq, id FROM \(source.tables.revisions) WHERE key = ? ORDER BY seq DESC LIMIT 1"), [id]
      ) { row in (seq: try row.column(0) as Int64, id: try row.column(1) as Int64) }
    }
    if let indexed, indexed.seq >= head.seq, indexed.seq <= most, recorded.map({ $0 <= indexed.id }) ?? true {
      return indexed.seq
    }
    if recorded == head.id { return head.seq }
    return overflows ? nil : most
  }
}
