package import StrataCore

// Conversions to and from the standard library's 128-bit integers, which the package cannot use on older platforms.

extension WideInteger.Magnitude {
  package init(_ number: UInt128) { self.init(high: UInt64(number >> 64), low: UInt64(truncatingIfNeeded: number)) }

  package var number: UInt128 { UInt128(high) << 64 | UInt128(low) }
}

extension WideInteger {
  package init(isNegative: Bool, magnitude: UInt128) {
    self.init(isNegative: isNegative, magnitude: WideInteger.Magnitude(magnitude))
  }
}

extension DecimalParts {
  package init(isNegative: Bool, mantissa: UInt128, exponent: Int) {
    self.init(isNegative: isNegative, mantissa: WideInteger.Magnitude(mantissa), exponent: exponent)
  }
}
