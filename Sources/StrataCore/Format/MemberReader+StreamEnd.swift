package import Foundation

/// What the first header and the last end of a file tell, without what is in between.
extension MemberReader {
  /// Enough for most headers, type names included.
  private static let headerReadSize = 512

  /// The stamp of a file's first member. Reads 512 bytes, more only where the header is longer.
  package static func stamp(ofFile url: URL) throws -> Stamp {
    try firstHeader(of: OpenFile(reading: url)).stamp
  }

  static func stamp(of file: borrowing OpenFile) throws -> Stamp { try firstHeader(of: file).stamp }

  /// The stamp of the member that ends a stream, read from the tail of the file; beside an appender that is at work, of the
  /// last complete end.
  ///
  /// Such a member is as long as the first member's header and ten bytes more, since both name the same type.
  /// Its header and its trailer are checked; the members in between are not.
  ///
  /// - Returns: `nil` where the file does not end so: it is no stream, or it was cut or damaged at its end.
  /// - Throws: What ``stamp(ofFile:)`` throws.
  package static func endStamp(ofFile url: URL) throws -> Stamp? {
    let file = try OpenFile(reading: url)
    let first = try firstHeader(of: file)
    guard let size = try completeSize(of: file) else { return nil }
    return try endStamp(of: file, first, at: size)
  }

  /// The stamp of the end that is right before an offset; `nil` where none is.
  static func endStamp(of file: borrowing OpenFile, at size: Int) throws -> Stamp? {
    try endStamp(of: file, firstHeader(of: file), at: size)
  }

  /// The size of a stream up to its last complete end: the size of the file where that ends so, else what was there before an
  /// appender that is at work began; `nil` where nobody writes and there is no end, and for what is no stream.
  static func completeSize(of file: borrowing OpenFile) throws -> Int? {
    guard let first = try header(of: file), first.stamp.kind != .single else { return nil }
    while true {
      let size = try file.status().size
      if try endStamp(of: file, first, at: size) != nil { return size }
      switch try file.lock(isShared: true) {
      case .isHeld: return try lastEnd(of: file, first, before: size)
      case .isUnknown: return nil
      case .taken:
        file.unlock()
        // A writer may have come to its end just now.
        if try file.status().size == size { return nil }
      }
    }
  }

  private static func endStamp(of file: borrowing OpenFile, _ first: GzipHeader, at size: Int) throws -> Stamp? {
    let length = endLength(first)
    guard size >= length else { return nil }
    let tail = try file.readBytes(at: size - length, count: length)
    guard tail.count == length else { return nil }
    return end(tail.bytes, first)
  }

  static func endLength(_ first: GzipHeader) -> Int {
    first.length + Gzip.emptyBody.count + Gzip.trailerSize
  }

  /// The stamp of an end that these bytes are; `nil` where they are something else.
  private static func end(_ bytes: RawSpan, _ first: GzipHeader) -> Stamp? {
    // What is no header is no end.
    guard let last = try? GzipHeader(at: 0, in: bytes, fileOffset: 0), last.length == first.length,
      last.stamp.kind == .end, last.stamp.typeName == first.stamp.typeName
    else { return nil }
    let rest = Gzip.emptyBody + [UInt8](repeating: 0, count: Gzip.trailerSize)
    let isRest = rest.indices.allSatisfy { bytes.littleEndian(at: last.length + $0, as: UInt8.self) == rest[$0] }
    return isRest ? last.stamp : nil
  }

  /// The header of the first member; `nil` where the file does not begin with one, which whoever reads it tells.
  private static func header(of file: borrowing OpenFile) throws -> GzipHeader? {
    do { return try firstHeader(of: file) } catch let error as ArchiveError where error.code != .fileSystem {
      return nil
    }
  }

  /// Where the last end ends, looked for from the end of the file.
  private static func lastEnd(of file: borrowing OpenFile, _ first: GzipHeader, before size: Int) throws -> Int? {
    let length = endLength(first)
    var top = size
    while top >= length {
      let bottom = max(0, top - readSize)
      let bytes = try file.readBytes(at: bottom, count: top - bottom)
      guard bytes.count == top - bottom, bytes.count >= length else { return nil }
      for index in (0...bytes.count - length).reversed() where GzipHeader.mayBegin(bytes, at: index) {
        if end(bytes.bytes.extracting(index..<index + length), first) != nil { return bottom + index + length }
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
