internal import CZlib

/// A raw inflate stream of zlib. DeflateStream.swift describes the rules for its pointers.
///
/// Unchecked, because zlib's state is a pointer. Only the user that took a stream out of the pool accesses it.
final class InflateStream: @unchecked Sendable {
  private static let pool = StreamPool<InflateStream>()

  private let stream: UnsafeMutablePointer<z_stream>

  /// With valid arguments, zlib fails only if the system has no memory.
  static var noMemory: ArchiveError {
    ArchiveError(.fileSystem, "the system has no memory left for a zlib stream")
  }

  private init() throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard strata_inflate_init_raw(stream) == Z_OK else { throw Self.noMemory }
  }

  deinit {
    // Harmless if the initialization failed, because zlib then finds no state.
    inflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Runs `body` with a reset stream, to which it has exclusive access.
  static func withStream<Result>(_ body: (InflateStream) throws -> Result) throws -> Result {
    let stream = try pool.dequeue() ?? InflateStream()
    guard inflateReset(stream.stream) == Z_OK else { throw noMemory }
    // A reset makes a stream usable again, whatever data it has processed.
    defer { pool.enqueue(stream) }
    return try body(stream)
  }

  /// Sets the bytes that the input may repeat. Must be called before the first input.
  func prime(_ dictionary: RawSpan) throws {
    guard !dictionary.isEmpty else { return }
    let status = dictionary.withUnsafeBytes {
      inflateSetDictionary(stream, $0.bindMemory(to: Bytef.self).baseAddress, uInt($0.count))
    }
    guard status == Z_OK else { throw Self.noMemory }
  }

  /// The result of one call of ``inflate(_:room:to:)``.
  struct Progress {
    /// The number of bytes of input that were used.
    var consumed: Int
    /// Whether the deflate data is complete.
    var isFinished: Bool
    /// Whether the deflate data is invalid.
    var isInvalid: Bool
  }

  /// Inflates until `room` bytes were appended, the input is used up or the data ends.
  ///
  /// - Parameters:
  ///   - input: the next bytes. At most 1 GiB of them is passed to zlib at once.
  ///   - room: the number of bytes by which `output` may grow, from 1 byte to 1 GiB.
  func inflate(_ input: RawSpan, room: Int, to output: inout [UInt8]) throws -> Progress {
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
    // A buffer error only means that no progress was possible.
    case Z_OK, Z_BUF_ERROR: return Progress(consumed: consumed, isFinished: false, isInvalid: false)
    case Z_STREAM_END: return Progress(consumed: consumed, isFinished: true, isInvalid: false)
    case Z_DATA_ERROR, Z_NEED_DICT: return Progress(consumed: consumed, isFinished: false, isInvalid: true)
    default: throw Self.noMemory
    }
  }
}
