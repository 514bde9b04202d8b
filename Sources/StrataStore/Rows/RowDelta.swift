internal import Foundation
internal import StrataCore

/// What differs between the bytes of a row and those of an earlier one.
///
/// What both have in front and at the end alike is left out; what lies between is deflated with the earlier bytes as a
/// dictionary. Deflate looks back 32 KB: beyond that, the middle is cut into segments, each with the bytes of the earlier
/// row that lie around the same place. A segment whose bytes moved further than half of a dictionary is deflated alone.
enum RowDelta {
  /// The longest earlier bytes that are one dictionary. All of it must stay within the window while a segment is written.
  static let longestDictionary = 20 << 10
  private static let segment = 10 << 10

  /// - Returns: the delta, or `nil` where it would save less than an eighth.
  static func make(_ target: [UInt8], from base: [UInt8]) throws -> Data? {
    let shorter = min(target.count, base.count)
    var front = 0
    while front < shorter, target[front] == base[front] { front += 1 }
    var end = 0
    while end < shorter - front, target[target.count - 1 - end] == base[base.count - 1 - end] { end += 1 }
    var output: [UInt8] = []
    let middle = front..<target.count - end
    appendNumber(front, to: &output)
    appendNumber(end, to: &output)
    appendNumber(middle.count, to: &output)
    let crc = Checksum.crc32(of: target.span.bytes)
    for shift in [0, 8, 16, 24] { output.append(UInt8(truncatingIfNeeded: crc >> UInt32(shift))) }
    for piece in pieces(of: middle.count) {
      try PrimedDeflate.deflate(
        target.span.bytes.extracting(front + piece.lowerBound..<front + piece.upperBound),
        dictionary: base.span.bytes.extracting(dictionary(of: piece, middle.count, front, end, base.count)),
        to: &output)
    }
    return output.count <= target.count - target.count / 8 ? Data(output) : nil
  }

  /// The bytes that a delta was made of.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, and `ArchiveError` where the compressed data is.
  static func apply(_ delta: Data, to base: [UInt8], limits: ArchiveLimits) throws -> [UInt8] {
    let bytes = delta.bytes
    var position = 0
    let damage = StoreError(.damaged, "a row of the history is damaged; check the store, then salvage it")
    guard let front = number(bytes, &position), let end = number(bytes, &position),
      let middle = number(bytes, &position), front <= base.count, end <= base.count - front,
      middle <= limits.inflatedSize, bytes.byteCount - position >= 4
    else { throw damage }
    let crc = UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self))
    position += 4
    var output = Array(base[..<front])
    for piece in pieces(of: middle) {
      position += try PrimedDeflate.inflate(
        bytes.extracting(position..<bytes.byteCount),
        dictionary: base.span.bytes.extracting(dictionary(of: piece, middle, front, end, base.count)),
        size: piece.count, to: &output)
    }
    output.append(contentsOf: base[(base.count - end)...])
    guard position == bytes.byteCount, Checksum.crc32(of: output.span.bytes) == crc else { throw damage }
    return output
  }

  private static func pieces(of count: Int) -> [Range<Int>] {
    guard count > longestDictionary else { return count == 0 ? [] : [0..<count] }
    return stride(from: 0, to: count, by: segment).map { $0..<min($0 + segment, count) }
  }

  /// The bytes of the base that a piece is deflated with: all, or those around the place that is to the base what the piece
  /// is to the middle.
  private static func dictionary(
    of piece: Range<Int>, _ count: Int, _ front: Int, _ end: Int, _ baseCount: Int
  ) -> Range<Int> {
    guard baseCount > longestDictionary else { return 0..<baseCount }
    let inner = baseCount - front - end
    let place = front + Int(Double(piece.lowerBound) / Double(max(count, 1)) * Double(inner))
    let start = max(0, min(place - segment / 2, baseCount - longestDictionary))
    return start..<min(start + longestDictionary, baseCount)
  }

  // Numbers as in LEB128: seven bits a byte, the lowest first.

  private static func appendNumber(_ number: Int, to output: inout [UInt8]) {
    var rest = number
    while rest > 0x7F {
      output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    output.append(UInt8(truncatingIfNeeded: rest))
  }

  private static func number(_ bytes: RawSpan, _ position: inout Int) -> Int? {
    var number = 0
    for shift in stride(from: 0, to: 56, by: 7) {
      guard position < bytes.byteCount else { return nil }
      let byte = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
      position += 1
      number |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }
}
