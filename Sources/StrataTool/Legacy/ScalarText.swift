internal import Foundation
internal import StrataCore

/// Formats scalar values for the JSON that Docs/Tool.md describes.
enum ScalarText {
  /// Returns the shortest text that is parsed as the same number. Infinities and NaN become objects with the key
  /// `$real`.
  static func real(_ value: Double) -> String {
    guard value.isFinite else {
      return "{\"$real\": \"" + (value.isNaN ? "nan" : value < 0 ? "-inf" : "inf") + "\"}"
    }
    return value.description
  }

  /// Returns all digits of the number, without an exponent and without insignificant zeros.
  static func decimal(_ value: Decimal) -> String {
    guard let parts = DecimalParts(value) else { return "nan" }
    var text = ByteBuffer(minimumCapacity: 64)
    if parts.isNegative { text.append(UInt8(ascii: "-")) }
    text.append(parts.mantissa, power: parts.exponent)
    return text.withBytes { ByteBuffer.validString($0) }
  }

  /// Returns the date in UTC, with all decimal places of the seconds. For a date outside the years 0 to 9999, returns
  /// the number of seconds since 2001.
  static func date(_ date: Date) -> String {
    let interval = date.timeIntervalSinceReferenceDate
    let whole = interval.rounded(.down)
    guard interval.isFinite, interval.magnitude < 1e12,
      let text = ISO8601.string(from: Date(timeIntervalSinceReferenceDate: whole))
    else { return real(interval) }
    guard whole != interval else { return quoted(text) }
    return quoted(text.dropLast() + "." + fraction(of: interval) + "Z")
  }

  /// Returns the decimal places of the difference between the number and its floor.
  private static func fraction(of number: Double) -> String {
    // The digits are taken from the shortest decimal representation, because binary arithmetic would round.
    let text = number.magnitude.description
    let parts = text.split(separator: "e")
    let mantissa = parts[0].split(separator: ".")
    var digits = mantissa.count > 1 ? String(mantissa[1]) : ""
    if parts.count > 1, let exponent = Int(parts[1]), exponent < 0 {
      digits = String(repeating: "0", count: -exponent - 1) + mantissa[0] + digits
    }
    while digits.last == "0" { digits.removeLast() }
    guard number < 0 else { return digits }
    // Subtracts the fraction from 1: takes the nines' complement of its digits, and adds one in the last place.
    let complement = digits.utf8.map { 9 - ($0 - UInt8(ascii: "0")) }
    var result = complement
    if let last = result.indices.last { result[last] += 1 }
    return result.map { String($0) }.joined()
  }

  /// Returns a JSON string (RFC 8259, section 7). Only quotes, backslashes and control characters are escaped.
  static func quoted(_ string: String) -> String {
    var text = ByteBuffer(minimumCapacity: 64)
    ByteBuffer.withUTF8(of: string) { text.append(jsonString: $0.bytes) }
    return text.withBytes { ByteBuffer.validString($0) }
  }
}
