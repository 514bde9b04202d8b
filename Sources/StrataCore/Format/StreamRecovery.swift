import Foundation

/// Finds what a writer that did not finish left behind a stream, and tells it from damage.
struct StreamRecovery {
  /// How many zeros at the end of a file are more than a member ends with.
  private static let fewestZeros = 64

  private let url: URL
  private let limits: ArchiveLimits

  init(of url: URL, _ limits: ArchiveLimits) {
    self.url = url
    self.limits = limits
  }

  /// Reads a stream that has its end from end to end.
  ///
  /// - Throws: what reading throws.
  func check() throws {
    var reader = try MemberReader(wholeOf: url, limits: limits)
    var order = StreamOrder()
    while let (stamp, _) = try reader.next() { try order.take(stamp) }
    try order.finish()
  }

  /// The last end of the stream and where it ends, where all before it reads well and what follows is what a writer leaves
  /// that was killed: members that were written, and at most one that breaks off where the file does. After a loss of power
  /// the file may go on with zeros.
  ///
  /// - Throws: ``ArchiveError`` with the code `damaged` where anything else follows, `truncated` where there is no end, and
  ///   what reading throws: an error is not an end.
  func lastEnd() throws -> (stamp: Stamp, offset: Int) {
    var reader = try MemberReader(wholeOf: url, limits: limits)
    var order = StreamOrder()
    var end: (stamp: Stamp, offset: Int)?
    while let stamp = try nextStamp(&reader) {
      // Every byte of a member that is out of order is there.
      do { try order.take(stamp) } catch let error as ArchiveError { throw Self.refusal(error, reader.offset) }
      if stamp.kind == .end { end = (stamp, reader.offset) }
    }
    guard let end else {
      throw ArchiveError(
        .truncated, "the stream has no end at all: its first writer did not finish, and nothing was saved")
    }
    return end
  }

  /// The stamp of the next member that reads well; `nil` where the file ends, or what follows was left unfinished.
  private func nextStamp(_ reader: inout MemberReader) throws -> Stamp? {
    do { return try reader.next()?.stamp } catch let error as ArchiveError where error.isDamage {
      let start = reader.offset
      let isUnfinished =
        try hasNoRoom(behind: start)
        || (error.code == .truncated ? mayBreakOff(in: start..<fileSize()) : breaksOffInZeros(from: start))
      guard isUnfinished else { throw Self.refusal(error, start) }
      // A member that broke off is the last thing that its writer wrote.
      if try reader.seek(from: start + 1) {
        throw Self.refusal(error, start, ", and a part of the stream follows at byte \(reader.offset)")
      }
      return nil
    }
  }

  private static func refusal(_ error: ArchiveError, _ offset: Int, _ rest: String = "") -> ArchiveError {
    ArchiveError(
      .damaged,
      "the stream is damaged, which is not what a writer leaves that did not finish\(rest); nothing was cut off; salvage "
        + "reads what is intact", byteOffset: error.byteOffset ?? offset, underlying: error)
  }

  /// Whether a member breaks off at an offset or after it, and only zeros follow: a file system may know the size of what it
  /// did not write any more.
  private func breaksOffInZeros(from offset: Int) throws -> Bool {
    let end = try endOfBytes()
    guard end > offset else { return true }
    // A few zeros are what every member ends with.
    guard try fileSize() - end >= Self.fewestZeros, try mayBreakOff(in: offset..<end) else { return false }
    // The member is read once more as if the file ended with it.
    var reader = try MemberReader(wholeOf: url, limits: limits, in: offset..<end)
    do {
      _ = try reader.next()
      return false
    } catch let error as ArchiveError where error.code != .fileSystem { return error.code == .truncated }
  }

  /// Whether less is after an offset than the smallest member has, which is an end: then none can have been there.
  private func hasNoRoom(behind offset: Int) throws -> Bool {
    let file = try OpenFile(reading: url)
    return try file.status().size - offset < MemberReader.endLength(MemberReader.firstHeader(of: file))
  }

  /// Whether bytes can be the beginning of a member: a damaged one can look as if it broke off, though all of it is there.
  private func mayBreakOff(in range: Range<Int>) throws -> Bool {
    let file = try OpenFile(reading: url)
    // All headers of a stream are alike but for their numbers and sums.
    let first = try MemberReader.firstHeader(of: file)
    let pattern = try file.readBytes(at: 0, count: GzipHeader.fixedSize)
    let bytes = try file.readBytes(at: range.lowerBound, count: min(range.count, first.length))
    guard zip(bytes, pattern).allSatisfy({ $0 == $1 }) else { return false }
    guard bytes.count == first.length else { return true }
    do {
      let header = try GzipHeader(at: 0, in: bytes.bytes, fileOffset: range.lowerBound)
      return header.stamp.kind != .end || range.count < MemberReader.endLength(first)
    } catch let error as ArchiveError where error.isDamage { return false }
  }

  private func fileSize() throws -> Int { try OpenFile(reading: url).status().size }

  /// Where the zeros begin at the end of the file.
  private func endOfBytes() throws -> Int {
    let file = try OpenFile(reading: url)
    var top = try file.status().size
    while top > 0 {
      let bottom = max(0, top - 65_536)
      let bytes = try file.readBytes(at: bottom, count: top - bottom)
      if let last = bytes.lastIndex(where: { $0 != 0 }) { return bottom + last + 1 }
      top = bottom
    }
    return 0
  }
}
