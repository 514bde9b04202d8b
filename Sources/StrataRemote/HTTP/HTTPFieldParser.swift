/// Parses field values that consist of tokens, quoted strings and separators (RFC 9110, section 5.6).
///
/// The parser works on bytes and not on characters, because a value may contain any bytes. The caller skips bytes that
/// begin neither a token nor a quoted string.
struct HTTPFieldParser {
  private let bytes: [UInt8]
  private var place = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { place >= bytes.count }

  mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || bytes[place] == 0x09 { place += 1 }
  }

  /// Consumes the given byte if it is at the current position. Returns whether it was there.
  mutating func consume(_ byte: Character) -> Bool {
    guard place < bytes.count, bytes[place] == byte.asciiValue else { return false }
    place += 1
    return true
  }

  /// Consumes and returns a token, or returns `nil` if no token begins at the current position.
  mutating func token() -> String? {
    let start = place
    while place < bytes.count, Self.isTokenByte(bytes[place]) { place += 1 }
    return place > start ? String(decoding: bytes[start..<place], as: UTF8.self) : nil
  }

  /// Consumes a quoted string and returns it without the quotes and the escaping backslashes. Returns `nil` if no
  /// quoted string begins at the current position. A string without a closing quote extends to the end of the text.
  mutating func quoted() -> String? {
    guard consume("\"") else { return nil }
    var content: [UInt8] = []
    while place < bytes.count, bytes[place] != 0x22 {
      if bytes[place] == 0x5C, place + 1 < bytes.count { place += 1 }
      content.append(bytes[place])
      place += 1
    }
    place = min(place + 1, bytes.count)
    return String(decoding: content, as: UTF8.self)
  }

  /// Consumes the text up to the first of the given bytes, or up to the end. Returns the text without surrounding white
  /// space.
  mutating func upTo(_ ends: String) -> String {
    let start = place
    while place < bytes.count, !ends.utf8.contains(bytes[place]) { place += 1 }
    var content = bytes[start..<place]
    while let last = content.last, last == 0x20 || last == 0x09 { content.removeLast() }
    while let first = content.first, first == 0x20 || first == 0x09 { content.removeFirst() }
    return String(decoding: content, as: UTF8.self)
  }

  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// Returns a number of seconds (RFC 9111, section 1.2.2), or `nil` if the text does not consist of digits only. A
  /// number greater than `Int.max` becomes `Int.max`.
  static func seconds(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int(text) ?? .max
  }
}
