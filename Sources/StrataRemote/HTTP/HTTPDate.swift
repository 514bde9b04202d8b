package import Foundation
internal import StrataCore

/// An HTTP date, with a resolution of one second (RFC 9110, section 5.6.7).
///
/// The parser accepts the three forms that a recipient must accept: IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`), RFC
/// 850 (`Sunday, 06-Nov-94 08:49:37 GMT`) and asctime (`Sun Nov  6 08:49:37 1994`). The parser does not depend on a
/// locale or a time zone.
package struct HTTPDate: Sendable, Hashable {
  package let date: Date

  /// Parses a date in one of the three forms, ignoring case (RFC 9111, section 4.2).
  ///
  /// Returns `nil` for any other text, for example if the spacing or the number of digits differs, the day does not
  /// exist, or the weekday does not match the date. A leap second (second 60) is read as the first second of the next
  /// minute.
  ///
  /// - Parameter now: decides the century of the two-digit year in an RFC 850 date: the result is the latest date that
  ///   is at most 50 years after `now`.
  package init?(_ text: String, now: Date = .now) {
    var reader = Reader(text.utf8.map { 65...90 ~= $0 ? $0 + 32 : $0 })
    guard let parsed = reader.imfFixdate() ?? reader.rfc850(now: now) ?? reader.asctime() else { return nil }
    guard let date = parsed.date else { return nil }
    self.date = date
  }

  static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
  static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Returns the day of the week of a date, from 0 for Sunday to 6 for Saturday.
  ///
  /// - Parameter days: the number of days since 1970-01-01, which was a Thursday.
  static func weekday(days: Int) -> Int { ((days + 4) % 7 + 7) % 7 }
}

/// The components of a parsed date, which may still be out of range.
private struct Fields {
  var weekday = 0
  var (year, month, day) = (0, 0, 0)
  var (hour, minute, second) = (0, 0, 0)

  var date: Date? {
    guard 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second,
      let days = ISO8601.days(fromYear: year, month: month, day: day), HTTPDate.weekday(days: days) == weekday
    else { return nil }
    return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
  }
}

/// A parser for the three forms of an HTTP date. A form must match the whole text.
private struct Reader {
  let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  private mutating func consume(_ text: String) -> Bool {
    guard bytes[place...].starts(with: text.utf8) else { return false }
    place += text.utf8.count
    return true
  }

  /// Consumes the name at the current position if it is one of the given names. Returns its index in `names`, or `nil`
  /// if there is no match.
  private mutating func consume(oneOf names: [String]) -> Int? { names.indices.first { consume(names[$0]) } }

  private mutating func digits(_ count: Int) -> Int? {
    let found = bytes[place...].prefix(count)
    guard found.count == count, found.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    place += count
    return found.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private mutating func time(into fields: inout Fields) -> Bool {
    guard let hour = digits(2), consume(":"), let minute = digits(2), consume(":"), let second = digits(2) else {
      return false
    }
    (fields.hour, fields.minute, fields.second) = (hour, minute, second)
    return true
  }

  mutating func imfFixdate() -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = consume(oneOf: HTTPDate.weekdays.map { String($0.prefix(3)) }), consume(", "),
      let day = digits(2), consume(" "), let month = consume(oneOf: HTTPDate.months), consume(" "),
      let year = digits(4),
      consume(" "),
      time(into: &fields), consume(" gmt"), place == bytes.count
    else { return nil }
    (fields.weekday, fields.year, fields.month, fields.day) = (weekday, year, month + 1, day)
    return fields
  }

  mutating func rfc850(now: Date) -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = consume(oneOf: HTTPDate.weekdays), consume(", "), let day = digits(2), consume("-"),
      let month = consume(oneOf: HTTPDate.months), consume("-"), let short = digits(2), consume(" "),
      time(into: &fields), consume(" gmt"), place == bytes.count
    else { return nil }
    (fields.weekday, fields.month, fields.day) = (weekday, month + 1, day)
    let bounded = max(-1e11, min(1e11, now.timeIntervalSince1970))
    let today = ISO8601.civil(fromDays: Int((bounded / 86_400).rounded(.down)))
    fields.year = today.year / 100 * 100 + short
    // Complete dates are compared instead of years, because the limit of 50 years falls within the year
    // `today.year + 50`.
    func isBeyond(_ year: Int) -> Bool {
      (year, fields.month, fields.day) > (today.year + 50, today.month, today.day)
    }
    while !isBeyond(fields.year + 100) { fields.year += 100 }
    while isBeyond(fields.year) { fields.year -= 100 }
    return fields
  }

  mutating func asctime() -> Fields? {
    place = 0
    var fields = Fields()
    guard let weekday = consume(oneOf: HTTPDate.weekdays.map { String($0.prefix(3)) }), consume(" "),
      let month = consume(oneOf: HTTPDate.months), consume(" "), let day = consume(" ") ? digits(1) : digits(2),
      consume(" "),
      time(into: &fields), consume(" "), let year = digits(4), place == bytes.count
    else { return nil }
    (fields.weekday, fields.year, fields.month, fields.day) = (weekday, year, month + 1, day)
    return fields
  }
}
