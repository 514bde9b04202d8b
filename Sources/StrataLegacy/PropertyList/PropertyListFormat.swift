internal import StrataCore

/// The format of a file that may be a property list, detected from its first bytes.
package enum PropertyListFormat {
  case binary, xml
  case wideXML(isBigEndian: Bool)
  /// A format that cannot be read, with a description for the error message.
  case other(String)

  package init(of bytes: RawSpan) {
    if Self.isBinary(bytes) {
      self = .binary
      return
    }
    let start = bytes.extracting(first: 4096).withUnsafeBytes { Array($0) }
    if start.starts(with: Array("bplist".utf8)) {
      self = .other("a binary property list with a version other than 00")
    } else if start.starts(with: [0xFE, 0xFF]) || start.starts(with: [0, 0x3C, 0]) {
      self = .wideXML(isBigEndian: true)
    } else if start.starts(with: [0xFF, 0xFE]) || (start.starts(with: [0x3C, 0]) && start.count > 2) {
      self = .wideXML(isBigEndian: false)
    } else {
      self = Self.text(start)
    }
  }

  /// Whether the bytes begin with `bplist00`.
  private static func isBinary(_ bytes: RawSpan) -> Bool {
    bytes.byteCount >= 8
      && UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)) == 0x6270_6C69_7374_3030
  }

  private static func text(_ bytes: [UInt8]) -> PropertyListFormat {
    let text = bytes.drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
    func starts(_ prefix: String) -> Bool { text.starts(with: prefix.utf8) }
    switch text.first {
    case nil: return .other(bytes.isEmpty ? "no data" : "only whitespace")
    case UInt8(ascii: "<"):
      let next = text.dropFirst().first ?? 0
      // The OpenStep format writes data as hexadecimal digits in angle brackets. Other text that begins with an angle
      // bracket is XML or HTML.
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
    if bytes.starts(with: [0x04, 0x0B] + Array("streamtyped".utf8)) { return .other("an NSArchiver archive") }
    if starts("PK") { return .other("a ZIP file") }
    return .other("an unknown format")
  }

  /// Returns whether text that begins with a brace is JSON rather than an OpenStep property list. In JSON, a colon
  /// precedes any equals sign or semicolon outside of strings, or the braces are empty.
  private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
    var isQuoted = false
    for byte in text {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted { continue }
      if byte == UInt8(ascii: ":") { return true }
      if byte == UInt8(ascii: "=") || byte == UInt8(ascii: ";") { return false }
    }
    return text.dropFirst().first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "}")
  }
}
