public import Foundation
public import StrataCore

/// Reads binary (`bplist00`) and XML property lists from untrusted bytes.
///
/// Memory use is limited to a small multiple of the file's size, regardless of the sizes that the file claims. Reading
/// is iterative, so deep nesting does not overflow the stack. The binary format is defined by CFBinaryPList.c in
/// swift-corelibs-foundation. The XML format is defined by CFPropertyList.c in the same repository and by Apple's
/// PropertyList-1.0.dtd. The OpenStep format is not supported.
public struct PropertyListReader: Sendable {
  /// The limits for a file. `ArchiveLimits.count` applies to each collection and to the object table of a binary file.
  /// `ArchiveLimits.depth` applies to XML elements and to values.
  public var limits = ArchiveLimits()

  /// Creates a reader with the default limits.
  public init() {}

  /// Reads the object table of a property list in the binary or XML format.
  ///
  /// Binary: references may form cycles, and objects to which nothing refers are kept in the table. Ordered sets become
  /// arrays, and fill bytes become null. Text that is marked as ASCII may be UTF-8, because some programs mark UTF-8 as
  /// ASCII.
  ///
  /// XML: the text is UTF-8, with or without a byte order mark, or UTF-16. The document type is skipped, so no file or
  /// URL in it is opened, and only the five predefined entities of XML are supported. A dictionary whose only entry is
  /// an integer from 0 to 18,446,744,073,709,551,615 under `CF$UID` becomes a `uid`. NUL bytes may follow the end,
  /// because some programs write them. `ArchiveError.byteOffset` counts the bytes of the text in UTF-8.
  ///
  /// - Throws: `ArchiveError` with code `notAnArchive` if the data has a different format, which the message names if
  ///   it is recognized; `truncated` if the data ends too early; `damaged` if the data is invalid, for example if a
  ///   reference names an object that does not exist; `limitExceeded` if the data exceeds ``limits``.
  /// - Complexity: linear in the size of the data.
  public func read(_ data: Data) throws -> PropertyList {
    if case .binary = PropertyListFormat(of: data.bytes) {
      return try BinaryPropertyList(data.bytes, limits: limits).propertyList
    }
    return try readText(data)
  }

  /// Returns the property list in the binary format, and the limits to use when it is read. If the list was converted
  /// from XML, these limits accept any list, because its objects have already been checked.
  func binary(_ data: Data) throws -> (data: Data, limits: ArchiveLimits) {
    if case .binary = PropertyListFormat(of: data.bytes) { return (data, limits) }
    return (try PropertyListWriter().write(readText(data)), .ofChecked)
  }

  private func readText(_ data: Data) throws -> PropertyList {
    let bytes = data.bytes
    switch PropertyListFormat(of: bytes) {
    case .xml: return try Self.readXML(bytes, limits)
    case .wideXML(let isBigEndian):
      guard let text = Self.text(ofUTF16: bytes, isBigEndian: isBigEndian) else {
        throw ArchiveError.damaged("the text is not valid UTF-16", at: 0)
      }
      return try Self.readXML(Data(text.utf8).bytes, limits)
    case .binary:
      throw ArchiveError(.notAnArchive, "found a binary property list where a text property list is expected")
    case .other(let name):
      var advice: String?
      switch ForeignFormat(bytes) {
      case .json? where name == "JSON", .gzip?: advice = ForeignFormat(bytes)?.advice
      default: break
      }
      throw ArchiveError(
        .notAnArchive,
        advice.map { "found \(name) where a binary or XML property list is expected; \($0)" }
          ?? "found \(name) where a binary or XML property list is expected", byteOffset: 0)
    }
  }

  /// Reads and decodes a plain property list. Combines ``read(_:)`` and ``value(of:)``.
  public func readValue(_ data: Data) throws -> ArchiveValue { try value(of: read(data)) }

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
    let units = stride(from: 0, to: bytes.byteCount, by: 2).map { offset in
      let unit = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
      return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
    }
    return String(validUTF16: units)
  }
}

extension ArchiveLimits {
  /// Limits that accept any property list, for a list whose objects have already been checked in a different format.
  static var ofChecked: ArchiveLimits {
    var limits = ArchiveLimits()
    limits.count = .max
    limits.stringLength = .max
    return limits
  }
}
