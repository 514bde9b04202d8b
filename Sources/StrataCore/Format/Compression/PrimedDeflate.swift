/// Deflates bytes that repeat others: a state of a document that repeats most of the state before.
///
/// What is repeated must lie within ``window`` bytes, which is as far as deflate looks back (RFC 1951).
package enum PrimedDeflate {
  /// How far deflate looks back, in bytes.
  package static let window = 32 << 10

  /// Appends `input` as complete deflate data.
  ///
  /// - Parameter dictionary: what the input may repeat; of more than ``window`` bytes the last ones count.
  package static func deflate(
    _ input: RawSpan, dictionary: RawSpan, level: CompressionLevel = .balanced, to output: inout [UInt8]
  ) throws {
    if dictionary.isEmpty, level != .none, WholeDeflate.deflate(input, level: level.rawLevel, to: &output) { return }
    try DeflateStream.deflate(
      input, dictionary: dictionary.extracting(last: window), level: level.rawLevel, to: &output)
  }

  /// Inflates what ``deflate(_:dictionary:level:to:)`` made, and appends exactly `size` bytes.
  ///
  /// - Returns: how many bytes of `input` were used.
  /// - Throws: ``ArchiveError`` with the code `damaged` where the data is invalid or of another size. Memory grows by `size`
  ///   at most.
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
        // One byte more than is missing shows data that is too long.
        let step = try stream.inflate(
          input.extracting(used..<input.byteCount), room: min(missing + 1, 256 << 10), to: &output)
        used += step.consumed
        isFinished = step.isFinished
        guard !step.isInvalid, output.count - start <= size,
          isFinished || step.consumed > 0 || output.count > before
        else { throw ArchiveError(.damaged, "compressed data is invalid or of another size", byteOffset: used) }
      }
      guard output.count - start == size else {
        throw ArchiveError(.damaged, "compressed data is shorter than it should be", byteOffset: used)
      }
      return used
    }
  }
}
