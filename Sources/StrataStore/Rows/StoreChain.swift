internal import Foundation
internal import StrataCore

/// The revisions of a key that a prune keeps, with the cost of reading each revision. If a prune stores a later revision as a
/// delta, it chooses the base from these revisions.
///
/// If revisions are numbered from 0, reading revision i requires at most as many deltas as the sum of the hexadecimal digits of
/// i. Both saves and prunes choose bases that keep within this limit. If no revision is missing, a prune chooses the same base as
/// a save.
struct StoreChain {
  /// The numbers of deltas and DEFLATE decompressions for reading a revision.
  private struct Cost {
    var deltas = 0
    var inflations = 0
  }

  private var costs: [Int64: Cost] = [:]
  /// The element at index n is the last revision that is read by applying exactly n deltas, or `nil` if there is no such
  /// revision.
  private var last: [(id: Int64, seq: Int64)?] = []

  /// Returns whether a row can stay unchanged. A delta can stay unchanged only if its base is in the chain and the limits on
  /// deltas and inflations are met. Other rows can always stay unchanged.
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

  /// Returns the identifier of the nearest earlier revision that can be the base of the row's delta, or `nil` if there is none.
  func base(of row: StoredRow) -> Int64? {
    last.prefix(row.mostDeltas).compactMap { $0 }.max { $0.seq < $1.seq }?.id
  }
}

extension StoredRow {
  /// The maximum number of deltas that may be applied to read the row. This is the sum of the hexadecimal digits of the row's
  /// revision number, counted from 0.
  var mostDeltas: Int {
    var rest = seq - 1, sum = 0
    while rest > 0 {
      sum += Int(rest & 15)
      rest >>= 4
    }
    return sum
  }

  /// The maximum number of inflations (DEFLATE decompressions) for reading the row: ⌈log2 n⌉ + 1 for revision n.
  var mostInflations: Int { Int64.bitWidth - max(0, seq - 1).leadingZeroBitCount + 1 }

  var isDeflated: Bool { content.map { RowDelta.isDeflated($0) } ?? false }
}

extension StoreTransaction {
  /// Returns a copy of a row with the given content. If this saves space, the content is stored as a delta of a revision in the
  /// chain.
  ///
  /// - Parameters:
  ///   - bytes: the content without its head.
  ///   - isHead: whether this is the last revision of its key, which is stored whole.
  /// - Returns: the new row. The caller must write it to the table of revisions.
  func storing(_ bytes: [UInt8], in row: StoredRow, after chain: StoreChain, isHead: Bool) throws -> StoredRow {
    try storing(bytes, in: row, from: isHead ? nil : chain.base(of: row).flatMap { try revision($0) })
  }

  /// Returns a copy of a row with the given content. If this saves space, the content is stored as a delta of `base`.
  ///
  /// - Parameter most: the maximum number of inflations (DEFLATE decompressions) for reading the row.
  ///   ``StoredRow/mostInflations`` also limits a delta.
  func storing(
    _ bytes: [UInt8], in row: StoredRow, from base: StoredRow?, inflations most: Int = .max
  ) throws -> StoredRow {
    guard let base, let delta = try delta(of: bytes, row, from: base, inflations: most) else {
      return try storing(bytes, in: row, inflations: most)
    }
    // If the content would be stored as a blob, a delta of at most an eighth of its size is always used. This avoids creating the
    // blob only to compare sizes.
    if bytes.count > RowParts.longestInPlace, delta.count <= bytes.count / 8 { return row.with(delta, of: base) }
    let whole = try storing(bytes, in: row, inflations: most)
    guard try saves(delta, whole, bytes) else { return whole }
    if let blob = whole.blob { try removeUnused(blob) }
    return row.with(delta, of: base)
  }

  /// Converts a row that is not a delta to a delta of an earlier row. Returns `nil` if this would not save space.
  func shortened(_ row: StoredRow, _ bytes: [UInt8], from base: StoredRow) throws -> StoredRow? {
    guard let delta = try delta(of: bytes, row, from: base), try saves(delta, row, bytes) else { return nil }
    return row.with(delta, of: base)
  }

  private func delta(
    of bytes: [UInt8], _ row: StoredRow, from base: StoredRow, inflations most: Int = .max
  ) throws -> Data? {
    let before = inflations
    let baseBytes = try plainBytes(of: base)
    let deflates = inflations - before < min(most, row.mostInflations)
    return try RowDelta.encode(bytes, from: baseBytes, deflates: deflates)
  }

  /// Returns whether a delta needs less space than the complete content, which is stored in the row itself or in a blob.
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
