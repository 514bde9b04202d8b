/// A signed integer with a magnitude of up to 128 bits.
public struct WideInteger: Sendable, Hashable, Comparable, CustomStringConvertible, ExpressibleByIntegerLiteral {
  /// Whether the integer is less than zero.
  public let isNegative: Bool
  /// The absolute value of the integer.
  public let magnitude: WideInteger.Magnitude

  /// Creates an integer from a sign and a magnitude. The sign of zero is ignored.
  public init(isNegative: Bool, magnitude: WideInteger.Magnitude) {
    self.isNegative = isNegative && magnitude != .zero
    self.magnitude = magnitude
  }

  public init(integerLiteral value: Int64) { self.init(value) }

  /// Creates a wide integer from an integer of any type.
  ///
  /// - Precondition: the magnitude of `integer` has at most 128 bits.
  public init(_ integer: some BinaryInteger) {
    let magnitude = integer.magnitude
    precondition(magnitude.bitWidth <= 128 || magnitude >> 128 == 0, "the integer has more than 128 bits")
    self.init(
      isNegative: integer < 0,
      magnitude: WideInteger.Magnitude(
        high: UInt64(truncatingIfNeeded: magnitude >> 64), low: UInt64(truncatingIfNeeded: magnitude)))
  }

  /// Creates an integer from its 128-bit two's complement representation.
  package init(twosComplement bits: WideInteger.Magnitude) {
    let isNegative = bits.high >> 63 == 1
    self.init(isNegative: isNegative, magnitude: isNegative ? bits.negated : bits)
  }

  /// The two's complement representation of the integer; `nil` if it needs more than 128 bits.
  package var twosComplement: WideInteger.Magnitude? {
    let bits = isNegative ? magnitude.negated : magnitude
    return (bits.high >> 63 == 1) == isNegative ? bits : nil
  }

  /// Converts a floating-point number. Returns `nil` if the number has a fraction or a magnitude of more than 128
  /// bits.
  package init?(exactly number: Double) {
    let magnitude = number.magnitude
    guard magnitude < 0x1p128, magnitude == magnitude.rounded(.towardZero) else { return nil }
    let high = UInt64(magnitude / 0x1p64)
    self.init(
      isNegative: number < 0,
      magnitude: WideInteger.Magnitude(high: high, low: UInt64(magnitude - Double(high) * 0x1p64)))
  }

  /// Parses ASCII decimal digits with an optional sign. Returns `nil` for any other text, or if the magnitude has more
  /// than 128 bits.
  package init?(_ text: some StringProtocol) {
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    let isSigned = isNegative || text.utf8.first == UInt8(ascii: "+")
    guard let magnitude = WideInteger.Magnitude(digits: text.utf8.dropFirst(isSigned ? 1 : 0)) else { return nil }
    self.init(isNegative: isNegative, magnitude: magnitude)
  }

  /// Returns the integer as a `T`; `nil` if `T` cannot represent the integer.
  public func exactly<T: FixedWidthInteger>(_ type: T.Type) -> T? {
    guard T.bitWidth > 64 else {
      guard magnitude.high == 0 else { return nil }
      guard isNegative else { return T(exactly: magnitude.low) }
      return magnitude.low <= 1 << 63 ? T(exactly: Int64(truncatingIfNeeded: 0 &- magnitude.low)) : nil
    }
    let bits = T(truncatingIfNeeded: magnitude.high) << 64 | T(truncatingIfNeeded: magnitude.low)
    let value = isNegative ? 0 &- bits : bits
    guard (value < 0) == isNegative, T.bitWidth >= 128 || WideInteger(value) == self else { return nil }
    return value
  }

  public static func < (left: WideInteger, right: WideInteger) -> Bool {
    guard left.isNegative == right.isNegative else { return left.isNegative }
    return left.isNegative ? right.magnitude < left.magnitude : left.magnitude < right.magnitude
  }

  /// The decimal digits, with a minus sign if the integer is negative.
  public var description: String { (isNegative ? "-" : "") + magnitude.description }
}

extension WideInteger {
  /// An unsigned 128-bit integer in two halves. Used instead of the standard library's `UInt128`, which requires macOS
  /// 15 and iOS 18.
  public struct Magnitude: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The upper 64 bits.
    public let high: UInt64
    /// The lower 64 bits.
    public let low: UInt64

    /// Creates a number from two halves.
    public init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    package init(_ low: UInt64) { self.init(high: 0, low: low) }

    package static let zero = Magnitude(0)

    /// Parses ASCII decimal digits. Returns `nil` if there are no digits, if there is any other character, or if the
    /// number has more than 128 bits.
    package init?(digits: some Sequence<UInt8>) {
      var number = Magnitude.zero
      var isEmpty = true
      for digit in digits {
        guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit, let longer = number.appending(digit: digit & 0xF) else {
          return nil
        }
        number = longer
        isEmpty = false
      }
      if isEmpty { return nil }
      self = number
    }

    /// Returns ten times the number plus the digit; `nil` if the result has more than 128 bits.
    package func appending(digit: UInt8) -> Magnitude? { multiplied(by: 10)?.adding(UInt64(digit)) }

    /// Returns the number shifted left, with `bits` as the lowest bits. Bits beyond the 128th are dropped.
    ///
    /// - Parameter count: the number of bits to shift by, from 1 to 63.
    package func appending(bits: UInt64, count: UInt64) -> Magnitude {
      Magnitude(high: high << count | low >> (64 - count), low: low << count | bits)
    }

    /// Returns the product; `nil` if the product has more than 128 bits.
    package func multiplied(by factor: UInt64) -> Magnitude? {
      let (carry, low) = low.multipliedFullWidth(by: factor)
      let (product, overflows) = high.multipliedReportingOverflow(by: factor)
      let (high, carries) = product.addingReportingOverflow(carry)
      return overflows || carries ? nil : Magnitude(high: high, low: low)
    }

    /// Returns the sum of the two numbers; `nil` if the sum has more than 128 bits.
    package func adding(_ other: UInt64) -> Magnitude? {
      let (low, carries) = low.addingReportingOverflow(other)
      guard carries else { return Magnitude(high: high, low: low) }
      return high < .max ? Magnitude(high: high + 1, low: low) : nil
    }

    /// Returns the number multiplied by 10^`power`; `nil` if the product has more than 128 bits.
    package func scaled(byPowerOfTen power: Int) -> Magnitude? {
      var product = self
      for _ in 0..<power {
        guard let larger = product.multiplied(by: 10) else { return nil }
        product = larger
      }
      return product
    }

    /// The number minus one. The number must be greater than zero.
    package var predecessor: Magnitude { Magnitude(high: low == 0 ? high - 1 : high, low: low &- 1) }

    /// 2^128 minus the number; zero if the number is zero.
    package var negated: Magnitude { Magnitude(high: low == 0 ? 0 &- high : ~high, low: 0 &- low) }

    package func quotientAndRemainder(dividingBy divisor: UInt64) -> (quotient: Magnitude, remainder: UInt64) {
      let (high, rest) = high.quotientAndRemainder(dividingBy: divisor)
      let (low, remainder) = divisor.dividingFullWidth((rest, low))
      return (Magnitude(high: high, low: low), remainder)
    }

    /// The two halves in big-endian byte order.
    package var bigEndian: (high: UInt64, low: UInt64) { (high.bigEndian, low.bigEndian) }

    /// Returns the sum of two numbers modulo 2^128.
    package static func &+ (left: Magnitude, right: Magnitude) -> Magnitude {
      let (low, carries) = left.low.addingReportingOverflow(right.low)
      return Magnitude(high: left.high &+ right.high &+ (carries ? 1 : 0), low: low)
    }

    package var leadingZeroBitCount: Int { high == 0 ? 64 + low.leadingZeroBitCount : high.leadingZeroBitCount }
    package var trailingZeroBitCount: Int { low == 0 ? 64 + high.trailingZeroBitCount : low.trailingZeroBitCount }

    public static func < (left: Magnitude, right: Magnitude) -> Bool {
      left.high == right.high ? left.low < right.low : left.high < right.high
    }

    /// The decimal digits.
    public var description: String {
      guard high > 0 else { return String(low) }
      let (upper, lower) = quotientAndRemainder(dividingBy: 10_000_000_000_000_000_000)
      let digits = String(lower)
      return upper.description + String(repeating: "0", count: 19 - digits.count) + digits
    }
  }
}

extension Double {
  /// Converts the number to a double. Returns `nil` if a double cannot represent the number exactly.
  package init?(exactly magnitude: WideInteger.Magnitude) {
    let significantBits = 128 - magnitude.leadingZeroBitCount - magnitude.trailingZeroBitCount
    guard significantBits <= 53 else { return nil }
    self = Double(magnitude.high) * 0x1p64 + Double(magnitude.low)
  }
}
