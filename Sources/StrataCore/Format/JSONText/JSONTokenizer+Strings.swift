extension JSONTokenizer {
  /// Scans a string that begins with an opening quote. Returns the offset after the closing quote.
  @inline(__always)
  func string(_ quote: Int, _ tokens: inout JSONTokenBuffer) throws(ArchiveError) -> Int {
    let start = quote &+ 1
    var place = start
    // Skips eight bytes at once, as long as all of them are ordinary characters.
    while end &- place >= 8 {
      let word = word(place)
      let marks = Self.unusual(word)
      guard marks == 0 else {
        place &+= marks.trailingZeroBitCount &>> 3
        break
      }
      place &+= 8
    }
    guard byte(place) == UInt8(ascii: "\"") else { return try longString(from: start, place, &tokens) }
    guard place &- start <= limits.stringLength else { throw tooLong(start) }
    tokens.append(JSONToken(.string, at: start, length: place &- start))
    return place &+ 1
  }

  /// Returns a mask of the bytes that need special treatment: the highest bit of each quote, backslash, control character and non-ASCII
  /// byte is set. After the first such byte, the highest bits of other bytes may also be set, so only the lowest of these bits is reliable.
  @inline(__always)
  private static func unusual(_ word: UInt64) -> UInt64 {
    (ByteBuffer.escapes(word) | word) & 0x8080_8080_8080_8080
  }

  /// Scans the rest of a string, which may contain escapes and non-ASCII characters. Returns the offset after the
  /// closing quote.
  private func longString(
    from start: Int, _ current: Int, _ tokens: inout JSONTokenBuffer
  ) throws(ArchiveError) -> Int {
    var place = current
    // The number of bytes by which decoding the escapes shortens the string.
    var excess = 0
    while true {
      while end &- place >= 8 {
        let marks = Self.unusual(word(place))
        guard marks == 0 else {
          place &+= marks.trailingZeroBitCount &>> 3
          break
        }
        place &+= 8
      }
      let byte = byte(place)
      if byte >= 0x80 {
        place = try multibyte(place)
        continue
      }
      if byte == UInt8(ascii: "\"") { break }
      if byte == UInt8(ascii: "\\") {
        let (next, length) = try escape(place)
        excess &+= next &- place &- length
        place = next
        continue
      }
      guard byte >= 0x20 else { throw controlCharacter(place) }
      place &+= 1
    }
    guard place &- start &- excess <= limits.stringLength else { throw tooLong(start) }
    tokens.append(JSONToken(excess == 0 ? .string : .escapedString, at: start, length: place &- start))
    return place &+ 1
  }

  /// Scans and validates a run of non-ASCII characters (RFC 3629, section 4). Returns the offset after them.
  @inline(__always)
  private func multibyte(_ start: Int) throws(ArchiveError) -> Int {
    var place = start
    while true {
      let first = byte(place)
      // Tests characters of three bytes first, because they are the most frequent ones in long runs.
      if first & 0xF0 == 0xE0 {
        let second = byte(place &+ 1), third = byte(place &+ 2)
        let lowest: UInt8 = first == 0xE0 ? 0xA0 : 0x80
        let highest: UInt8 = first == 0xED ? 0x9F : 0xBF
        guard second >= lowest, second <= highest, third & 0xC0 == 0x80 else { throw invalidUTF8(place) }
        place &+= 3
      } else if first < 0x80 {
        return place
      } else if first < 0xE0 {
        guard first >= 0xC2, byte(place &+ 1) & 0xC0 == 0x80 else { throw invalidUTF8(place) }
        place &+= 2
      } else {
        let second = byte(place &+ 1)
        guard first <= 0xF4, second >= (first == 0xF0 ? 0x90 : 0x80), second <= (first == 0xF4 ? 0x8F : 0xBF),
          byte(place &+ 2) & 0xC0 == 0x80, byte(place &+ 3) & 0xC0 == 0x80
        else { throw invalidUTF8(place) }
        place &+= 4
      }
    }
  }

  /// Scans an escape, or both escapes of a surrogate pair. Returns the offset after the escape, and the length of the
  /// decoded character in UTF-8 bytes.
  private func escape(_ start: Int) throws(ArchiveError) -> (next: Int, length: Int) {
    switch byte(start &+ 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return (start &+ 2, 1)
    case UInt8(ascii: "u"): break
    default:
      throw failure(
        "found \(found(start + 1)) after a backslash; the valid escapes are \\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t "
          + "and \\u",
        at: start + 1)
    }
    let unit = try codeUnit(start &+ 2)
    guard unit & 0xF800 == 0xD800 else { return (start &+ 6, unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3) }
    guard unit < 0xDC00 else {
      throw failure("a \\u escape is a low surrogate that does not follow a high surrogate", at: start)
    }
    guard byte(start &+ 6) == UInt8(ascii: "\\"), byte(start &+ 7) == UInt8(ascii: "u"),
      try codeUnit(start &+ 8) & 0xFC00 == 0xDC00
    else {
      throw failure("a \\u escape is a high surrogate that no low surrogate follows", at: start)
    }
    return (start &+ 12, 4)
  }

  /// Returns the value of four hexadecimal digits.
  private func codeUnit(_ start: Int) throws(ArchiveError) -> UInt32 {
    var unit: UInt32 = 0
    for place in start..<start + 4 {
      guard let digit = JSONEscape.digit(byte(place)) else {
        throw failure("found \(found(place)) in a \\u escape; four hexadecimal digits must follow the u", at: place)
      }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }
}
