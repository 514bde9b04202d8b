internal import StrataCore

/// Finds tags and text in the subset of XML that property lists use (Extensible Markup Language 1.0, fifth edition).
///
/// Document types are skipped, so no external entity is fetched and no entity is expanded.
struct XMLTokenizer: ~Escapable {
  /// The element names that property lists use. Any other name becomes `other`, and its text is not kept.
  enum Name {
    case plist, dict, array, key, string, integer, real, `true`, `false`, date, data
    case other
  }

  struct Tag {
    enum Side { case start, end }
    var side: Side
    var name: Name
    /// Whether the tag is self-closing, as in `<dict/>`.
    var isEmpty: Bool
    /// The offset of the tag in the text, in bytes.
    var start: Int
  }

  private let bytes: RawSpan
  private let limits: ArchiveLimits
  private var position = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, limits: ArchiveLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  // MARK: Around the elements

  /// Skips the byte order mark, the declaration, comments and the document type.
  mutating func skipProlog() throws {
    if byte(0) == 0xEF, byte(1) == 0xBB, byte(2) == 0xBF { position = 3 }
    skipSpace()
    if starts("<?xml"), Self.isSpace(byte(position + 5)) { try skipDeclaration() }
    while true {
      skipSpace()
      if starts("<!DOCTYPE") {
        try skipDocumentType()
      } else if try !skipComment() {
        return
      }
    }
  }

  /// Skips white space, comments and NULs after the last element. Throws if anything else follows.
  mutating func expectEnd() throws {
    while true {
      skipSpace()
      if try skipComment() { continue }
      // NULs after the end are skipped, because some programs write a terminating NUL.
      while byte(position) == 0 { position += 1 }
      guard position == bytes.byteCount else {
        throw ArchiveError.damaged("the file has content after the end of the property list", at: position)
      }
      return
    }
  }

  private mutating func skipDeclaration() throws {
    let start = position
    let end = try find("?>", from: position)
    let declaration = string(start, end)?.lowercased() ?? ""
    position = end + 2
    guard let range = declaration.firstRange(of: "encoding") else { return }
    let rest = declaration[range.upperBound...].drop { $0.isWhitespace || $0 == "=" }
    let name = rest.dropFirst().prefix { $0 != "\"" && $0 != "'" }
    // Text in UTF-16 has already been converted to UTF-8, although its XML declaration still names UTF-16.
    guard ["utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf16", "utf-16le", "utf-16be"].contains(name) else {
      throw ArchiveError.damaged("the encoding of the text is neither UTF-8 nor UTF-16", at: start)
    }
  }

  private mutating func skipDocumentType() throws {
    let start = position
    position += 9
    while position < bytes.byteCount {
      let next = byte(position)
      position += 1
      switch next {
      case UInt8(ascii: ">"): return
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        position = try find(next == UInt8(ascii: "'") ? "'" : "\"", from: position) + 1
      case UInt8(ascii: "["), UInt8(ascii: "<"):
        throw ArchiveError.damaged(
          "the document type declaration has an internal subset, which is not allowed in a property list", at: start)
      default: break
      }
    }
    throw endOfText()
  }

  /// Skips a comment or a processing instruction at the current position. Returns `false` if there is neither.
  private mutating func skipComment() throws -> Bool {
    if starts("<!--") {
      let start = position
      let end = try find("--", from: position + 4)
      guard byte(end + 2) == UInt8(ascii: ">") else {
        throw end + 2 < bytes.byteCount
          ? ArchiveError.damaged("a comment contains two consecutive hyphens, which XML does not allow", at: start)
          : endOfText()
      }
      position = end + 3
      return true
    }
    if starts("<?") {
      position = try find("?>", from: position + 2) + 2
      return true
    }
    return false
  }

  // MARK: Elements

  /// Returns the next tag. Throws if anything except white space and comments precedes it.
  mutating func nextTag() throws -> Tag {
    repeat { skipSpace() } while try skipComment()
    guard position < bytes.byteCount else { throw endOfText() }
    guard byte(position) == UInt8(ascii: "<") else {
      throw ArchiveError.damaged("found text where an element is expected", at: position)
    }
    return try tag()
  }

  private mutating func tag() throws -> Tag {
    var tag = Tag(side: .start, name: .other, isEmpty: false, start: position)
    position += 1
    if byte(position) == UInt8(ascii: "/") {
      tag.side = .end
      position += 1
    }
    tag.name = try name()
    while true {
      let hadSpace = Self.isSpace(byte(position))
      skipSpace()
      guard position < bytes.byteCount else { throw endOfText() }
      if skip(UInt8(ascii: ">")) { return tag }
      if tag.side == .start, byte(position) == UInt8(ascii: "/") {
        position += 1
        guard position < bytes.byteCount else { throw endOfText() }
        guard skip(UInt8(ascii: ">")) else { throw badTag() }
        tag.isEmpty = true
        return tag
      }
      guard tag.side == .start, hadSpace else { throw badTag() }
      try skipAttribute()
    }
  }

  private mutating func skipAttribute() throws {
    _ = try name()
    skipSpace()
    guard position < bytes.byteCount else { throw endOfText() }
    guard skip(UInt8(ascii: "=")) else { throw badTag() }
    skipSpace()
    guard position < bytes.byteCount else { throw endOfText() }
    if skip(UInt8(ascii: "\"")) {
      position = try find("\"", from: position) + 1
    } else if skip(UInt8(ascii: "'")) {
      position = try find("'", from: position) + 1
    } else {
      throw badTag()
    }
  }

  /// Reads the element name at the current position and returns the matching case.
  private mutating func name() throws -> Name {
    let start = position
    while Self.isNameByte(byte(position)) { position += 1 }
    guard position > start else { throw position < bytes.byteCount ? badTag() : endOfText() }
    func matches(_ text: StaticString) -> Bool { self.matches(text, at: start) }
    switch position - start {
    case 3: return matches("key") ? .key : .other
    case 4:
      return matches("dict")
        ? .dict
        : matches("true") ? .true : matches("real") ? .real : matches("date") ? .date : matches("data") ? .data : .other
    case 5: return matches("array") ? .array : matches("false") ? .false : matches("plist") ? .plist : .other
    case 6: return matches("string") ? .string : .other
    case 7: return matches("integer") ? .integer : .other
    default: return .other
    }
  }

  /// Reads the text and the end tag of an element whose start tag has been read, and returns the text.
  mutating func text(of tag: Tag) throws -> String {
    guard !tag.isEmpty else { return "" }
    let start = position
    skipPlainText()
    if byte(position) == UInt8(ascii: "<"), byte(position + 1) == UInt8(ascii: "/") {
      // Fast path: the text can be copied as a whole, because most text contains no references, comments or CDATA
      // sections.
      let end = position
      try endText(of: tag)
      guard end - start <= limits.stringLength else { throw tooLong(tag) }
      return try string(of: bytes.extracting(start..<end), tag)
    }
    var text: [UInt8] = []
    append(start, to: &text)
    while true {
      guard position < bytes.byteCount else { throw endOfText() }
      let next = byte(position)
      switch next {
      case UInt8(ascii: "<"):
        if starts("<![CDATA[") {
          position += 9
          let end = try find("]]>", from: position)
          while position < end { try appendByte(to: &text, upTo: end) }
          position = end + 3
        } else if try !skipComment() {
          try endText(of: tag)
          return try string(of: text.bytes, tag)
        }
      case UInt8(ascii: "&"): text.append(contentsOf: try reference())
      case 0x20...:
        let start = position
        skipPlainText()
        append(start, to: &text)
      default: try appendByte(to: &text, upTo: bytes.byteCount)
      }
      guard text.count <= limits.stringLength else { throw tooLong(tag) }
    }
  }

  /// Skips bytes that can be copied to the resulting text unchanged.
  private mutating func skipPlainText() {
    while position < bytes.byteCount {
      let next = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
      guard next >= 0x20, next != UInt8(ascii: "<"), next != UInt8(ascii: "&") else { return }
      position += 1
    }
  }

  /// Appends the bytes from the offset `start` to the current position.
  private func append(_ start: Int, to text: inout [UInt8]) {
    bytes.extracting(start..<position).withUnsafeBytes { text.append(contentsOf: $0) }
  }

  /// Skips the end tag that must follow the text of an element. Throws if the tag is not the element's end tag.
  private mutating func endText(of tag: Tag) throws {
    let end = try self.tag()
    guard end.side == .end, end.name == tag.name else {
      throw ArchiveError.damaged("an element that must contain only text contains another element", at: end.start)
    }
  }

  private func string(of text: RawSpan, _ tag: Tag) throws -> String {
    guard let string = text.withUnsafeBytes({ ByteBuffer.string($0) }) else {
      throw ArchiveError.damaged("the text of an element is not valid UTF-8", at: tag.start)
    }
    return string
  }

  private func tooLong(_ tag: Tag) -> ArchiveError {
    ArchiveError(
      .limitExceeded, "the text of an element is longer than the limit of \(limits.stringLength) bytes",
      limit: .stringLength, byteOffset: tag.start)
  }

  /// Appends the byte of text at the current position. A carriage return, alone or before a line feed, becomes a line
  /// feed (XML 1.0 §2.11).
  private mutating func appendByte(to text: inout [UInt8], upTo end: Int) throws {
    let next = byte(position)
    position += 1
    switch next {
    case 0x0D:
      if position < end, byte(position) == 0x0A { position += 1 }
      text.append(0x0A)
    case 0x20..., 0x09, 0x0A: text.append(next)
    default:
      throw ArchiveError.damaged(
        "the text of an element contains a control character, which XML does not allow", at: position - 1)
    }
  }

  /// Returns the UTF-8 bytes of the character for the reference at the current position, such as `&amp;` or
  /// `&#38;` (XML 1.0 §4.1, §4.6).
  private mutating func reference() throws -> [UInt8] {
    let start = position
    position += 1
    var name: [UInt8] = []
    while position < bytes.byteCount, byte(position) != UInt8(ascii: ";"), name.count < 16 {
      name.append(byte(position))
      position += 1
    }
    guard position < bytes.byteCount else { throw endOfText() }
    guard skip(UInt8(ascii: ";")) else {
      throw ArchiveError.damaged(
        "an ampersand starts an invalid reference; write an ordinary ampersand as &amp;", at: start)
    }
    switch String(decoding: name, as: UTF8.self) {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    case let text where text.hasPrefix("#"):
      let isHexadecimal = text.hasPrefix("#x")
      let digits = text.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.utf8.first != UInt8(ascii: "+"), digits.utf8.first != UInt8(ascii: "-"),
        let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(number),
        number >= 0x20 || [0x09, 0x0A, 0x0D].contains(number), number != 0xFFFE, number != 0xFFFF
      else { throw ArchiveError.damaged("a character reference names a character that XML does not allow", at: start) }
      return Array(String(Character(scalar)).utf8)
    default: throw ArchiveError.damaged("an entity reference names an entity that is not predefined in XML", at: start)
    }
  }

  // MARK: Bytes

  /// Returns the byte at an offset, or 0xFF if the offset is at or after the end of the text. No valid UTF-8 contains
  /// 0xFF, so callers need no separate check for the end.
  private func byte(_ place: Int) -> UInt8 {
    place < bytes.byteCount ? bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) : 0xFF
  }

  private func starts(_ text: StaticString) -> Bool { matches(text, at: position) }

  private func matches(_ text: StaticString, at place: Int) -> Bool {
    guard bytes.byteCount - place >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { expected in
      for offset in expected.indices where byte(place + offset) != expected[offset] { return false }
      return true
    }
  }

  private mutating func skip(_ expected: UInt8) -> Bool {
    guard byte(position) == expected else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while Self.isSpace(byte(position)) { position += 1 }
  }

  private func find(_ text: StaticString, from start: Int) throws -> Int {
    var place = start
    while place < bytes.byteCount {
      if matches(text, at: place) { return place }
      place += 1
    }
    throw endOfText()
  }

  private func string(_ start: Int, _ end: Int) -> String? {
    bytes.extracting(start..<end).withUnsafeBytes { ByteBuffer.string($0) }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0A ~= byte || byte == 0x0D }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: ":"):
      true
    default: false
    }
  }

  private func badTag() -> ArchiveError { .damaged("a tag is not well-formed", at: position) }

  private func endOfText() -> ArchiveError {
    ArchiveError(.truncated, "the text ends before the end of the property list", byteOffset: bytes.byteCount)
  }
}
