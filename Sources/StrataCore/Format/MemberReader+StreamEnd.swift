package import Foundation

/// Finds the first header and the last end member of a file, usually without reading the members in between.
extension MemberReader {
  /// The size of the first read in bytes. Most headers, including their type names, are shorter.
  private static let headerReadSize = 512

  /// Returns the stamp of a file's first member. Reads only 512 bytes, unless the header is longer.
  package static func stamp(ofFile url: URL) throws -> Stamp {
    try firstHeader(of: OpenFile(reading: url)).stamp
  }

  /// Returns the stamp of the last complete end member of a stream. Ignores the members of a writer that is still appending.
  ///
  /// If the end member records its position, no other members are read. Otherwise all members are read, because bytes inside a model can
  /// look like an end member.
  ///
  /// - Returns: the stamp; `nil` if the file is not a stream, or if no complete end member is at its end. A stream without a complete end
  ///   member is truncated or damaged.
  /// - Throws: any error that ``stamp(ofFile:)`` throws, and `limitExceeded` for a file that is crafted to contain many positions that look
  ///   like end members.
  package static func endStamp(ofFile url: URL) throws -> Stamp? {
    let file = try OpenFile(reading: url)
    let first = try firstHeader(of: file)
    guard first.stamp.kind != .single else { return nil }
    let size = try completeSize(of: file) ?? file.status().size
    if let end = try tailEnd(of: file, first, at: size), end.isProven { return end.stamp }
    let end = try lastEnd(of: file, first, before: size)
    return end?.offset == size ? end?.stamp : nil
  }

  /// Returns the size of a stream in bytes. While a writer is appending, this is the size of the file before the writer began. Returns
  /// `nil` if the file is not a stream, or if it is unknown whether a writer is appending, because the file system does not support locks.
  static func completeSize(of file: borrowing OpenFile) throws -> Int? {
    guard let first = try header(of: file), first.stamp.kind != .single else { return nil }
    while true {
      let size = try file.status().size
      if try tailEnd(of: file, first, at: size)?.isProven ?? false { return size }
      switch try file.lock(isShared: true) {
      case .heldByOther: return try lastEnd(of: file, first, before: size)?.offset
      case .unsupported: return nil
      case .acquired:
        file.unlock()
        // If the size has changed, a writer has finished in the meantime, so the loop starts again with the new size.
        if try file.status().size == size { return size }
      }
    }
  }

  /// Returns the stamp of the end member directly before a file offset, and whether that member records its position. Returns `nil` if
  /// there is no end member.
  ///
  /// Tries headers with and without a link (the subfield that records the position), because older programs append end members without a
  /// link.
  static func tailEnd(
    of file: borrowing OpenFile, _ first: GzipHeader, at size: Int
  ) throws -> (stamp: Stamp, isProven: Bool)? {
    for length in Set([first.length, first.unlinkedLength]).sorted(by: >) {
      let length = length + endLength
      guard size >= length else { continue }
      let tail = try file.readBytes(at: size - length, count: length)
      guard tail.count == length, let end = end(tail.bytes, first) else { continue }
      let trailer = try trailer(before: size - length, in: file)
      switch StreamPlace(end.link, expected: StreamLink(at: size - length, after: trailer)) {
      case .right: return (end.stamp, true)
      case .unstated: return (end.stamp, false)
      case .wrong: continue
      }
    }
    return nil
  }

  /// The size of an end member in bytes, without its header.
  private static var endLength: Int { Gzip.emptyBody.count + Gzip.trailerSize }

  /// Parses an end member and returns its header; `nil` if the bytes are not an end member.
  private static func end(_ bytes: RawSpan, _ first: GzipHeader) -> GzipHeader? {
    let rest = Gzip.emptyBody + [UInt8](repeating: 0, count: Gzip.trailerSize)
    let length = bytes.byteCount - rest.count
    // An invalid header only means that the bytes are not an end member, so `try?` ignores the error.
    guard rest.indices.allSatisfy({ bytes.littleEndian(at: length + $0, as: UInt8.self) == rest[$0] }),
      let last = try? GzipHeader(at: 0, in: bytes, fileOffset: 0), last.length == length,
      last.stamp.kind == .end, last.stamp.typeName == first.stamp.typeName
    else { return nil }
    return last
  }

  /// Returns the header of the first member. If the header is invalid, returns `nil` instead of throwing an error, because reading the
  /// members throws the error later.
  private static func header(of file: borrowing OpenFile) throws -> GzipHeader? {
    do { return try firstHeader(of: file) } catch let error as ArchiveError where error.code != .fileSystem {
      return nil
    }
  }

  /// Returns the stamp of the last end member before a file offset, and the offset after that member. First searches backward for an end
  /// member that records its position. Then reads forward from there, or from the beginning of the file if there is no such member, until a
  /// member records its position.
  private static func lastEnd(
    of file: borrowing OpenFile, _ first: GzipHeader, before size: Int
  ) throws -> (stamp: Stamp, offset: Int)? {
    var last = first.link == nil ? nil : try lastLinkedEnd(of: file, first, before: size)
    var order = last.map { StreamOrder(after: $0.stamp) } ?? StreamOrder()
    var reader = try MemberReader(of: file.duplicate(), limits: ArchiveLimits(), in: (last?.offset ?? 0)..<size)
    do {
      while let stamp = try reader.next()?.stamp, reader.place == .unstated {
        try order.accept(stamp)
        if stamp.kind == .end { last = (stamp, reader.offset) }
      }
    } catch let error as ArchiveError where error.code != .fileSystem {
      // Damage after the last end member is ignored here, because it is reported when the members are read.
    }
    return last
  }

  /// Searches backward from a file offset for the last end member that records its position.
  private static func lastLinkedEnd(
    of file: borrowing OpenFile, _ first: GzipHeader, before size: Int
  ) throws -> (stamp: Stamp, offset: Int)? {
    let length = first.length + endLength
    var work = 0
    var top = size
    while top >= length {
      let bottom = max(0, top - readSize)
      let bytes = try file.readBytes(at: bottom, count: top - bottom)
      guard bytes.count == top - bottom, bytes.count >= length else { return nil }
      for index in (0...bytes.count - length).reversed() where GzipHeader.mayBegin(bytes, at: index) {
        work += length
        guard work <= size * mostSearching + GzipHeader.largestWritten else {
          throw ArchiveError(
            .limitExceeded, "reading stopped because too many byte sequences in the file resemble the end of a stream",
            byteOffset: bottom + index)
        }
        let place = bottom + index
        guard let end = end(bytes.bytes.extracting(index..<index + length), first), let link = end.link,
          try link == StreamLink(at: place, after: trailer(before: place, in: file))
        else { continue }
        return (end.stamp, place + length)
      }
      if bottom == 0 { return nil }
      top = bottom + length - 1
    }
    return nil
  }

  static func firstHeader(of file: borrowing OpenFile) throws -> GzipHeader {
    var bytes = try file.readBytes(at: 0, count: headerReadSize)
    let length = try GzipHeader.length(at: 0, in: bytes.bytes, fileOffset: 0)
    if length > bytes.count { bytes = try file.readBytes(at: 0, count: length) }
    return try GzipHeader(at: 0, in: bytes.bytes, fileOffset: 0)
  }
}
