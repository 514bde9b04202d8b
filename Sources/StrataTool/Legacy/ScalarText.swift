internal import Foundation
internal import StrataCore

/// Single values as the JSON of Docs/Tool.md spells them.
enum ScalarText {
  /// The fewest digits that read back as the same number; what is not finite has a name.
  static func real(_ value: Double) -> String {
    guard value.isFinite else {
      return "{\"$real\": \"" + (value.isNaN ? "nan" : value < 0 ? "-inf" : "inf") + "\"}"
    }
    return value.description
  }

  /// All digits, without an exponent and without zeros that say nothing.
  static func decimal(_ value: Decimal) -> String {
    guard let parts = DecimalParts(value) else { return "nan" }
    var digits = parts.mantissa.description
    if parts.mantissa == .zero { return "0" }
    if parts.exponent >= 0 {
      digits += String(repeating: "0", count: parts.exponent)
    } else {
      let places = -parts.exponent
      if digits.count <= places { digits = String(repeating: "0", count: places - digits.count + 1) + digits }
      var fraction = digits.suffix(places)
      while fraction.last == "0" { fraction.removeLast() }
      digits = digits.dropLast(places) + (fraction.isEmpty ? "" : "." + fraction)
    }
    return (parts.isNegative ? "-" : "") + digits
  }

  /// The moment in UTC with every decimal place of the number of seconds since 2001 that it is; that number itself
  /// outside the years 0 to 9999.
  static func date(_ date: Date) -> String {
    let interval = date.timeIntervalSinceReferenceDate
    let whole = interval.rounded(.down)
    guard interval.isFinite, interval.magnitude < 1e12,
      let text = ISO8601.string(from: Date(timeIntervalSinceReferenceDate: whole))
    else { return real(interval) }
    guard whole != interval else { return quoted(text) }
    return quoted(text.dropLast() + "." + fraction(of: interval) + "Z")
  }

  /// The decimal places of a number, or what is missing to the next whole number where it is negative.
  private static func fraction(of number: Double) -> String {
    // The digits of the shortest decimal that is the same number: no binary arithmetic, which would round.
    let text = number.magnitude.description
    let parts = text.split(separator: "e")
    let mantissa = parts[0].split(separator: ".")
    var digits = mantissa.count > 1 ? String(mantissa[1]) : ""
    if parts.count > 1, let exponent = Int(parts[1]), exponent < 0 {
      digits = String(repeating: "0", count: -exponent - 1) + mantissa[0] + digits
    }
    while digits.last == "0" { digits.removeLast() }
    guard number < 0 else { return digits }
    // 1 - 0.digits: the nines' complement, and one more in the last place.
    let complement = digits.utf8.map { 9 - ($0 - UInt8(ascii: "0")) }
    var result = complement
    if let last = result.indices.last { result[last] += 1 }
    return result.map { String($0) }.joined()
  }

  /// A string of JSON (RFC 8259, section 7), in which only quotes, backslashes and control characters are escaped.
  static func quoted(_ string: some StringProtocol) -> String {
    var text = "\""
    text.reserveCapacity(string.utf8.count + 2)
    if string.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
      text += string
    } else {
      for scalar in string.unicodeScalars {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\u{8}": text += "\\b"
        case "\t": text += "\\t"
        case "\n": text += "\\n"
        case "\u{C}": text += "\\f"
        case "\r": text += "\\r"
        case "\u{0}"..."\u{1F}":
          text += (scalar.value < 0x10 ? "\\u000" : "\\u00") + String(scalar.value, radix: 16)
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return text + "\""
  }
}
