// Converts decimal digits to doubles and back with integer arithmetic, as long as the required power of five fits into 64
// bits. Callers convert all other numbers through text with the standard library, which returns the same results.

extension Double {
  /// Creates the double nearest to ±significand × 10^power. If two doubles are equally near, the one with the even significand is chosen.
  /// Returns `nil` if `power` is beyond ±27.
  init?(isNegative: Bool, significand: UInt64, power: Int) {
    let magnitude: Double
    if significand <= 1 << 53, power.magnitude <= 22 {
      // Both operands are exact doubles, so a single rounding gives the nearest double (Clinger, How to Read Floating Point Numbers
      // Accurately, 1990).
      let scale = powersOfTen[Int(power.magnitude)]
      magnitude = power < 0 ? Double(significand) / scale : Double(significand) * scale
    } else {
      guard power.magnitude <= 27, significand > 0 else { return nil }
      let factor = powersOfFive[Int(power.magnitude)]
      // The leading bits of the exact result, at least 62. The lowest bit is also a sticky bit: it is set if any dropped bit is set, so
      // that rounding to 53 bits is correct.
      let bits: UInt64
      let exponent: Int
      if power < 0 {
        let shift = significand.leadingZeroBitCount
        let factorShift = factor.leadingZeroBitCount
        let dividend = significand &<< shift
        let (quotient, remainder) = (factor &<< factorShift).dividingFullWidth((dividend &>> 1, dividend &<< 63))
        bits = quotient | (remainder == 0 ? 0 : 1)
        exponent = factorShift - shift - 63 + power
      } else {
        let (high, low) = significand.multipliedFullWidth(by: factor)
        let shift = high.leadingZeroBitCount
        bits = high << shift | low >> (64 - shift) | (low << shift == 0 ? 0 : 1)
        exponent = 64 - shift + power
      }
      magnitude = Double(bits) * Double(sign: .plus, exponent: exponent, significand: 1)
    }
    self = isNegative ? -magnitude : magnitude
  }

  /// The magnitude as an integer of decimal digits without trailing zeros, and a power of ten to multiply it by. The digits are the same as
  /// in `description`. They are the shortest sequence of digits that parses as the same double. If several sequences are equally short, the
  /// one nearest to the double is chosen.
  ///
  /// `nil` for powers of two, for magnitudes below 2^-36 or of at least 2^52, and if two digit sequences are equally near.
  var shortestDigits: (significand: UInt64, power: Int)? {
    let exponent = Int(bitPattern &>> 52 & 0x7FF) - 1023
    guard significandBitPattern != 0, -36...51 ~= exponent else { return nil }
    // 1233/4096 is slightly less than log₁₀ 2, so 10^16 < |self| × 10^places < 2 × 10^17.
    let places = 16 - (exponent * 1233) >> 12
    // The product |self| × 10^places is computed as a fixed-point number with `shift` binary places. In this form, half a unit in the last
    // place of the double is a power of five, which is odd. Therefore no integer is exactly midway between this double and the next double.
    let shift = UInt64(53 - exponent - places)
    let half = powersOfFive[places]
    let (high, low) = half.multipliedFullWidth(by: (significandBitPattern | 1 << 52) << 1)
    func integer(_ high: UInt64, _ low: UInt64) -> UInt64 { high &<< (64 &- shift) | low &>> shift }
    let (less, borrows) = low.subtractingReportingOverflow(half)
    let (more, carries) = low.addingReportingOverflow(half)
    // Every integer from `lower + 1` to `upper` parses as this double. If `lower / unit` and `upper / unit` differ, one of these integers
    // is a multiple of `unit`. The largest such power of ten gives the fewest digits.
    var lower = integer(high &- (borrows ? 1 : 0), less)
    var upper = integer(high &+ (carries ? 1 : 0), more)
    var unit: UInt64 = 1
    var power = -places
    if upper / 100_000_000 > lower / 100_000_000 {
      (lower, upper, unit, power) = (lower / 100_000_000, upper / 100_000_000, 100_000_000, power &+ 8)
    }
    while upper / 10 > lower / 10 { (lower, upper, unit, power) = (lower / 10, upper / 10, unit &* 10, power &+ 1) }
    let (digits, rest) = integer(high, low).quotientAndRemainder(dividingBy: unit)
    let fraction = low & (1 &<< shift &- 1)
    // Rounds the product to the nearest multiple of the unit.
    if unit == 1 {
      let middle: UInt64 = 1 &<< (shift &- 1)
      return fraction == middle ? nil : (fraction > middle ? digits + 1 : digits, power)
    }
    if rest == unit / 2, fraction == 0 { return nil }
    return (rest >= unit / 2 ? digits + 1 : digits, power)
  }
}

/// The powers of ten that a double can represent exactly.
private let powersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  1e19, 1e20, 1e21, 1e22,
]

/// The powers of five below 2^63.
private let powersOfFive: [UInt64] = [
  1, 5, 25, 125, 625, 3_125, 15_625, 78_125, 390_625, 1_953_125, 9_765_625, 48_828_125, 244_140_625, 1_220_703_125,
  6_103_515_625, 30_517_578_125, 152_587_890_625, 762_939_453_125, 3_814_697_265_625, 19_073_486_328_125,
  95_367_431_640_625, 476_837_158_203_125, 2_384_185_791_015_625, 11_920_928_955_078_125, 59_604_644_775_390_625,
  298_023_223_876_953_125, 1_490_116_119_384_765_625, 7_450_580_596_923_828_125,
]
