package import Foundation

/// Reads the members of an archive file one by one.
///
/// Memory holds one member at a time and a buffer of 128 KiB, however large the file is. The file may be a pipe.
/// After an error the reader stands still, and every further call gives the same error.
package struct MemberReader: ~Copyable {
  /// The least that is asked of the system at once while inflating.
  private static let readSize = 64 << 10
  /// Enough for most headers, type names included.
  private static let headerReadSize = 512

  private let file: OpenFile
  private let limits: ArchiveLimits
  /// Holds the longest header and a read behind it.
  private var buffer = [UInt8](repeating: 0, count: 2 * readSize)
  private var start = 0
  private var end = 0
  private var failure: (any Error)?
  /// Where in the file the next member begins.
  package private(set) var offset = 0

  /// Opens a file.
  package init(url: URL, limits: ArchiveLimits = ArchiveLimits()) throws {
    file = try OpenFile(reading: url)
    self.limits = limits
  }

  /// The next member; `nil` where the file ends behind a member, or is empty.
  ///
  /// Whether the last member was one that ends a stream is for the caller to see.
  package mutating func next() throws -> (stamp: Stamp, body: [UInt8])? {
    if let failure { throw failure }
    do {
      guard try fill(atLeast: 1) else { return nil }
      return try readMember()
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func readMember() throws -> (stamp: Stamp, body: [UInt8]) {
    // Where the file ends early, the header says so itself.
    _ = try fill(atLeast: GzipHeader.fixedSize)
    let length = try GzipHeader.length(
      at: 0, in: buffer.span.bytes.extracting(start..<end), fileOffset: offset)
    _ = try fill(atLeast: length)
    let header = try GzipHeader(
      at: 0, in: buffer.span.bytes.extracting(start..<end), fileOffset: offset)
    start += header.length
    return try InflateStream.withStream { stream in
      var inflater = try BodyInflater(
        stamp: header.stamp, limits: limits, stream: stream, inputHint: buffer.count, fileOffset: offset)
      var size = header.length + Gzip.trailerSize
      while !inflater.isFinished {
        guard try fill(atLeast: 1) else { throw Gzip.truncation(offset + size - Gzip.trailerSize) }
        let used = try inflater.feed(buffer.span.bytes.extracting(start..<end))
        start += used
        size += used
      }
      guard try fill(atLeast: Gzip.trailerSize),
        let crc = buffer.span.bytes.littleEndian(at: start, as: UInt32.self),
        let plainSize = buffer.span.bytes.littleEndian(at: start + 4, as: UInt32.self)
      else { throw Gzip.truncation(offset + size - Gzip.trailerSize + end - start) }
      let body = try inflater.finish(crc: crc, size: plainSize)
      start += Gzip.trailerSize
      offset += size
      return (header.stamp, body)
    }
  }

  /// Reads until `count` bytes are buffered.
  /// - Returns: Whether they are; where not, the file has ended and the rest of it is buffered.
  private mutating func fill(atLeast count: Int) throws -> Bool {
    guard end - start < count else { return true }
    if start > 0 {
      buffer.replaceSubrange(0..<end - start, with: Array(buffer[start..<end]))
      end -= start
      start = 0
    }
    while end < count {
      let step = try file.readSome(into: &buffer, from: end)
      if step == 0 { return false }
      end += step
    }
    return true
  }
}

extension MemberReader {
  /// The stamp of a file's first member. Reads 512 bytes, more only where the header is longer.
  package static func stamp(ofFile url: URL) throws -> Stamp {
    try firstHeader(of: OpenFile(reading: url)).stamp
  }

  /// The stamp of the member that ends a stream, read from the tail of the file.
  ///
  /// Such a member is as long as the first member's header and ten bytes more, since both name the same type.
  /// Its header and its trailer are checked; the members in between are not.
  ///
  /// - Returns: `nil` where the file does not end so: it is no stream, or it was cut or damaged at its end.
  /// - Throws: What ``stamp(ofFile:)`` throws.
  package static func endStamp(ofFile url: URL) throws -> Stamp? {
    let file = try OpenFile(reading: url)
    let first = try firstHeader(of: file)
    let length = first.length + Gzip.emptyBody.count + Gzip.trailerSize
    let size = try file.status().size
    guard size >= length else { return nil }
    let tail = try file.readBytes(at: size - length, count: length)
    guard tail.count == length,
      let last = try? GzipHeader(at: 0, in: tail.span.bytes, fileOffset: size - length),
      last.length == first.length, last.stamp.kind == .end, last.stamp.typeName == first.stamp.typeName,
      tail[last.length...].elementsEqual(Gzip.emptyBody + [UInt8](repeating: 0, count: Gzip.trailerSize))
    else { return nil }
    return last.stamp
  }

  private static func firstHeader(of file: borrowing OpenFile) throws -> GzipHeader {
    var bytes = try file.readBytes(at: 0, count: headerReadSize)
    let length = try GzipHeader.length(at: 0, in: bytes.span.bytes, fileOffset: 0)
    if length > bytes.count { bytes = try file.readBytes(at: 0, count: length) }
    return try GzipHeader(at: 0, in: bytes.span.bytes, fileOffset: 0)
  }
}
