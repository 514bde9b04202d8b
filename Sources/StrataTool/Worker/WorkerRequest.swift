internal import Foundation
internal import StrataCore

/// A request from the program that controls a worker (Docs/Worker.md, Frames).
struct WorkerRequest {
  enum Operation: UInt8 {
    case verify = 1
    case upgrade = 2
    case convert = 3
    case merge = 4
    case stamp = 5

    /// The number of parts that a request for this operation can have.
    var partCounts: ClosedRange<Int> {
      switch self {
      case .verify, .upgrade, .stamp: 1...1
      case .convert: 1...2
      case .merge: 2...3
      }
    }
  }

  enum Part {
    case bytes(Data)
    case range(ByteRange)
  }

  let number: UInt64
  let operation: Operation
  let parts: [Part]

  /// Parses a request.
  ///
  /// - Parameter bytes: the frame without its length.
  /// - Throws: ``Malformed``.
  init(_ bytes: ArraySlice<UInt8>) throws {
    var rest = Cursor(rest: bytes)
    guard let number = rest.integer(UInt64.self) else {
      throw Malformed(number: .max, reason: "the request has \(bytes.count) bytes, but it must have at least 10")
    }
    func malformed(_ reason: String) -> Malformed { Malformed(number: number, reason: reason) }
    guard let code = rest.integer(UInt8.self), let partCount = rest.integer(UInt8.self) else {
      throw malformed("the request has \(bytes.count) bytes, but it must have at least 10")
    }
    guard let operation = Operation(rawValue: code) else {
      throw malformed("the operation \(code) does not exist; use an operation from 1 to 5")
    }
    guard operation.partCounts.contains(Int(partCount)) else {
      let counts = operation.partCounts
      let expected = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) or \(counts.upperBound)"
      throw malformed("the request has \(partCount) parts, but the operation \(operation) requires \(expected)")
    }
    var parts: [Part] = []
    for place in 1...Int(partCount) {
      guard let length = rest.integer(UInt32.self), let content = rest.take(Int(length & ~Self.rangeMark)) else {
        throw malformed("part \(place) is longer than the rest of the request")
      }
      guard length & Self.rangeMark != 0 else {
        parts.append(.bytes(Data(content)))
        continue
      }
      guard let range = ByteRange(content) else {
        throw malformed(
          "part \(place) is not a valid range; a range consists of an offset and a length of 8 bytes each, and a path "
            + "or a URL in UTF-8"
        )
      }
      parts.append(.range(range))
    }
    guard rest.rest.isEmpty else { throw malformed("\(rest.rest.count) bytes follow the last part of the request") }
    (self.number, self.operation, self.parts) = (number, operation, parts)
  }

  /// The bit in a part's length that indicates a range instead of bytes.
  private static let rangeMark: UInt32 = 1 << 31

  struct Malformed: Error {
    /// The number of the request, or the greatest possible number if the frame is too short to contain a number.
    let number: UInt64
    let reason: String
  }
}

/// Reads numbers from the start of a sequence of bytes.
struct Cursor {
  private(set) var rest: ArraySlice<UInt8>

  init(rest: ArraySlice<UInt8>) { self.rest = rest }

  /// Reads the next little-endian number, or returns `nil` if not enough bytes remain.
  mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T? {
    guard let bytes = take(MemoryLayout<T>.size) else { return nil }
    return bytes.span.bytes.littleEndian(at: 0, as: T.self)
  }

  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
