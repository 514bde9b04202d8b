internal import Foundation
internal import StrataCore

/// Reads an archive from start to end, member by member, with the same checks as all readers of the library.
struct ArchiveWalk {
  /// The stamp of the first member.
  private(set) var first: Stamp?
  /// The number of models in the file. `plainSize` is the total uncompressed size of the members' bodies in bytes.
  private(set) var count: UInt64 = 0
  private(set) var plainSize: UInt64 = 0
  private(set) var memberCount: UInt64 = 0
  /// The size of the file in bytes.
  private(set) var fileSize = 0

  /// Reads a file, with only one member in memory at a time.
  ///
  /// - Parameters:
  ///   - progress: called after each member, with the offset of the member's end.
  ///   - body: receives the stamp and the values of each member. An end member has no values.
  static func walk(
    _ url: URL, limits: ArchiveLimits, progress: (Int) -> Void = { _ in },
    _ body: (Stamp, [ArchiveValue]) throws -> Void
  ) throws -> ArchiveWalk {
    var members = try StreamMembers(of: url, limits: limits)
    let context = DecodingContext(limits: limits)
    while let _ = try members.next(
      { stamp, bytes, size in
        let values = try values(bytes, stamp, size, context)
        try body(stamp, values)
        return values.count
      }, count: { $0 })
    { progress(members.offset) }
    return ArchiveWalk(
      first: members.first, count: members.total.count, plainSize: members.total.plainSize,
      memberCount: members.memberCount, fileSize: members.offset)
  }

  /// Reads an archive that is in memory.
  static func walk(
    _ data: Data, limits: ArchiveLimits, _ body: (Stamp, [ArchiveValue]) throws -> Void
  ) throws -> ArchiveWalk {
    var order = StreamOrder()
    let context = DecodingContext(limits: limits)
    var place = 0
    while place < data.count {
      let member = try Gzip.inflateMember(at: place, in: data.bytes, limits: limits)
      let header = try GzipHeader(at: place, in: data.bytes, fileOffset: place)
      try order.accept(member.stamp, StreamPlace(of: header, at: place, in: data.bytes))
      let values = try values(member.body, member.stamp, member.nextOffset - place, context)
      guard member.stamp.kind != .member || UInt64(values.count) == member.stamp.count else {
        throw ArchiveError(
          .damaged, "the number of models in a member does not match the count in its stamp", byteOffset: place)
      }
      try body(member.stamp, values)
      place = member.nextOffset
    }
    try order.finish()
    return ArchiveWalk(
      first: order.first, count: order.total.count, plainSize: order.total.plainSize, memberCount: order.next,
      fileSize: place)
  }

  /// Returns the values of a body: all elements of the array in a stream member, one value in a single archive, or no
  /// values in an end member.
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
