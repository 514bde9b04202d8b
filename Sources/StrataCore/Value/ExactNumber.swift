import Foundation

/// A number as decimal digits, so that numbers of different kinds can be compared without rounding.
///
/// A floating-point number counts as its shortest text, as in JSON: 0.1 is the same number as a double, as a float, as
/// a decimal and as text, and 1e23 is the integer with 23 zeros.
struct ExactNumber: Comparable {
  /// In ascending order. NaN is below all numbers.
  private enum Kind: Int, Comparable {
    case notANumber, negativeInfinity, negative, zero, positive, infinity

    static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
  }

  private var kind = Kind.zero
  /// The digits of a fraction in ASCII, without the leading `0.`. Neither the first nor the last is a zero.
  private var digits: [UInt8] = []
  /// The power of ten that this fraction is multiplied by.
  private var power = Power(0)

  /// The number of a value; `nil` if the value is not a number.
  ///
  /// - Complexity: linear in the number of digits written, whatever the exponent.
  init?(_ value: ArchiveValue) {
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

  private init(_ kind: Kind) { self.kind = kind }

  private init<T: BinaryFloatingPoint>(_ number: T, _ text: (T) -> String) {
    if number.isNaN {
      self.init(.notANumber)
    } else if number.isInfinite {
      self.init(number < 0 ? .negativeInfinity : .infinity)
    } else {
      self.init(text: text(number))
    }
  }

  /// Parses decimal digits with an optional sign, point and exponent; `nil` for any other text.
  init?(spelledAs text: String) {
    let digits = text.first == "+" && text.dropFirst().first != "-" ? text.dropFirst() : text[...]
    guard digits.first != "+", digits.utf8.allSatisfy({ 48...57 ~= $0 || "+-.eE".utf8.contains($0) }),
      Double(digits) != nil
    else { return nil }
    self.init(text: String(digits))
  }

  /// The number as an integer; `nil` if it has a fraction or more than 128 bits.
  var integer: ArchiveValue? {
    guard kind != .zero else { return .int(0) }
    guard kind == .positive || kind == .negative, power >= Power(digits.count), power <= Power(39) else { return nil }
    let zeros = Array(repeating: UInt8(ascii: "0"), count: power.clamped - digits.count)
    guard let magnitude = WideMagnitude(digits: digits + zeros) else { return nil }
    return ArchiveValue(WideInteger(isNegative: kind == .negative, magnitude: magnitude))
  }

  /// The number as a decimal; `nil` if a decimal does not hold all of its digits.
  var decimal: Decimal? {
    guard kind != .zero else { return 0 }
    guard kind == .positive || kind == .negative, digits.count <= 39, power <= Power(200), power >= Power(-200) else {
      return nil
    }
    guard let mantissa = WideMagnitude(digits: digits) else { return nil }
    return DecimalParts(isNegative: kind == .negative, mantissa: mantissa, exponent: power.clamped - digits.count)
      .decimal
  }

  /// Parses a text that is known to be a number.
  private init(text: String) {
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
    kind = isNegative ? .negative : .positive
    power = Power(text: rest.dropFirst(), plus: places)
  }

  static func < (left: ExactNumber, right: ExactNumber) -> Bool {
    guard left.kind == right.kind else { return left.kind < right.kind }
    return left.kind == .negative ? right.isSmaller(than: left) : left.isSmaller(than: right)
  }

  /// Whether this has the smaller magnitude.
  private func isSmaller(than other: ExactNumber) -> Bool {
    power == other.power ? digits.lexicographicallyPrecedes(other.digits) : power < other.power
  }
}

/// An exponent of any length.
private struct Power: Comparable {
  /// The exponent, clamped to the range of `Int`.
  let clamped: Int
  /// The digits of a clamped exponent, without its sign. Empty for other exponents.
  private let digits: [UInt8]

  init(_ power: Int) { self.init(power, []) }

  private init(_ clamped: Int, _ digits: [UInt8]) { (self.clamped, self.digits) = (clamped, digits) }

  /// Parses an exponent and adds `places`. There are fewer places than bytes in the text of the number.
  init(text: Substring.UTF8View, plus places: Int) {
    let isNegative = text.first == UInt8(ascii: "-")
    let isSigned = isNegative || text.first == UInt8(ascii: "+")
    var digits = Array(text.dropFirst(isSigned ? 1 : 0).drop { $0 == UInt8(ascii: "0") })
    if digits.count <= 18 {
      let magnitude = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      self.init((isNegative ? -magnitude : magnitude) + places)
      return
    }
    // The exponent is so much larger than `places` that its sign cannot change.
    var carry = isNegative ? -places : places
    for place in digits.indices.reversed() where carry != 0 {
      let sum = Int(digits[place] - UInt8(ascii: "0")) + carry
      let digit = (sum % 10 + 10) % 10
      digits[place] = UInt8(digit) + UInt8(ascii: "0")
      carry = (sum - digit) / 10
    }
    if carry > 0 { digits.insert(contentsOf: carry.description.utf8, at: 0) }
    digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
    let text = (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self)
    if let small = Int(text), small != .min, small != .max {
      self.init(small)
      return
    }
    self.init(isNegative ? .min : .max, digits)
  }

  static func < (left: Power, right: Power) -> Bool {
    guard left.clamped == right.clamped else { return left.clamped < right.clamped }
    let (small, large) = left.clamped < 0 ? (right.digits, left.digits) : (left.digits, right.digits)
    return small.count == large.count ? small.lexicographicallyPrecedes(large) : small.count < large.count
  }
}
