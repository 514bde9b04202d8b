internal import Foundation
internal import StrataCore

/// Reads an archive from end to end, member by member, and checks what the members say of each other.
struct ArchiveWalk {
  /// The stamp of the first member.
  private(set) var first: Stamp?
  /// Models, bytes of their bodies and members so far.
  private(set) var count: UInt64 = 0
  private(set) var plainSize: UInt64 = 0
  private(set) var memberCount: UInt64 = 0
  /// Bytes of the file.
  private(set) var fileSize = 0
  private var hasEnded = false
  private let limits: ArchiveLimits
  private let context: DecodingContext

  private init(_ limits: ArchiveLimits) {
    self.limits = limits
    context = DecodingContext(limits: limits)
  }

  /// Walks a file. Memory holds one member of it at a time.
  ///
  /// - Parameter body: what to do with the values of each member; those of an end member are none.
  static func walk(
    _ url: URL, limits: ArchiveLimits, _ body: (Stamp, [Value]) throws -> Void
  ) throws -> ArchiveWalk {
    var walk = ArchiveWalk(limits)
    try walk.take(url, body)
    try walk.finish()
    return walk
  }

  /// Walks a file that is held in memory as a whole.
  static func walk(
    _ data: Data, limits: ArchiveLimits, _ body: (Stamp, [Value]) throws -> Void
  ) throws -> ArchiveWalk {
    var walk = ArchiveWalk(limits)
    try walk.take(data, body)
    try walk.finish()
    return walk
  }

  private mutating func take(_ url: URL, _ body: (Stamp, [Value]) throws -> Void) throws {
    var reader = try MemberReader(url: url, limits: limits)
    while let member = try following({ try reader.next() }) {
      try take(member.stamp, member.body, reader.offset - fileSize, body)
      fileSize = reader.offset
    }
    fileSize = reader.offset
  }

  private mutating func take(_ data: Data, _ body: (Stamp, [Value]) throws -> Void) throws {
    while fileSize < data.count {
      let member = try following {
        try Gzip.inflateMember(at: fileSize, in: data.bytes, limits: limits)
      }
      try take(member.stamp, member.body, member.nextOffset - fileSize, body)
      fileSize = member.nextOffset
    }
  }

  /// Bytes of another kind are only then not an archive when nothing was before them.
  private func following<R>(_ read: () throws -> R) throws -> R {
    do { return try read() } catch let error as ArchiveError {
      guard memberCount > 0, error.code == .notAnArchive else { throw error }
      throw damage("what follows the last member is not one")
    }
  }

  private mutating func take(
    _ stamp: Stamp, _ bytes: [UInt8], _ memberSize: Int, _ body: (Stamp, [Value]) throws -> Void
  ) throws {
    if let first {
      guard first.kind != .single, !hasEnded else { throw damage("a member follows the end of the archive") }
      guard stamp.kind != .single else { throw damage("an archive of its own stands in a stream") }
      guard stamp.typeName == first.typeName else {
        throw damage("member \(memberCount) holds \(stamp.typeName), and the first one \(first.typeName)")
      }
    } else {
      first = stamp
    }
    guard stamp.sequenceNumber == memberCount else {
      throw damage("member \(memberCount) has the number \(stamp.sequenceNumber): some are missing")
    }
    memberCount += 1
    if stamp.kind == .end {
      guard stamp.count == count, stamp.plainSize == plainSize else {
        throw damage("the end names \(stamp.count.counted("model")), and there are \(count)")
      }
      hasEnded = true
      return try body(stamp, [])
    }
    context.budget.begin(fileSize: memberSize)
    let values = try values(bytes, stamp)
    count += stamp.count
    plainSize += UInt64(bytes.count)
    try body(stamp, values)
  }

  /// The values of a body: those of a stream's member stand in an array.
  private func values(_ bytes: [UInt8], _ stamp: Stamp) throws -> [Value] {
    var reader = ArchiveReader(bytes.span.bytes, context: context)
    try reader.beginBody()
    let value = try reader.readValue()
    guard stamp.kind == .member else {
      try reader.endBody()
      return [value]
    }
    if case .array(let elements) = value, reader.position == bytes.count,
      UInt64(elements.count) == stamp.count
    {
      return elements
    }
    // Or they follow each other.
    var values = [value]
    while reader.position < bytes.count { values.append(try reader.readValue()) }
    guard UInt64(values.count) == stamp.count else {
      throw ArchiveError(.damaged, "a member does not hold the \(stamp.count) models that its stamp names")
    }
    return values
  }

  private func finish() throws {
    guard let first else {
      throw ArchiveError(.notAnArchive, "the file is empty; an archive has at least a header")
    }
    guard first.kind == .single || hasEnded else {
      throw ArchiveError(.truncated, "the stream has no end; what was written last is missing")
    }
  }

  private func damage(_ reason: String) -> ArchiveError { ArchiveError(.damaged, reason) }
}
