/// Inflates the body of one member from one or more chunks of input and enforces the limits.
///
/// Memory is allocated as data arrives, because the size in the stamp may be wrong. The initial capacity is at most four times the
/// available input, or 64 KiB if that is larger. A full buffer is doubled, up to the size in the stamp. ``feed(whole:)`` may reserve the
/// size in the stamp immediately, if the input is large enough to inflate to that size.
struct BodyInflater {
  private static let smallestReserve = 64 << 10
  /// The maximum number of bytes that ``feed(_:)`` inflates in one step. A small number keeps the bytes in the processor's cache until
  /// their checksum is computed.
  private static let step = 256 << 10
  /// A body of at most this size in bytes may have any compression ratio, because it needs little memory.
  private static let ratioThreshold = 1 << 20

  private let stream: InflateStream
  private let expected: Int
  private let ratio: Int
  private let fileOffset: Int
  private var crc: UInt32 = 0
  private var inputSize = 0
  /// The part of the body inflated so far.
  private(set) var body: [UInt8] = []
  /// Whether the end of the deflate data was reached.
  private(set) var isFinished = false

  /// Creates an inflater for the body of the member with this stamp.
  ///
  /// - Parameters:
  ///   - inputHint: the number of bytes of input that are available at the beginning.
  ///   - fileOffset: the offset of the member in its file, for error messages.
  /// - Throws: ``ArchiveError/Code/limitExceeded`` if the size in the stamp exceeds the limit.
  init(stamp: Stamp, limits: ArchiveLimits, stream: InflateStream, inputHint: Int, fileOffset: Int) throws {
    self.stream = stream
    self.fileOffset = fileOffset
    ratio = max(1, limits.inflationRatio)
    let claim = stamp.bodySize
    guard claim <= UInt64(max(0, limits.inflatedSize)), let expected = Int(exactly: claim), expected < Int.max
    else {
      throw ArchiveError(
        .limitExceeded,
        "the content inflates to \(claim) bytes, which exceeds the limit of \(limits.inflatedSize) bytes; raise the "
          + "limit inflatedSize if this size is expected",
        limit: .inflatedSize, byteOffset: fileOffset)
    }
    self.expected = expected
    let affordable = inputHint > Int.max / 8 ? inputHint : inputHint * 4
    // Leaves room for one extra byte, so that a body that is too long is detected without a reallocation.
    body.reserveCapacity(min(expected, max(affordable, Self.smallestReserve)) + 1)
  }

  /// Inflates the whole body from input that extends to the end of the file. Must be called before any other feed method. The
  /// result and the errors are the same as with ``feed(_:)``.
  mutating func feed(whole input: RawSpan) throws -> Int {
    // libdeflate inflates the whole body in one step. If the ratio limit is below the maximum that deflate can reach, `feed(_:)` is used
    // instead, because it checks the ratio after each step.
    guard ratio >= WholeDeflate.mostRatio, let used = WholeDeflate.inflate(input, size: expected, to: &body) else {
      return try feed(input)
    }
    let crc = Checksum.crc32(of: body.bytes)
    // If the checksum is wrong, zlib inflates the input again. libdeflate accepts some damaged data that zlib rejects, and the error must
    // not depend on the library.
    guard input.littleEndian(at: used, as: UInt32.self) == crc else {
      body.removeAll(keepingCapacity: true)
      return try feed(input)
    }
    (inputSize, self.crc, isFinished) = (used, crc, true)
    return used
  }

  /// Inflates the part of `input` that belongs to the body and appends it to ``body``.
  /// - Returns: the number of bytes of `input` that were used. All bytes were used unless ``isFinished`` is now true.
  mutating func feed(_ input: RawSpan) throws -> Int {
    var consumed = 0
    while !isFinished {
      let before = body.count
      let missing = expected - before
      let room = max(1, min(missing, Self.step))
      reserve(room)
      let step = try stream.inflate(
        input.extracting(consumed..<input.byteCount), room: room, to: &body)
      consumed += step.consumed
      inputSize += step.consumed
      guard !step.isInvalid else { throw damage("the compressed data is invalid") }
      let produced = body.count - before
      guard produced <= missing else {
        throw damage("the content inflates to more than the \(expected) bytes that the stamp specifies")
      }
      try checkRatio()
      crc = Checksum.crc32(of: body.bytes.extracting(before..<body.count), continuing: crc)
      isFinished = step.isFinished
      // zlib stopped before the output was full, so it needs more input.
      if produced < room, consumed == input.byteCount { break }
      guard step.consumed > 0 || produced > 0 || isFinished else {
        throw damage("the compressed data is invalid because inflating it makes no progress")
      }
    }
    return consumed
  }

  /// Verifies the checksum and the sizes and returns the body.
  func finish(crc expectedCRC: UInt32, size: UInt32) throws -> [UInt8] {
    guard crc == expectedCRC else {
      throw damage(
        "the checksum of the content is wrong, so the content was changed after it was written; use an undamaged copy "
          + "of the file")
    }
    guard UInt32(truncatingIfNeeded: body.count) == size else {
      throw damage("the size of the content does not match the size in the gzip trailer")
    }
    guard body.count == expected else {
      throw damage("the content inflates to \(body.count) bytes, but the stamp specifies \(expected) bytes")
    }
    return body
  }

  private mutating func reserve(_ room: Int) {
    guard body.capacity - body.count < room else { return }
    let doubled = body.count > Int.max / 4 ? expected : body.count * 2
    body.reserveCapacity(max(min(expected, max(doubled, Self.smallestReserve)), body.count + room) + 1)
  }

  private func checkRatio() throws {
    guard body.count > Self.ratioThreshold else { return }
    let (most, overflow) = inputSize.multipliedReportingOverflow(by: ratio)
    guard overflow || body.count <= most else {
      throw ArchiveError(
        .limitExceeded,
        "the content inflates to more than \(ratio) times its compressed size; raise the limit inflationRatio if this "
          + "size is expected",
        limit: .inflationRatio, byteOffset: fileOffset)
    }
  }

  private func damage(_ reason: String) -> ArchiveError {
    ArchiveError(.damaged, reason, byteOffset: fileOffset)
  }
}

extension Stamp {
  /// The inflated size of the member's body in bytes. It is 0 for an end member, whose stamp contains the total size of the stream instead.
  fileprivate var bodySize: UInt64 { kind == .end ? 0 : plainSize }
}
