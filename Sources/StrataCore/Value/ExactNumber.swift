package import Foundation

/// A number as decimal digits, so that numbers of different kinds can be compared without rounding.
///
/// A floating-point number counts as its shortest text, as in JSON: 0.1 is the same number as a double, as a float, as
/// a decimal and as text, and 1e23 is the integer with 23 zeros.
package struct ExactNumber: Comparable {
  /// In ascending order. NaN is below all numbers.
  private enum Sign: Int, Comparable {
    case notANumber, negativeInfinity, negative, zero, positive, infinity

    static func < (left: Sign, right: Sign) -> Bool { left.rawValue < right.rawValue }
  }

  private var sign = Sign.zero
  /// The digits of a fraction in ASCII, without the leading `0.`. Neither the first nor the last is a zero.
  private var digits: [UInt8] = []
  /// The power of ten that this fraction is multiplied by.
  private var power: WideInteger = 0

  /// The number of a value; `nil` if the value is not a number.
  ///
  /// - Complexity: linear in the number of digits written, whatever the exponent.
  package init?(_ value: ArchiveValue) {
    switch value {
    case .int, .uint, .wideInteger, .number: self.init(text: value.scalarText ?? "")
    case .float(let number): self.init(number) { $0.description }
    case .double(let number): self.init(number) { $0.description }
    case .decimal(let number):
      guard let parts = DecimalParts(number) else {
        self.init(.notANumber)
        return
      }
      self.init(text: "\(parts.isNegative ? "-" : "")\(parts.mantissa)e\(parts.exponent)")
    default: return nil
    }
  }

  private init(_ sign: Sign) { self.sign = sign }

  private init?<T: BinaryFloatingPoint>(_ number: T, _ text: (T) -> String) {
    if number.isNaN {
      self.init(.notANumber)
    } else if number.isInfinite {
      self.init(number < 0 ? .negativeInfinity : .infinity)
    } else {
      self.init(text: text(number))
    }
  }

  /// Parses decimal digits with an optional sign, point and exponent; `nil` for any other text.
  package init?(spelledAs text: String) {
    let digits = text.first == "+" && text.dropFirst().first != "-" ? text.dropFirst() : text[...]
    guard digits.first != "+", digits.utf8.allSatisfy({ 48...57 ~= $0 || "+-.eE".utf8.contains($0) }),
      Double(digits) != nil
    else { return nil }
    self.init(text: String(digits))
  }

  /// The number as an integer; `nil` if it has a fraction or more than 128 bits.
  var integer: ArchiveValue? {
    guard sign != .zero else { return .int(0) }
    guard sign == .positive || sign == .negative, let power = power.exactly(Int.self), power >= digits.count,
      power <= 39
    else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: power - digits.count)
    guard let magnitude = WideInteger.Magnitude(digits: digits + zeros) else { return nil }
    return ArchiveValue(WideInteger(isNegative: sign == .negative, magnitude: magnitude))
  }

  /// The number as a decimal; `nil` if a decimal does not hold all of its digits.
  package var decimal: Decimal? {
    guard sign != .zero else { return 0 }
    guard sign == .positive || sign == .negative, let power = power.exactly(Int.self), -200...200 ~= power,
      let mantissa = WideInteger.Magnitude(digits: digits)
    else { return nil }
    return DecimalParts(isNegative: sign == .negative, mantissa: mantissa, exponent: power - digits.count).decimal
  }

  /// Parses a text that is known to be a number; `nil` for an exponent of more than 37 digits.
  private init?(text: String) {
    var rest = text.utf8[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative { rest.removeFirst() }
    var places = 0
    var isAfterPoint = false
    while let byte = rest.first, byte | 0x20 != UInt8(ascii: "e") {
      rest.removeFirst()
      if byte == UInt8(ascii: ".") {
        isAfterPoint = true
      } else if byte != UInt8(ascii: "0") || !digits.isEmpty {
        digits.append(byte)
        if !isAfterPoint { places += 1 }
      } else if isAfterPoint {
        places -= 1
      }
    }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    guard !digits.isEmpty else { return }
    sign = isNegative ? .negative : .positive
    let exponent: WideInteger? = rest.isEmpty ? 0 : WideInteger(Substring(rest.dropFirst()))
    guard let exponent, exponent.magnitude.high < 1 << 62, let bits = exponent.twosComplement,
      let added = WideInteger(places).twosComplement
    else { return nil }
    power = WideInteger(twosComplement: bits &+ added)
  }

  package static func < (left: ExactNumber, right: ExactNumber) -> Bool {
    guard left.sign == right.sign else { return left.sign < right.sign }
    return left.sign == .negative ? right.isSmaller(than: left) : left.isSmaller(than: right)
  }

  /// Whether this has the smaller magnitude.
  private func isSmaller(than other: ExactNumber) -> Bool {
    power == other.power ? digits.lexicographicallyPrecedes(other.digits) : power < other.power
  }
}
