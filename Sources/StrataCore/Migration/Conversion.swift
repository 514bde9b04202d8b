import Foundation

/// A change of kind that loses nothing, or fails.
public enum Conversion: Sendable, Hashable, CustomStringConvertible {
  /// Numbers and booleans as text, dates in ISO 8601, URLs and UUIDs as they are written.
  case toString
  /// Text of digits, or a floating-point number without a fraction, as an integer.
  case toInteger
  /// Integers and text as a floating-point number.
  case toDouble
  /// 0, 1 and the text `true` and `false` as a boolean.
  case toBool
  /// Text in ISO 8601 or seconds since 1970 as a date.
  case toDate
  /// Text as a URL.
  case toURL
  /// Text as a UUID.
  case toUUID
  /// One value as an array of it.
  case toArray
  /// Each value by a table; one that the table lacks fails, or becomes `otherwise`.
  case mapping([Value: Value], otherwise: Value? = nil)

  public var description: String {
    switch self {
    case .toString: "to a string"
    case .toInteger: "to an integer"
    case .toDouble: "to a floating-point number"
    case .toBool: "to a boolean"
    case .toDate: "to a date"
    case .toURL: "to a URL"
    case .toUUID: "to a UUID"
    case .toArray: "to an array"
    case .mapping: "by a table"
    }
  }

  package func apply(to value: Value) throws -> Value {
    if let converted = converted(value) { return converted }
    throw ArchiveError(.typeMismatch, "found \(value.kind), which cannot be converted \(self)")
  }

  private func converted(_ value: Value) -> Value? {
    switch (self, value) {
    case (.toString, _): Self.text(of: value).map { .string($0) }
    case (.toInteger, .int), (.toInteger, .uint), (.toInteger, .wideInteger): value
    case (.toInteger, .double(let number)): Int64(exactly: number).map { .int($0) }
    case (.toInteger, .bool(let flag)): .int(flag ? 1 : 0)
    case (.toInteger, .string(let text)): Int64(text).map { .int($0) } ?? UInt64(text).map { .uint($0) }
    case (.toDouble, .string(let text)): Double(text).map { .double($0) }
    case (.toDouble, _): Double(exactlyAs: value).map { .double($0) }
    case (.toBool, .bool), (.toDate, .date), (.toURL, .url), (.toUUID, .uuid), (.toArray, .array): value
    case (.toBool, .int(0)), (.toBool, .string("false")): .bool(false)
    case (.toBool, .int(1)), (.toBool, .string("true")): .bool(true)
    case (.toDate, .string(let text)): ISO8601.date(from: text).map { .date($0) }
    case (.toDate, _): Double(exactlyAs: value).map { .date(Date(timeIntervalSince1970: $0)) }
    case (.toURL, .string(let text)): URL(string: text, encodingInvalidCharacters: false).map { .url($0) }
    case (.toUUID, .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    case (.toArray, _): .array([value])
    case (.mapping(let table, let otherwise), _): table[value] ?? otherwise
    default: nil
    }
  }

  private static func text(of value: Value) -> String? {
    switch value {
    case .string(let text): text
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .uint(let number): String(number)
    case .double(let number): number.description
    case .float(let number): number.description
    case .decimal(let number): number.description
    case .number(let number): number.text
    case .date(let date): ISO8601.string(from: date)
    case .url(let url): url.absoluteString
    case .uuid(let uuid): uuid.uuidString
    default: nil
    }
  }
}
