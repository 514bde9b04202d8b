public import Foundation

extension ReversibleTransformer where Input == String, Output == Date {
  /// Text and date, as RFC 3339 spells them: `2011-01-26T19:01:12Z`, with decimals and offsets. Written in UTC.
  public static var iso8601: Self {
    text("the text is not a date in the form 2011-01-26T19:01:12Z", { ISO8601.date(from: $0) }) { date in
      guard let text = ISO8601.string(from: date) else {
        throw TransformError("the date is outside the years 0 to 9999", input: date)
      }
      return text
    }
  }

  /// Text and date in a format of Unicode's (UTS #35): `yyyy-MM-dd`.
  ///
  /// Everything that the text depends on is pinned, so that it means the same on every machine. A text that the date would
  /// not be written as is refused, but for capitals and the spelling of zones: a day that its month does not have, a wrong
  /// weekday, spaces around it, the year 24 for `yyyy`, 5 for `MM`.
  ///
  /// - Parameters:
  ///   - format: the pattern. An empty one is a mistake in the declaration.
  ///   - locale: the language of names; `en_US_POSIX` unless given.
  ///   - timeZone: the zone of texts that name none; UTC unless given.
  ///   - calendar: the calendar; the Gregorian one unless given.
  ///   - defaultDate: what fills the parts that the format lacks.
  public static func date(
    format: String, locale: Locale = Locale(identifier: "en_US_POSIX"), timeZone: TimeZone = .gmt,
    calendar: Calendar = Calendar(identifier: .gregorian), defaultDate: Date? = nil
  ) -> Self {
    let formatter = SharedFormatter {
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
      }
    }
    var transformer = text(
      "the text is not a date of the format \(format)",
      { text in format.isEmpty ? nil : formatter { $0.date(from: text) } }
    ) { date in formatter { $0.string(from: date) } }
    if format.isEmpty { transformer.problem = "a date format is empty" }
    return transformer
  }
}

extension ReversibleTransformer where Input == Double, Output == Date {
  /// Seconds since 1970, with or without a fraction: the nearest date, since dates are no finer than about a tenth of a
  /// microsecond.
  public static var secondsSince1970: Self {
    Self({ try date($0, 1) }, reverse: { $0.timeIntervalSince1970 })
  }

  private static func date(_ number: Double, _ scale: Double) throws -> Date {
    guard number.isFinite else { throw TransformError("the number is not finite", input: number) }
    return Date(timeIntervalSince1970: number / scale)
  }
}

extension ReversibleTransformer where Input == Int64, Output == Date {
  /// Whole milliseconds since 1970; written rounded to the nearest one. A number that its date does not give back is refused.
  public static var millisecondsSince1970: Self {
    Self({ try date($0, 1000) }, reverse: { try whole($0, 1000) })
  }

  /// Whole seconds since 1970; written rounded to the nearest one. A number that its date does not give back is refused.
  public static var wholeSecondsSince1970: Self {
    Self({ try date($0, 1) }, reverse: { try whole($0, 1) })
  }

  private static func date(_ number: Int64, _ scale: Double) throws -> Date {
    let date = Date(timeIntervalSince1970: Double(number) / scale)
    guard Int64(exactly: (date.timeIntervalSince1970 * scale).rounded()) == number else {
      throw TransformError("the number has more digits than a date holds", input: number)
    }
    return date
  }

  private static func whole(_ date: Date, _ scale: Double) throws -> Int64 {
    guard let number = Int64(exactly: (date.timeIntervalSince1970 * scale).rounded()) else {
      throw TransformError("the date is beyond what 64 bits count", input: date)
    }
    return number
  }
}
