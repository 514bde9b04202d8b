internal import CZlib

/// A raw inflate stream of zlib. The comment at the top of DeflateStream.swift explains how zlib's pointers are handled.
///
/// `Sendable` is unchecked, because zlib's state is a pointer. Only one thread at a time uses a stream that was taken
/// out of the pool.
final class InflateStream: @unchecked Sendable {
  private static let pool = StreamPool<InflateStream>()

  private let stream: UnsafeMutablePointer<z_stream>

  /// The error for a failed call to zlib. With valid arguments, a call fails only if the system has no memory left.
  static var noMemory: ArchiveError {
    ArchiveError(.fileSystem, "there is not enough memory to create a zlib stream")
  }

  private init() throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard strata_inflate_init_raw(stream) == Z_OK else { throw Self.noMemory }
  }

  deinit {
    // `inflateEnd` does nothing if the initialization failed.
    inflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Calls `body` with a newly reset stream. Nothing else uses the stream during the call.
  static func withStream<Result>(_ body: (InflateStream) throws -> Result) throws -> Result {
    let stream = try pool.dequeue() ?? InflateStream()
    guard inflateReset(stream.stream) == Z_OK else { throw noMemory }
    // A stream can be reused even after an error, because a reset clears its state.
    defer { pool.enqueue(stream) }
    return try body(stream)
  }

  /// Sets the dictionary, which contains the bytes that the deflated data may refer to. Must be called before the first call to
  /// ``inflate(_:room:to:)``.
  func prime(_ dictionary: RawSpan) throws {
    guard !dictionary.isEmpty else { return }
    let status = dictionary.withUnsafeBytes {
      inflateSetDictionary(stream, $0.bindMemory(to: Bytef.self).baseAddress, uInt($0.count))
    }
    guard status == Z_OK else { throw Self.noMemory }
  }

  /// The result of one call to ``inflate(_:room:to:)``.
  struct Progress {
    /// The number of bytes of input that were used.
    var consumed: Int
    /// Whether the end of the deflate data was reached.
    var isFinished: Bool
    /// Whether the deflate data is invalid.
    var isInvalid: Bool
  }

  /// Inflates until `room` bytes have been appended, the input is used up, or the deflate data ends.
  ///
  /// - Parameters:
  ///   - input: the next bytes of deflate data. At most 1 GiB of them is used in one call.
  ///   - room: the maximum number of bytes to append to `output`, from 1 byte to 1 GiB.
  func inflate(_ input: RawSpan, room: Int, to output: inout [UInt8]) throws -> Progress {
    let room = max(1, min(room, 1 << 30))
    var status = Z_OK
    var consumed = 0
    input.extracting(first: 1 << 30).withUnsafeBytes { source in
      stream.pointee.next_in = UnsafeMutablePointer(mutating: source.bindMemory(to: Bytef.self).baseAddress)
      stream.pointee.avail_in = uInt(source.count)
      // zlib writes directly into the storage of the array, which avoids a copy.
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
    // `Z_BUF_ERROR` is not a failure. It means that zlib needs more input or output space.
    case Z_OK, Z_BUF_ERROR: return Progress(consumed: consumed, isFinished: false, isInvalid: false)
    case Z_STREAM_END: return Progress(consumed: consumed, isFinished: true, isInvalid: false)
    case Z_DATA_ERROR, Z_NEED_DICT: return Progress(consumed: consumed, isFinished: false, isInvalid: true)
    default: throw Self.noMemory
    }
  }
}
