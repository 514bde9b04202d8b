import Foundation
internal import StrataCore

/// The objects of a binary property list, read in place from the bytes of the file (CFBinaryPList.c in
/// swift-corelibs-foundation).
///
/// A file consists of the eight bytes `bplist00`, the objects, a table of their offsets, and a trailer of 32 bytes. The
/// initializer checks the offset, length, text and references of every object, even if nothing refers to the object.
/// Reading an object afterwards cannot fail and needs only the bytes.
struct BinaryPropertyList: ~Escapable {
  let bytes: RawSpan
  let count: Int
  /// The number of the root object, which is its position in the offset table.
  let root: Int
  /// The size of a reference, in bytes. A reference is the number of an object.
  let referenceSize: Int
  /// The total size of all strings (as UTF-8) and of all data objects, in bytes. Each object is counted once.
  private(set) var textSize = 0
  private(set) var dataSize = 0
  private let offsetSize: Int
  /// The offset in the file at which the objects end and the offset table starts. The table and the trailer together
  /// have more than eight bytes, so that eight bytes can be loaded from any offset before the table.
  private let table: Int

  static let headerSize = 8
  static let trailerSize = 32
  /// The maximum total size of the objects, as a multiple of the file's size. Programs write each object once, but a
  /// hostile file with overlapping objects could require any amount of memory.
  private static let overlap = 4

  /// - Throws: `ArchiveError` with the code `truncated`, `damaged` or `limitExceeded`, and with the offset of the error
  ///   in the file.
  /// - Complexity: linear in the size of the file.
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, limits: ArchiveLimits) throws {
    let size = bytes.byteCount
    guard size > Self.headerSize + Self.trailerSize else {
      throw ArchiveError(
        .truncated, "the file is too short to be a binary property list", byteOffset: size)
    }
    let trailer = size - Self.trailerSize
    func word(at offset: Int) -> UInt64 {
      UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let sizes = word(at: trailer)
    let (objects, root, table) = (word(at: trailer + 8), word(at: trailer + 16), word(at: trailer + 24))
    offsetSize = Int(sizes >> 8 & 0xFF)
    referenceSize = Int(sizes & 0xFF)
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else {
      throw ArchiveError.damaged("an integer size in the trailer is not between 1 and 8 bytes", at: trailer + 6)
    }
    guard table > UInt64(Self.headerSize), table < UInt64(trailer) else {
      throw ArchiveError.damaged("the offset table is not between the objects and the trailer", at: trailer + 24)
    }
    let (tableSize, overflows) = objects.multipliedReportingOverflow(by: UInt64(offsetSize))
    guard !overflows, tableSize == UInt64(trailer) - table else {
      throw ArchiveError.damaged("the offset table does not end at the start of the trailer", at: trailer + 8)
    }
    guard objects <= UInt64(limits.count) else { throw Self.tooMany(objects, limits, at: trailer + 8) }
    guard root < objects else {
      throw ArchiveError.damaged("the index of the root object is out of range", at: trailer + 16)
    }
    self.bytes = bytes
    self.table = Int(table)
    self.root = Int(root)
    count = Int(objects)
    try checkObjects(limits)
  }

  // MARK: Reading

  /// Returns the eight bytes at an offset as a big-endian integer. The offset must be smaller than ``table``.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Returns the big-endian integer of 1 to 8 bytes at an offset.
  @inline(__always)
  func unsigned(at offset: Int, size: Int) -> UInt64 { word(at: offset) &>> UInt64(64 &- 8 &* size) }

  /// Returns the byte at an offset. If an object starts there, the byte is the object's marker. The upper four bits of
  /// a marker are the type of the object.
  @inline(__always)
  func marker(at offset: Int) -> UInt8 { bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

  @inline(__always)
  func offset(of number: Int) -> Int {
    Int(truncatingIfNeeded: unsigned(at: table &+ number &* offsetSize, size: offsetSize))
  }

  /// Returns the reference at an offset. A reference is the number of an object.
  @inline(__always)
  func reference(at offset: Int) -> Int { Int(truncatingIfNeeded: unsigned(at: offset, size: referenceSize)) }

  /// Returns the offset of the content of a string, a data object or a collection, and the number of its text units,
  /// bytes or elements. In a dictionary, all keys precede all values, and the number counts only the keys.
  @inline(__always)
  func content(at offset: Int) -> (start: Int, count: Int) {
    let low = Int(marker(at: offset) & 0xF)
    guard low == 0xF else { return (offset &+ 1, low) }
    let size = 1 &<< Int(marker(at: offset &+ 1) & 0xF)
    return (offset &+ 2 &+ size, Int(truncatingIfNeeded: unsigned(at: offset &+ 2, size: size)))
  }

  /// Returns the integer object at an offset. Integers of 1, 2 and 4 bytes are unsigned. Integers of 8 and 16 bytes are
  /// signed.
  func integer(at offset: Int) -> WideInteger {
    let low = Int(marker(at: offset) & 0xF)
    guard low == 4 else { return WideInteger(Int64(bitPattern: unsigned(at: offset &+ 1, size: 1 &<< low))) }
    return WideInteger(twosComplement: WideInteger.Magnitude(high: word(at: offset &+ 1), low: word(at: offset &+ 9)))
  }

  func double(at offset: Int) -> Double { Double(bitPattern: word(at: offset &+ 1)) }

  func data(at offset: Int) -> Data {
    let (start, count) = content(at: offset)
    return bytes.extracting(start..<start &+ count).withUnsafeBytes { Data($0) }
  }

  /// Returns the text of the string object at an offset. Text that is marked as ASCII is read as UTF-8, because some
  /// programs mark UTF-8 as ASCII.
  func string(at offset: Int) -> String {
    let (start, count) = content(at: offset)
    guard marker(at: offset) >> 4 == 0x6 else {
      return ByteBuffer.validString(bytes.extracting(start..<start &+ count))
    }
    return String(unsafeUninitializedCapacity: 3 &* count) { text in
      var length = 0
      var index = 0
      while index < count {
        let scalar = scalar(at: start &+ 2 &* index, left: count &- index) ?? 0xFFFD
        index &+= scalar > 0xFFFF ? 2 : 1
        for byte in UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
          text[length] = byte
          length &+= 1
        }
      }
      return length
    }
  }

  /// Returns the Unicode scalar that starts at an offset of UTF-16 text, or `nil` for an unpaired surrogate.
  ///
  /// - Parameter left: the number of UTF-16 code units from the offset to the end of the text.
  @inline(__always)
  private func scalar(at offset: Int, left: Int) -> UInt32? {
    let unit = UInt32(truncatingIfNeeded: unsigned(at: offset, size: 2))
    guard unit & 0xF800 == 0xD800 else { return unit }
    let low = left > 1 ? UInt32(truncatingIfNeeded: unsigned(at: offset &+ 2, size: 2)) : 0
    guard unit < 0xDC00, low & 0xFC00 == 0xDC00 else { return nil }
    return 0x10000 &+ ((unit & 0x3FF) &<< 10 | low & 0x3FF)
  }

  // MARK: Checking

  private mutating func checkObjects(_ limits: ArchiveLimits) throws {
    var rest = bytes.byteCount.multipliedReportingOverflow(by: Self.overlap)
    if rest.overflow { rest.partialValue = .max }
    for number in 0..<count {
      let entry = table + number * offsetSize
      let offset = unsigned(at: entry, size: offsetSize)
      guard offset >= UInt64(Self.headerSize), offset < UInt64(table) else {
        throw ArchiveError.damaged("the offset table contains an offset that does not point to an object", at: entry)
      }
      rest.partialValue -= try check(Int(offset), limits) - Int(offset)
      guard rest.partialValue >= 0 else {
        throw ArchiveError.damaged(
          "the objects overlap, and their total size is more than \(Self.overlap) times the file size", at: entry)
      }
    }
  }

  /// Checks the object at an offset against the format and the limits. Returns the end offset of the object.
  private mutating func check(_ offset: Int, _ limits: ArchiveLimits) throws -> Int {
    let marker = marker(at: offset)
    let low = Int(marker & 0xF)
    switch marker >> 4 {
    // A fill byte (0x0F) is read as null.
    case 0x0 where low == 0 || low == 8 || low == 9 || low == 0xF: return offset + 1
    case 0x1 where low <= 4: return try end(1 << low, after: offset)
    case 0x1: throw ArchiveError.damaged("an integer has more than the maximum of 16 bytes", at: offset)
    case 0x2 where low == 2 || low == 3: return try end(1 << low, after: offset)
    case 0x3 where low == 3:
      let end = try end(8, after: offset)
      guard double(at: offset).isFinite else {
        throw ArchiveError.damaged("a date is not a finite number of seconds", at: offset)
      }
      return end
    case 0x4:
      let (start, count) = try checkContent(at: offset, width: 1, limits, isText: true)
      dataSize += count
      return start + count
    case 0x5:
      let (start, count) = try checkContent(at: offset, width: 1, limits, isText: true)
      let isValid = bytes.extracting(start..<start + count).withUnsafeBytes {
        ByteBuffer.isASCII($0) || ByteBuffer.string($0) != nil
      }
      guard isValid else { throw ArchiveError.damaged("a string is neither ASCII nor valid UTF-8", at: offset) }
      textSize += count
      return start + count
    case 0x6: return try checkWideText(offset, limits)
    case 0x8 where low < 8: return try end(low + 1, after: offset)
    case 0xA, 0xB, 0xC:
      let (start, count) = try checkContent(at: offset, width: referenceSize, limits)
      return try checkReferences(start, count)
    case 0xD:
      let (start, count) = try checkContent(at: offset, width: 2 * referenceSize, limits)
      return try checkReferences(start, 2 * count)
    default: throw ArchiveError.damaged("an object has a marker that is not part of the format bplist00", at: offset)
    }
  }

  /// Returns the end offset of an object that has a marker byte at `offset`, followed by `size` bytes. Throws if the
  /// object would extend into the offset table.
  private func end(_ size: Int, after offset: Int) throws -> Int {
    guard size < table - offset else { throw endOfObjects(offset + 1) }
    return offset + 1 + size
  }

  /// Returns the result of ``content(at:)``, after checking that the content is within the limits and the file.
  ///
  /// - Parameter width: the size of one text unit, byte or element in the file, in bytes.
  private func checkContent(
    at offset: Int, width: Int, _ limits: ArchiveLimits, isText: Bool = false
  ) throws -> (start: Int, count: Int) {
    var count = UInt64(marker(at: offset) & 0xF)
    var start = offset + 1
    if count == 0xF {
      start = try end(1, after: offset)
      let marker = marker(at: offset + 1)
      guard marker >> 4 == 1, marker & 0xF <= 3 else {
        throw ArchiveError.damaged("a length must be an integer of at most 8 bytes", at: offset)
      }
      start = try end(1 << Int(marker & 0xF), after: offset + 1)
      count = unsigned(at: offset + 2, size: 1 << Int(marker & 0xF))
    }
    if isText {
      let (size, overflows) = count.multipliedReportingOverflow(by: UInt64(width))
      guard !overflows, size <= UInt64(limits.stringLength) else {
        throw ArchiveError(
          .limitExceeded, "a string or data object is longer than the limit of \(limits.stringLength) bytes",
          limit: .stringLength, byteOffset: offset)
      }
    } else if count > UInt64(limits.count) {
      throw Self.tooMany(count, limits, at: offset)
    }
    guard count <= UInt64((table - start) / width) else { throw endOfObjects(offset) }
    return (start, Int(count))
  }

  private mutating func checkWideText(_ offset: Int, _ limits: ArchiveLimits) throws -> Int {
    let (start, count) = try checkContent(at: offset, width: 2, limits, isText: true)
    var index = 0
    while index < count {
      guard let scalar = scalar(at: start + 2 * index, left: count - index) else {
        throw ArchiveError.damaged(
          "a string is not valid UTF-16 because it contains an unpaired surrogate", at: offset)
      }
      index += scalar > 0xFFFF ? 2 : 1
      textSize += scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar > 0xFFFF ? 4 : 3
    }
    return start + 2 * count
  }

  private func checkReferences(_ start: Int, _ count: Int) throws -> Int {
    for index in 0..<count {
      let offset = start &+ index &* referenceSize
      guard unsigned(at: offset, size: referenceSize) < UInt64(self.count) else {
        throw ArchiveError.damaged("a reference names an object that does not exist", at: offset)
      }
    }
    return start + count * referenceSize
  }

  private func endOfObjects(_ offset: Int) -> ArchiveError {
    .damaged("an object extends into the offset table", at: offset)
  }

  private static func tooMany(_ count: UInt64, _ limits: ArchiveLimits, at offset: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a collection of \(count) elements is longer than the limit of \(limits.count) elements",
      limit: .count, byteOffset: offset)
  }
}
