/// Writes and reads the members of an archive, which are gzip members (RFC 1952) with a ``Stamp`` in the header.
package enum Gzip {
  /// The size in bytes of a member's trailer. The trailer follows the deflate data and contains the CRC-32 and the size
  /// of the body.
  package static let trailerSize = 8
  /// The deflate data of an empty body. It is the same at every compression level.
  static let emptyBody: [UInt8] = [0x03, 0x00]

  /// Appends one member. After an error, `output` is unchanged.
  ///
  /// Sets the plain size in the stamp to the size of `body`. An ``Stamp/Kind/end`` member keeps its stamp unchanged and
  /// must have an empty body.
  ///
  /// - Parameters:
  ///   - minimumSize: the minimum size of the member in bytes. A smaller member is padded with empty blocks before
  ///     its deflate data, because readers limit the work for a file in proportion to its size.
  ///   - link: the position of the member in its file, for members of a stream.
  ///   - blocks: whether a large body is divided into blocks that are deflated separately.
  package static func appendMember(
    body: RawSpan, stamp: Stamp, level: CompressionLevel = .balanced, minimumSize: Int = 0, link: StreamLink? = nil,
    blocks: DeflateBlocks = .none, to output: inout [UInt8]
  ) throws {
    var stamp = stamp
    if stamp.kind != .end {
      stamp.plainSize = UInt64(body.byteCount)
    } else if !body.isEmpty {
      throw ArchiveError(.notEncodable, "the member that marks the end of a stream must not have a body")
    }
    let header = try GzipHeader.bytes(for: stamp, link: link)
    let start = output.count
    do {
      output.append(contentsOf: header)
      let content = output.count
      if body.isEmpty {
        output.append(contentsOf: emptyBody)
      } else if level == .none {
        appendStored(body, to: &output)
      } else if !WholeDeflate.deflate(body, level: level.rawLevel, to: &output) {
        try deflate(body, level.rawLevel, blocks, to: &output)
      }
      let missing = minimumSize - (output.count - start + trailerSize)
      if missing > 0 { output.insert(contentsOf: emptyBlocks(missing), at: content) }
      output.appendLittleEndian(Checksum.crc32(of: body))
      output.appendLittleEndian(UInt32(truncatingIfNeeded: body.byteCount))
    } catch {
      output.removeSubrange(start...)
      throw error
    }
  }

  private static func deflate(
    _ body: RawSpan, _ level: Int, _ blocks: DeflateBlocks, to output: inout [UInt8]
  ) throws {
    if case .threads(let threads) = blocks, body.byteCount >= BlockDeflate.leastSize {
      try BlockDeflate.deflate(body, level: level, threads: threads, to: &output)
    } else {
      try DeflateStream.deflate(body, level: level, to: &output)
    }
  }

  /// Replaces the link in a stream member's header.
  static func setLink(_ link: StreamLink, ofMember member: inout [UInt8]) throws {
    let header = try GzipHeader(at: 0, in: member.bytes, fileOffset: 0)
    try member.replaceSubrange(..<header.length, with: GzipHeader.bytes(for: header.stamp, link: link))
  }

  /// Reads the member that begins at `offset` and returns its stamp, its body and the offset of the next member.
  ///
  /// - Throws: ``ArchiveError`` with the code `notAnArchive`, `newerFormat`, `truncated`, `damaged` or
  ///   `limitExceeded`.
  package static func inflateMember(
    at offset: Int, in bytes: RawSpan, limits: ArchiveLimits
  ) throws -> (stamp: Stamp, body: [UInt8], nextOffset: Int) {
    let header = try GzipHeader(at: offset, in: bytes, fileOffset: offset)
    let (body, nextOffset) = try inflateMember(header, at: offset, in: bytes, limits: limits)
    return (header.stamp, body, nextOffset)
  }

  /// Reads the rest of a member after its header and returns the body and the offset of the next member.
  static func inflateMember(
    _ header: GzipHeader, at offset: Int, in bytes: RawSpan, limits: ArchiveLimits
  ) throws -> (body: [UInt8], nextOffset: Int) {
    try InflateStream.withStream { stream in
      let rest = bytes.extracting(offset + header.length..<bytes.byteCount)
      var inflater = try BodyInflater(
        stamp: header.stamp, limits: limits, stream: stream, inputHint: rest.byteCount, fileOffset: offset)
      let used = try inflater.feed(whole: rest)
      guard inflater.isFinished, let crc = rest.littleEndian(at: used, as: UInt32.self),
        let size = rest.littleEndian(at: used + 4, as: UInt32.self)
      else { throw truncation(bytes.byteCount) }
      let body = try inflater.finish(crc: crc, size: size)
      return (body, offset + header.length + used + trailerSize)
    }
  }

  static func truncation(_ fileOffset: Int) -> ArchiveError {
    ArchiveError(
      .truncated,
      "the content of the archive is incomplete because part of the file is missing", byteOffset: fileOffset)
  }

  /// Returns empty stored blocks (RFC 1951 §3.2.4), which pad a member. Their total size is `size` bytes, or up to four
  /// bytes more.
  private static func emptyBlocks(_ size: Int) -> [UInt8] {
    [[UInt8]](repeating: [0, 0, 0, 0xFF, 0xFF], count: (size + 4) / 5).flatMap(\.self)
  }

  /// Appends the body as stored blocks (RFC 1951 §3.2.4). zlib is not used, because its stored blocks depend on the sizes of its buffers,
  /// and the output must depend only on the body.
  private static func appendStored(_ body: RawSpan, to output: inout [UInt8]) {
    output.reserveCapacity(output.count + body.byteCount + (body.byteCount / 0xFFFF + 1) * 5 + trailerSize)
    var position = 0
    while position < body.byteCount {
      let size = min(body.byteCount - position, 0xFFFF)
      output.append(position + size == body.byteCount ? 1 : 0)
      output.appendLittleEndian(UInt16(size))
      output.appendLittleEndian(~UInt16(size))
      body.extracting(position..<position + size).withUnsafeBytes { output.append(contentsOf: $0) }
      position += size
    }
  }
}
