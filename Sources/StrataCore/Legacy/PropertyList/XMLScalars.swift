import Foundation

/// How property lists in XML write numbers, dates and data.
enum XMLScalars {
  static func trimmed(_ text: String) -> Substring.UTF8View {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
    var bytes = text[...].utf8
    bytes = bytes.drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return bytes
  }

  /// Decimal or, after `0x`, hexadecimal digits, with or without a sign.
  static func integer(_ text: Substring.UTF8View) -> Int128? {
    let isNegative = text.first == UInt8(ascii: "-")
    var digits = isNegative || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
    let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
    if isHexadecimal { digits = digits.dropFirst(2) }
    // A second sign is not a digit.
    guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
    return Int128((isNegative ? "-" : "") + String(Substring(digits)), radix: isHexadecimal ? 16 : 10)
  }

  /// A decimal number with or without an exponent, or a word for infinity or no number, in any case.
  static func real(_ text: Substring.UTF8View) -> Double? {
    let word = String(Substring(text))
    switch word.lowercased() {
    case "nan", "+nan", "-nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default: break
    }
    let isNumber = text.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || "+-.eE".utf8.contains($0) }
    return isNumber ? Double(word) : nil
  }

  /// A moment as `YYYY-MM-DDThh:mm:ssZ` (ISO 8601), in the Gregorian calendar for all years.
  static func date(_ text: Substring.UTF8View) -> Date? {
    let isNegative = text.first == UInt8(ascii: "-")
    let bytes = Array(isNegative ? text.dropFirst() : text)
    // Years may have more than four digits; what follows the year has a fixed length.
    let end = bytes.count - 16
    guard 4...9 ~= end, let year = number(bytes[..<end]) else { return nil }
    let rest = Array(bytes[end...])
    for (place, mark) in zip([0, 3, 6, 9, 12, 15], "--T::Z".utf8) where rest[place] != mark { return nil }
    guard let month = number(rest[1..<3]), let day = number(rest[4..<6]), let hour = number(rest[7..<9]),
      let minute = number(rest[10..<12]), let second = number(rest[13..<15])
    else { return nil }
    guard hour < 24, minute < 60, second < 60,
      let days = ISO8601.days(fromYear: isNegative ? -year : year, month: month, day: day)
    else { return nil }
    let seconds = (days - ISO8601.daysToReference) * 86_400 + hour * 3600 + minute * 60 + second
    return Date(timeIntervalSinceReferenceDate: Double(seconds))
  }

  /// Base64 (RFC 4648 §4) with white space anywhere.
  static func data(_ text: String) -> Data? {
    Data(base64Encoded: Data(text.utf8.filter { $0 > 0x20 }))
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
      value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return value
  }
}
