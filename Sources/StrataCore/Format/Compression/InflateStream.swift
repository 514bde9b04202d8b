internal import CZlib

/// A raw inflate stream of zlib. See DeflateStream.swift for the rules that its pointers follow.
///
/// Unchecked, since zlib's state is a pointer: whoever takes a stream out of the pool is its only user.
final class InflateStream: @unchecked Sendable {
  private static let pool = StreamPool<InflateStream>()

  private let stream: UnsafeMutablePointer<z_stream>

  /// zlib fails on good arguments only where the system gives it no memory.
  static var noMemory: ArchiveError {
    ArchiveError(.fileSystem, "the system has no memory left for a zlib stream")
  }

  private init() throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard strata_inflate_init_raw(stream) == Z_OK else { throw Self.noMemory }
  }

  deinit {
    // Harmless where the initialization failed: zlib then finds no state.
    inflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Runs `body` with a fresh stream that nobody else uses.
  static func withStream<Result>(_ body: (InflateStream) throws -> Result) throws -> Result {
    let stream = try pool.take() ?? InflateStream()
    guard inflateReset(stream.stream) == Z_OK else { throw noMemory }
    // A reset makes a stream good again whatever data it met.
    defer { pool.give(stream) }
    return try body(stream)
  }

  /// Hands over the bytes that the input may repeat, before the first of it.
  func prime(_ dictionary: RawSpan) throws {
    guard !dictionary.isEmpty else { return }
    let status = dictionary.withUnsafeBytes {
      inflateSetDictionary(stream, $0.bindMemory(to: Bytef.self).baseAddress, uInt($0.count))
    }
    guard status == Z_OK else { throw Self.noMemory }
  }

  /// What one call of ``inflate(_:room:to:)`` came to.
  struct Step {
    /// Bytes of input that were used up.
    var consumed: Int
    /// Whether the deflate data is complete.
    var isFinished: Bool
    /// Whether the deflate data is invalid.
    var isInvalid: Bool
  }

  /// Inflates until `room` bytes were appended, the input is used up or the data ends.
  ///
  /// - Parameters:
  ///   - input: The next bytes; zlib is shown at most 1 GiB of them at once.
  ///   - room: At least 1 and at most 1 GiB. Memory for it is the only memory that `output` grows by.
  func inflate(_ input: RawSpan, room: Int, to output: inout [UInt8]) throws -> Step {
    let room = max(1, min(room, 1 << 30))
    var status = Z_OK
    var consumed = 0
    input.extracting(first: 1 << 30).withUnsafeBytes { source in
      stream.pointee.next_in = UnsafeMutablePointer(mutating: source.bindMemory(to: Bytef.self).baseAddress)
      stream.pointee.avail_in = uInt(source.count)
      // The array's own storage is the output, so that nothing is copied.
      output.append(addingCapacity: room) { span in
        span.withUnsafeMutableBufferPointer { buffer, count in
          stream.pointee.next_out = buffer.baseAddress
          stream.pointee.avail_out = uInt(room)
          status = CZlib.inflate(stream, Z_NO_FLUSH)
          count = room - Int(stream.pointee.avail_out)
        }
      }
      consumed = source.count - Int(stream.pointee.avail_in)
      stream.pointee.next_in = nil
      stream.pointee.avail_in = 0
      stream.pointee.next_out = nil
      stream.pointee.avail_out = 0
    }
    switch status {
    // A buffer error only says that there was nothing to do.
    case Z_OK, Z_BUF_ERROR: return Step(consumed: consumed, isFinished: false, isInvalid: false)
    case Z_STREAM_END: return Step(consumed: consumed, isFinished: true, isInvalid: false)
    case Z_DATA_ERROR, Z_NEED_DICT: return Step(consumed: consumed, isFinished: false, isInvalid: true)
    default: throw Self.noMemory
    }
  }
}
