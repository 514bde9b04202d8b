import Foundation

/// A cursor over a binary property list (CFBinaryPList.c in swift-corelibs-foundation).
///
/// The file is the eight bytes `bplist00`, the objects, a table of where they start, and a trailer of 32 bytes. Objects
/// are read one after the other by that table, so that nesting costs nothing here.
struct BinaryPropertyList: ~Escapable {
  private let bytes: RawSpan
  private let limits: ArchiveLimits
  private var position = 0
  /// Where the objects end and the table starts.
  private var end = 0
  private var referenceSize = 0
  private var objectCount = 0

  static let headerSize = 8
  static let trailerSize = 32
  /// Objects that lie over each other could claim any amount of memory, so together they may claim so many times the
  /// bytes that are there. Programs write each object once.
  private static let overlap = 4

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, limits: ArchiveLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  mutating func read() throws -> PropertyList {
    let count = bytes.byteCount
    guard count > Self.headerSize + Self.trailerSize else {
      throw ArchiveError(
        .truncated, "the file ends before the trailer; a binary property list has more than 40 bytes",
        byteOffset: count)
    }
    let trailer = count - Self.trailerSize
    end = count
    position = trailer + 6
    let offsetSize = Int(try integer(1))
    referenceSize = Int(try integer(1))
    let (objects, root, table) = (try integer(8), try integer(8), try integer(8))
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else {
      throw ArchiveError.damaged("the trailer gives numbers a size that is not from 1 to 8 bytes", at: trailer + 6)
    }
    guard table > UInt64(Self.headerSize), table < UInt64(trailer) else {
      throw ArchiveError.damaged("the table of offsets does not lie between objects and trailer", at: trailer + 24)
    }
    let (size, overflows) = objects.multipliedReportingOverflow(by: UInt64(offsetSize))
    guard !overflows, size == UInt64(trailer) - table else {
      throw ArchiveError.damaged("the table of offsets does not end where the trailer starts", at: trailer + 8)
    }
    guard objects <= UInt64(limits.count) else { throw tooMany(objects, at: trailer + 8) }
    guard root < objects else {
      throw ArchiveError.damaged("the outermost object has a number that names no object", at: trailer + 16)
    }
    end = Int(table)
    objectCount = Int(objects)

    var list = PropertyList(objects: [], root: Int(root))
    list.objects.reserveCapacity(objectCount)
    var budget = count.multipliedReportingOverflow(by: Self.overlap)
    if budget.overflow { budget.partialValue = .max }
    for number in 0..<objectCount {
      let place = Int(table) + number * offsetSize
      let offset = try unsigned(at: place, size: offsetSize)
      guard offset >= UInt64(Self.headerSize), offset < table else {
        throw ArchiveError.damaged("the table of offsets names a place outside the objects", at: place)
      }
      position = Int(offset)
      list.objects.append(try object())
      budget.partialValue -= position - Int(offset)
      guard budget.partialValue >= 0 else {
        throw ArchiveError.damaged(
          "the objects lie over each other; together they claim more than \(Self.overlap) times the file", at: place)
      }
    }
    return list
  }

  // MARK: Objects

  private mutating func object() throws -> PropertyList.Object {
    let start = position
    let marker = try integer(1)
    let low = Int(marker & 0x0F)
    switch marker >> 4 {
    case 0x0:
      switch low {
      // A byte that only fills a gap says as little as null.
      case 0x0, 0xF: return .null
      case 0x8: return .bool(false)
      case 0x9: return .bool(true)
      default: throw unknown(start)
      }
    case 0x1: return .integer(try integerObject(low, start))
    case 0x2 where low == 2: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try integer(4))))
    case 0x2 where low == 3: return .double(Double(bitPattern: try integer(8)))
    case 0x3 where low == 3:
      let seconds = Double(bitPattern: try integer(8))
      guard seconds.isFinite else { throw ArchiveError.damaged("a date is no finite number", at: start) }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case 0x4: return .data(try take(length(low, start)).withUnsafeBytes { Data($0) })
    case 0x5:
      let content = try take(length(low, start))
      guard let string = content.withUnsafeBytes({ ByteBuffer.string($0) }) else {
        throw ArchiveError.damaged("a string is neither ASCII nor valid UTF-8", at: start)
      }
      return .string(string)
    case 0x6: return .string(try wideString(low, start))
    case 0x8 where low < 8: return .uid(try integer(low + 1))
    case 0xA, 0xB: return .array(try references(low, start))
    case 0xC: return .set(try references(low, start))
    case 0xD:
      // All keys stand before all values.
      let count = try self.count(low, start, width: 2 * referenceSize)
      return .dictionary(try entries(count))
    default: throw unknown(start)
    }
  }

  /// Integers of 1, 2 and 4 bytes have no sign; those of 8 and 16 bytes do.
  private mutating func integerObject(_ low: Int, _ start: Int) throws -> Int128 {
    switch low {
    case 0...2: return Int128(try integer(1 << low))
    case 3: return Int128(Int64(bitPattern: try integer(8)))
    case 4:
      let high = UInt128(try integer(8))
      return Int128(bitPattern: high << 64 | UInt128(try integer(8)))
    default: throw ArchiveError.damaged("an integer has more than 16 bytes", at: start)
    }
  }

  private mutating func wideString(_ low: Int, _ start: Int) throws -> String {
    let count = try self.count(low, start, width: 2, isText: true)
    let content = try take(count * 2)
    var units: [UInt16] = []
    units.reserveCapacity(count)
    for place in stride(from: 0, to: count * 2, by: 2) {
      units.append(UInt16(bigEndian: content.unsafeLoadUnaligned(fromByteOffset: place, as: UInt16.self)))
    }
    guard let string = String(validating: units, as: UTF16.self) else {
      throw ArchiveError.damaged("a string has half of a surrogate pair; valid UTF-16 has both", at: start)
    }
    return string
  }

  private mutating func references(_ low: Int, _ start: Int) throws -> [Int] {
    try references(count(low, start, width: referenceSize))
  }

  private mutating func references(_ count: Int) throws -> [Int] {
    var numbers: [Int] = []
    numbers.reserveCapacity(count)
    for _ in 0..<count {
      numbers.append(try reference(at: position))
      position += referenceSize
    }
    return numbers
  }

  private mutating func entries(_ count: Int) throws -> [PropertyList.Entry] {
    var entries: [PropertyList.Entry] = []
    entries.reserveCapacity(count)
    for place in 0..<count {
      let key = position + place * referenceSize
      entries.append(
        PropertyList.Entry(key: try reference(at: key), value: try reference(at: key + count * referenceSize)))
    }
    position += 2 * count * referenceSize
    return entries
  }

  /// The reference at a place before the end of the objects.
  private func reference(at place: Int) throws -> Int {
    guard place <= end - referenceSize else { throw endOfObjects(place) }
    let number = try unsigned(at: place, size: referenceSize)
    guard number < UInt64(objectCount) else {
      throw ArchiveError.damaged("a reference names an object that does not exist", at: place)
    }
    return Int(number)
  }

  // MARK: Bytes

  /// The length of data or of an ASCII string.
  private mutating func length(_ low: Int, _ start: Int) throws -> Int {
    try count(low, start, width: 1, isText: true)
  }

  /// A count, which stands in the marker or as an integer after it, checked against the bytes that are left.
  private mutating func count(_ low: Int, _ start: Int, width: Int, isText: Bool = false) throws -> Int {
    var count = UInt64(low)
    if low == 0xF {
      let marker = try integer(1)
      guard marker >> 4 == 1, marker & 0xF <= 3 else {
        throw ArchiveError.damaged("a length is no integer of up to 8 bytes", at: start)
      }
      count = try integer(1 << Int(marker & 0xF))
    }
    if isText {
      let (size, overflows) = count.multipliedReportingOverflow(by: UInt64(width))
      guard !overflows, size <= UInt64(limits.stringLength) else {
        throw ArchiveError(
          .limitExceeded, "a string or data is longer than the limit of \(limits.stringLength) bytes",
          limit: .stringLength, byteOffset: start)
      }
    } else if count > UInt64(limits.count) {
      throw tooMany(count, at: start)
    }
    guard count <= UInt64((end - position) / width) else { throw endOfObjects(start) }
    return Int(count)
  }

  /// The next bytes.
  @_lifetime(copy self)
  private mutating func take(_ length: Int) throws -> RawSpan {
    guard length <= end - position else { throw endOfObjects(position) }
    let content = bytes.extracting(position..<position + length)
    position += length
    return content
  }

  /// The next integer of 1 to 8 bytes, without a sign.
  private mutating func integer(_ size: Int) throws -> UInt64 {
    guard size <= end - position else { throw endOfObjects(position) }
    let value = try unsigned(at: position, size: size)
    position += size
    return value
  }

  /// The integer at a place of the file.
  private func unsigned(at place: Int, size: Int) throws -> UInt64 {
    guard place >= 0, size <= bytes.byteCount - place else { throw endOfObjects(place) }
    switch size {
    case 1: return UInt64(bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self))
    case 2: return UInt64(UInt16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt16.self)))
    case 4: return UInt64(UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self)))
    case 8: return UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self))
    default: break
    }
    var value: UInt64 = 0
    for offset in place..<place + size {
      value = value << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
    }
    return value
  }

  private func endOfObjects(_ place: Int) -> ArchiveError {
    .damaged("an object does not end before the table of offsets", at: place)
  }

  private func unknown(_ place: Int) -> ArchiveError {
    .damaged("an object has a marker that bplist00 does not use", at: place)
  }

  private func tooMany(_ count: UInt64, at place: Int) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "a collection of \(count) elements is longer than the limit of \(limits.count)",
      limit: .count, byteOffset: place)
  }
}
