/// What the escapes of strings stand for (RFC 8259, section 7).
enum JSONEscape {
  /// The value of a hexadecimal digit.
  @inline(__always)
  static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
  }

  /// The bytes of a string whose escapes were checked before.
  static func unescaped(_ bytes: RawSpan) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.byteCount)
    var place = 0
    func byte(_ place: Int) -> UInt8 { bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) }
    func unit(_ place: Int) -> UInt32 {
      (place..<place + 4).reduce(0) { $0 << 4 | UInt32(digit(byte($1)) ?? 0) }
    }
    while place < bytes.byteCount {
      let first = byte(place)
      guard first == UInt8(ascii: "\\") else {
        result.append(first)
        place += 1
        continue
      }
      let letter = byte(place + 1)
      place += 2
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"):
        var scalar = unit(place)
        place += 4
        if scalar & 0xFC00 == 0xD800 {
          scalar = 0x10000 + ((scalar - 0xD800) << 10) + (unit(place + 2) - 0xDC00)
          place += 6
        }
        let units = Unicode.Scalar(scalar).flatMap { UTF8.encode($0) } ?? UTF8.encodedReplacementCharacter
        result.append(contentsOf: units)
      default: result.append(letter)
      }
    }
    return result
  }
}
