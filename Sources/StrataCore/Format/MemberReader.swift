package import Foundation

/// Reads the members of an archive file one by one.
///
/// Memory holds one member at a time and a buffer of 128 KiB, however large the file is. The file may be a pipe.
/// After an error the reader stands still, and every further call gives the same error.
package struct MemberReader: ~Copyable {
  /// The bytes of a file that are searched at once.
  static let readSize = 64 << 10
  /// The first read behind damage. What looks like a member there is often none.
  private static let firstReadSize = 2 << 10

  private let file: OpenFile
  private let limits: ArchiveLimits
  /// Holds the longest header and a read after it.
  private var buffer = [UInt8](repeating: 0, count: 2 * readSize)
  private var start = 0
  private var end = 0
  private var failure: (any Error)?
  /// Where in the file the next member begins.
  package private(set) var offset = 0
  /// Where in the file the next reading begins; `nil` for a pipe, which has no places.
  private var position: Int?
  /// Where the file ends for this reader.
  private let bound: Int
  /// The most that is asked of the system at once. It grows from read to read.
  private var step = 2 * readSize
  /// The trailer of the member before the next one; empty at the beginning of the file.
  private var trailer: [UInt8] = []
  /// The header of the member that was read last, or could not be read; `nil` where its header could not be read.
  private(set) var header: GzipHeader?
  /// Whether that member is at the place that its link states.
  private(set) var place = StreamPlace.unstated

  /// Opens a file. What an appender adds from now on is not read: beside one that is at work, a stream ends with its last
  /// complete end.
  package init(url: URL, limits: ArchiveLimits = ArchiveLimits()) throws {
    let file = try OpenFile(reading: url)
    let isRegular = try file.status().isRegular
    bound = try isRegular ? Self.completeSize(of: file) ?? .max : .max
    position = isRegular ? 0 : nil
    self.limits = limits
    self.file = file
  }

  /// Opens a file and reads all of it, also while a writer appends to it.
  init(wholeOf url: URL, limits: ArchiveLimits) throws {
    try self.init(of: OpenFile(reading: url), limits: limits, in: 0..<Int.max)
  }

  /// Reads the members in a range of a file, which is a regular one unless the range begins at 0.
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

  /// The eight bytes before an offset, where as many are there.
  static func trailer(before offset: Int, in file: borrowing OpenFile) throws -> [UInt8] {
    let count = min(offset, Gzip.trailerSize)
    return try file.readBytes(at: offset - count, count: count)
  }

  /// Whether the file has places, so that one can go on after damage.
  package var isSeekable: Bool { position != nil }
  /// Up to where the file was read.
  var reach: Int { position ?? offset }

  /// Where the file ends for this reader.
  func size() throws -> Int { min(bound, try file.status().size) }

  /// The next member; `nil` where the file ends after a member, or is empty.
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

  /// The first member of a file that ends inside of it: its stamp, and as much of its body as there is, which no checksum
  /// stands for.
  ///
  /// - Throws: as ``next()``, but for the end of the file; `truncated` where the header breaks off.
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
    // Where the file ends early, the header says so itself.
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
      let count = try file.readSome(into: &buffer, from: end, most: min(step, bound - (position ?? 0)), at: position)
      if count == 0 { return false }
      step = min(2 * step, buffer.count)
      end += count
      position = position.map { $0 + count }
    }
    return true
  }

  // MARK: Behind damage

  /// How many bytes of headers are checked for each byte of a file, at most, where members are looked for.
  static let mostSearching = 64

  /// Goes on at a place in the file, which must not be a pipe.
  mutating func move(to place: Int) throws {
    trailer = try Self.trailer(before: place, in: file)
    (offset, position, start, end, failure, step) = (place, place, 0, 0, nil, Self.firstReadSize)
  }

  /// Goes on after damage: to the next header that reads well. The content of a model can have such headers.
  ///
  /// - Parameter start: the place to look from, in a file that must not be a pipe.
  /// - Returns: whether there is one; ``offset`` is then its place, and ``next()`` reads the member.
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `limitExceeded` for a file that is made to have many places
  ///   which look like members.
  /// - Complexity: linear in the bytes that are passed over.
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
        // Compressed bytes can look like a header, and then are none.
        let first = try file.readBytes(at: place + index, count: GzipHeader.fixedSize)
        guard let length = try? GzipHeader.length(at: 0, in: first.bytes, fileOffset: place + index),
          length <= GzipHeader.largestWritten
        else { continue }
        let head = try file.readBytes(at: place + index, count: min(length, size - place - index))
        work += head.count
        guard work <= (size - start) * Self.mostSearching + GzipHeader.largestWritten else {
          throw ArchiveError(
            .limitExceeded, "too many places of the file look like members of an archive and are none",
            byteOffset: place + index)
        }
        // Bytes that are no header are no member; the search goes on behind them.
        guard (try? GzipHeader(at: 0, in: head.bytes, fileOffset: place + index)) != nil else { continue }
        try move(to: place + index)
        return true
      }
      place += bytes.count - 3
    }
    return false
  }
}
