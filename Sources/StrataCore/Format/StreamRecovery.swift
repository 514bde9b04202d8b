import Foundation

/// Finds the last end member of a stream whose last writer did not finish. Also finds out whether the bytes after the end member come from
/// that writer or are damage.
struct StreamRecovery {
  /// The size of a disk sector in bytes. A disk writes a sector atomically.
  private static let sectorSize = 512
  /// The maximum number of wrong bytes in a damaged end member. Bytes with more differences are not considered an end
  /// member.
  private static let mostWrongBytes = 8

  private let url: URL
  private let limits: ArchiveLimits

  init(of url: URL, _ limits: ArchiveLimits) {
    self.url = url
    self.limits = limits
  }

  /// Reads and verifies all members of a complete stream.
  ///
  /// - Throws: ``ArchiveError`` if a member cannot be read, or if the stream is not complete.
  func check() throws {
    var reader = try MemberReader(wholeOf: url, limits: limits)
    var order = StreamOrder()
    while let (stamp, _) = try reader.next() { try order.accept(stamp, reader.place) }
    try order.finish()
  }

  /// Returns the last end member of the stream. All bytes before the returned offset are readable. No models after that
  /// offset were committed, because no later end member belongs to the stream, and the bytes directly after the offset
  /// are not a damaged end member.
  ///
  /// - Returns: the stamp of the end member, the offset after it, and `breaksOff`: whether the rest of the file
  ///   contains only readable members and at most one truncated member. After a power failure, the rest may also
  ///   contain other bytes.
  /// - Throws: ``ArchiveError`` with the code `damaged` if an end member follows damage, `truncated` if there is no end
  ///   member, and any error thrown while reading the file, except for damage.
  func lastEnd() throws -> (stamp: Stamp, offset: Int, breaksOff: Bool) {
    var members = StreamMembers(try MemberReader(wholeOf: url, limits: limits), .skips)
    var order = StreamOrder()
    var last: Stamp?
    var end: (stamp: Stamp, offset: Int)?
    while let stamp = try members.next({ stamp, _, _ in stamp }, count: { Int(clamping: $0.count) }) {
      if let gap = members.gaps.first {
        guard stamp.kind != .end else {
          throw Self.refusal(
            gap,
            "the stream is damaged before an end member that ends at byte \(members.offset), so nothing was removed; "
              + "use ArchiveSalvage to recover the intact parts")
        }
        continue
      }
      try order.accept(stamp)
      last = stamp
      if stamp.kind == .end { end = (stamp, members.offset) }
    }
    let gap = members.gaps.first
    if let gap {
      if members.hasDoubtfulEnd {
        throw Self.refusal(
          gap,
          "the stream is damaged, and bytes after the damage may belong to the stream, so nothing was removed; use "
            + "ArchiveSalvage to recover the intact parts")
      }
      if let last, try isDamagedEnd(at: gap.bytes.lowerBound, after: last, order) {
        throw Self.refusal(
          gap,
          "an end member of the stream is damaged, so nothing was removed; use ArchiveSalvage to recover the intact "
            + "parts")
      }
    }
    guard let end else {
      throw ArchiveError(
        .truncated, "the stream has no saved content because its first writer did not finish",
        underlying: gap?.error)
    }
    return (end.stamp, end.offset, gap.map { $0.error.code == .truncated } ?? true)
  }

  private static func refusal(_ gap: StreamGap, _ reason: String) -> ArchiveError {
    ArchiveError(
      .damaged, reason, byteOffset: gap.error.byteOffset ?? gap.bytes.lowerBound, underlying: gap.error)
  }

  /// Returns whether the bytes at a file offset are an end member of the stream with only a few wrong bytes. The bytes
  /// are compared with the end member that the stream must have after its last readable member.
  private func isDamagedEnd(at offset: Int, after last: Stamp, _ order: StreamOrder) throws -> Bool {
    let file = try OpenFile(reading: url)
    var stamp = last
    (stamp.kind, stamp.sequenceNumber) = (.end, order.next)
    (stamp.count, stamp.plainSize) = order.total
    let isLinked = try MemberReader.firstHeader(of: file).link != nil
    let link = try StreamLink(at: offset, after: MemberReader.trailer(before: offset, in: file))
    var expected: [UInt8] = []
    try Gzip.appendMember(body: RawSpan(), stamp: stamp, link: isLinked ? link : nil, to: &expected)
    let found = try file.readBytes(at: offset, count: expected.count)
    guard found.count == expected.count else { return false }
    let wrong = expected.indices.filter { found[$0] != expected[$0] }
    guard wrong.count <= Self.mostWrongBytes else { return false }
    // A sector of zeros means that a power failure prevented the disk from writing it. The end member is then
    // unfinished, not damaged.
    let sectors = Dictionary(grouping: expected.indices) { (offset + $0) / Self.sectorSize }
    return !sectors.values.contains { sector in
      sector.allSatisfy { found[$0] == 0 } && sector.contains { expected[$0] != 0 }
    }
  }
}
