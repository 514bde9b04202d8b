internal import Foundation

/// The revisions of a key that stay, each with the number of deltas that it stands on: where those which follow find what they
/// are stored as differences from.
///
/// Counted from 0, revision i stands on at most as many deltas as i has bits set. As long as this holds of those before it, it
/// holds of what a save makes a delta of i & (i − 1); where no revision is missing, this rule chooses the same.
struct StoreChain {
  private var entries: [(id: Int64, depth: Int, isTombstone: Bool)] = []
  private var depths: [Int64: Int] = [:]

  /// Whether a row can stay as it is: what it is a delta of is here.
  func holds(_ row: StoredRow) -> Bool { row.form != .delta || row.base.map { depths[$0] != nil } ?? false }

  mutating func add(_ row: StoredRow) {
    let base = row.form == .delta ? row.base.flatMap { depths[$0] } : nil
    let depth = base.map { $0 + 1 } ?? 0
    entries.append((row.id, depth, row.form == .tombstone))
    depths[row.id] = depth
  }

  /// The number of the nearest earlier revision that a row may be a delta of.
  func base(of row: StoredRow) -> Int64? {
    let most = (row.seq - 1).nonzeroBitCount
    return entries.last { $0.depth < most && !$0.isTombstone }?.id
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
    if !isHead, let base = try chain.base(of: row).flatMap({ try revision($0) }),
      let delta = try RowDelta.make(bytes, from: plainBytes(of: base)),
      bytes.count > 512 || delta.count + 16 < bytes.count
    {
      var row = row
      (row.form, row.content, row.base, row.blob) = (.delta, delta, base.id, nil)
      return row
    }
    return try storing(bytes, in: row)
  }
}
