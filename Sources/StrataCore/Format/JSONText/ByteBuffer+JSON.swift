extension ByteBuffer {
  /// Appends significand × 10^power as decimal digits without an exponent. A decimal point is written only if the power
  /// is negative.
  package mutating func append(_ significand: WideInteger.Magnitude, power: Int) {
    let places = max(-power, 0)
    if significand.high == 0 {
      append(decimal: significand.low, length: max(Self.digitCount(significand.low), places + 1))
    } else {
      let digits = significand.description
      if digits.utf8.count <= places { append(decimal: 0, length: places + 1 - digits.utf8.count) }
      append(digits)
    }
    if power > 0 { append(decimal: 0, length: power) }
    if places > 0 { insert(UInt8(ascii: "."), beforeLast: places) }
  }

  /// Appends a quoted string with the escapes that JSON requires (RFC 8259, section 7).
  package mutating func append(jsonString bytes: RawSpan) {
    append(UInt8(ascii: "\""))
    var written = 0
    var place = 0
    let end = bytes.byteCount
    while true {
      while end &- place >= 8 {
        let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self))
        let marks = Self.escapes(word) & 0x8080_8080_8080_8080
        guard marks == 0 else {
          place &+= marks.trailingZeroBitCount &>> 3
          break
        }
        place &+= 8
      }
      guard place < end else { break }
      let byte = bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        append(bytes.extracting(written..<place))
        append(escapeOf: byte)
        written = place &+ 1
      }
      place &+= 1
    }
    append(bytes.extracting(written..<end))
    append(UInt8(ascii: "\""))
  }

  /// Returns a mask of the bytes in `word` that need an escape in JSON: the highest bit of each such byte is set. After the first such
  /// byte, the highest bits of other bytes may also be set, so only the lowest of these bits is reliable. The lower seven bits of each byte
  /// are meaningless.
  @inline(__always)
  static func escapes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ 0x2222_2222_2222_2222
    let slashes = word ^ 0x5C5C_5C5C_5C5C_5C5C
    return ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | ((word &- 0x2020_2020_2020_2020) & ~word)
  }

  private mutating func append(escapeOf byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0..<0x20:
      append("u00" as StaticString)
      append(UInt8(ascii: byte < 0x10 ? "0" : "1"))
      append(byte & 15 < 10 ? UInt8(ascii: "0") + (byte & 15) : UInt8(ascii: "a") + (byte & 15) - 10)
    default: append(byte)
    }
  }
}
