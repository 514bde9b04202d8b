internal import Foundation
internal import StrataCore

/// The revisions of a key that stay, each with what it takes to open it: where those which follow find what they are stored as
/// differences from.
///
/// Counted from 0, revision i needs at most as many deltas as the sum of its hexadecimal digits. As long as this holds of
/// those before it, it holds of what a save makes a delta of; where no revision is missing, this rule chooses the same.
struct StoreChain {
  /// What it takes to open a revision.
  private struct Cost {
    var deltas = 0
    var inflations = 0
  }

  private var costs: [Int64: Cost] = [:]
  /// By the number of deltas that they stand on: the last revisions that others may be deltas of.
  private var last: [(id: Int64, seq: Int64)?] = []

  /// Whether a row can stay as it is: what it is a delta of is here, and opens with so few inflations that it may, too.
  func holds(_ row: StoredRow) -> Bool {
    guard row.form == .delta else { return true }
    guard let base = row.base, let cost = costs[base] else { return false }
    return cost.deltas < row.mostDeltas && cost.inflations + (row.isDeflated ? 1 : 0) <= row.mostInflations
  }

  mutating func add(_ row: StoredRow) {
    var cost = Cost(deltas: 0, inflations: row.form == .blob ? 1 : 0)
    if row.form == .delta, let base = row.base, let known = costs[base] {
      cost = Cost(deltas: known.deltas + 1, inflations: known.inflations + (row.isDeflated ? 1 : 0))
    }
    costs[row.id] = cost
    guard row.form != .tombstone else { return }
    while last.count <= cost.deltas { last.append(nil) }
    last[cost.deltas] = (row.id, row.seq)
  }

  /// The number of the nearest earlier revision that a row may be a delta of.
  func base(of row: StoredRow) -> Int64? {
    last.prefix(row.mostDeltas).compactMap { $0 }.max { $0.seq < $1.seq }?.id
  }
}

extension StoredRow {
  /// How many deltas may be between the content and the row that is whole: the sum of the hexadecimal digits of the number,
  /// counted from 0.
  var mostDeltas: Int {
    var rest = seq - 1, sum = 0
    while rest > 0 {
      sum += Int(rest & 15)
      rest >>= 4
    }
    return sum
  }

  /// How many inflations opening the row may take: ⌈log2 n⌉ + 1 for revision n.
  var mostInflations: Int { Int64.bitWidth - max(0, seq - 1).leadingZeroBitCount + 1 }

  /// Of a delta: whether it takes an inflation by itself.
  var isDeflated: Bool { content.map { RowDelta.isDeflated($0) } ?? false }
}

extension StoreTransaction {
  /// Stores the content of a revision anew, as a delta of one in the chain where that saves space.
  ///
  /// - Parameters:
  ///   - bytes: the content without its head.
  ///   - isHead: whether it is the last revision of its key, which is stored whole.
  /// - Returns: the row as it should be; the table has the old one.
  func storing(_ bytes: [UInt8], in row: StoredRow, after chain: StoreChain, isHead: Bool) throws -> StoredRow {
    guard !isHead, let base = try chain.base(of: row).flatMap({ try revision($0) }),
      let delta = try delta(of: bytes, row, from: base)
    else {
      return try storing(bytes, in: row)
    }
    // What is so short needs no look at what the whole would take.
    if bytes.count > RowParts.longestInPlace, delta.count <= bytes.count / 8 { return row.with(delta, of: base) }
    let whole = try storing(bytes, in: row)
    guard try saves(delta, whole, bytes) else { return whole }
    if let blob = whole.blob { try removeUnused(blob) }
    return row.with(delta, of: base)
  }

  /// A row that is whole as a delta of an earlier one; `nil` where that would not save space.
  func shortened(_ row: StoredRow, _ bytes: [UInt8], from base: StoredRow) throws -> StoredRow? {
    guard let delta = try delta(of: bytes, row, from: base), try saves(delta, row, bytes) else { return nil }
    return row.with(delta, of: base)
  }

  private func delta(of bytes: [UInt8], _ row: StoredRow, from base: StoredRow) throws -> Data? {
    let before = inflations
    let baseBytes = try plainBytes(of: base)
    return try RowDelta.make(bytes, from: baseBytes, deflates: inflations - before < row.mostInflations)
  }

  /// Whether a delta is shorter than a row as it is stored whole.
  private func saves(_ delta: Data, _ whole: StoredRow, _ bytes: [UInt8]) throws -> Bool {
    try delta.count + 16 < (whole.blob.map { try storedSize(ofBlob: $0) } ?? bytes.count)
  }
}

extension StoredRow {
  fileprivate func with(_ delta: Data, of base: StoredRow) -> StoredRow {
    var row = self
    (row.form, row.content, row.base, row.blob) = (.delta, delta, base.id, nil)
    return row
  }
}
