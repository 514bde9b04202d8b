import Foundation

/// A lossless conversion to another kind of value. Fails with the code `typeMismatch` if information would be lost.
public enum ValueConversion: Sendable, Hashable, CustomStringConvertible {
  /// Converts numbers, booleans, dates, URLs and UUIDs to strings. Dates are written in ISO 8601 format. Fails for a date outside the years
  /// 0 to 9999 or with a precision finer than a nanosecond.
  case toString
  /// Converts strings and whole numbers to an integer of up to 128 bits. Converts booleans to 0 or 1.
  case toInteger
  /// Converts integers, decimals and strings to a double if no digit is lost. For example, `0.1` becomes the double that prints as 0.1. The
  /// conversion fails for 9007199254740993, 1e999 and 3.14159265358979323846.
  case toDouble
  /// Converts integers, floating-point numbers and strings to a decimal without losing digits. Fails for more than 38 digits. A
  /// floating-point number is converted as it is printed, so the double that prints as 0.1 becomes the decimal 0.1.
  case toDecimal
  /// Converts the integers 0 and 1, and the strings `true` and `false`, to a boolean.
  case toBool
  /// Converts a number of seconds since 1970 or a string to a date. A string must contain a date, time and time zone (`date-time` of RFC
  /// 3339), or only a calendar date (`full-date` of RFC 3339), which becomes midnight UTC. The result is the nearest date, because dates
  /// are precise to about a tenth of a microsecond.
  case toDate
  /// Converts a string to a URL.
  case toURL
  /// Converts a string to a UUID.
  case toUUID
  /// Converts a single value to an array with one element.
  case toArray
  /// Looks up a value in the table and replaces it with the entry. A value that is not in the table is replaced with `otherwise`. If
  /// `otherwise` is `nil`, the conversion fails for such a value.
  case mapping([ArchiveValue: ArchiveValue], otherwise: ArchiveValue? = nil)

  public var description: String {
    switch self {
    case .toString: "to a string"
    case .toInteger: "to an integer"
    case .toDouble: "to a floating-point number"
    case .toDecimal: "to a decimal"
    case .toBool: "to a boolean"
    case .toDate: "to a date"
    case .toURL: "to a URL"
    case .toUUID: "to a UUID"
    case .toArray: "to an array"
    case .mapping: "using a table"
    }
  }

  package func apply(to value: ArchiveValue) throws -> ArchiveValue {
    if let converted = converted(value) { return converted }
    throw ArchiveError(.typeMismatch, refusal(of: value.kind))
  }

  /// Returns the error message for a value that cannot be converted. The message lists the values that the conversion accepts.
  private func refusal(of kind: String) -> String {
    switch self {
    case .toString:
      "a value of kind \(kind) cannot be converted to a string; supported values are numbers, booleans, URLs, UUIDs, "
        + "and dates in the years 0 to 9999 with at most nanosecond precision"
    case .toInteger:
      "a value of kind \(kind) cannot be converted to an integer; supported values are booleans, text that consists of "
        + "digits, and whole numbers of at most 128 bits"
    case .toDouble:
      "a value of kind \(kind) cannot be converted to a floating-point number; supported values are numbers and "
        + "numeric text that a double can hold without losing digits"
    case .toDecimal:
      "a value of kind \(kind) cannot be converted to a decimal; supported values are numbers and numeric text with at "
        + "most 38 digits"
    case .toBool:
      "a value of kind \(kind) cannot be converted to a boolean; supported values are 0, 1, and the strings “true” and "
        + "“false”"
    case .toDate:
      "a value of kind \(kind) cannot be converted to a date; supported values are seconds since 1970, and strings "
        + "such as 2019-03-04T12:30:00Z or 2019-03-04"
    case .toURL:
      "a value of kind \(kind) cannot be converted to a URL; the only supported value is a percent-encoded URL string"
    case .toUUID:
      "a value of kind \(kind) cannot be converted to a UUID; the only supported value is a string such as "
        + "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
    case .toArray: "a value of kind \(kind) cannot be converted to an array"
    case .mapping:
      "a value of kind \(kind) is not in the conversion table; add the value to the table, or pass a fallback value in "
        + "the argument “otherwise”"
    }
  }

  private func converted(_ value: ArchiveValue) -> ArchiveValue? {
    switch (self, value) {
    case (.toBool, .bool), (.toDate, .date), (.toURL, .url), (.toUUID, .uuid), (.toArray, .array): value
    case (.toString, _): Self.text(of: value).map { .string($0) }
    case (.toInteger, .bool(let flag)): .int(flag ? 1 : 0)
    case (.toInteger, .string(let text)): ExactNumber(spelledAs: text)?.integer
    case (.toInteger, _): value.wholeNumber
    case (.toDouble, _): Double(withoutLossOf: value).map { .double($0) }
    case (.toDecimal, .string(let text)): ExactNumber(spelledAs: text)?.decimal.map { .decimal($0) }
    case (.toDecimal, _): ExactNumber(value)?.decimal.map { .decimal($0) }
    case (.toBool, _): value.lenientBool.map { .bool($0) }
    case (.toDate, .string(let text)): (ISO8601.date(from: text) ?? ISO8601.midnight(ofDay: text)).map { .date($0) }
    case (.toDate, _): Double(withoutLossOf: value).flatMap(Self.date).map { .date($0) }
    case (.toURL, .string(let text)): URL(exactly: text).map { .url($0) }
    case (.toUUID, .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    case (.toArray, _): .array([value])
    case (.mapping(let table, let otherwise), _): table[value] ?? otherwise
    default: nil
    }
  }

  /// Returns the text of a value. Returns `nil` if the value has no text, or if it is a date that would lose digits because it is more
  /// precise than a nanosecond.
  private static func text(of value: ArchiveValue) -> String? {
    guard let text = value.scalarText else { return nil }
    if case .date(let date) = value, ISO8601.date(from: text) != date { return nil }
    return text
  }

  private static func date(since1970 seconds: Double) -> Date? {
    seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil
  }
}
