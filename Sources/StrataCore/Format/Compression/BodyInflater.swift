/// Inflates the body of one member from pieces of input, within limits.
///
/// Memory use depends on the data, never on the stamp alone. The initial capacity is at most four times the available input,
/// or 64 KiB. Later, the capacity grows to twice the inflated size, but not beyond the size in the stamp. ``feed(whole:)``
/// may reserve that size at once if the input can inflate to it.
struct BodyInflater {
  private static let smallestReserve = 64 << 10
  /// Small enough that the bytes are still in the cache when the checksum is computed.
  private static let step = 256 << 10
  /// The body size up to which any ratio is accepted, because the memory use is small.
  private static let ratioThreshold = 1 << 20

  private let stream: InflateStream
  private let expected: Int
  private let ratio: Int
  private let fileOffset: Int
  private var crc: UInt32 = 0
  private var inputSize = 0
  /// The bytes that were inflated so far.
  private(set) var body: [UInt8] = []
  /// Whether the deflate data is complete.
  private(set) var isFinished = false

  /// - Parameters:
  ///   - inputHint: the number of available bytes of input.
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
        .limitExceeded, "the content inflates to \(claim) bytes; at most \(limits.inflatedSize) are allowed",
        limit: .inflatedSize, byteOffset: fileOffset)
    }
    self.expected = expected
    let affordable = inputHint > Int.max / 8 ? inputHint : inputHint * 4
    // One byte more, so that a body that is too long is detected without another allocation.
    body.reserveCapacity(min(expected, max(affordable, Self.smallestReserve)) + 1)
  }

  /// Inflates the whole body from input that extends to the end of the file. Must be the first call. Returns and throws as
  /// ``feed(_:)`` does.
  mutating func feed(whole input: RawSpan) throws -> Int {
    // A lower ratio is checked after each step.
    guard ratio >= WholeDeflate.mostRatio, let used = WholeDeflate.inflate(input, size: expected, to: &body) else {
      return try feed(input)
    }
    inputSize = used
    crc = Checksum.crc32(of: body.bytes)
    isFinished = true
    return used
  }

  /// Inflates the part of `input` that belongs to the body.
  /// - Returns: the number of bytes of `input` that were used: all of them unless ``isFinished`` is now set.
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
        throw damage("the content inflates to more than the \(expected) bytes that its stamp names")
      }
      try checkRatio()
      crc = Checksum.crc32(of: body.bytes.extracting(before..<body.count), continuing: crc)
      isFinished = step.isFinished
      // If the output is not full, the input is used up.
      if produced < room, consumed == input.byteCount { break }
      guard step.consumed > 0 || produced > 0 || isFinished else {
        throw damage("the compressed data leads nowhere")
      }
    }
    return consumed
  }

  /// Returns the body after its checksum and sizes have been verified.
  func finish(crc expectedCRC: UInt32, size: UInt32) throws -> [UInt8] {
    guard crc == expectedCRC else {
      throw damage("the checksum is wrong, so these are not the bytes that were written; take another copy of the file")
    }
    guard UInt32(truncatingIfNeeded: body.count) == size else { throw damage("the size of the content is wrong") }
    guard body.count == expected else {
      throw damage("the content inflates to \(body.count) bytes, and its stamp names \(expected)")
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
        .limitExceeded, "the content inflates to more than \(ratio) times its size in the file",
        limit: .inflationRatio, byteOffset: fileOffset)
    }
  }

  private func damage(_ reason: String) -> ArchiveError {
    ArchiveError(.damaged, reason, byteOffset: fileOffset)
  }
}

extension Stamp {
  /// The inflated size of the body of the member with this stamp.
  fileprivate var bodySize: UInt64 { kind == .end ? 0 : plainSize }
}
