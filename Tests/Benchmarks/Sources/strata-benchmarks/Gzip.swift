import CBenchmarkZlib
import Foundation

/// Compresses the output of a peer coder to a gzip member with a checksum. Like Strata, it uses zlib at the default level and reuses its
/// streams between calls.
struct Gzip {
  private let deflating: UnsafeMutablePointer<z_stream>
  private let inflating: UnsafeMutablePointer<z_stream>

  /// The process has only one thread, so the streams can be shared. They live as long as the process.
  nonisolated(unsafe) static let shared = try? Gzip()

  private init() throws {
    deflating = .allocate(capacity: 1)
    deflating.initialize(to: z_stream())
    inflating = .allocate(capacity: 1)
    inflating.initialize(to: z_stream())
    guard benchmark_deflate_init(deflating, 6) == Z_OK, benchmark_inflate_init(inflating) == Z_OK else {
      throw Failure("zlib could not be set up")
    }
  }

  static func compress(_ data: Data) throws -> Data {
    guard let shared else { throw Failure("zlib could not be set up") }
    return try shared.deflated(data)
  }

  static func decompress(_ data: Data) throws -> Data {
    guard let shared else { throw Failure("zlib could not be set up") }
    return try shared.inflated(data)
  }

  static func checksum(_ data: Data) -> UInt32 {
    data.withUnsafeBytes { bytes in
      UInt32(truncatingIfNeeded: crc32(0, bytes.bindMemory(to: Bytef.self).baseAddress, uInt(bytes.count)))
    }
  }

  private func deflated(_ data: Data) throws -> Data {
    guard deflateReset(deflating) == Z_OK else { throw Failure("zlib could not be reset") }
    var output = Data(count: Int(deflateBound(deflating, uLong(data.count))))
    let status = run(deflating, data, &output) { deflate($0, Z_FINISH) }
    guard status == Z_STREAM_END else { throw Failure("zlib could not deflate") }
    output.count = Int(deflating.pointee.total_out)
    return output
  }

  /// Decompresses a gzip member. Its last four bytes contain the decompressed size, so one allocation is enough.
  private func inflated(_ data: Data) throws -> Data {
    guard inflateReset(inflating) == Z_OK else { throw Failure("zlib could not be reset") }
    let size = data.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    var output = Data(count: size)
    let status = run(inflating, data, &output) { inflate($0, Z_FINISH) }
    guard status == Z_STREAM_END else { throw Failure("zlib could not inflate") }
    return output
  }

  private func run(
    _ stream: UnsafeMutablePointer<z_stream>, _ input: Data, _ output: inout Data,
    _ step: (UnsafeMutablePointer<z_stream>) -> CInt
  ) -> CInt {
    input.withUnsafeBytes { source in
      output.withUnsafeMutableBytes { target in
        stream.pointee.next_in = UnsafeMutablePointer(
          mutating: source.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = uInt(source.count)
        stream.pointee.next_out = target.bindMemory(to: Bytef.self).baseAddress
        stream.pointee.avail_out = uInt(target.count)
        return step(stream)
      }
    }
  }
}
