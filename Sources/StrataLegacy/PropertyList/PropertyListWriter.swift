public import Foundation
internal import StrataCore

/// Writes binary property lists (`bplist00`). The format is defined by CFBinaryPList.c in swift-corelibs-foundation.
public struct PropertyListWriter: Sendable {
  /// Creates a writer.
  public init() {}

  /// Writes each object once, in the order of the table. Objects to which nothing refers are included.
  ///
  /// The same table always gives the same bytes. Every integer and every reference is stored in 1, 2, 4 or 8 bytes,
  /// using the smallest size that fits. An integer outside the range of `Int64` is stored in 16 bytes. Strings are
  /// ASCII or UTF-16.
  ///
  /// - Throws: `ArchiveError` with code `notEncodable` if a reference names an object that does not exist, a date is
  ///   not finite, or an integer has more than 128 bits including its sign.
  /// - Complexity: linear in the size of the table.
  public func write(_ list: PropertyList) throws -> Data {
    guard list.objects.indices.contains(list.root) else {
      throw ArchiveError(.notEncodable, "the index of the root object is out of range")
    }
    let referenceSize = Self.size(of: UInt64(list.objects.count - 1))
    var buffer = ByteBuffer()
    buffer.append("bplist00")
    var offsets: [Int] = []
    offsets.reserveCapacity(list.objects.count)
    for object in list.objects {
      offsets.append(buffer.count)
      for index in 0..<object.childCount where !list.objects.indices.contains(object.child(index)) {
        throw ArchiveError(.notEncodable, "a reference names an object that is not in the property list")
      }
      try Self.append(object, referenceSize, to: &buffer)
    }
    let table = buffer.count
    let offsetSize = Self.size(of: UInt64(table))
    for offset in offsets { Self.append(UInt64(offset), size: offsetSize, to: &buffer) }
    for _ in 0..<6 { buffer.append(0) }
    buffer.append(UInt8(offsetSize))
    buffer.append(UInt8(referenceSize))
    for number in [list.objects.count, list.root, table] { Self.append(UInt64(number), size: 8, to: &buffer) }
    return buffer.takeData()
  }

  private static func append(
    _ object: PropertyList.Object, _ referenceSize: Int, to buffer: inout ByteBuffer
  ) throws {
    switch object {
    case .null: buffer.append(0x00)
    case .bool(let value): buffer.append(value ? 0x09 : 0x08)
    case .integer(let value): try append(value, to: &buffer)
    case .float(let value): buffer.append(0x22, value.bitPattern)
    case .double(let value): buffer.append(0x23, value.bitPattern)
    case .date(let value):
      let seconds = value.timeIntervalSinceReferenceDate
      guard seconds.isFinite else {
        throw ArchiveError(.notEncodable, "a date is not a finite number of seconds")
      }
      buffer.append(0x33, seconds.bitPattern)
    case .data(let value):
      appendHead(0x40, value.count, to: &buffer)
      buffer.append(value.bytes)
    case .string(let value):
      if value.utf8.allSatisfy({ $0 < 0x80 }) {
        appendHead(0x50, value.utf8.count, to: &buffer)
        buffer.append(value)
      } else {
        appendHead(0x60, value.utf16.count, to: &buffer)
        for unit in value.utf16 { append(UInt64(unit), size: 2, to: &buffer) }
      }
    case .uid(let value):
      let size = Self.size(of: value)
      buffer.append(0x80 | UInt8(size - 1))
      append(value, size: size, to: &buffer)
    case .array(let elements):
      appendHead(0xA0, elements.count, to: &buffer)
      for number in elements { append(UInt64(number), size: referenceSize, to: &buffer) }
    case .set(let elements):
      appendHead(0xC0, elements.count, to: &buffer)
      for number in elements { append(UInt64(number), size: referenceSize, to: &buffer) }
    case .dictionary(let entries):
      appendHead(0xD0, entries.count, to: &buffer)
      for entry in entries { append(UInt64(entry.key), size: referenceSize, to: &buffer) }
      for entry in entries { append(UInt64(entry.value), size: referenceSize, to: &buffer) }
    }
  }

  private static func append(_ value: WideInteger, to buffer: inout ByteBuffer) throws {
    guard let small = value.exactly(Int64.self) else {
      guard let bits = value.twosComplement else {
        throw ArchiveError(.notEncodable, "an integer has more than 128 bits, which is the maximum in property lists")
      }
      buffer.append(0x14, bits.high)
      append(bits.low, size: 8, to: &buffer)
      return
    }
    append(small, to: &buffer)
  }

  private static func append(_ value: Int64, to buffer: inout ByteBuffer) {
    guard value >= 0 else { return buffer.append(0x13, value) }
    let size = Self.size(of: UInt64(value))
    buffer.append(0x10 | UInt8(size.trailingZeroBitCount))
    append(UInt64(value), size: size, to: &buffer)
  }

  /// Appends the first byte of an object, which combines its type with the number of its elements, units or bytes. A
  /// number of 15 or more is written as an integer after this byte.
  private static func appendHead(_ marker: UInt8, _ count: Int, to buffer: inout ByteBuffer) {
    if count < 15 {
      buffer.append(marker | UInt8(count))
    } else {
      buffer.append(marker | 0xF)
      append(Int64(count), to: &buffer)
    }
  }

  private static func append(_ value: UInt64, size: Int, to buffer: inout ByteBuffer) {
    for index in stride(from: size - 1, through: 0, by: -1) {
      buffer.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8)))
    }
  }

  /// Returns the smallest number of bytes that can store the number: 1, 2, 4 or 8.
  private static func size(of number: UInt64) -> Int {
    switch number {
    case ...0xFF: 1
    case ...0xFFFF: 2
    case ...0xFFFF_FFFF: 4
    default: 8
    }
  }
}
