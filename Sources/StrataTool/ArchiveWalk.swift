internal import Foundation
internal import StrataCore

/// Reads an archive from end to end, member by member, by the rules that every reader of the library has.
struct ArchiveWalk {
  /// The stamp of the first member.
  private(set) var first: Stamp?
  /// Models and bytes of their bodies.
  private(set) var count: UInt64 = 0
  private(set) var plainSize: UInt64 = 0
  private(set) var memberCount: UInt64 = 0
  /// Bytes of the file.
  private(set) var fileSize = 0

  /// Walks a file. Memory holds one member of it at a time.
  ///
  /// - Parameter body: what to do with the values of each member; those of an end member are none.
  static func walk(
    _ url: URL, limits: ArchiveLimits, _ body: (Stamp, [ArchiveValue]) throws -> Void
  ) throws -> ArchiveWalk {
    var members = try StreamMembers(of: url, limits: limits)
    let context = DecodingContext(limits: limits)
    while let _ = try members.next(
      { stamp, bytes, size in
        let values = try values(bytes, stamp, size, context)
        try body(stamp, values)
        return values.count
      }, count: { $0 })
    {}
    return ArchiveWalk(
      first: members.first, count: members.total.count, plainSize: members.total.plainSize,
      memberCount: members.memberCount, fileSize: members.offset)
  }

  /// Walks a file that is held in memory as a whole.
  static func walk(
    _ data: Data, limits: ArchiveLimits, _ body: (Stamp, [ArchiveValue]) throws -> Void
  ) throws -> ArchiveWalk {
    var order = StreamOrder()
    let context = DecodingContext(limits: limits)
    var place = 0
    while place < data.count {
      let member = try Gzip.inflateMember(at: place, in: data.bytes, limits: limits)
      let header = try GzipHeader(at: place, in: data.bytes, fileOffset: place)
      try order.take(member.stamp, StreamPlace(of: header, at: place, in: data.bytes))
      let values = try values(member.body, member.stamp, member.nextOffset - place, context)
      guard member.stamp.kind != .member || UInt64(values.count) == member.stamp.count else {
        throw ArchiveError(.damaged, "a member does not hold as many models as its stamp says", byteOffset: place)
      }
      try body(member.stamp, values)
      place = member.nextOffset
    }
    try order.finish()
    return ArchiveWalk(
      first: order.first, count: order.total.count, plainSize: order.total.plainSize, memberCount: order.next,
      fileSize: place)
  }

  /// The values of a body: those of a stream's member are an array.
  private static func values(
    _ bytes: [UInt8], _ stamp: Stamp, _ size: Int, _ context: DecodingContext
  ) throws -> [ArchiveValue] {
    guard stamp.kind != .end else { return [] }
    context.budget.begin(fileSize: size)
    var reader = ArchiveReader(bytes.bytes, context: context)
    try reader.beginBody()
    let values = stamp.kind == .member ? try reader.readRootValues() : [try reader.readValue()]
    try reader.endBody()
    return values
  }
}
