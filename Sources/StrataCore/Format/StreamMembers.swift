package import Foundation

/// A member of a file that was read, and that nothing was decided of yet.
struct ReadMember {
  let stamp: Stamp
  let body: [UInt8]
  /// The bytes of the file that it has.
  let bytes: Range<Int>
  let place: StreamPlace
}

/// Reads members before their turn comes, and works on them.
protocol MemberSource: AnyObject {
  /// The next member; `nil` at the end of the file.
  func next() throws -> ReadMember?
  /// Returns once nothing reads the file any more. The reader can then be anywhere behind the last member that ``next()`` returned.
  func stop()
}

/// The reader of a file. One thread at a time uses it: those of a ``MemberSource``, or its owner after ``MemberSource/stop()``.
final class SharedReader: @unchecked Sendable {
  var reader: MemberReader

  init(_ reader: consuming MemberReader) { self.reader = reader }

  func next() throws -> ReadMember? {
    let start = reader.offset
    guard let (stamp, body) = try reader.next() else { return nil }
    return ReadMember(stamp: stamp, body: body, bytes: start..<reader.offset, place: reader.place)
  }
}

/// Reads the members of an archive file in their order, checks what they say of each other, and passes over damage where that
/// is asked for.
///
/// Behind damage, bytes that look like members can be the content of a model. A member that is found there belongs to the stream
/// in one of these cases (Docs/Format.md, section 11):
/// - It states its place, or one that directly follows it does.
/// - Members with continuing numbers follow each other from it on up to an end that is the end of the file, and the sums of
///   all ends agree.
/// - The header of the damaged member reads well, and the member has the next number. Members with continuing numbers follow it up
///   to an end, whose sums agree with that header.
package struct StreamMembers: ~Copyable {
  /// How often the bytes of a file are read at most where members that begin well turn out to be none.
  private static let mostReading = 64

  let file: SharedReader
  /// Reads members ahead; `nil` where they are read in their turn.
  var source: (any MemberSource)?
  private let damage: StreamGap.Handling
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
  /// The number of the member that begins where the last one ended; `nil` where the last one could not be read.
  private var following: UInt64? = 0
  /// The stamp of the member that has this number and could not be read, if its header reads well.
  private var broken: Stamp?
  /// The offset up to which members are known to belong to the stream.
  private var known = 0
  /// Whether the members of the stream state their places.
  private var isLinked = false
  /// Whether members up to an end were found that may belong to the stream.
  private(set) var hasDoubtfulEnd = false
  /// Receives members that read well and are not known to belong to the stream, with the bytes that each has in the file.
  var unproven: ((Stamp, [UInt8], Int) throws -> Void)?

  /// The stamp of the first member.
  package var first: Stamp? { order.first }
  /// Models, and bytes of their bodies, that were read.
  package var total: (count: UInt64, plainSize: UInt64) { order.total }
  /// How many members were read or are known to be missing.
  package var memberCount: UInt64 { order.next }
  /// Where the next member begins.
  package private(set) var offset: Int

  /// Opens a file.
  package init(of url: URL, limits: ArchiveLimits = ArchiveLimits(), damage: StreamGap.Handling = .fails) throws {
    self.init(try MemberReader(url: url, limits: limits), damage)
  }

  init(_ reader: consuming MemberReader, _ damage: StreamGap.Handling) {
    offset = reader.offset
    file = SharedReader(reader)
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
          if stamp.sequenceNumber != order.next { try later.pass(to: stamp) }
        }
        following = stamp.sequenceNumber &+ 1
        try later.take(stamp, damage == .skips ? .unstated : member.place)
        let content = try read(stamp, member.body, member.bytes.count)
        guard stamp.kind != .member || UInt64(count(content)) == stamp.count else {
          throw ArchiveError(
            .damaged, "a part of the stream does not hold as many models as its stamp says", byteOffset: start)
        }
        if order.first == nil { isLinked = member.place == .right }
        close(before: start, stamp)
        order = later
        broken = nil
        return content
      } catch let error as ArchiveError {
        guard damage == .skips, error.isDamage else { throw error }
        try takeReader()
        guard file.reader.isSeekable else { throw error }
        if open == nil { open = (start, error) }
        if number == order.next, let stamp = member?.stamp ?? file.reader.header?.stamp, stamp.sequenceNumber == number
        {
          var later = order
          // A header out of order proves nothing about the members behind it.
          if (try? later.take(stamp, member?.place ?? file.reader.place)) != nil { broken = stamp }
        }
        // A member whose checksum is right and whose content is not: the next one is after it.
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

  /// Ends reading ahead, so that the reader can be used here. It is at the next member then.
  private mutating func takeReader() throws {
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
        .limitExceeded, "too many places of the file begin like members of an archive and are none",
        byteOffset: file.reader.offset)
    }
  }

  /// Whether a member that was read belongs to the stream. Where it does not, or only ones after it do, the reader goes on
  /// there.
  private mutating func belongs(_ member: ReadMember) throws -> Bool {
    let (stamp, start) = (member.stamp, member.bytes.lowerBound)
    if start < known || member.place == .right { return true }
    if member.place == .unstated, stamp.sequenceNumber == following { return true }
    let error = ArchiveError(
      .damaged, "a part follows that is not known to belong to the stream: bytes before it are missing or were added",
      byteOffset: start)
    try takeReader()
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

  /// Reads the members that follow each other from one that was found.
  ///
  /// - Returns: the range of those that are known to belong to the stream, and where the last member that was read ends.
  private mutating func follow(from start: Int) throws -> (found: Range<Int>?, end: Int) {
    var later = order
    if let broken { try later.take(broken) }
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
            try later.pass(to: stamp)
            try later.take(stamp)
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
        StreamGap(bytes: open.start..<max(open.start, try file.reader.size()), memberCount: nil, error: open.error))
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
