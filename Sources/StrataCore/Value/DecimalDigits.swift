/// The digits of a number in text: ±digits × 10^power, without zeros on either side.
///
/// `JSONNumber` reads the same from bytes that were checked, and fast; this takes any text, and keeps any number of digits.
struct DecimalDigits {
  private(set) var isNegative = false
  private var digits: [UInt8] = []
  private var power = 0

  /// The digits of a text with a sign, digits, a point and an exponent of ten as in `-12.5e3`; `nil` for anything else.
  init?(_ text: String) {
    var rest = text.utf8[...]
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      rest.removeFirst()
    }
    var places: Int?
    scan: while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        digits.append(byte - UInt8(ascii: "0"))
        places = places.map { $0 + 1 }
      case UInt8(ascii: ".") where places == nil: places = 0
      default: break scan
      }
      rest.removeFirst()
    }
    guard !digits.isEmpty else { return nil }
    if let letter = rest.first {
      guard letter | 0x20 == UInt8(ascii: "e"), let exponent = Int(Substring(rest.dropFirst())),
        exponent.magnitude < 1 << 40
      else { return nil }
      power = exponent
    }
    power -= places ?? 0
    while digits.last == 0 {
      digits.removeLast()
      power += 1
    }
    digits = Array(digits.drop { $0 == 0 })
    if digits.isEmpty { power = 0 }
  }

  /// Whether both are the same number, whatever their signs.
  func isSame(_ other: DecimalDigits) -> Bool { digits == other.digits && power == other.power }

  /// The whole number without its sign, where 128 bits hold it; `nil` where it has a fraction.
  var magnitude: UInt128? {
    guard power >= 0, digits.count + power <= 39 else { return nil }
    var magnitude: UInt128 = 0
    for digit in digits + Array(repeating: 0, count: power) {
      let (product, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carried) = product.addingReportingOverflow(UInt128(digit))
      if overflowed || carried { return nil }
      magnitude = sum
    }
    return magnitude
  }
}
