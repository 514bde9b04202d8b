internal import CZlib

// Only this file and InflateStream.swift handle zlib's pointers. zlib's internal state points back to its `z_stream`, so the `z_stream`
// must not move and is allocated on the heap. The pointers to input and output are cleared before a call returns.

/// A raw deflate stream of zlib.
///
/// `Sendable` is unchecked, because zlib's state is a pointer. Only one thread at a time uses a stream that was taken out of the pool.
final class DeflateStream: @unchecked Sendable {
  private static let pools = Memory.allCases.map { _ in StreamPool<DeflateStream>() }
  /// The maximum size of the output buffer in bytes. It is constant, because zlib's output can depend on the size of the buffer, and equal
  /// bodies must produce equal bytes.
  private static let outputStep = 64 << 10
  /// The maximum number of bytes that are passed to zlib at once, because zlib counts input in 32 bits.
  private static let inputStep = 1 << 30

  private let stream: UnsafeMutablePointer<z_stream>
  private let level: Int

  /// The amount of memory that a stream uses. Small bodies use small streams: zlib clears its tables before each body, and clearing large
  /// tables takes longer than deflating a small body.
  ///
  /// At each size, the window has room for the body and for zlib's look-ahead of 262 bytes, and a deflate block has room for every byte of
  /// the body (`MIN_LOOKAHEAD` and `lit_bufsize` in deflate.c). Therefore only the hash table, which is smaller in a smaller stream, can
  /// affect the output. That happens if different strings with the same hash fill the list of match candidates. In a test with 300,000
  /// bodies, the output of two bodies differed, but had the same length. Levels below 6 examine only a few candidates, so they always use
  /// the full memory.
  private enum Memory: Int, CaseIterable {
    case small, medium, full

    var windowBits: Int { self == .small ? 10 : self == .medium ? 12 : 15 }
    var level: Int { self == .small ? 4 : self == .medium ? 7 : 9 }

    init(bodySize: Int, compressionLevel: Int) {
      let fitting = Self.allCases.first { bodySize <= 1 << $0.windowBits - 262 }
      self = compressionLevel < 6 ? .full : fitting ?? .full
    }
  }

  private init(level: Int, _ memory: Memory) throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    self.level = level
    guard strata_deflate_init_raw(stream, CInt(level), CInt(memory.windowBits), CInt(memory.level)) == Z_OK else {
      throw InflateStream.noMemory
    }
  }

  deinit {
    // `deflateEnd` does nothing if the initialization failed.
    deflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Deflates `input` and appends the deflated bytes to `output`.
  ///
  /// - Parameters:
  ///   - dictionary: the bytes to which the deflated data may refer. The same bytes are needed to inflate the data.
  ///   - isLast: whether the deflate stream ends here. If not, the output ends at a byte boundary, and the output of the next call
  ///     continues the stream.
  static func deflate(
    _ input: RawSpan, dictionary: RawSpan = RawSpan(), level: Int, isLast: Bool = true, to output: inout [UInt8]
  ) throws {
    let memory = dictionary.isEmpty ? Memory(bodySize: input.byteCount, compressionLevel: level) : .full
    let pool = pools[memory.rawValue]
    let idle = pool.dequeue { $0.level == level }
    let stream = try idle ?? DeflateStream(level: level, memory)
    try stream.deflate(input, dictionary, end: isLast ? Z_FINISH : Z_SYNC_FLUSH, to: &output)
    // Only a stream that did not fail returns to the pool. After an error, the stream is released.
    pool.enqueue(stream)
  }

  private func deflate(_ input: RawSpan, _ dictionary: RawSpan, end: CInt, to output: inout [UInt8]) throws {
    guard deflateReset(stream) == Z_OK, prime(dictionary) else { throw InflateStream.noMemory }
    var position = 0
    repeat {
      let size = min(input.byteCount - position, Self.inputStep)
      let flush = position + size == input.byteCount ? end : Z_NO_FLUSH
      try deflatePiece(input.extracting(position..<position + size), flush, to: &output)
      position += size
    } while position < input.byteCount
  }

  private func prime(_ dictionary: RawSpan) -> Bool {
    guard !dictionary.isEmpty else { return true }
    return dictionary.withUnsafeBytes {
      deflateSetDictionary(stream, $0.bindMemory(to: Bytef.self).baseAddress, uInt($0.count)) == Z_OK
    }
  }

  private func deflatePiece(_ input: RawSpan, _ flush: CInt, to output: inout [UInt8]) throws {
    let room = Int(clamping: min(deflateBound(stream, uLong(input.byteCount)), uLong(Self.outputStep)))
    try input.withUnsafeBytes { source in
      stream.pointee.next_in = UnsafeMutablePointer(mutating: source.bindMemory(to: Bytef.self).baseAddress)
      stream.pointee.avail_in = uInt(source.count)
      defer { clear() }
      var isDone = false
      while !isDone {
        var status = Z_OK
        output.append(addingCapacity: room) { span in
          span.withUnsafeMutableBufferPointer { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = uInt(room)
            status = CZlib.deflate(stream, flush)
            count = room - Int(stream.pointee.avail_out)
          }
        }
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
          throw InflateStream.noMemory
        }
        isDone = flush == Z_FINISH ? status == Z_STREAM_END : stream.pointee.avail_out > 0
      }
    }
  }

  private func clear() {
    stream.pointee.next_in = nil
    stream.pointee.avail_in = 0
    stream.pointee.next_out = nil
    stream.pointee.avail_out = 0
  }
}
