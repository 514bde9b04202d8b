/// The header of a member, which is a gzip header (RFC 1952 §2.3) with an extra field, a checksum and no other optional
/// parts.
package struct GzipHeader: Sendable {
  /// The size in bytes of the fixed part of a header, up to and including the length of the extra field.
  package static let fixedSize = 12

  /// The maximum size in bytes of a header that this library writes.
  static let largestWritten = fixedSize + Stamp.longestTypeName + 64 + checksumSize

  private static let checksumSize = 2
  private static let magic: (UInt8, UInt8) = (0x1F, 0x8B)
  private static let deflateMethod: UInt8 = 8
  /// The gzip flags FEXTRA and FHCRC: the header has an extra field and a checksum.
  private static let flags: UInt8 = 0x04 | 0x02
  private static let unknownSystem: UInt8 = 255

  /// The stamp in the extra field.
  package let stamp: Stamp
  /// The link in the extra field; `nil` if the member has no link.
  let link: StreamLink?
  /// The length of the header in bytes, from the magic number to the header's checksum.
  package let length: Int
  /// The length in bytes that the header would have without its link.
  var unlinkedLength: Int { length - (link?.subfield.count ?? 0) }

  /// Returns the bytes of a header with the given stamp. The same stamp and link always produce the same header, because headers record
  /// neither a time nor an operating system.
  package static func bytes(for stamp: Stamp, link: StreamLink? = nil) throws -> [UInt8] {
    let extra = try stamp.extraField() + (link?.subfield ?? [])
    var bytes: [UInt8] = [magic.0, magic.1, deflateMethod, flags, 0, 0, 0, 0, 0, unknownSystem]
    bytes.reserveCapacity(fixedSize + extra.count + checksumSize)
    // The size always fits, because the length of type names is limited. The check is a safeguard in case that limit is raised.
    guard let extraSize = UInt16(exactly: extra.count) else {
      throw ArchiveError(
        .notEncodable, "the stamp, which contains the type name and the versions, is too long for a gzip header")
    }
    bytes.appendLittleEndian(extraSize)
    bytes.append(contentsOf: extra)
    bytes.appendLittleEndian(UInt16(truncatingIfNeeded: Checksum.crc32(of: bytes.bytes)))
    return bytes
  }

  /// Returns whether the four bytes at index `place` can be the first four bytes of a header. Searches for headers use this as a quick
  /// test. The array must contain all four bytes.
  static func mayBegin(_ bytes: [UInt8], at place: Int) -> Bool {
    bytes[place] == magic.0 && bytes[place + 1] == magic.1 && bytes[place + 2] == deflateMethod
      && bytes[place + 3] == flags
  }

  /// Reads the first ``fixedSize`` bytes of a header and returns the length of the whole header.
  ///
  /// - Parameter fileOffset: the offset of the member in its file. At offset 0, wrong bytes mean that the file is not
  ///   an archive. At any other offset, they mean damage.
  package static func length(at offset: Int, in bytes: RawSpan, fileOffset: Int) throws -> Int {
    func reject(_ reason: String) -> ArchiveError {
      fileOffset > 0
        ? ArchiveError(
          .damaged, "the data at byte \(fileOffset) is not a member of the archive: \(reason)", byteOffset: fileOffset)
        : ArchiveError(.notAnArchive, "the data is not an archive: \(reason)", byteOffset: fileOffset)
    }
    func byte(_ place: Int) -> UInt8? { bytes.littleEndian(at: offset + place, as: UInt8.self) }
    guard offset >= 0, offset <= bytes.byteCount else { throw truncation(fileOffset) }
    guard byte(0) ?? magic.0 == magic.0, byte(1) ?? magic.1 == magic.1 else {
      let advice = fileOffset > 0 ? nil : ForeignFormat(bytes.extracting(offset..<bytes.byteCount))?.advice
      throw reject("the gzip header is missing" + (advice.map { "; \($0)" } ?? ""))
    }
    guard byte(2) ?? deflateMethod == deflateMethod else {
      throw reject("the gzip header specifies a compression method other than deflate")
    }
    guard byte(3) ?? flags == flags else {
      throw reject("the gzip header has no stamp or no checksum")
    }
    guard let extraSize = bytes.littleEndian(at: offset + fixedSize - 2, as: UInt16.self) else {
      throw truncation(fileOffset)
    }
    return fixedSize + Int(extraSize) + checksumSize
  }

  /// Reads and verifies the header that begins at `offset`.
  package init(at offset: Int, in bytes: RawSpan, fileOffset: Int) throws {
    let length = try Self.length(at: offset, in: bytes, fileOffset: fileOffset)
    guard bytes.byteCount - offset >= length else { throw Self.truncation(fileOffset) }
    let header = bytes.extracting(offset..<offset + length)
    let checked = header.extracting(first: length - Self.checksumSize)
    let crc = UInt16(truncatingIfNeeded: Checksum.crc32(of: checked))
    guard header.littleEndian(at: checked.byteCount, as: UInt16.self) == crc else {
      throw ArchiveError(.damaged, "the checksum of the gzip header is wrong", byteOffset: fileOffset)
    }
    var link: StreamLink?
    stamp = try Stamp(
      extraField: checked.extracting(Self.fixedSize..<checked.byteCount),
      fileOffset: fileOffset + Self.fixedSize, link: &link)
    self.link = link
    self.length = length
  }

  private static func truncation(_ fileOffset: Int) -> ArchiveError {
    ArchiveError(.truncated, "the archive ends inside a gzip header", byteOffset: fileOffset)
  }
}
