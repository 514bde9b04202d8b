internal import Foundation
internal import StrataCore

/// Formats scalar values for the JSON of Docs/Tool.md.
enum ScalarText {
  /// The fewest digits that parse as the same number. Infinities and NaN are objects with the key `$real`.
  static func real(_ value: Double) -> String {
    guard value.isFinite else {
      return "{\"$real\": \"" + (value.isNaN ? "nan" : value < 0 ? "-inf" : "inf") + "\"}"
    }
    return value.description
  }

  /// All digits, without an exponent and without insignificant zeros.
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

  /// The date in UTC, with every decimal place of its number of seconds since 2001. Outside the years 0 to 9999, that
  /// number itself.
  static func date(_ date: Date) -> String {
    let interval = date.timeIntervalSinceReferenceDate
    let whole = interval.rounded(.down)
    guard interval.isFinite, interval.magnitude < 1e12,
      let text = ISO8601.string(from: Date(timeIntervalSinceReferenceDate: whole))
    else { return real(interval) }
    guard whole != interval else { return quoted(text) }
    return quoted(text.dropLast() + "." + fraction(of: interval) + "Z")
  }

  /// The decimal places of the number minus its floor.
  private static func fraction(of number: Double) -> String {
    // Takes the digits of the shortest decimal, because binary arithmetic would round.
    let text = number.magnitude.description
    let parts = text.split(separator: "e")
    let mantissa = parts[0].split(separator: ".")
    var digits = mantissa.count > 1 ? String(mantissa[1]) : ""
    if parts.count > 1, let exponent = Int(parts[1]), exponent < 0 {
      digits = String(repeating: "0", count: -exponent - 1) + mantissa[0] + digits
    }
    while digits.last == "0" { digits.removeLast() }
    guard number < 0 else { return digits }
    // 1 - 0.digits: the nines' complement, plus one in the last place.
    let complement = digits.utf8.map { 9 - ($0 - UInt8(ascii: "0")) }
    var result = complement
    if let last = result.indices.last { result[last] += 1 }
    return result.map { String($0) }.joined()
  }

  /// A JSON string (RFC 8259, section 7). Only quotes, backslashes and control characters are escaped.
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
