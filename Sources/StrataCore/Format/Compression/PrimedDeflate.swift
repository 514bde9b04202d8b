/// Deflates data with a dictionary. The dictionary contains bytes that are likely to occur in the data. For example, the current
/// state of a document repeats most of the previous state.
///
/// Only repetitions within a distance of ``window`` bytes are found, because that is the maximum distance in deflate (RFC 1951).
package enum PrimedDeflate {
  /// The maximum distance in bytes to a repetition that deflate can refer to.
  package static let window = 32 << 10

  /// Deflates `input` and appends the complete deflate data to `output`.
  ///
  /// - Parameter dictionary: the bytes that `input` may repeat. Only the last ``window`` bytes of the dictionary are used.
  package static func deflate(
    _ input: RawSpan, dictionary: RawSpan, level: CompressionLevel = .balanced, to output: inout [UInt8]
  ) throws {
    if dictionary.isEmpty, level != .none, WholeDeflate.deflate(input, level: level.rawLevel, to: &output) { return }
    try DeflateStream.deflate(
      input, dictionary: dictionary.extracting(last: window), level: level.rawLevel, to: &output)
  }

  /// Inflates the output of ``deflate(_:dictionary:level:to:)`` and appends exactly `size` bytes.
  ///
  /// - Returns: the number of bytes of `input` that were used.
  /// - Throws: ``ArchiveError`` with the code `damaged` if the data is invalid or does not inflate to `size` bytes.
  package static func inflate(
    _ input: RawSpan, dictionary: RawSpan, size: Int, to output: inout [UInt8]
  ) throws -> Int {
    if dictionary.isEmpty, let used = WholeDeflate.inflate(input, size: size, to: &output) { return used }
    return try InflateStream.withStream { stream in
      try stream.prime(dictionary.extracting(last: window))
      let start = output.count
      var used = 0
      var isFinished = false
      while !isFinished {
        let missing = size - (output.count - start)
        let before = output.count
        // Leaves room for one extra byte, so that data that is too long is detected.
        let step = try stream.inflate(
          input.extracting(used..<input.byteCount), room: min(missing + 1, 256 << 10), to: &output)
        used += step.consumed
        isFinished = step.isFinished
        guard !step.isInvalid, output.count - start <= size,
          isFinished || step.consumed > 0 || output.count > before
        else {
          throw ArchiveError(.damaged, "the compressed data is invalid or has an unexpected size", byteOffset: used)
        }
      }
      guard output.count - start == size else {
        throw ArchiveError(.damaged, "the compressed data inflates to fewer bytes than expected", byteOffset: used)
      }
      return used
    }
  }
}
