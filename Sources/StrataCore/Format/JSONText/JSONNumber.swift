import Foundation

/// A number in a JSON text, as ±significand × 10^power. The significand has no leading or trailing zeros.
///
/// If the digits do not fit into 128 bits, they are not kept, because neither a double nor a decimal can represent such a number without
/// loss.
struct JSONNumber {
  var isNegative = false
  /// The digits as an integer; 0 if they do not fit into 128 bits.
  private(set) var significand = WideInteger.Magnitude.zero
  private(set) var isTooLong = false
  /// The number of digits, from the first to the last nonzero digit.
  private(set) var digits = 0
  /// The power of ten of the last nonzero digit. It is clamped to a range far beyond the exponents of a double.
  private(set) var power = 0

  /// Parses a number whose syntax the tokenizer has checked.
  init(_ bytes: RawSpan) {
    let end = bytes.byteCount
    func byte(_ place: Int) -> UInt8 { bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) }
    isNegative = end > 0 && byte(0) == UInt8(ascii: "-")
    let start = isNegative ? 1 : 0
    var place = start
    var small: UInt64 = 0
    // The number of digits after the decimal point; −1 before the decimal point has been read.
    var places = -1
    while place < end {
      let digit = byte(place) &- UInt8(ascii: "0")
      if digit < 10 {
        small = small &* 10 &+ UInt64(digit)
        if digits > 0 || digit > 0 { digits &+= 1 }
        if places >= 0 { places &+= 1 }
      } else if digit == UInt8(ascii: ".") &- UInt8(ascii: "0") {
        places = 0
      } else {
        break
      }
      place &+= 1
    }
    power = -max(places, 0)
    if digits <= 19 {
      while digits > 0, small % 10 == 0 { (small, digits, power) = (small / 10, digits &- 1, power &+ 1) }
      significand = WideInteger.Magnitude(small)
    } else {
      readLong(bytes.extracting(start..<place))
    }
    if place < end { power += Self.exponent(bytes.extracting((place &+ 1)..<end)) }
    if digits == 0 { power = 0 }
  }
  /// Parses an exponent, without the letter `e`.
  private static func exponent(_ bytes: RawSpan) -> Int {
    var magnitude = 0
    var isNegative = false
    for place in 0..<bytes.byteCount {
      switch bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) {
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "+"): break
      case let digit: if magnitude < 1 << 40 { magnitude = magnitude * 10 + Int(digit - UInt8(ascii: "0")) }
      }
    }
    return isNegative ? -magnitude : magnitude
  }

  /// Parses 20 or more digits, with or without a decimal point.
  @inline(never)
  private mutating func readLong(_ bytes: RawSpan) {
    var text = bytes.withUnsafeBytes { $0.filter { $0 != UInt8(ascii: ".") } }.drop { $0 == UInt8(ascii: "0") }
    let written = text.count
    while text.last == UInt8(ascii: "0") { text.removeLast() }
    digits = text.count
    power += written - digits
    let known = WideInteger.Magnitude(digits: text)
    (significand, isTooLong) = (known ?? .zero, known == nil)
  }

  /// The number as a decimal; `nil` if it exceeds the 128-bit mantissa or the exponents from -128 to 127 of
  /// Foundation's `Decimal`.
  var decimal: Decimal? {
    if digits == 0 { return 0 }
    guard !isTooLong else { return nil }
    return DecimalParts(isNegative: isNegative, mantissa: significand, exponent: power).decimal
  }

  /// Whether this number is the shortest decimal text that identifies the double. If so, the double represents this number without loss.
  func isShortestText(of double: Double) -> Bool {
    guard digits <= 17 else { return false }
    if let shortest = double.shortestDigits { return shortest == (significand.low, power) }
    let printed = ByteBuffer.withUTF8(of: double.description) { JSONNumber($0.bytes) }
    return printed.significand == significand && printed.power == power
  }
}

extension Double {
  /// Creates the double nearest to a number in a JSON text. A number beyond the largest finite double becomes infinite.
  init(ofJSON bytes: RawSpan) { self.init(JSONNumber(bytes), text: bytes) }

  fileprivate init(_ number: JSONNumber, text: RawSpan) {
    if number.digits <= 19,
      let double = Double(isNegative: number.isNegative, significand: number.significand.low, power: number.power)
    {
      self = double
    } else {
      // Swift's own conversion parses every number that JSON allows. A number beyond the range of a double becomes
      // infinite.
      self = Double(ByteBuffer.validString(text)) ?? .infinity
    }
  }
}

extension ArchiveValue {
  /// Returns the value of a number whose syntax the tokenizer has checked. The type is the first of these that
  /// represents the number without loss: an integer, a double whose shortest text is the same number, a decimal, or the
  /// text itself.
  static func number(ofJSON bytes: RawSpan, isInteger: Bool) -> ArchiveValue {
    if isInteger, let small = smallInteger(bytes) { return .int(small) }
    let number = JSONNumber(bytes)
    if isInteger { return integer(bytes, number) }
    if number.digits == 0 { return .double(number.isNegative ? -0.0 : 0) }
    if number.digits <= 17 {
      let double = Double(number, text: bytes)
      // Every number of up to 15 digits can be restored exactly from a normal double.
      let isExact = number.digits <= 15 && double.isNormal
      if double.isFinite, isExact || number.isShortestText(of: double) { return .double(double) }
    }
    // A whole number of up to 39 digits, such as 1234567890123456789e2, does not become a decimal, because it would be written without a
    // decimal point and then be parsed as an integer.
    let isWide = number.power < 0 || number.digits + number.power > 39
    if isWide, let decimal = number.decimal { return .decimal(decimal) }
    return .number(NumberText(checked: ByteBuffer.validString(bytes)))
  }

  /// Parses an integer of up to 18 bytes, which is the common case. Returns `nil` for longer integers and for minus
  /// zero.
  @inline(__always)
  static func smallInteger(_ bytes: RawSpan) -> Int64? {
    let end = bytes.byteCount
    guard end <= 18 else { return nil }
    let isNegative = bytes.unsafeLoad(fromUncheckedByteOffset: 0, as: UInt8.self) == UInt8(ascii: "-")
    var magnitude: Int64 = 0
    var place = isNegative ? 1 : 0
    while place < end {
      let byte = bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
      magnitude = magnitude &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
      place &+= 1
    }
    // An integer cannot represent minus zero.
    if isNegative, magnitude == 0 { return nil }
    return isNegative ? -magnitude : magnitude
  }

  private static func integer(_ bytes: RawSpan, _ number: JSONNumber) -> ArchiveValue {
    if number.digits == 0 { return number.isNegative ? .double(-0.0) : .int(0) }
    if let magnitude = number.magnitude {
      return ArchiveValue(WideInteger(isNegative: number.isNegative, magnitude: magnitude))
    }
    return number.decimal.map { .decimal($0) } ?? .number(NumberText(checked: ByteBuffer.validString(bytes)))
  }
}

extension JSONNumber {
  /// The magnitude of the number; `nil` if the number has a fraction or does not fit into 128 bits.
  var magnitude: WideInteger.Magnitude? {
    guard !isTooLong, power >= 0, digits + power <= 39 else { return nil }
    return significand.scaled(byPowerOfTen: power)
  }
}
