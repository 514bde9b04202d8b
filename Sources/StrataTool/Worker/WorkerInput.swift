internal import Foundation
internal import StrataCore

/// Reads the frames from a worker's input.
struct WorkerInput {
  enum Frame {
    /// The bytes of a request, without the length that precedes them.
    case request(ArraySlice<UInt8>)
    /// A request that was skipped because it is too long. Its number is the greatest possible number if the frame is
    /// too short to contain one.
    case tooLong(number: UInt64, length: Int)
  }

  private let maxFrame: Int
  /// Returns the next bytes of the input; empty at its end.
  private let read: () throws -> Data
  private var buffer: [UInt8] = []
  private var start = 0

  init(maxFrame: Int, _ read: @escaping () throws -> Data) { (self.maxFrame, self.read) = (maxFrame, read) }

  /// Returns the next frame; `nil` at the end of the input.
  ///
  /// - Parameter beforeReading: called before each read, because a read may wait for the other program.
  /// - Throws: `ToolError` if the input ends inside a frame or cannot be read.
  mutating func next(_ beforeReading: () throws -> Void) throws -> Frame? {
    guard try fill(4, beforeReading) else {
      guard start == buffer.count else { throw Self.cut }
      return nil
    }
    var head = Cursor(rest: buffer[start...])
    let length = Int(head.integer(UInt32.self) ?? 0)
    start += 4
    guard length > maxFrame else {
      guard try fill(length, beforeReading) else { throw Self.cut }
      defer { start += length }
      return .request(buffer[start..<start + length])
    }
    guard try fill(8, beforeReading) else { throw Self.cut }
    head = Cursor(rest: buffer[start...])
    let number = head.integer(UInt64.self)
    try skip(length, beforeReading)
    return .tooLong(number: number ?? .max, length: length)
  }

  private static let cut = ToolError("standard input ends inside a frame, so the last request has no response")

  /// Reads until the buffer contains the given number of bytes from `start` on.
  ///
  /// - Returns: `false` if the input ends before that.
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
