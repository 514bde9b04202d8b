/// Whether a large body is deflated in blocks.
package enum DeflateBlocks {
  /// The body is not divided. Members of a stream use this, because the threads work on different members.
  case none
  /// The body is divided into blocks, deflated on this number of threads, including the caller's; `nil` means one for each core.
  case threads(Int?)
}

/// Deflates a large body in blocks, on several threads.
///
/// A block may repeat the 32 KiB before it. Each block except the last ends with an empty stored block (RFC 1951 §3.2.4), which aligns it
/// to a byte boundary, so that the blocks together are one deflate stream. The bytes depend on the body and the level, but not on the
/// number of threads.
enum BlockDeflate {
  private static let blockSize = 64 << 10
  /// The size of the smallest body that is deflated in blocks.
  static let leastSize = 2 * blockSize

  /// Appends `input`, which must not be empty, as one complete deflate stream.
  ///
  /// - Parameter threads: the number of threads that deflate, including the caller's; `nil` means one for each core.
  static func deflate(_ input: RawSpan, level: Int, threads: Int?, to output: inout [UInt8]) throws {
    let blocks = OrderedWork<[UInt8]>(threads: threads)
    var position = 0
    while true {
      while position < input.byteCount, blocks.hasRoom {
        let start = max(0, position - PrimedDeflate.window)
        let end = min(position + blockSize, input.byteCount)
        // A job may still run after this call has thrown, so it uses a copy.
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
