public import Foundation

/// Reads property lists, binary ones (`bplist00`) and those in XML, from bytes that nobody vouches for.
///
/// Memory stays within a small multiple of the size of the file, whatever the file claims, and reading does not use the
/// stack however deep the nesting is. The binary form is that of CFBinaryPList.c in swift-corelibs-foundation, the XML
/// form that of CFPropertyList.c there and of Apple's PropertyList-1.0.dtd. The OpenStep form is not read.
public struct PropertyListReader: Sendable {
  /// How much a file may claim. ``ArchiveLimits/count`` holds for one collection and for the table of a binary file,
  /// ``ArchiveLimits/depth`` for elements of XML and for values.
  public var limits = ArchiveLimits()

  /// A reader with the default limits.
  public init() {}

  /// Reads the table of objects of a property list in either form.
  ///
  /// Binary: references may run in cycles, and objects that nothing refers to stay in the table. Ordered sets become
  /// arrays, and what fills gaps becomes null. Text that is marked as ASCII may be UTF-8, as some programs write it.
  ///
  /// XML: UTF-8 with or without a byte order mark, or UTF-16. The document type is passed over: nothing is fetched, and
  /// no entities but the five of XML are known. A dictionary whose only entry is an integer from 0 to
  /// 18,446,744,073,709,551,615 under `CF$UID` becomes a `uid`. NUL bytes may follow the end, as some programs write
  /// them. ``ArchiveError/byteOffset`` counts bytes of the text in UTF-8.
  ///
  /// - Throws: ``ArchiveError`` with code `notAnArchive` where the data has another form, which is named where it is
  ///   known, `truncated` where it ends too early, `damaged` where something in it is wrong, for instance a number that
  ///   names no object, and `limitExceeded` where it goes beyond ``limits``.
  /// - Complexity: linear in the size of the data.
  public func read(_ data: Data) throws -> PropertyList {
    let bytes = data.bytes
    switch PropertyListForm(of: bytes) {
    case .binary:
      var reader = BinaryPropertyList(bytes, limits: limits)
      return try reader.read()
    case .xml:
      return try Self.readXML(bytes, limits)
    case .wideXML(let isBigEndian):
      guard let text = Self.text(ofUTF16: bytes, isBigEndian: isBigEndian) else {
        throw ArchiveError.damaged("the text is not valid UTF-16", at: 0)
      }
      return try Self.readXML(Data(text.utf8).bytes, limits)
    case .other(let name):
      throw ArchiveError(
        .notAnArchive, "found \(name) where a binary or XML property list is expected", byteOffset: 0)
    }
  }

  /// Reads a plain property list, as ``read(_:)`` and ``value(of:)`` in one.
  public func readValue(_ data: Data) throws -> Value { try value(of: read(data)) }

  private static func readXML(_ bytes: RawSpan, _ limits: ArchiveLimits) throws -> PropertyList {
    do {
      var reader = XMLPropertyList(bytes, limits: limits)
      return try reader.read()
    } catch {
      throw ArchiveError.wrap(error).located(in: bytes)
    }
  }

  private static func text(ofUTF16 bytes: RawSpan, isBigEndian: Bool) -> String? {
    guard bytes.byteCount.isMultiple(of: 2) else { return nil }
    let units = stride(from: 0, to: bytes.byteCount, by: 2).map { place in
      let unit = bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt16.self)
      return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
    }
    return String(validating: units, as: UTF16.self)
  }
}

/// What the first bytes of a file say about it.
package enum PropertyListForm {
  case binary, xml
  case wideXML(isBigEndian: Bool)
  /// Another form, in words.
  case other(String)

  package init(of bytes: RawSpan) {
    let start = (0..<min(bytes.byteCount, 4096)).map { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    if start.starts(with: Array("bplist00".utf8)) {
      self = .binary
    } else if start.starts(with: Array("bplist".utf8)) {
      self = .other("a binary property list of another version than 00")
    } else if start.starts(with: [0xFE, 0xFF]) || start.starts(with: [0, 0x3C, 0]) {
      self = .wideXML(isBigEndian: true)
    } else if start.starts(with: [0xFF, 0xFE]) || (start.starts(with: [0x3C, 0]) && start.count > 2) {
      self = .wideXML(isBigEndian: false)
    } else {
      self = Self.text(start)
    }
  }

  private static func text(_ bytes: [UInt8]) -> PropertyListForm {
    let text = bytes.drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
    func starts(_ prefix: String) -> Bool { text.starts(with: prefix.utf8) }
    switch text.first {
    case nil: return .other(bytes.isEmpty ? "no data" : "nothing but white space")
    case UInt8(ascii: "<"):
      let next = text.dropFirst().first ?? 0
      // OpenStep writes data as hexadecimal digits in angle brackets.
      let isHexadecimal = text.dropFirst().prefix { $0 != UInt8(ascii: ">") }.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0 | 0x20 || $0 == 0x20
      }
      if isHexadecimal, text.count > 1 { return .other("an OpenStep text property list") }
      let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= next | 0x20
      if starts("<html") || starts("<HTML") || starts("<!DOCTYPE html") { return .other("HTML") }
      return isLetter || next == UInt8(ascii: "?") || next == UInt8(ascii: "!") ? .xml : .other("text")
    case UInt8(ascii: "["): return .other("JSON")
    case UInt8(ascii: "{"): return .other(isJSON(text) ? "JSON" : "an OpenStep text property list")
    case UInt8(ascii: "("), UInt8(ascii: "/"), UInt8(ascii: "\""): return .other("an OpenStep text property list")
    default: break
    }
    if starts("SQLite format 3") { return .other("a SQLite database") }
    if bytes.starts(with: [0x1F, 0x8B]) { return .other("a gzip file") }
    if bytes.starts(with: [0x04, 0x0B] + Array("streamtyped".utf8)) { return .other("an archive of NSArchiver") }
    if starts("PK") { return .other("a ZIP file") }
    return .other("an unknown format")
  }

  /// Whether a colon stands before an equals sign, where neither stands in a string.
  private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
    var isQuoted = false
    for byte in text {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted { continue }
      if byte == UInt8(ascii: ":") { return true }
      if byte == UInt8(ascii: "=") || byte == UInt8(ascii: ";") { return false }
    }
    return false
  }
}
