package import Foundation

/// A member that was read from a file. It does not necessarily belong to the stream, because bytes inside a model can look like a member.
struct ReadMember {
  let stamp: Stamp
  let body: [UInt8]
  /// The byte range of the member in the file.
  let bytes: Range<Int>
  let place: StreamPlace
}

/// A source that reads the members of a file ahead of the caller, and processes them on other threads.
protocol MemberSource: AnyObject {
  /// Returns the next member; `nil` at the end of the file.
  func next() throws -> ReadMember?
  /// Stops reading ahead and discards the members that were read ahead. Until the next call to ``next()``, no thread reads the file. The
  /// file reader may be at any position after the last member that ``next()`` returned.
  func stop()
}

/// A file reader that several threads share. `Sendable` is unchecked, because only one thread at a time uses the reader: a thread of a
/// ``MemberSource``, or the owner of the source after a call to ``MemberSource/stop()``.
final class SharedReader: @unchecked Sendable {
  var reader: MemberReader

  init(_ reader: consuming MemberReader) { self.reader = reader }

  func next() throws -> ReadMember? {
    let start = reader.offset
    guard let (stamp, body) = try reader.next() else { return nil }
    return ReadMember(stamp: stamp, body: body, bytes: start..<reader.offset, place: reader.place)
  }
}

/// Reads the members of an archive file in order. Verifies that no member is missing or out of order, and optionally skips damage.
///
/// After damage, bytes inside a model can look like members. A member after damage belongs to the stream in any of these cases
/// (Docs/Format.md, section 11):
/// - The header of the member, or of a member that directly follows it, records the member's actual position.
/// - The member begins a run of members with consecutive sequence numbers. The run ends with an end member at the end of the file, and the
///   totals in all end members are consistent.
/// - The header of the damaged member is readable. The member after damage has the next sequence number and begins a run of members with
///   consecutive sequence numbers. The totals in the first end member of the run agree with the header of the damaged member.
package struct StreamMembers: ~Copyable {
  /// The maximum number of bytes that may be read without finding a valid member, as a multiple of the bytes in the file.
  private static let mostReading = 64

  let file: SharedReader
  /// The source that reads members ahead; `nil` if each member is read when it is needed.
  var source: (any MemberSource)?
  private let damage: StreamGap.Handling
  private var order = StreamOrder()
  /// The unreadable parts skipped so far.
  package private(set) var gaps: [StreamGap] = []
  /// The file offset at which the current gap begins, and the error at that offset; `nil` if there is no gap, or if a member has been read
  /// after the gap.
  private var open: (start: Int, error: ArchiveError)?
  /// The index in `gaps` of the first gap after the last end member. `missing` is the number of models missing in all earlier gaps.
  private var uncounted = 0
  private var missing: UInt64 = 0
  /// The number of bytes that were read without finding a valid member.
  private var waste = 0
  private var isFinished = false
  /// The expected sequence number of the member that directly follows the last member; `nil` if the last member could not be read.
  private var following: UInt64? = 0
  /// The stamp of the damaged member at which the current gap begins. `nil` if the header of the member is not readable, or if the member
  /// is not the next one in order.
  private var broken: Stamp?
  /// The file offset up to which all members are known to belong to the stream.
  private var known = 0
  /// Whether the members of the stream record their positions in their headers.
  private var isLinked = false
  /// Whether the reader skipped a sequence of members that contains an end member and might belong to the stream.
  private(set) var hasDoubtfulEnd = false
  /// A closure that is called for each readable member that is not known to belong to the stream. Its arguments are the stamp, the body and
  /// the size of the member in the file.
  var unproven: ((Stamp, [UInt8], Int) throws -> Void)?

  /// The stamp of the first member.
  package var first: Stamp? { order.first }
  /// The number of models read so far, and the total size in bytes of the member bodies that contain them.
  package var total: (count: UInt64, plainSize: UInt64) { order.total }
  /// The number of members that were read or are known to be missing so far.
  package var memberCount: UInt64 { order.next }
  /// The file offset of the next member.
  package private(set) var offset: Int

  /// Opens a file for reading its members.
  package init(of url: URL, limits: ArchiveLimits = ArchiveLimits(), damage: StreamGap.Handling = .fails) throws {
    self.init(try MemberReader(url: url, limits: limits), damage)
  }

  init(_ reader: consuming MemberReader, _ damage: StreamGap.Handling) {
    offset = reader.offset
    file = SharedReader(reader)
    self.damage = damage
  }

  /// Returns the decoded content of the next member; `nil` at the end of the file.
  ///
  /// - Parameters:
  ///   - read: a function that decodes the body of a member. Its arguments are the stamp, the body and the size of the member in the file.
  ///     The body of an end member is empty.
  ///   - count: a function that returns the number of models in the decoded content.
  /// - Throws: any error that `read` throws, and ``ArchiveError``. Damage causes an error only if damage is not skipped.
  package mutating func next<R>(_ read: (Stamp, [UInt8], Int) throws -> R, count: (R) -> Int) throws -> R? {
    while !isFinished {
      let start = offset
      let number = following
      var member: ReadMember?
      do {
        member = try readMember()
        guard let member else {
          try finish()
          return nil
        }
        let stamp = member.stamp
        var later = order
        if damage == .skips {
          guard try belongs(member) else { continue }
          if stamp.sequenceNumber != order.next { try later.skipGap(to: stamp) }
        }
        following = stamp.sequenceNumber &+ 1
        try later.accept(stamp, damage == .skips ? .unstated : member.place)
        let content = try read(stamp, member.body, member.bytes.count)
        guard stamp.kind != .member || UInt64(count(content)) == stamp.count else {
          throw ArchiveError(
            .damaged,
            "the number of models in a member of the stream does not match the member's stamp", byteOffset: start)
        }
        if order.first == nil { isLinked = member.place == .right }
        close(before: start, stamp)
        order = later
        broken = nil
        return content
      } catch let error as ArchiveError {
        guard damage == .skips, error.isDamage else { throw error }
        try stopReadingAhead()
        guard file.reader.isSeekable else { throw error }
        if open == nil { open = (start, error) }
        if number == order.next, let stamp = member?.stamp ?? file.reader.header?.stamp, stamp.sequenceNumber == number
        {
          var later = order
          // A header that is out of order is ignored, because it does not help to identify the members after it.
          if (try? later.accept(stamp, member?.place ?? file.reader.place)) != nil { broken = stamp }
        }
        // If the checksum of the member is right and only its content is invalid, the next member follows directly, so no search is needed.
        if offset > start { continue }
        following = nil
        try spend(file.reader.reach - start)
        if try !seek(from: start + 1) { try finish() }
      }
    }
    return nil
  }

  private mutating func readMember() throws -> ReadMember? {
    let member = try source?.next() ?? (source == nil ? file.next() : nil)
    if let member { offset = member.bytes.upperBound }
    return member
  }

  /// Stops reading ahead and moves the file reader to the next member, so that the current thread can read from there.
  private mutating func stopReadingAhead() throws {
    source?.stop()
    if file.reader.offset != offset { try file.reader.move(to: offset) }
  }

  private mutating func seek(from start: Int) throws -> Bool {
    defer { offset = file.reader.offset }
    return try file.reader.seek(from: start)
  }

  private mutating func move(to place: Int) throws {
    try file.reader.move(to: place)
    offset = place
  }

  private mutating func spend(_ bytes: Int) throws {
    waste += max(0, bytes)
    guard waste / Self.mostReading <= file.reader.reach else {
      throw ArchiveError(
        .limitExceeded,
        "reading stopped because too many byte sequences in the file resemble the start of an archive member",
        byteOffset: file.reader.offset)
    }
  }

  /// Returns whether a member is known to belong to the stream. If not, examines the following members and moves the reader to the first
  /// one that belongs to the stream, or past all of them if none does.
  private mutating func belongs(_ member: ReadMember) throws -> Bool {
    let (stamp, start) = (member.stamp, member.bytes.lowerBound)
    if start < known || member.place == .right { return true }
    if member.place == .unstated, stamp.sequenceNumber == following { return true }
    let error = ArchiveError(
      .damaged,
      "bytes are missing or were added before the next member, so that member may not belong to the stream",
      byteOffset: start)
    try stopReadingAhead()
    guard file.reader.isSeekable else { throw error }
    let (found, end) = try follow(from: start)
    if open == nil, found?.lowerBound != start { open = (start, error) }
    if let found {
      known = found.upperBound
      try move(to: found.lowerBound)
      return false
    }
    following = nil
    guard let unproven else {
      try move(to: end)
      return false
    }
    try move(to: start)
    var place = start
    while place < end, let (stamp, body) = try file.reader.next() {
      try unproven(stamp, body, file.reader.offset - place)
      place = file.reader.offset
    }
    offset = place
    return false
  }

  /// Examines a run of members with consecutive sequence numbers, starting at the file offset `start`.
  ///
  /// - Returns: the byte range of the members that are known to belong to the stream, and the offset after the last member that was read.
  private mutating func follow(from start: Int) throws -> (found: Range<Int>?, end: Int) {
    var later = order
    if let broken { try later.accept(broken) }
    let least = later.next
    var (begin, firstEnd, end) = (Int?.none, Int?.none, start)
    var first: UInt64?, number: UInt64?
    try move(to: start)
    do {
      while let stamp = try file.reader.next()?.stamp {
        guard number == nil || stamp.sequenceNumber == number else { break }
        if let begin, file.reader.place == .right { return (begin..<end, end) }
        number = stamp.sequenceNumber &+ 1
        first = first ?? stamp.sequenceNumber
        if stamp.sequenceNumber >= least {
          begin = begin ?? end
          do {
            try later.skipGap(to: stamp)
            try later.accept(stamp)
          } catch let error as ArchiveError where error.isDamage { return (nil, file.reader.offset) }
        }
        end = file.reader.offset
        if begin != nil, stamp.kind == .end { firstEnd = firstEnd ?? end }
      }
    } catch let error as ArchiveError where error.isDamage { try spend(file.reader.reach - end) }
    guard let begin, let firstEnd else { return (nil, end) }
    if later.isAtEnd, end == (try file.reader.size()) { return (begin..<end, end) }
    if broken != nil, first == least { return (begin..<firstEnd, end) }
    if begin == start, following != nil || !isLinked { hasDoubtfulEnd = true }
    return (nil, end)
  }

  /// If bytes were skipped or members are missing before `start`, adds a gap to ``gaps``.
  private mutating func close(before start: Int, _ stamp: Stamp) {
    let members = stamp.sequenceNumber - order.next
    if open != nil || members > 0 {
      let error = open?.error ?? ArchiveError(.damaged, "members of the stream are missing", byteOffset: start)
      gaps.append(StreamGap(bytes: (open?.start ?? start)..<start, memberCount: Int(clamping: members), error: error))
      open = nil
    }
    guard stamp.kind == .end else { return }
    // The end member's stamp contains the number of all models before it. Those that were not read are missing.
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
        StreamGap(bytes: open.start..<max(open.start, try file.reader.size()), memberCount: nil, error: open.error))
      return
    }
    do { try order.finish() } catch let error as ArchiveError where damage == .skips && order.first != nil {
      gaps.append(StreamGap(bytes: offset..<offset, memberCount: nil, error: error))
    }
  }
}

extension ArchiveError {
  /// Whether wrong or missing bytes caused the error.
  package var isDamage: Bool {
    switch code {
    case .damaged, .truncated, .notAnArchive: true
    default: false
    }
  }
}
