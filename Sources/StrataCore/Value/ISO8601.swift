package import Foundation

/// Parses and formats dates in the RFC 3339 format, without using a locale or a time zone database.
package enum ISO8601 {
  /// Parses a date such as `2011-01-26T19:01:12Z`. The seconds can have a decimal point followed by any number of digits. The date
  /// ends with `Z` or an offset such as `+02:00`. `T` and `Z` may be lower case (RFC 3339, 5.6).
  ///
  /// Returns `nil` for any other text, for a day that does not exist in its month, and for a leap second.
  ///
  /// - Parameter isSQL: whether SQLite's date formats are accepted too ("Date And Time Functions", section 2): a space can replace the `T`,
  ///   and the seconds and the time zone are optional. Without a time zone, the date is in UTC.
  package static func date(from text: String, isSQL: Bool = false) -> Date? {
    ByteBuffer.withUTF8(of: text) { date(from: $0.bytes, isSQL: isSQL) }
  }

  /// Parses a date from the UTF-8 bytes of a text.
  package static func date(from text: RawSpan, isSQL: Bool = false) -> Date? {
    var bytes = Cursor(text)
    guard let date = fullDate(&bytes),
      let letter = bytes.next(), letter | 0x20 == UInt8(ascii: "t") || isSQL && letter == UInt8(ascii: " "),
      let hour = digits(2, &bytes), hour < 24, bytes.next() == UInt8(ascii: ":"),
      let minute = digits(2, &bytes), minute < 60
    else { return nil }

    var (second, fraction, scale) = (0, 0, 1)
    var mark = bytes.next()
    if mark == UInt8(ascii: ":") {
      guard let read = digits(2, &bytes), read < 60 else { return nil }
      (second, mark) = (read, bytes.next())
      if mark == UInt8(ascii: ".") {
        guard let read = self.fraction(&bytes) else { return nil }
        (fraction, scale, mark) = read
      }
    } else if !isSQL {
      return nil
    }
    var offset = 0
    switch mark {
    case nil where isSQL: break
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): break
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard let hours = digits(2, &bytes), hours < 24, bytes.next() == UInt8(ascii: ":"),
        let minutes = digits(2, &bytes), minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (mark == UInt8(ascii: "-") ? -60 : 60)
    default: return nil
    }
    guard bytes.next() == nil else { return nil }
    let seconds = (date - daysToReference) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return Date(timeIntervalSinceReferenceDate: interval(seconds, fraction, scale))
  }

  /// Parses a day such as `2011-01-26` (`full-date` of RFC 3339, section 5.6) and returns its midnight in UTC.
  ///
  /// Returns `nil` for any other text, and for a day that does not exist in its month.
  package static func midnight(ofDay text: String) -> Date? {
    ByteBuffer.withUTF8(of: text) { text in
      var bytes = Cursor(text.bytes)
      guard let day = fullDate(&bytes), bytes.next() == nil else { return nil }
      return Date(timeIntervalSinceReferenceDate: Double((day - daysToReference) * 86_400))
    }
  }

  /// Parses a date (year, month and day) and returns the number of days since 1 January 1970.
  private static func fullDate(_ bytes: inout Cursor) -> Int? {
    guard let year = digits(4, &bytes), bytes.next() == UInt8(ascii: "-"),
      let month = digits(2, &bytes), bytes.next() == UInt8(ascii: "-"),
      let day = digits(2, &bytes)
    else { return nil }
    return days(fromYear: year, month: month, day: day)
  }

  /// Formats a date in UTC, for example as `2011-01-26T19:01:12Z` or `2011-01-26T19:01:12.25Z`. Returns `nil` for a date outside the years
  /// 0 to 9999, which RFC 3339 cannot represent.
  ///
  /// The seconds have as few decimal places as ``date(from:)`` needs to return the same date. If nine decimal places are not enough, the
  /// date is rounded to the nearest nanosecond.
  package static func string(from date: Date) -> String? {
    var text = ByteBuffer(minimumCapacity: 64)
    return append(date, to: &text) ? text.withBytes { ByteBuffer.validString($0) } : nil
  }

  /// Appends a date in the format of ``string(from:)``. Appends nothing and returns `false` for a date outside the years 0 to 9999.
  static func append(_ date: Date, to output: inout ByteBuffer) -> Bool {
    let interval = date.timeIntervalSinceReferenceDate
    // The condition is also false for NaN, so the conversion to `Int` below cannot fail.
    guard interval.magnitude < 1e12 else { return false }
    var seconds = Int(interval.rounded(.down))
    var places = 0
    var fraction = 0
    if Double(seconds) != interval {
      var scale = 1
      repeat {
        places += 1
        scale *= 10
        fraction = Int(((interval - Double(seconds)) * Double(scale)).rounded())
      } while places < 9 && self.interval(seconds, fraction, scale) != interval
      if fraction == scale { (seconds, fraction) = (seconds + 1, 0) }
      while places > 0 && fraction % 10 == 0 { (places, fraction) = (places - 1, fraction / 10) }
    }
    let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    let time = seconds - days * 86_400
    let (year, month, day) = civil(fromDays: days + daysToReference)
    guard 0...9999 ~= year else { return false }
    func append(_ number: Int, _ length: Int = 2) {
      output.append(decimal: UInt64(truncatingIfNeeded: number), length: length)
    }
    append(year, 4)
    output.append(UInt8(ascii: "-"))
    append(month)
    output.append(UInt8(ascii: "-"))
    append(day)
    output.append(UInt8(ascii: "T"))
    append(time / 3600)
    output.append(UInt8(ascii: ":"))
    append(time / 60 % 60)
    output.append(UInt8(ascii: ":"))
    append(time % 60)
    if places > 0 {
      output.append(UInt8(ascii: "."))
      append(fraction, places)
    }
    output.append(UInt8(ascii: "Z"))
    return true
  }

  private struct Cursor: ~Copyable, ~Escapable {
    private let bytes: RawSpan
    private var place = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) { self.bytes = bytes }

    @inline(__always)
    mutating func next() -> UInt8? {
      guard place < bytes.byteCount else { return nil }
      defer { place &+= 1 }
      return bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
    }
  }

  /// The number of days from 1 January 1970 to Foundation's reference date, 1 January 2001.
  package static let daysToReference = 11_323

  private static func digits(_ count: Int, _ bytes: inout Cursor) -> Int? {
    var number = 0
    for _ in 0..<count {
      guard let byte = bytes.next(), byte &- UInt8(ascii: "0") < 10 else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }

  /// Returns the double nearest to `seconds + fraction / scale`, if possible with a single rounding.
  private static func interval(_ seconds: Int, _ fraction: Int, _ scale: Int) -> Double {
    // Dividing two exact numbers rounds only once. The sum below rounds twice, so it is used only if the numbers are too large to be exact.
    let (whole, overflowed) = seconds.multipliedReportingOverflow(by: scale)
    if !overflowed, whole.magnitude < 1 << 52, fraction < 1 << 52 {
      return Double(whole + fraction) / Double(scale)
    }
    return Double(seconds) + Double(fraction) / Double(scale)
  }

  /// Parses the digits after a decimal point. Returns the digits as an integer, the power of ten to divide it by, and the byte after the
  /// digits, which is `nil` at the end of the text. Returns `nil` if there are no digits. Digits after the eighteenth are ignored, because
  /// dates are less precise.
  private static func fraction(_ bytes: inout Cursor) -> (Int, Int, UInt8?)? {
    var number = 0
    var scale = 1
    var isEmpty = true
    while let byte = bytes.next() {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return isEmpty ? nil : (number, scale, byte) }
      isEmpty = false
      if scale < 1_000_000_000_000_000_000 {
        number = number * 10 + Int(digit)
        scale *= 10
      }
    }
    return isEmpty ? nil : (number, scale, nil)
  }

  // The following two conversions between dates and numbers of days use eras of 400 years, because all eras have the same number of days.
  // Years start in March, which makes the leap day the last day of the year.

  /// Returns the number of days since 1 January 1970 in the proleptic Gregorian calendar; `nil` for a day that does not exist in its
  /// month.
  package static func days(fromYear year: Int, month: Int, day: Int) -> Int? {
    guard 1...12 ~= month, 1...31 ~= day, year.magnitude < 1 << 32 else { return nil }
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    // A day that does not exist, such as 31 April, is counted as a day of the next month. Converting the result back detects this.
    return day <= 28 || civil(fromDays: days) == (year, month, day) ? days : nil
  }

  package static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
