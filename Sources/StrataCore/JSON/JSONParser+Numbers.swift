import Foundation

extension JSONParser {
  /// The number at the current place.
  mutating func number() throws(ArchiveError) -> Value {
    let start = place
    let isNegative = bytes[place] == UInt8(ascii: "-")
    if isNegative {
      place += 1
      guard Self.isDigit(bytes[place]) else {
        throw failure("\(found) follows a minus sign; a digit must follow", at: place)
      }
    }
    // The digits without leading zeros, and how many they are. 19 of them fit in 64 bits; of more, the number is
    // made from its text.
    var significand: UInt64 = 0
    var digits = 0
    if bytes[place] == UInt8(ascii: "0") {
      place += 1
      if Self.isDigit(bytes[place]) {
        throw failure("a digit follows a leading zero; numbers are written without leading zeros", at: place)
      }
    } else {
      digits = scanDigits(into: &significand)
    }
    var byte = bytes[place]
    if byte != UInt8(ascii: "."), byte | 0x20 != UInt8(ascii: "e") {
      return try integer(start..<place, isNegative: isNegative, magnitude: significand, digits: digits)
    }

    var power = 0
    if byte == UInt8(ascii: ".") {
      place += 1
      let fraction = place
      guard Self.isDigit(bytes[place]) else {
        throw failure("\(found) follows a decimal point; a digit must follow", at: place)
      }
      if digits == 0 {
        while bytes[place] == UInt8(ascii: "0") { place += 1 }
      }
      digits += scanDigits(into: &significand)
      power = fraction - place
      byte = bytes[place]
    }
    if byte | 0x20 == UInt8(ascii: "e") { power += try exponent() }
    if digits == 0 { return .double(isNegative ? -0.0 : 0) }
    // Both the digits and the power of ten are exact doubles here, so one operation rounds correctly.
    if digits <= 15, -22...22 ~= power {
      let magnitude = Double(significand)
      let double = power < 0 ? magnitude / powersOfTen[-power] : magnitude * powersOfTen[power]
      return .double(isNegative ? -double : double)
    }
    return try double(start..<place)
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Moves over digits and returns their number. More than 19 overflow the significand, silently.
  @inline(__always)
  private mutating func scanDigits(into significand: inout UInt64) -> Int {
    let start = place
    while true {
      let digit = bytes[place] &- UInt8(ascii: "0")
      guard digit < 10 else { return place - start }
      significand = significand &* 10 &+ UInt64(digit)
      place += 1
    }
  }

  /// The exponent, from the e at the current place. Far beyond the range of doubles it stops growing.
  private mutating func exponent() throws(ArchiveError) -> Int {
    place += 1
    let isNegative = bytes[place] == UInt8(ascii: "-")
    if isNegative || bytes[place] == UInt8(ascii: "+") { place += 1 }
    guard Self.isDigit(bytes[place]) else {
      throw failure("\(found) stands in an exponent; a digit must stand there", at: place)
    }
    var exponent = 0
    while Self.isDigit(bytes[place]) {
      if exponent < 1 << 40 { exponent = exponent * 10 + Int(bytes[place] - UInt8(ascii: "0")) }
      place += 1
    }
    return isNegative ? -exponent : exponent
  }

  private func double(_ text: Range<Int>) throws(ArchiveError) -> Value {
    guard let double = Double(String(decoding: bytes[text], as: UTF8.self)), double.isFinite else {
      throw failure("a number is beyond the range of a double, which ends near 1.8e308", at: text.lowerBound)
    }
    return .double(double)
  }

  private func integer(
    _ text: Range<Int>, isNegative: Bool, magnitude: UInt64, digits: Int
  ) throws(ArchiveError) -> Value {
    guard digits <= 19 else { return try longInteger(text, isNegative: isNegative) }
    if isNegative {
      if magnitude == 0 { return .double(-0.0) }
      if magnitude <= Int64.min.magnitude { return .int(Int64(truncatingIfNeeded: 0 &- magnitude)) }
      return .wideInteger(WideInteger(isNegative: true, magnitude: UInt128(magnitude)))
    }
    return magnitude <= UInt64(Int64.max) ? .int(Int64(magnitude)) : .uint(magnitude)
  }

  /// An integer of 20 digits or more.
  private func longInteger(_ text: Range<Int>, isNegative: Bool) throws(ArchiveError) -> Value {
    let digits = bytes[text].dropFirst(isNegative ? 1 : 0)
    // 2^128 has 39 digits, and 39 digits can overflow it.
    if digits.count <= 39, let magnitude = Self.magnitude(of: digits) {
      if !isNegative, let small = UInt64(exactly: magnitude) { return .uint(small) }
      return .wideInteger(WideInteger(isNegative: isNegative, magnitude: magnitude))
    }
    let zeros = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
    let significant = digits.dropLast(zeros)
    // A decimal's exponent is one signed byte.
    guard significant.count <= 38, zeros <= 127, let magnitude = Self.magnitude(of: significant) else {
      return try double(text)
    }
    let (high, low) = magnitude.quotientAndRemainder(dividingBy: 10_000_000_000_000_000_000)
    let significand =
      Decimal(UInt64(high)) * Decimal(sign: .plus, exponent: 19, significand: 1) + Decimal(UInt64(low))
    return .decimal(Decimal(sign: isNegative ? .minus : .plus, exponent: zeros, significand: significand))
  }

  private static func magnitude(of digits: ArraySlice<UInt8>) -> UInt128? {
    var magnitude: UInt128 = 0
    for digit in digits {
      let (product, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carried) = product.addingReportingOverflow(UInt128(digit - UInt8(ascii: "0")))
      if overflowed || carried { return nil }
      magnitude = sum
    }
    return magnitude
  }
}

/// The powers of ten that a double holds exactly.
private let powersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  1e19, 1e20, 1e21, 1e22,
]
