public import Foundation

extension ReversibleTransformer where Input == String, Output == Date {
  /// Converts between dates and strings in RFC 3339 format, such as `2011-01-26T19:01:12Z`, optionally with fractional seconds or a time
  /// zone offset. Dates are written in UTC.
  public static var iso8601: Self {
    text("the text is not a date in the form 2011-01-26T19:01:12Z", { ISO8601.date(from: $0) }) { date in
      guard let text = ISO8601.string(from: date) else {
        throw TransformError("the date is outside the years 0 to 9999", input: date)
      }
      return text
    }
  }

  /// Converts between dates and strings in a Unicode date format (UTS #35), such as `yyyy-MM-dd`.
  ///
  /// The locale, time zone and calendar are fixed, because a string must have the same meaning on every machine. A string is accepted only
  /// if formatting the parsed date gives the same string, apart from capitalization and the spelling of time zones. For example, this rule
  /// rejects a day that the month does not have, a wrong weekday, spaces around the string, the year 24 for `yyyy`, and 5 for `MM`.
  ///
  /// - Parameters:
  ///   - format: the format pattern. JSON adapters and stores reject a transformer with an empty pattern.
  ///   - locale: the locale of names, such as the names of months; by default `en_US_POSIX`.
  ///   - timeZone: the time zone of strings that do not contain a time zone; by default UTC.
  ///   - calendar: the calendar; by default the Gregorian calendar.
  ///   - defaultDate: the date that supplies the components missing from the format.
  public static func date(
    format: String, locale: Locale = Locale(identifier: "en_US_POSIX"), timeZone: TimeZone = .gmt,
    calendar: Calendar = Calendar(identifier: .gregorian), defaultDate: Date? = nil
  ) -> Self {
    // The formatter is created only once and shared between threads, because creating it is expensive. The lock
    // protects its state.
    let formatter = Mutex(
      StrictDateFormatter(format) { format in
        var calendar = calendar
        calendar.timeZone = timeZone
        let formatter = DateFormatter()
        formatter.calendar = calendar
        formatter.locale = locale
        formatter.timeZone = timeZone
        formatter.dateFormat = format
        formatter.isLenient = false
        formatter.defaultDate = defaultDate
        return formatter
      })
    var transformer = text(
      "the text is not a date in the format \(format)",
      { text in format.isEmpty ? nil : formatter.withLock { $0.date(from: text) } }
    ) { date in formatter.withLock { $0.string(from: date) } }
    if format.isEmpty { transformer.problem = "the date format is empty; specify a format such as yyyy-MM-dd" }
    return transformer
  }
}

extension ReversibleTransformer where Input == Double, Output == Date {
  /// Converts between seconds since 1970, with or without a fraction, and the nearest date. Dates are precise to about
  /// a tenth of a microsecond.
  public static var secondsSince1970: Self {
    Self({ try date($0, 1) }, reverse: { $0.timeIntervalSince1970 })
  }

  private static func date(_ number: Double, _ scale: Double) throws -> Date {
    guard number.isFinite else { throw TransformError("the number is not finite", input: number) }
    return Date(timeIntervalSince1970: number / scale)
  }
}

extension ReversibleTransformer where Input == Int64, Output == Date {
  /// Converts between whole milliseconds since 1970 and dates. Dates are rounded to the nearest millisecond. A number
  /// is rejected if converting its date back would give a different number.
  public static var millisecondsSince1970: Self {
    Self({ try date($0, 1000) }, reverse: { try whole($0, 1000) })
  }

  /// Converts between whole seconds since 1970 and dates. Dates are rounded to the nearest second. A number is rejected
  /// if converting its date back would give a different number.
  public static var wholeSecondsSince1970: Self {
    Self({ try date($0, 1) }, reverse: { try whole($0, 1) })
  }

  private static func date(_ number: Int64, _ scale: Double) throws -> Date {
    let date = Date(timeIntervalSince1970: Double(number) / scale)
    guard Int64(exactly: (date.timeIntervalSince1970 * scale).rounded()) == number else {
      throw TransformError("the number has more digits than a date can represent", input: number)
    }
    return date
  }

  private static func whole(_ date: Date, _ scale: Double) throws -> Int64 {
    guard let number = Int64(exactly: (date.timeIntervalSince1970 * scale).rounded()) else {
      throw TransformError("the date is out of range for a 64-bit number", input: date)
    }
    return number
  }
}
