/// Reads the values of fields that are made of tokens, quoted strings and separators (RFC 9110, section 5.6).
///
/// It reads bytes, since a value may hold anything: what is no token and no quoted string is for the caller to skip.
struct HTTPFieldParser {
  private let bytes: [UInt8]
  private var place = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { place >= bytes.count }

  mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || bytes[place] == 0x09 { place += 1 }
  }

  /// Whether the byte stands here, which is then behind.
  mutating func take(_ byte: Character) -> Bool {
    guard place < bytes.count, bytes[place] == byte.asciiValue else { return false }
    place += 1
    return true
  }

  /// A token as it is; `nil` where none begins here.
  mutating func token() -> String? {
    let start = place
    while place < bytes.count, Self.isTokenByte(bytes[place]) { place += 1 }
    return place > start ? String(decoding: bytes[start..<place], as: UTF8.self) : nil
  }

  /// A quoted string without its quotes and backslashes; `nil` where none begins here. One that does not end ends with the text.
  mutating func quoted() -> String? {
    guard take("\"") else { return nil }
    var content: [UInt8] = []
    while place < bytes.count, bytes[place] != 0x22 {
      if bytes[place] == 0x5C, place + 1 < bytes.count { place += 1 }
      content.append(bytes[place])
      place += 1
    }
    place = min(place + 1, bytes.count)
    return String(decoding: content, as: UTF8.self)
  }

  /// What stands before one of these bytes or the end, without the space around it.
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

  /// A number of seconds as RFC 9111, section 1.2.2, writes it: digits alone. One that is too great is the greatest `Int`.
  static func seconds(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int(text) ?? .max
  }
}
