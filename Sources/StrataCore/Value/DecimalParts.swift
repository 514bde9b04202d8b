package import Foundation

/// The sign, the mantissa and the exponent of a decimal: ±mantissa × 10^exponent.
package struct DecimalParts {
  package let isNegative: Bool
  package let mantissa: WideInteger.Magnitude
  package let exponent: Int

  /// Splits a decimal into its parts. The mantissa has no trailing zeros. Returns `nil` if the decimal is NaN.
  package init?(_ decimal: Decimal) {
    guard decimal.isFinite else { return nil }
    guard DecimalMemory.isKnown else {
      self.init(textOf: decimal)
      return
    }
    let memory = DecimalMemory(decimal)
    self =
      DecimalParts(
        isNegative: memory.isNegative, mantissa: memory.mantissa, exponent: Int(memory.exponent)
      ).normalized
  }

  package init(isNegative: Bool, mantissa: WideInteger.Magnitude, exponent: Int) {
    self.isNegative = isNegative
    self.mantissa = mantissa
    self.exponent = exponent
  }

  /// The decimal with these parts; `nil` if Foundation's `Decimal` cannot represent it. A `Decimal` has a mantissa of up to 128 bits and an
  /// exponent from -128 to 127.
  package var decimal: Decimal? {
    guard mantissa != .zero else { return 0 }
    guard exponent >= -200, exponent <= 200 else { return nil }
    let (mantissa, exponent) = normalized.withinRange
    guard exponent >= -128, exponent <= 127 else { return nil }
    let parts = DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: exponent)
    return DecimalMemory.isKnown ? DecimalMemory(parts).decimal : parts.decimalOfText
  }

  /// The mantissa and the exponent, adjusted if possible so that the exponent fits into a signed byte, as in Foundation's `Decimal`. To
  /// reduce the exponent, zeros are appended to the mantissa: 1e128 becomes 10e127. To increase the exponent, zeros at the end of the
  /// mantissa are removed.
  package var withinRange: (mantissa: WideInteger.Magnitude, exponent: Int) {
    var (mantissa, exponent) = (mantissa, exponent)
    while exponent > 127, let larger = mantissa.multiplied(by: 10) { (mantissa, exponent) = (larger, exponent - 1) }
    while exponent < -128, mantissa != .zero {
      let (quotient, remainder) = mantissa.quotientAndRemainder(dividingBy: 10)
      guard remainder == 0 else { break }
      (mantissa, exponent) = (quotient, exponent + 1)
    }
    return (mantissa, exponent)
  }

  /// The same number, with no trailing zeros in the mantissa. For zero, the exponent is 0 and the sign is positive.
  private var normalized: DecimalParts {
    guard mantissa != .zero else { return DecimalParts(isNegative: false, mantissa: .zero, exponent: 0) }
    guard mantissa.low & 1 == 0, mantissa.quotientAndRemainder(dividingBy: 10).remainder == 0 else { return self }
    var (mantissa, exponent) = (mantissa, exponent)
    // A power 10^n is tried only if the mantissa is divisible by 2^n, because that test is much faster than a division.
    for (zeros, power) in Self.powers where mantissa.trailingZeroBitCount >= zeros {
      let (quotient, remainder) = mantissa.quotientAndRemainder(dividingBy: power)
      if remainder == 0 { (mantissa, exponent) = (quotient, exponent + zeros) }
    }
    return DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: exponent)
  }

  /// The powers of ten by which ``normalized`` divides the mantissa, one after another. Together they remove up to 47 trailing zeros.
  private static let powers: [(zeros: Int, power: UInt64)] = [16, 16, 8, 4, 2, 1].map { zeros in
    (zeros, (0..<zeros).reduce(1) { power, _ in power * 10 })
  }
}

/// The memory layout of a Foundation `Decimal`. The mantissa is read directly from memory, because Foundation provides it only as text of
/// up to 167 digits, and a conversion through text takes microseconds.
///
/// The layout matches `NSDecimal` in Apple's Foundation and `Decimal.Storage` in swift-foundation. The two layouts differ in the second
/// byte.
private struct DecimalMemory {
  let exponent: Int8
  private let flags: UInt8
  private var reserved: UInt16 = 0
  private let digits: (UInt32, UInt32, UInt32, UInt32)

  #if canImport(Darwin)
    private static let (lengthShift, negative, compact) = (UInt8(0), UInt8(0x10), UInt8(0x20))
  #else
    private static let (lengthShift, negative, compact) = (UInt8(4), UInt8(0x08), UInt8(0x04))
  #endif

  /// Whether Foundation's decimals have this layout, according to a test with a few sample decimals. If not, decimals are converted through
  /// text.
  static let isKnown: Bool = {
    guard MemoryLayout<Decimal>.size == MemoryLayout<Self>.size else { return false }
    let samples: [(Bool, UInt64, UInt64, Int)] = [
      (false, 0, 1, 0), (true, 0, 65_537, 3), (false, .max, .max, -128), (true, 0, 12_345_678_901_234_567_891, -7),
      (false, 0, 10, 127),
    ]
    return samples.allSatisfy { isNegative, high, low, exponent in
      let mantissa = WideInteger.Magnitude(high: high, low: low)
      let parts = DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: exponent)
      let made = Self(parts)
      guard let decimal = parts.decimalOfText else { return false }
      let memory = Self(decimal)
      return (made.exponent, made.flags, made.digits.0, made.digits.1, made.digits.2, made.digits.3)
        == (memory.exponent, memory.flags, memory.digits.0, memory.digits.1, memory.digits.2, memory.digits.3)
        && memory.isNegative == isNegative && memory.mantissa == mantissa
    }
  }()

  init(_ decimal: Decimal) { self = unsafeBitCast(decimal, to: Self.self) }

  /// Creates the memory representation of a decimal from its parts.
  ///
  /// - Parameter parts: the parts of the decimal. The mantissa may end in zeros only if the exponent is 127, as in Foundation's compact
  ///   form.
  init(_ parts: DecimalParts) {
    let mantissa = parts.mantissa
    let length = UInt8(8 - mantissa.leadingZeroBitCount / 16)
    exponent = Int8(parts.exponent)
    flags = length << Self.lengthShift | Self.compact | (parts.isNegative ? Self.negative : 0)
    digits = (
      UInt32(truncatingIfNeeded: mantissa.low), UInt32(truncatingIfNeeded: mantissa.low >> 32),
      UInt32(truncatingIfNeeded: mantissa.high), UInt32(truncatingIfNeeded: mantissa.high >> 32)
    )
  }

  var decimal: Decimal { unsafeBitCast(self, to: Decimal.self) }
  var isNegative: Bool { flags & Self.negative != 0 }

  /// The mantissa, read from its 16-bit digits. The digits beyond the stored length are undefined and are ignored.
  var mantissa: WideInteger.Magnitude {
    // Returns the lowest `count` 16-bit digits of the 64-bit number that consists of the words `high` and `low`.
    func first(_ count: Int, _ high: UInt32, _ low: UInt32) -> UInt64 {
      let bits = UInt64(high) << 32 | UInt64(low)
      return count >= 4 ? bits : bits & (1 << UInt64(16 * max(count, 0)) - 1)
    }
    let length = Int(flags >> Self.lengthShift & 0xF)
    return WideInteger.Magnitude(high: first(length - 4, digits.3, digits.2), low: first(length, digits.1, digits.0))
  }
}

// Conversions through text, for a Foundation whose decimals have an unknown memory layout.
extension DecimalParts {
  /// Creates the parts of a finite decimal from its description, which contains every digit, has no exponent, and does not
  /// depend on the locale.
  fileprivate init?(textOf decimal: Decimal) {
    let text = decimal.description.utf8
    let digits = text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") }
    let places = text.firstIndex(of: UInt8(ascii: ".")).map { text.distance(from: $0, to: text.endIndex) - 1 } ?? 0
    let significant = digits.reversed().drop { $0 == UInt8(ascii: "0") }.reversed()
    guard let mantissa = WideInteger.Magnitude(digits: [UInt8(ascii: "0")] + significant) else { return nil }
    self.init(
      isNegative: decimal < 0, mantissa: mantissa,
      exponent: mantissa == .zero ? 0 : digits.count - significant.count - places)
  }

  fileprivate var decimalOfText: Decimal? {
    let text = (isNegative ? "-" : "") + mantissa.description + "e" + String(exponent)
    guard let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), value.isFinite,
      let back = DecimalParts(textOf: value)
    else { return nil }
    // Foundation rounds a number that has too many digits. To detect this, the result is compared with the original parts.
    let (left, right) = (back.normalized, normalized)
    return left.isNegative == right.isNegative && left.mantissa == right.mantissa && left.exponent == right.exponent
      ? value : nil
  }
}
