package import Foundation

/// Reads the members of an archive file in their order, checks what they say of each other, and passes over damage where that
/// is asked for.
package struct StreamMembers: ~Copyable {
  /// How often the bytes of a file are read at most where members that begin well turn out to be none.
  private static let mostReading = 64

  private var reader: MemberReader
  private let damage: StreamDamage
  private var order = StreamOrder()
  /// What was passed over so far.
  package private(set) var gaps: [StreamGap] = []
  /// Damage after which no member was read yet.
  private var open: (start: Int, error: ArchiveError)?
  /// The first of the gaps whose models no end has counted yet, and how many models the ones before miss.
  private var uncounted = 0
  private var missing: UInt64 = 0
  /// Bytes that were read in vain.
  private var waste = 0
  private var isFinished = false

  /// The stamp of the first member.
  package var first: Stamp? { order.first }
  /// Models, and bytes of their bodies, that were read.
  package var total: (count: UInt64, plainSize: UInt64) { order.total }
  /// How many members were read or are known to be missing.
  package var memberCount: UInt64 { order.next }
  /// Where the next member begins.
  package var offset: Int { reader.offset }

  /// Opens a file.
  package init(of url: URL, limits: ArchiveLimits = ArchiveLimits(), damage: StreamDamage = .fails) throws {
    reader = try MemberReader(url: url, limits: limits)
    self.damage = damage
  }

  /// What the next member holds; `nil` at the end.
  ///
  /// - Parameters:
  ///   - read: reads the body of a member, given how many bytes of the file the member has; of an end the body is empty.
  ///   - count: how many models that are.
  /// - Throws: what `read` throws, and ``ArchiveError``; damage only where that is not passed over.
  package mutating func next<R>(_ read: (Stamp, [UInt8], Int) throws -> R, count: (R) -> Int) throws -> R? {
    while !isFinished {
      let start = reader.offset
      do {
        guard let (stamp, body) = try reader.next() else {
          try finish()
          return nil
        }
        var following = order
        if damage == .skips, stamp.sequenceNumber != order.next { try following.pass(to: stamp) }
        try following.take(stamp)
        let content = try read(stamp, body, reader.offset - start)
        guard stamp.kind != .member || UInt64(count(content)) == stamp.count else {
          throw ArchiveError(
            .damaged, "a part of the stream does not hold as many models as its stamp says", byteOffset: start)
        }
        close(before: start, stamp)
        order = following
        return content
      } catch let error as ArchiveError {
        guard damage == .skips, error.isDamage, reader.isSeekable else { throw error }
        if open == nil { open = (start, error) }
        // A member whose checksum is right and whose content is not: the next one is after it.
        if reader.offset > start { continue }
        waste += reader.reach - start
        guard waste / Self.mostReading <= reader.reach else {
          throw ArchiveError(
            .limitExceeded, "too many places of the file begin like members of an archive and are none",
            byteOffset: start)
        }
        if try !reader.seek(from: start + 1) { try finish() }
      }
    }
    return nil
  }

  /// Tells the gap before a member that was read.
  private mutating func close(before start: Int, _ stamp: Stamp) {
    let members = stamp.sequenceNumber - order.next
    if open != nil || members > 0 {
      let error = open?.error ?? ArchiveError(.damaged, "members of the stream are missing", byteOffset: start)
      gaps.append(StreamGap(bytes: (open?.start ?? start)..<start, memberCount: Int(clamping: members), error: error))
      open = nil
    }
    guard stamp.kind == .end else { return }
    // An end counts all models before it, so it tells how many are missing.
    let lost = stamp.count.subtractingReportingOverflow(order.total.count)
    if !lost.overflow, lost.partialValue >= missing {
      if gaps.count == uncounted + 1 { gaps[uncounted].modelCount = Int(clamping: lost.partialValue - missing) }
      missing = lost.partialValue
    }
    uncounted = gaps.count
  }

  private mutating func finish() throws {
    isFinished = true
    if let open {
      guard order.first != nil else { throw open.error }
      gaps.append(
        StreamGap(bytes: open.start..<max(open.start, try reader.size()), memberCount: nil, error: open.error))
      return
    }
    do { try order.finish() } catch let error as ArchiveError where damage == .skips && order.first != nil {
      gaps.append(StreamGap(bytes: offset..<offset, memberCount: nil, error: error))
    }
  }
}

extension ArchiveError {
  /// Whether this tells of bytes that are wrong or missing.
  package var isDamage: Bool {
    switch code {
    case .damaged, .truncated, .notAnArchive: true
    default: false
    }
  }
}
