internal import Foundation

/// The revisions of a key that stay, each with the number of deltas that it stands on: where those which follow find what they
/// are stored as differences from.
///
/// Counted from 0, revision i stands on at most as many deltas as i has bits set. As long as this holds of those before it, it
/// holds of what a save makes a delta of i & (i − 1); where no revision is missing, this rule chooses the same.
struct StoreChain {
  private var rows: [(row: StoredRow, depth: Int)] = []

  /// Whether a row can stay as it is: what it is a delta of is here.
  func holds(_ row: StoredRow) -> Bool { row.form != .delta || rows.contains { $0.row.id == row.base } }

  mutating func add(_ row: StoredRow) {
    let base = row.form == .delta ? rows.last { $0.row.id == row.base } : nil
    rows.append((row, base.map { $0.depth + 1 } ?? 0))
  }

  /// The nearest earlier revision that a row may be a delta of.
  func base(of row: StoredRow) -> StoredRow? {
    let most = (row.seq - 1).nonzeroBitCount
    return rows.last { $0.depth < most && $0.row.form != .tombstone }?.row
  }
}

extension StoreTransaction {
  /// Stores the content of a revision anew, as a delta of one in the chain where that saves space.
  ///
  /// - Parameters:
  ///   - bytes: the content without its head.
  ///   - isHead: whether it is the last revision of its key, which is stored whole.
  /// - Returns: the row as it should be; the table has the old one.
  func storing(_ bytes: [UInt8], in row: StoredRow, after chain: StoreChain, isHead: Bool) throws -> StoredRow {
    if !isHead, let base = chain.base(of: row), let delta = try RowDelta.make(bytes, from: plainBytes(of: base)),
      bytes.count > 512 || delta.count + 16 < bytes.count
    {
      var row = row
      (row.form, row.content, row.base, row.blob) = (.delta, delta, base.id, nil)
      return row
    }
    return try storing(bytes, in: row)
  }
}
