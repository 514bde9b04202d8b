package import Foundation

/// A number stored as decimal digits, so that numbers of different kinds can be compared without rounding.
///
/// A floating-point number is represented by its shortest text, as in JSON. Therefore 0.1 is the same number in a
/// double, a float, a decimal and a text, and the double 1e23 equals the integer 10^23.
package struct ExactNumber: Comparable {
  /// The sign of a number, or a special value. The cases are in ascending order. NaN is less than every number.
  private enum Sign: Int, Comparable {
    case notANumber, negativeInfinity, negative, zero, positive, infinity

    static func < (left: Sign, right: Sign) -> Bool { left.rawValue < right.rawValue }
  }

  private var sign = Sign.zero
  /// The ASCII digits of a decimal fraction between 0 and 1, without the leading `0.`. Neither the first nor the last
  /// digit is a zero.
  private var digits: [UInt8] = []
  /// The exponent of ten. The number is the fraction in `digits` times 10^`power`.
  private var power: WideInteger = 0

  /// Converts a value to an exact number. Returns `nil` if the value is not a number.
  ///
  /// - Complexity: linear in the number of digits, regardless of the exponent.
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

  /// Parses decimal digits with an optional sign, point and exponent. Returns `nil` for any other text.
  package init?(spelledAs text: String) {
    let digits = text.first == "+" && text.dropFirst().first != "-" ? text.dropFirst() : text[...]
    guard digits.first != "+", digits.utf8.allSatisfy({ 48...57 ~= $0 || "+-.eE".utf8.contains($0) }),
      Double(digits) != nil
    else { return nil }
    self.init(text: String(digits))
  }

  /// The number as an integer; `nil` if the number has a fraction or a magnitude of more than 128 bits.
  var integer: ArchiveValue? {
    guard sign != .zero else { return .int(0) }
    guard sign == .positive || sign == .negative, let power = power.exactly(Int.self), power >= digits.count,
      power <= 39
    else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: power - digits.count)
    guard let magnitude = WideInteger.Magnitude(digits: digits + zeros) else { return nil }
    return ArchiveValue(WideInteger(isNegative: sign == .negative, magnitude: magnitude))
  }

  /// The number as a decimal; `nil` if a decimal cannot represent the number exactly.
  package var decimal: Decimal? {
    guard sign != .zero else { return 0 }
    guard sign == .positive || sign == .negative, let power = power.exactly(Int.self), -200...200 ~= power,
      let mantissa = WideInteger.Magnitude(digits: digits)
    else { return nil }
    return DecimalParts(isNegative: sign == .negative, mantissa: mantissa, exponent: power - digits.count).decimal
  }

  /// Parses a text that is known to be a number. Returns `nil` if the magnitude of the exponent is 2^126 or more.
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

  /// Returns whether the absolute value of this number is smaller than the absolute value of `other`. Both numbers must
  /// have the same sign.
  private func isSmaller(than other: ExactNumber) -> Bool {
    power == other.power ? digits.lexicographicallyPrecedes(other.digits) : power < other.power
  }
}
