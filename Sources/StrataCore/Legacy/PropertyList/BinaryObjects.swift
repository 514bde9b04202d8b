import Foundation

/// The objects of a binary property list where they stand, for who needs no ``PropertyList`` of them.
///
/// Whatever is unusual throws ``FastPathUnavailable``, and tells nothing: ``BinaryPropertyList`` finds out what it is.
struct BinaryObjects: ~Escapable {
  struct FastPathUnavailable: Error {}

  let bytes: RawSpan
  let count: Int
  let root: Int
  let referenceSize: Int
  private let offsetSize: Int
  /// Where the objects end and the table of their offsets starts. The table and the trailer have more than eight bytes,
  /// so a word can be loaded from any place before.
  private let table: Int

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, limits: ArchiveLimits) throws {
    let (header, trailerSize) = (BinaryPropertyList.headerSize, BinaryPropertyList.trailerSize)
    guard bytes.byteCount > header + trailerSize, Self.word(of: bytes, at: 0) == 0x6270_6C69_7374_3030 else {
      throw FastPathUnavailable()
    }
    let trailer = bytes.byteCount - trailerSize
    let sizes = Self.word(of: bytes, at: trailer)
    let (objects, root) = (Self.word(of: bytes, at: trailer + 8), Self.word(of: bytes, at: trailer + 16))
    let table = Self.word(of: bytes, at: trailer + 24)
    offsetSize = Int(sizes >> 8 & 0xFF)
    referenceSize = Int(sizes & 0xFF)
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize, objects <= UInt64(min(limits.count, Int(Int32.max) - 2)),
      root < objects, table > UInt64(header), table < UInt64(trailer),
      UInt64(trailer) - table == objects * UInt64(offsetSize)
    else { throw FastPathUnavailable() }
    self.bytes = bytes
    self.table = Int(table)
    self.root = Int(root)
    count = Int(objects)
  }

  private static func word(of bytes: RawSpan, at place: Int) -> UInt64 {
    UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  /// Eight bytes from a place before the end of the objects, the first one highest.
  @inline(__always)
  func word(at place: Int) -> UInt64 {
    UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  /// The integer of 1 to 8 bytes at a place.
  @inline(__always)
  func unsigned(at place: Int, size: Int) -> UInt64 { word(at: place) &>> UInt64(64 &- 8 &* size) }

  /// Where an object stands.
  @inline(__always)
  func offset(of number: Int) throws -> Int {
    guard number < count else { throw FastPathUnavailable() }
    let offset = unsigned(at: table &+ number &* offsetSize, size: offsetSize)
    guard offset >= UInt64(BinaryPropertyList.headerSize), offset < UInt64(table) else { throw FastPathUnavailable() }
    return Int(offset)
  }

  @inline(__always)
  func marker(at offset: Int) -> UInt8 { bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

  /// The number of the object that a reference names; the place was checked with ``content(at:width:)``.
  @inline(__always)
  func reference(at place: Int) throws -> Int {
    let number = unsigned(at: place, size: referenceSize)
    guard number < UInt64(count) else { throw FastPathUnavailable() }
    return Int(number)
  }

  /// Checks that an object has at least a number of bytes after its marker.
  @inline(__always)
  func check(_ size: Int, at offset: Int) throws {
    guard size < table &- offset else { throw FastPathUnavailable() }
  }

  /// The content of an object with a count: where it starts, and of how many elements it is.
  @inline(__always)
  func content(at offset: Int, width: Int) throws -> (start: Int, count: Int) {
    var count = UInt64(marker(at: offset) & 0x0F)
    var start = offset &+ 1
    if count == 0xF {
      try check(1, at: offset)
      let marker = marker(at: start)
      guard marker >> 4 == 1, marker & 0xF <= 3 else { throw FastPathUnavailable() }
      let size = 1 &<< Int(marker & 0xF)
      try check(1 &+ size, at: offset)
      count = unsigned(at: start &+ 1, size: size)
      start &+= 1 &+ size
    }
    guard count <= UInt64((table &- start) / width) else { throw FastPathUnavailable() }
    return (start, Int(count))
  }

  /// The text of an object, also one in UTF-16.
  func string(at offset: Int) throws -> String {
    switch marker(at: offset) >> 4 {
    case 0x5:
      let (start, count) = try content(at: offset, width: 1)
      guard
        let text = bytes.extracting(start..<start + count).withUnsafeBytes({ ByteBuffer.string($0) })
      else { throw FastPathUnavailable() }
      return text
    case 0x6:
      var text: [UInt8] = []
      try appendWideText(at: offset, to: &text)
      return String(decoding: text, as: UTF8.self)
    default: throw FastPathUnavailable()
    }
  }

  /// Appends text in UTF-16 as UTF-8.
  func appendWideText(at offset: Int, to text: inout [UInt8]) throws {
    let (start, count) = try content(at: offset, width: 2)
    text.reserveCapacity(text.count + 3 * count)
    func append(_ scalar: UInt32, _ shift: UInt32) { text.append(UInt8(0x80 | (scalar >> shift & 0x3F))) }
    var place = 0
    while place < count {
      let unit = UInt32(unsigned(at: start &+ 2 &* place, size: 2))
      place += 1
      if unit < 0x80 {
        text.append(UInt8(unit))
      } else if unit < 0x800 {
        text.append(UInt8(0xC0 | unit >> 6))
        append(unit, 0)
      } else if unit & 0xF800 != 0xD800 {
        text.append(UInt8(0xE0 | unit >> 12))
        append(unit, 6)
        append(unit, 0)
      } else {
        guard unit < 0xDC00, place < count else { throw FastPathUnavailable() }
        let low = UInt32(unsigned(at: start &+ 2 &* place, size: 2))
        guard low & 0xFC00 == 0xDC00 else { throw FastPathUnavailable() }
        place += 1
        let scalar = 0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF)
        text.append(UInt8(0xF0 | scalar >> 18))
        append(scalar, 12)
        append(scalar, 6)
        append(scalar, 0)
      }
    }
  }
}
