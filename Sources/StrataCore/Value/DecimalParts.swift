package import Foundation

/// A decimal taken apart: ±mantissa × 10^exponent.
package struct DecimalParts {
  package let isNegative: Bool
  package let mantissa: UInt128
  package let exponent: Int

  /// The parts of a finite decimal; `nil` for one that is not a number.
  ///
  /// The description has every digit and neither an exponent nor a locale, so nothing is rounded.
  package init?(_ decimal: Decimal) {
    guard decimal.isFinite else { return nil }
    var mantissa: UInt128 = 0
    var exponent = 0
    var isAfterPoint = false
    var pendingZeros = 0
    for byte in decimal.description.utf8 {
      switch byte {
      case UInt8(ascii: "-"): continue
      case UInt8(ascii: "."): isAfterPoint = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        if isAfterPoint { exponent -= 1 }
        guard byte != UInt8(ascii: "0") else {
          pendingZeros += 1
          continue
        }
        // Zeros are only multiplied in once a digit follows, so 1e127 keeps a small mantissa.
        for _ in 0..<pendingZeros {
          let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
          if overflow { return nil }
          mantissa = product
        }
        pendingZeros = 0
        let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.addingReportingOverflow(UInt128(byte - UInt8(ascii: "0")))
        if overflow || carry { return nil }
        mantissa = sum
      default: return nil
      }
    }
    self.isNegative = decimal < 0
    self.mantissa = mantissa
    self.exponent = mantissa == 0 ? 0 : exponent + pendingZeros
  }

  package init(isNegative: Bool, mantissa: UInt128, exponent: Int) {
    self.isNegative = isNegative
    self.mantissa = mantissa
    self.exponent = exponent
  }

  /// The decimal, or `nil` where Foundation's mantissa of 128 bits and exponents from -128 to 127 do not hold it.
  package var decimal: Decimal? {
    guard mantissa != 0 else { return 0 }
    guard exponent >= -200, exponent <= 200 else { return nil }
    let (mantissa, exponent) = withinRange
    let text = (isNegative ? "-" : "") + String(mantissa) + "e" + String(exponent)
    guard let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), value.isFinite else {
      return nil
    }
    // Foundation rounds what has too many digits; that must not pass as the value.
    guard let back = DecimalParts(value), back.isSame(as: self) else { return nil }
    return value
  }

  /// Mantissa and exponent with the zeros at the end that bring the exponent into a byte, as far as that can be: 1e128 is
  /// 10e127.
  package var withinRange: (mantissa: UInt128, exponent: Int) {
    var (mantissa, exponent) = (mantissa, exponent)
    while exponent > 127, mantissa <= .max / 10 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
    while exponent < -128, mantissa.isMultiple(of: 10), mantissa > 0 {
      (mantissa, exponent) = (mantissa / 10, exponent + 1)
    }
    return (mantissa, exponent)
  }

  private func isSame(as other: DecimalParts) -> Bool {
    guard mantissa != 0 || other.mantissa != 0 else { return true }
    let left = normalized, right = other.normalized
    return isNegative == other.isNegative && left.mantissa == right.mantissa && left.exponent == right.exponent
  }

  private var normalized: (mantissa: UInt128, exponent: Int) {
    var mantissa = mantissa
    var exponent = exponent
    while mantissa != 0, mantissa % 10 == 0 {
      mantissa /= 10
      exponent += 1
    }
    return (mantissa, exponent)
  }
}
