/// The position of a member in its stream. It is stored in the subfield `Sl` of the member's header (Docs/Format.md,
/// section 11).
///
/// A model can contain the bytes of another stream. A link in these bytes records a position that differs from the actual position of the
/// bytes in the file, so readers do not mistake them for members of the file's stream.
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

  /// Creates the link of a member from the bytes before it. `bytes` must contain the whole file up to the member.
  package init(after bytes: RawSpan) {
    offset = UInt64(bytes.byteCount)
    previous = Checksum.crc32(of: bytes.extracting(last: Gzip.trailerSize))
  }

  /// Parses the content of the subfield, without its identifier and length. Returns `nil` if the content has the wrong size.
  init?(payload: RawSpan) {
    guard payload.byteCount == Self.payloadSize, let offset = payload.littleEndian(at: 0, as: UInt64.self),
      let previous = payload.littleEndian(at: 8, as: UInt32.self)
    else { return nil }
    (self.offset, self.previous) = (offset, previous)
  }

  /// The encoded subfield, with its identifier and length.
  var subfield: [UInt8] {
    var bytes = [Self.identifier.0, Self.identifier.1]
    bytes.appendLittleEndian(UInt16(Self.payloadSize))
    bytes.appendLittleEndian(offset)
    bytes.appendLittleEndian(previous)
    return bytes
  }
}

/// Whether a member's header records a position in the file, and whether the member is at that position.
package enum StreamPlace: Sendable {
  /// The header records no position, because it has no link.
  case unstated
  case right, wrong

  init(_ link: StreamLink?, expected: @autoclosure () -> StreamLink) {
    self = link.map { $0 == expected() ? .right : .wrong } ?? .unstated
  }

  /// Compares the position that a member's header records with the member's actual position. `bytes` must contain the whole file.
  package init(of header: GzipHeader, at offset: Int, in bytes: RawSpan) {
    self.init(header.link, expected: StreamLink(after: bytes.extracting(first: offset)))
  }
}
