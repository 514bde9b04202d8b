internal import Foundation

/// A time as HTTP writes it, to the second (RFC 9110, section 5.6.7).
enum HTTPTime {
  /// The form to send: `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func text(_ date: Date) -> String { formatter("EEE, dd MMM yyyy HH:mm:ss 'GMT'").string(from: date) }

  /// Reads any of the three forms that a recipient must read; `nil` for other text.
  ///
  /// - Parameter now: a year of two digits is the last such one that is not more than 50 years after this.
  static func date(_ text: String, now: Date) -> Date? {
    // The day of the month of asctime may have a space in place of its first digit.
    let text = text.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "  ", with: " 0")
    for form in ["EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM dd HH:mm:ss yyyy"] {
      let formatter = formatter(form)
      formatter.twoDigitStartDate = formatter.calendar.date(byAdding: .year, value: -50, to: now)
      // A formatter also takes what only looks like its form, and other days of the week.
      if let date = formatter.date(from: text), formatter.string(from: date) == text { return date }
    }
    return nil
  }

  /// Dates as they are sent and compared have no parts of a second.
  static func whole(_ date: Date) -> Date { Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)) }

  private static func formatter(_ form: String) -> DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.calendar = Calendar(identifier: .gregorian)
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.isLenient = false
    formatter.dateFormat = form
    return formatter
  }
}
