internal import Foundation
internal import StrataCore

/// Reads the frames from a worker's input.
struct WorkerInput {
  enum Frame {
    /// The bytes of a request, without the length that precedes them.
    case request(ArraySlice<UInt8>)
    /// A request that was skipped because it is longer than the limit.
    case tooLong(number: UInt64, length: Int)
  }

  private let maxFrame: Int
  /// Returns the next bytes of the input, or empty data at the end of the input.
  private let read: () throws -> Data
  private var buffer: [UInt8] = []
  private var start = 0

  init(maxFrame: Int, _ read: @escaping () throws -> Data) { (self.maxFrame, self.read) = (maxFrame, read) }

  /// Returns the next frame, or `nil` at the end of the input.
  ///
  /// - Parameter beforeReading: called before each read, because a read may wait for the other program.
  /// - Throws: `ToolError` if the input ends inside a frame or cannot be read.
  mutating func next(_ beforeReading: () throws -> Void) throws -> Frame? {
    guard try fill(4, beforeReading) else {
      guard start == buffer.count else { throw Self.cut }
      return nil
    }
    let length = Int(buffer.bytes.littleEndian(at: start, as: UInt32.self) ?? 0)
    start += 4
    guard length > maxFrame else {
      guard try fill(length, beforeReading) else { throw Self.cut }
      defer { start += length }
      return .request(buffer[start..<start + length])
    }
    guard try fill(8, beforeReading), let number = buffer.bytes.littleEndian(at: start, as: UInt64.self) else {
      throw Self.cut
    }
    try skip(length, beforeReading)
    return .tooLong(number: number, length: length)
  }

  private static let cut = ToolError("standard input ended inside a frame, so the last request gets no response")

  /// Reads until the buffer contains the given number of bytes from `start` on.
  ///
  /// - Returns: `false` if the input ends too early.
  private mutating func fill(_ count: Int, _ beforeReading: () throws -> Void) throws -> Bool {
    while buffer.count - start < count {
      if start > 0 {
        buffer.removeSubrange(..<start)
        start = 0
      }
      try beforeReading()
      let bytes = try read()
      guard !bytes.isEmpty else { return false }
      buffer.append(contentsOf: bytes)
    }
    return true
  }

  private mutating func skip(_ count: Int, _ beforeReading: () throws -> Void) throws {
    var left = count
    while left > 0 {
      guard try fill(1, beforeReading) else { throw Self.cut }
      let step = min(left, buffer.count - start)
      start += step
      left -= step
    }
  }
}
