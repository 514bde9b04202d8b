/// The position of a member in its stream. It is stored in the subfield `Sl` of the member's header (Docs/Format.md,
/// section 11).
///
/// A model can contain the bytes of an archive. Links distinguish such bytes from members of the stream, because the
/// positions in their links differ from their actual positions.
package struct StreamLink: Sendable, Hashable {
  static let identifier: (UInt8, UInt8) = (UInt8(ascii: "S"), UInt8(ascii: "l"))
  static let payloadSize = 12

  /// The offset of the member in its file.
  private let offset: UInt64
  /// The CRC-32 of the eight bytes directly before the member, which are the previous member's trailer.
  private let previous: UInt32

  /// Creates the link of a member.
  ///
  /// - Parameters:
  ///   - offset: the offset of the member in its file.
  ///   - trailer: the trailer of the previous member, which is the last eight bytes before this member; empty for the
  ///     first member.
  init(at offset: Int, after trailer: [UInt8]) {
    (self.offset, previous) = (UInt64(offset), Checksum.crc32(of: trailer.bytes))
  }

  /// Creates the link of a member that follows the given bytes of a file.
  package init(after bytes: RawSpan) {
    offset = UInt64(bytes.byteCount)
    previous = Checksum.crc32(of: bytes.extracting(last: Gzip.trailerSize))
  }

  /// Parses the content of the subfield. Returns `nil` if the content has the wrong size.
  init?(payload: RawSpan) {
    guard payload.byteCount == Self.payloadSize, let offset = payload.littleEndian(at: 0, as: UInt64.self),
      let previous = payload.littleEndian(at: 8, as: UInt32.self)
    else { return nil }
    (self.offset, self.previous) = (offset, previous)
  }

  /// The bytes of the whole subfield.
  var subfield: [UInt8] {
    var bytes = [Self.identifier.0, Self.identifier.1]
    bytes.appendLittleEndian(UInt16(Self.payloadSize))
    bytes.appendLittleEndian(offset)
    bytes.appendLittleEndian(previous)
    return bytes
  }
}

/// Whether a member is at the position that its header records.
package enum StreamPlace: Sendable {
  /// The member has no link.
  case unstated
  case right, wrong

  init(_ link: StreamLink?, expected: @autoclosure () -> StreamLink) {
    self = link.map { $0 == expected() ? .right : .wrong } ?? .unstated
  }

  /// Compares the offset of a member in a whole file with the link in the member's header.
  package init(of header: GzipHeader, at offset: Int, in bytes: RawSpan) {
    self.init(header.link, expected: StreamLink(after: bytes.extracting(first: offset)))
  }
}
