package import Foundation

// Lossless conversions between kinds of scalars. Migrations, JSON and lenient fields use the same conversions.

extension ArchiveValue {
  /// The text of a scalar, from which the same scalar can be parsed: numbers as digits, booleans as `true` and `false`, dates in ISO 8601
  /// format in UTC, and URLs and UUIDs in their usual form. `nil` for null, data, references and collections, and for a date outside the
  /// years 0 to 9999.
  package var scalarText: String? {
    switch self {
    case .string(let text): text
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .uint(let number): String(number)
    case .wideInteger(let number): number.description
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

  /// The number as an integer; `nil` if the value is not a number, or if the number has a fraction or more than 128
  /// bits.
  package var wholeNumber: ArchiveValue? {
    switch self {
    case .int, .uint, .wideInteger: self
    case .double(let number): WideInteger(exactly: number).map { ArchiveValue($0) }
    case .float(let number): WideInteger(exactly: Double(number)).map { ArchiveValue($0) }
    default: ExactNumber(self)?.integer
    }
  }

  package init(_ integer: WideInteger) {
    if let small = integer.exactly(Int64.self) {
      self = .int(small)
    } else if let large = integer.exactly(UInt64.self) {
      self = .uint(large)
    } else {
      self = .wideInteger(integer)
    }
  }

  /// The value as a boolean; `nil` unless it is a boolean, the integer 0 or 1, or the text `true` or `false`.
  package var lenientBool: Bool? {
    switch self {
    case .bool(let flag): flag
    case .int(0), .string("false"): false
    case .int(1), .string("true"): true
    default: nil
    }
  }
}

extension Double {
  /// Converts an integer or a floating-point number, such as `3` to 3.0. Returns `nil` for any other kind of value, or
  /// if a double cannot represent the number exactly, such as 2^53 + 1.
  package init?(exactlyAs value: ArchiveValue) {
    switch value {
    case .double(let value): self = value
    case .float(let value): self.init(value)
    case .int(let value): self.init(exactly: value)
    case .uint(let value): self.init(exactly: value)
    default: return nil
    }
  }

  /// Converts a number or its text to the double that has the same integer value or is printed with the same digits.
  /// Returns `nil` if no such double exists, for example for 9007199254740993, 1e999 and 3.14159265358979323846.
  package init?(withoutLossOf value: ArchiveValue) {
    switch value {
    case .wideInteger(let integer):
      guard let magnitude = Double(exactly: integer.magnitude) else { return nil }
      self = integer.isNegative ? -magnitude : magnitude
    case .decimal, .number, .string:
      let number = if case .string(let text) = value { ExactNumber(spelledAs: text) } else { ExactNumber(value) }
      guard let number, let text = value.scalarText, let double = Double(text), double.isFinite else { return nil }
      let isWhole = number.integer.map { $0 == ArchiveValue.double(double).wholeNumber } ?? false
      guard isWhole || ExactNumber(.double(double)) == number else { return nil }
      self = double
    default: self.init(exactlyAs: value)
    }
  }
}

extension URL {
  /// Parses a URL without changing its text. Returns `nil` if the text has invalid characters, which Foundation would accept and escape.
  package init?(exactly text: String) {
    self.init(string: text)
    if relativeString != text { return nil }
  }
}
