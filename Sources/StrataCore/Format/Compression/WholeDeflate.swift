/// Deflates and inflates data with libdeflate, if the package is built with the `Libdeflate` trait. The data must be completely in memory.
///
/// If a function returns `nil` or `false`, its output is unchanged, and the caller must use zlib instead. Without the trait, all
/// functions return `nil` or `false`.
enum WholeDeflate {
  /// The maximum ratio of the inflated size to the deflated size (RFC 1951).
  static let mostRatio = 1032
}

#if Libdeflate
  internal import CLibdeflate

  extension WholeDeflate {
    private static let compressors = StreamPool<Compressor>()
    private static let decompressors = StreamPool<Decompressor>()

    /// Deflates `input` as one complete stream and appends the stream to `output`.
    ///
    /// - Parameter level: the level, from 1 to 9.
    /// - Returns: `false` if the system has no memory left.
    static func deflate(_ input: RawSpan, level: Int, to output: inout [UInt8]) -> Bool {
      let idle = compressors.dequeue { $0.level == level }
      guard let compressor = idle ?? Compressor(level: level) else { return false }
      defer { compressors.enqueue(compressor) }
      // libdeflate fails only if the output buffer is too small, which `bound` rules out.
      let bound = libdeflate_deflate_compress_bound(compressor.state, input.byteCount)
      let written = input.withUnsafeBytes { source in
        output.appendUninitialized(bound) {
          libdeflate_deflate_compress(compressor.state, source.baseAddress, source.count, $0.baseAddress, $0.count)
        }
      }
      return written > 0
    }

    /// Inflates the deflate stream at the start of `input` and appends the bytes to `output`. The stream must be complete and valid, and it
    /// must inflate to exactly `size` bytes. Otherwise `output` is unchanged.
    ///
    /// libdeflate accepts some incomplete Huffman codes that zlib rejects. The caller must verify the result with a checksum.
    ///
    /// Memory for `size` bytes is reserved before the first byte is inflated. If `size` is more than about 1,032 times the
    /// size of the input, nothing is reserved, and the function returns `nil`.
    ///
    /// - Returns: the number of bytes of `input` that belong to the stream; `nil` if the stream was not inflated.
    static func inflate(_ input: RawSpan, size: Int, to output: inout [UInt8]) -> Int? {
      guard size > 0, size / mostRatio <= input.byteCount, let decompressor = decompressors.dequeue() ?? Decompressor()
      else {
        return nil
      }
      defer { decompressors.enqueue(decompressor) }
      var used = 0
      let written = input.withUnsafeBytes { source in
        output.appendUninitialized(size) { target in
          var count = 0
          let result = libdeflate_deflate_decompress_ex(
            decompressor.state, source.baseAddress, source.count, target.baseAddress, target.count, &used, &count)
          return result == LIBDEFLATE_SUCCESS && count == size ? count : 0
        }
      }
      return written == size ? used : nil
    }

    /// `Sendable` is unchecked, because the state is a pointer. Only one thread at a time uses a compressor that was taken out of
    /// the pool.
    private final class Compressor: @unchecked Sendable {
      let state: OpaquePointer
      let level: Int

      /// Creates a compressor. Returns `nil` if the system has no memory left.
      init?(level: Int) {
        guard let state = libdeflate_alloc_compressor(CInt(level)) else { return nil }
        (self.state, self.level) = (state, level)
      }

      deinit { libdeflate_free_compressor(state) }
    }

    /// `Sendable` is unchecked, because the state is a pointer. Only one thread at a time uses a decompressor that was taken out
    /// of the pool.
    private final class Decompressor: @unchecked Sendable {
      let state: OpaquePointer

      init?() {
        guard let state = libdeflate_alloc_decompressor() else { return nil }
        self.state = state
      }

      deinit { libdeflate_free_decompressor(state) }
    }
  }

  extension Array where Element == UInt8 {
    /// Calls `body` with uninitialized memory for `room` bytes. `body` returns the number of bytes that it wrote. These bytes are then
    /// appended.
    fileprivate mutating func appendUninitialized(_ room: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int)
      -> Int
    {
      var written = 0
      append(addingCapacity: room) { span in
        span.withUnsafeMutableBufferPointer { buffer, count in
          written = body(UnsafeMutableBufferPointer(rebasing: buffer[..<room]))
          count = written
        }
      }
      return written
    }
  }
#else
  extension WholeDeflate {
    static func deflate(_ input: RawSpan, level: Int, to output: inout [UInt8]) -> Bool { false }
    static func inflate(_ input: RawSpan, size: Int, to output: inout [UInt8]) -> Int? { nil }
  }
#endif
