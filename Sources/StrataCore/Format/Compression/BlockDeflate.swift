/// Whether a large body is divided into blocks that are deflated separately.
package enum DeflateBlocks {
  /// The body is not divided. Used for the members of a stream, because each thread deflates a different member.
  case none
  /// The body is divided into blocks. The blocks are deflated on this number of threads, including the caller's; `nil` means one thread for
  /// each core.
  case threads(Int?)
}

/// Deflates a large body in blocks, on several threads.
///
/// A block may refer to bytes in the 32 KiB before it. Each block except the last ends with an empty stored block (RFC 1951 §3.2.4), which
/// aligns the end to a byte boundary. Therefore the concatenated blocks form one deflate stream. The bytes depend on the body and the
/// level, but not on the number of threads.
enum BlockDeflate {
  private static let blockSize = 64 << 10
  /// The minimum size in bytes of a body that is deflated in blocks.
  static let leastSize = 2 * blockSize

  /// Deflates `input`, which must not be empty, and appends the output as one complete deflate stream.
  ///
  /// - Parameter threads: the number of threads that deflate blocks, including the caller's; `nil` means one for each core.
  static func deflate(_ input: RawSpan, level: Int, threads: Int?, to output: inout [UInt8]) throws {
    let blocks = OrderedWork<[UInt8]>(threads: threads)
    var position = 0
    while true {
      while position < input.byteCount, blocks.hasRoom {
        let start = max(0, position - PrimedDeflate.window)
        let end = min(position + blockSize, input.byteCount)
        // The job uses a copy of the bytes, because it may still run after this function has thrown an error.
        let bytes = input.extracting(start..<end).withUnsafeBytes { [UInt8]($0) }
        let (dictionarySize, isLast) = (position - start, end == input.byteCount)
        blocks.add(weight: bytes.count) {
          var block: [UInt8] = []
          try DeflateStream.deflate(
            bytes.bytes.extracting(dictionarySize..<bytes.count),
            dictionary: bytes.bytes.extracting(first: dictionarySize),
            level: level, isLast: isLast, to: &block)
          return block
        }
        position = end
      }
      guard let block = try blocks.first() else { return }
      output.append(contentsOf: block)
      blocks.removeFirst()
    }
  }
}
