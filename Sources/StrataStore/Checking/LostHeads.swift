internal import GRDB
internal import StrataCore

/// Handles the keys of a salvaged store whose last revision was lost.
///
/// A program that has read such a revision has its number, and may save on the condition that it is still the last one. That
/// save must fail. So the last remaining revision is saved again, under a number above all that the key can have had.
struct LostHeads {
  /// The number of keys handled in one transaction.
  private static let batch = 512

  /// The damaged store.
  let source: StoreTransaction

  /// - Parameters:
  ///   - target: the salvaged store, with all intact revisions and the last given sequence.
  ///   - count: called with the number of new revisions of each transaction.
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
    row.note = "salvage: later revisions of this key are lost, or may be"
    return try transaction.adopt(row, as: name, transaction.content(of: head))
  }

  /// The highest number that a revision of a key can have had; `nil` if it overflows.
  ///
  /// - Parameters:
  ///   - head: the last remaining revision.
  ///   - last: the last given sequence. Each revision of a key takes a sequence of the store, so the difference limits the
  ///     number of lost revisions.
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
