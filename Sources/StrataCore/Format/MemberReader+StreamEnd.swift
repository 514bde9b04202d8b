package import Foundation

/// What the first header and the last end of a file tell, without what is in between.
extension MemberReader {
  /// Enough for most headers, type names included.
  private static let headerReadSize = 512

  /// The stamp of a file's first member. Reads 512 bytes, more only where the header is longer.
  package static func stamp(ofFile url: URL) throws -> Stamp {
    try firstHeader(of: OpenFile(reading: url)).stamp
  }

  /// The stamp of the last complete end of a stream, which an appender that is at work has not added to.
  ///
  /// An end that states its place is read alone. In a stream whose members state none, the bytes of an end can be those of a
  /// model, so all members are read.
  ///
  /// - Returns: `nil` where the file does not end with a complete end: it is no stream, or it was cut or damaged.
  /// - Throws: what ``stamp(ofFile:)`` throws; `limitExceeded` for a file that is made to have many places which look like
  ///   ends.
  package static func endStamp(ofFile url: URL) throws -> Stamp? {
    let file = try OpenFile(reading: url)
    let first = try firstHeader(of: file)
    guard first.stamp.kind != .single else { return nil }
    let size = try completeSize(of: file) ?? file.status().size
    if let end = try tailEnd(of: file, first, at: size), end.isProven { return end.stamp }
    let end = try lastEnd(of: file, first, before: size)
    return end?.offset == size ? end?.stamp : nil
  }

  /// The size of a stream up to its last complete end: the size of the file, or the size before an appender that is at work
  /// began; `nil` where neither is known, and for what is no stream.
  static func completeSize(of file: borrowing OpenFile) throws -> Int? {
    guard let first = try header(of: file), first.stamp.kind != .single else { return nil }
    while true {
      let size = try file.status().size
      if try tailEnd(of: file, first, at: size)?.isProven ?? false { return size }
      switch try file.lock(isShared: true) {
      case .isHeld: return try lastEnd(of: file, first, before: size)?.offset
      case .isUnknown: return nil
      case .taken:
        file.unlock()
        // A writer may have come to its end just now.
        if try file.status().size == size { return size }
      }
    }
  }

  /// The stamp of the end that is right before an offset, and whether it states that place; `nil` where none is.
  ///
  /// A program that knows no links appends ends without one.
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

  /// The bytes of an end after its header.
  private static var endLength: Int { Gzip.emptyBody.count + Gzip.trailerSize }

  /// The header of an end that these bytes are; `nil` where they are something else.
  private static func end(_ bytes: RawSpan, _ first: GzipHeader) -> GzipHeader? {
    let rest = Gzip.emptyBody + [UInt8](repeating: 0, count: Gzip.trailerSize)
    let length = bytes.byteCount - rest.count
    // What is no header is no end.
    guard rest.indices.allSatisfy({ bytes.littleEndian(at: length + $0, as: UInt8.self) == rest[$0] }),
      let last = try? GzipHeader(at: 0, in: bytes, fileOffset: 0), last.length == length,
      last.stamp.kind == .end, last.stamp.typeName == first.stamp.typeName
    else { return nil }
    return last
  }

  /// The header of the first member; `nil` where the file does not begin with one, which whoever reads it tells.
  private static func header(of file: borrowing OpenFile) throws -> GzipHeader? {
    do { return try firstHeader(of: file) } catch let error as ArchiveError where error.code != .fileSystem {
      return nil
    }
  }

  /// The last end before an offset, and where it ends: the last one that states its place, or one that can be reached from it,
  /// or from the beginning, by members that state none.
  private static func lastEnd(
    of file: borrowing OpenFile, _ first: GzipHeader, before size: Int
  ) throws -> (stamp: Stamp, offset: Int)? {
    var last = first.link == nil ? nil : try lastLinkedEnd(of: file, first, before: size)
    var order = last.map { StreamOrder(after: $0.stamp) } ?? StreamOrder()
    var reader = try MemberReader(of: file.duplicate(), limits: ArchiveLimits(), in: (last?.offset ?? 0)..<size)
    do {
      while let stamp = try reader.next()?.stamp, reader.place == .unstated {
        try order.take(stamp)
        if stamp.kind == .end { last = (stamp, reader.offset) }
      }
    } catch let error as ArchiveError where error.code != .fileSystem {
      // Damage behind the last end is no error here. Reading the members throws it.
    }
    return last
  }

  /// The last end that states its place, looked for from the end of the file.
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
            .limitExceeded, "too many places of the file look like ends of a stream and are none",
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
