import Foundation

/// The digits of a number in text: ±significand × 10^power, without zeros on either side.
///
/// Of digits beyond 128 bits only their number counts, since neither a double nor a decimal has so many.
struct JSONNumber {
  var isNegative = false
  /// The digits, where 128 bits hold them.
  private(set) var significand = WideMagnitude.zero
  private(set) var isTooLong = false
  /// How many digits there are from the first to the last that is not zero.
  private(set) var digits = 0
  /// The power of ten of the last of these digits; far beyond any double's range it stops growing.
  private(set) var power = 0

  /// The digits of a number that the tokenizer has checked.
  init(_ bytes: RawSpan) {
    var place = 0
    let end = bytes.byteCount
    var pendingZeros = 0
    var places = 0
    var isAfterPoint = false
    func byte(_ place: Int) -> UInt8 { bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) }
    if end > 0, byte(0) == UInt8(ascii: "-") {
      isNegative = true
      place = 1
    }
    scan: while place < end {
      let byte = byte(place)
      switch byte {
      case UInt8(ascii: "0"):
        if digits > 0 { pendingZeros += 1 }
        if isAfterPoint { places += 1 }
      case UInt8(ascii: "1")...UInt8(ascii: "9"):
        digits += pendingZeros + 1
        append(byte - UInt8(ascii: "0"), after: pendingZeros)
        pendingZeros = 0
        if isAfterPoint { places += 1 }
      case UInt8(ascii: "."):
        isAfterPoint = true
      default: break scan
      }
      place += 1
    }
    var exponent = 0
    if place < end {
      place += 1
      let sign = byte(place)
      if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { place += 1 }
      while place < end {
        if exponent < 1 << 40 { exponent = exponent * 10 + Int(byte(place) - UInt8(ascii: "0")) }
        place += 1
      }
      if sign == UInt8(ascii: "-") { exponent = -exponent }
    }
    power = digits == 0 ? 0 : exponent + pendingZeros - places
  }

  private mutating func append(_ digit: UInt8, after zeros: Int) {
    if digits > 39 { isTooLong = true }
    guard !isTooLong else { return }
    if digits <= 19 {
      var small = significand.low
      for _ in 0..<zeros { small &*= 10 }
      significand = WideMagnitude(small &* 10 &+ UInt64(digit))
      return
    }
    for place in 0...zeros {
      guard let longer = significand.appending(digit: place < zeros ? 0 : digit) else {
        isTooLong = true
        return
      }
      significand = longer
    }
  }

  /// The decimal with just these digits, or `nil` where Foundation's mantissa of 128 bits and exponents from -128 to
  /// 127 do not hold it.
  var decimal: Decimal? {
    if digits == 0 { return 0 }
    guard !isTooLong else { return nil }
    return DecimalParts(isNegative: isNegative, mantissa: significand, exponent: power).decimal
  }

  /// Whether these are the digits that print the double, so that its text says the same number.
  func isShortestText(of double: Double) -> Bool {
    guard digits <= 17 else { return false }
    let printed = ByteBuffer.withUTF8(of: double.description) { JSONNumber($0.bytes) }
    return printed.significand == significand && printed.power == power
  }
}

extension Double {
  /// The double of a number's text, rounded to nearest; infinite beyond the largest.
  ///
  /// Of up to 15 digits and a power of ten up to 22 both are exact doubles, so that one operation rounds correctly
  /// (Clinger, How to Read Floating Point Numbers Accurately, 1990).
  init(ofJSON bytes: RawSpan) {
    let end = bytes.byteCount
    var place = 0
    var significand: UInt64 = 0
    var places = -1
    var digits = 0
    let isNegative = end > 0 && bytes.unsafeLoad(fromUncheckedByteOffset: 0, as: UInt8.self) == UInt8(ascii: "-")
    if isNegative { place = 1 }
    while place < end {
      let digit = bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) &- UInt8(ascii: "0")
      if digit < 10 {
        significand = significand &* 10 &+ UInt64(digit)
        if significand > 0 { digits &+= 1 }
        if places >= 0 { places &+= 1 }
      } else if digit == UInt8(ascii: ".") &- UInt8(ascii: "0") {
        places = 0
      } else {
        break
      }
      place &+= 1
    }
    if place == end, digits <= 15, places <= 22 {
      let magnitude = Double(significand) / powersOfTen[max(places, 0)]
      self = isNegative ? -magnitude : magnitude
      return
    }
    // Swift's own conversion knows the text of every number that JSON allows, and returns infinity beyond the range.
    self = Double(ByteBuffer.validString(bytes)) ?? .infinity
  }
}

/// The powers of ten that a double holds exactly.
private let powersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  1e19, 1e20, 1e21, 1e22,
]

extension ArchiveValue {
  /// The value of a number that the tokenizer has checked: an integer, a double where its shortest text says the same
  /// number, a decimal where one holds it, and else the text itself.
  static func number(ofJSON bytes: RawSpan, isInteger: Bool) -> ArchiveValue {
    if isInteger, let small = smallInteger(bytes) { return .int(small) }
    let number = JSONNumber(bytes)
    if isInteger { return integer(bytes, number) }
    if number.digits == 0 { return .double(number.isNegative ? -0.0 : 0) }
    if number.digits <= 17 {
      let double = Double(ofJSON: bytes)
      // Every number of 15 digits comes back from a double that is not subnormal.
      let isExact = number.digits <= 15 && double.isNormal
      if double.isFinite, isExact || number.isShortestText(of: double) { return .double(double) }
    }
    // Written without a point, a whole decimal would read as an integer again.
    let isWide = number.power < 0 || number.digits + number.power > 39
    if isWide, let decimal = number.decimal { return .decimal(decimal) }
    return .number(NumberText(checked: ByteBuffer.validString(bytes)))
  }

  /// An integer of up to 18 digits, which is most of them.
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
    // No integer keeps the sign of minus zero.
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
  /// The whole number without its sign, where 128 bits hold it.
  var magnitude: WideMagnitude? {
    guard !isTooLong, power >= 0, digits + power <= 39 else { return nil }
    return significand.scaled(byPowerOfTen: power)
  }
}
