package import Foundation

/// An HTTP date, with a resolution of one second (RFC 9110, section 5.6.7).
///
/// It parses the three forms that a recipient must accept: IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`), RFC 850
/// (`Sunday, 06-Nov-94 08:49:37 GMT`) and asctime (`Sun Nov  6 08:49:37 1994`). It uses no locale and no time zone.
package struct HTTPDate: Sendable, Hashable {
  package let date: Date

  package init(_ date: Date) { self.date = date }

  /// Parses one of the three forms, ignoring case (RFC 9111, section 4.2).
  ///
  /// Returns `nil` for any other text, including other spacing or digits, a nonexistent day, and a weekday that does
  /// not match the date. Second 60 is the first second of the next minute.
  ///
  /// - Parameter now: determines the century of an RFC 850 year: the date is the latest one that is at most 50 years
  ///   after `now`.
  package init?(_ text: String, now: Date = .now) {
    var reader = Reader(text.utf8.map { 65...90 ~= $0 ? $0 + 32 : $0 })
    guard let parsed = reader.imfFixdate() ?? reader.rfc850(now: now) ?? reader.asctime() else { return nil }
    guard let date = parsed.date else { return nil }
    self.date = date
  }

  /// The date as IMF-fixdate, the form to send. For a date outside the years 0 to 9999, it is the nearest second within
  /// them.
  package var text: String {
    let (least, greatest) = (
      Self.days(year: 0, month: 1, day: 1) * 86_400, Self.days(year: 10_000, month: 1, day: 1) * 86_400 - 1
    )
    let given = date.timeIntervalSince1970.rounded(.down)
    let seconds = given >= Double(greatest) ? greatest : given > Double(least) ? Int(given) : least
    let (days, second) = (Self.floored(seconds, 86_400), seconds - Self.floored(seconds, 86_400) * 86_400)
    let (year, month, day) = Self.civil(days: days)
    func padded(_ number: Int, _ width: Int = 2) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let name = Self.weekdays[Self.weekday(days: days)].prefix(3).capitalizedASCII
    let time = [second / 3600, second / 60 % 60, second % 60].map { padded($0) }.joined(separator: ":")
    return "\(name), \(padded(day)) \(Self.months[month - 1].capitalizedASCII) \(padded(year, 4)) \(time) GMT"
  }

  static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
  static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Days from 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = floored(shifted, 400)
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = floored(shifted, 146_097)
    let ofEra = shifted - era * 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let civilMonth = month < 10 ? month + 3 : month - 9
    return (year + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, ofYear - (153 * month + 2) / 5 + 1)
  }

  /// 0 for Sunday; 1970-01-01 was a Thursday.
  static func weekday(days: Int) -> Int { days + 4 - floored(days + 4, 7) * 7 }

  private static func floored(_ dividend: Int, _ divisor: Int) -> Int {
    dividend / divisor - (dividend % divisor < 0 ? 1 : 0)
  }
}

/// The unchecked numbers of a date.
private struct Fields {
  var weekday = 0
  var (year, month, day) = (0, 0, 0)
  var (hour, minute, second) = (0, 0, 0)

  var date: Date? {
    guard 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
    let days = HTTPDate.days(year: year, month: month, day: day)
    // Converting back detects nonexistent days: February 30 would come back as a day in March.
    guard HTTPDate.civil(days: days) == (year, month, day), HTTPDate.weekday(days: days) == weekday else { return nil }
    return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
  }
}

/// Parses each form from the start of the text to its end.
private struct Reader {
  let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  private mutating func take(_ text: String) -> Bool {
    guard bytes[place...].starts(with: text.utf8) else { return false }
    place += text.utf8.count
    return true
  }

  /// The index of the name at the current position, which is consumed.
  private mutating func take(oneOf names: [String]) -> Int? { names.indices.first { take(names[$0]) } }

  private mutating func digits(_ count: Int) -> Int? {
    let found = bytes[place...].prefix(count)
    guard found.count == count, found.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    place += count
    return found.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private mutating func time(into fields: inout Fields) -> Bool {
    guard let hour = digits(2), take(":"), let minute = digits(2), take(":"), let second = digits(2) else {
      return false
    }
    (fields.hour, fields.minute, fields.second) = (hour, minute, second)
    return true
  }

  mutating func imfFixdate() -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = take(oneOf: HTTPDate.weekdays.map { String($0.prefix(3)) }), take(", "),
      let day = digits(2), take(" "), let month = take(oneOf: HTTPDate.months), take(" "), let year = digits(4),
      take(" "),
      time(into: &fields), take(" gmt"), place == bytes.count
    else { return nil }
    (fields.weekday, fields.year, fields.month, fields.day) = (weekday, year, month + 1, day)
    return fields
  }

  mutating func rfc850(now: Date) -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = take(oneOf: HTTPDate.weekdays), take(", "), let day = digits(2), take("-"),
      let month = take(oneOf: HTTPDate.months), take("-"), let short = digits(2), take(" "),
      time(into: &fields), take(" gmt"), place == bytes.count
    else { return nil }
    (fields.weekday, fields.month, fields.day) = (weekday, month + 1, day)
    let bounded = max(-1e11, min(1e11, now.timeIntervalSince1970))
    let today = HTTPDate.civil(days: Int((bounded / 86_400).rounded(.down)))
    fields.year = today.year / 100 * 100 + short
    // Compares whole dates, not years: a date less than 50 years ahead is in the future.
    func isBeyond(_ year: Int) -> Bool {
      let limit = HTTPDate.days(year: today.year + 50, month: today.month, day: today.day)
      return HTTPDate.days(year: year, month: fields.month, day: fields.day) > limit
    }
    while !isBeyond(fields.year + 100) { fields.year += 100 }
    while isBeyond(fields.year) { fields.year -= 100 }
    return fields
  }

  mutating func asctime() -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = take(oneOf: HTTPDate.weekdays.map { String($0.prefix(3)) }), take(" "),
      let month = take(oneOf: HTTPDate.months), take(" "), let day = take(" ") ? digits(1) : digits(2), take(" "),
      time(into: &fields), take(" "), let year = digits(4), place == bytes.count
    else { return nil }
    (fields.weekday, fields.year, fields.month, fields.day) = (weekday, year, month + 1, day)
    return fields
  }
}

extension StringProtocol {
  /// The text with its first letter capitalized, without a locale.
  fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
