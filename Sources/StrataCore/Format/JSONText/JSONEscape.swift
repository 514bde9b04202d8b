/// Decodes the escapes in JSON strings (RFC 8259, section 7).
enum JSONEscape {
  /// Returns the value of a hexadecimal digit; `nil` for any other byte.
  @inline(__always)
  static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
  }

  /// Decodes the escapes in a string. The tokenizer has already validated them.
  static func unescaped(_ bytes: RawSpan) -> ByteBuffer {
    let end = bytes.byteCount
    var result = ByteBuffer(minimumCapacity: end)
    var written = 0
    var place = 0
    while place < end {
      guard bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) == UInt8(ascii: "\\") else {
        place &+= 1
        continue
      }
      result.append(bytes.extracting(written..<place))
      let letter = bytes.unsafeLoad(fromByteOffset: place &+ 1, as: UInt8.self)
      place &+= 2
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        var scalar = unit(bytes, place)
        place &+= 4
        if scalar & 0xFC00 == 0xD800 {
          scalar = 0x10000 + ((scalar - 0xD800) << 10) + (unit(bytes, place + 2) - 0xDC00)
          place &+= 6
        }
        let units = Unicode.Scalar(scalar).flatMap { UTF8.encode($0) } ?? UTF8.encodedReplacementCharacter
        for unit in units { result.append(unit) }
      default: result.append(letter)
      }
      written = place
    }
    result.append(bytes.extracting(written..<end))
    return result
  }

  /// Returns the value of four hexadecimal digits.
  private static func unit(_ bytes: RawSpan, _ place: Int) -> UInt32 {
    var unit: UInt32 = 0
    for place in place..<place + 4 {
      unit = unit << 4 | UInt32(digit(bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self)) ?? 0)
    }
    return unit
  }
}
