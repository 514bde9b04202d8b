package import Foundation

/// Reads the members of an archive file one at a time.
///
/// Regardless of the size of the file, only one member and a buffer of 128 KiB are in memory. The file may be a pipe. After an error, the
/// reader stays at its position, and every later call to ``next()`` throws the same error.
package struct MemberReader: ~Copyable {
  /// The maximum number of bytes to read at once in a search for a header.
  static let readSize = 64 << 10
  /// The size in bytes of the first read after the reader has skipped damage. It is small, because the bytes found there often only look
  /// like a member.
  private static let firstReadSize = 2 << 10

  private let file: OpenFile
  private let limits: ArchiveLimits
  /// The read buffer. It has room for the longest header and for the next read.
  private var buffer = [UInt8](repeating: 0, count: 2 * readSize)
  private var start = 0
  private var end = 0
  private var failure: (any Error)?
  /// The file offset of the next member.
  package private(set) var offset = 0
  /// The file offset of the next read; `nil` for a pipe, which has no offsets.
  private var position: Int?
  /// The end of the readable range, as a file offset.
  private let bound: Int
  /// The maximum number of bytes to request from the system at once. Each read doubles it, up to the size of the buffer.
  private var step = 2 * readSize
  /// The trailer of the previous member; empty at the beginning of the file.
  private var trailer: [UInt8] = []
  /// The header of the last member that was read, even if the rest of the member could not be read. `nil` if the header itself
  /// could not be read.
  private(set) var header: GzipHeader?
  /// Whether the header of the last member records a position, and whether the member is at that position.
  private(set) var place = StreamPlace.unstated

  /// Opens a file. Members that a writer appends later are not read. If a writer is appending already, reading ends after the
  /// last complete end member.
  package init(url: URL, limits: ArchiveLimits = ArchiveLimits()) throws {
    let file = try OpenFile(reading: url)
    let isRegular = try file.status().isRegular
    bound = try isRegular ? Self.completeSize(of: file) ?? .max : .max
    position = isRegular ? 0 : nil
    self.limits = limits
    self.file = file
  }

  /// Opens a file for reading up to the end of the file, even if a writer is appending to it.
  init(wholeOf url: URL, limits: ArchiveLimits) throws {
    try self.init(of: OpenFile(reading: url), limits: limits, in: 0..<Int.max)
  }

  /// Creates a reader for the members in a byte range of a file. If the range does not begin at 0, the file must be a
  /// regular file.
  init(of file: consuming OpenFile, limits: ArchiveLimits, in range: Range<Int>) throws {
    let isRegular = try file.status().isRegular
    let before = try Self.trailer(before: range.lowerBound, in: file)
    position = isRegular ? range.lowerBound : nil
    bound = range.upperBound
    offset = range.lowerBound
    trailer = before
    self.limits = limits
    self.file = file
  }

  /// Returns the eight bytes before a file offset, which are the trailer of the previous member. If the offset is less than 8, returns all
  /// bytes before it.
  static func trailer(before offset: Int, in file: borrowing OpenFile) throws -> [UInt8] {
    let count = min(offset, Gzip.trailerSize)
    return try file.readBytes(at: offset - count, count: count)
  }

  /// Whether the reader can move to any offset in the file. This is not possible in a pipe, where reading cannot continue after damage.
  package var isSeekable: Bool { position != nil }
  /// The file offset up to which bytes have been read.
  var reach: Int { position ?? offset }

  /// Returns the end of the readable range, as a file offset.
  func size() throws -> Int { min(bound, try file.status().size) }

  /// Returns the next member; `nil` if the file is empty or ends after the previous member.
  ///
  /// The caller must check whether the last member of a stream is an end member.
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

  /// Returns the stamp of the first member of a truncated file, and the available part of the member's body. The checksum of the
  /// body is not verified.
  ///
  /// - Throws: the same errors as ``next()``, except for a truncated body.
  mutating func nextCut() throws -> (stamp: Stamp, body: [UInt8]) {
    let header = try readHeader()
    return try InflateStream.withStream { stream in
      var inflater = try BodyInflater(
        stamp: header.stamp, limits: limits, stream: stream, inputHint: buffer.count, fileOffset: offset)
      while try !inflater.isFinished && fill(atLeast: 1) {
        start += try inflater.feed(buffer.bytes.extracting(start..<end))
      }
      return (header.stamp, inflater.body)
    }
  }

  private mutating func readHeader() throws -> GzipHeader {
    header = nil
    // The result is ignored, because parsing throws an error if the header is incomplete.
    _ = try fill(atLeast: GzipHeader.fixedSize)
    let length = try GzipHeader.length(
      at: 0, in: buffer.bytes.extracting(start..<end), fileOffset: offset)
    _ = try fill(atLeast: length)
    let header = try GzipHeader(
      at: 0, in: buffer.bytes.extracting(start..<end), fileOffset: offset)
    start += header.length
    self.header = header
    place = StreamPlace(header.link, expected: StreamLink(at: offset, after: trailer))
    return header
  }

  private mutating func readMember() throws -> (stamp: Stamp, body: [UInt8]) {
    let header = try readHeader()
    return try InflateStream.withStream { stream in
      var inflater = try BodyInflater(
        stamp: header.stamp, limits: limits, stream: stream, inputHint: buffer.count, fileOffset: offset)
      var size = header.length + Gzip.trailerSize
      while !inflater.isFinished {
        guard try fill(atLeast: 1) else { throw Gzip.truncation(offset + size - Gzip.trailerSize) }
        let used = try inflater.feed(buffer.bytes.extracting(start..<end))
        start += used
        size += used
      }
      guard try fill(atLeast: Gzip.trailerSize),
        let crc = buffer.bytes.littleEndian(at: start, as: UInt32.self),
        let plainSize = buffer.bytes.littleEndian(at: start + 4, as: UInt32.self)
      else { throw Gzip.truncation(offset + size - Gzip.trailerSize + end - start) }
      let body = try inflater.finish(crc: crc, size: plainSize)
      trailer = Array(buffer[start..<start + Gzip.trailerSize])
      start += Gzip.trailerSize
      offset += size
      return (header.stamp, body)
    }
  }

  /// Reads until the buffer contains at least `count` unread bytes.
  /// - Returns: whether the buffer contains `count` bytes. If not, the file has ended, and the buffer contains all remaining
  ///   bytes.
  private mutating func fill(atLeast count: Int) throws -> Bool {
    guard end - start < count else { return true }
    if start > 0 {
      buffer.replaceSubrange(0..<end - start, with: Array(buffer[start..<end]))
      end -= start
      start = 0
    }
    while end < count {
      let count = try file.readSome(into: &buffer, from: end, most: min(step, bound - (position ?? 0)), at: position)
      if count == 0 { return false }
      step = min(2 * step, buffer.count)
      end += count
      position = position.map { $0 + count }
    }
    return true
  }

  // MARK: After damage

  /// For each byte of the file, a search for members may verify at most this many header bytes. This limit stops the search in files that
  /// are crafted to contain many false headers.
  static let mostSearching = 64

  /// Moves the reader to an offset in the file. The file must not be a pipe.
  mutating func move(to place: Int) throws {
    trailer = try Self.trailer(before: place, in: file)
    (offset, position, start, end, failure, step) = (place, place, 0, 0, nil, Self.firstReadSize)
  }

  /// Moves the reader past damage to the next readable header. The bytes of that header may be part of a model's content.
  ///
  /// - Parameter start: the file offset at which the search begins. The file must not be a pipe.
  /// - Returns: whether a header was found. If so, ``offset`` is the offset of the header, and ``next()`` reads its member.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `limitExceeded` for a file that is crafted to contain many
  ///   positions that look like members.
  /// - Complexity: linear in the number of skipped bytes.
  package mutating func seek(from start: Int) throws -> Bool {
    let size = try size()
    var place = start
    var work = 0
    var window = Self.firstReadSize
    while place < size {
      let bytes = try file.readBytes(at: place, count: min(window, size - place))
      window = min(2 * window, Self.readSize)
      guard bytes.count >= GzipHeader.fixedSize else { return false }
      for index in 0..<bytes.count - 3 where GzipHeader.mayBegin(bytes, at: index) {
        // These bytes may be compressed data that only looks like the start of a header, so an error in parsing them is ignored.
        let first = try file.readBytes(at: place + index, count: GzipHeader.fixedSize)
        guard let length = try? GzipHeader.length(at: 0, in: first.bytes, fileOffset: place + index),
          length <= GzipHeader.largestWritten
        else { continue }
        let head = try file.readBytes(at: place + index, count: min(length, size - place - index))
        work += head.count
        guard work <= (size - start) * Self.mostSearching + GzipHeader.largestWritten else {
          throw ArchiveError(
            .limitExceeded, "reading stopped because too many byte sequences in the file resemble archive members",
            byteOffset: place + index)
        }
        // If these bytes are not a valid header, the error is ignored and the search continues.
        guard (try? GzipHeader(at: 0, in: head.bytes, fileOffset: place + index)) != nil else { continue }
        try move(to: place + index)
        return true
      }
      place += bytes.count - 3
    }
    return false
  }
}
