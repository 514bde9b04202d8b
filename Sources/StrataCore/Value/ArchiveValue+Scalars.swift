package import Foundation

// Changes of kind that lose nothing: what migrations, JSON and lenient fields have in common.

extension ArchiveValue {
  /// The text of a scalar, from which the same one can be read: digits of numbers, `true` and `false`, dates in ISO 8601 in
  /// UTC, URLs and UUIDs as they are written. `nil` for data, for a date outside the years 0 to 9999, and for what holds
  /// other values.
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

  /// The number as an integer; `nil` where it has a fraction or more digits than 128 bits, and for anything but a number.
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

  /// 0, 1, `true` and `false` as a boolean; `nil` for anything else.
  package var truth: Bool? {
    switch self {
    case .bool(let flag): flag
    case .int(0), .string("false"): false
    case .int(1), .string("true"): true
    default: nil
    }
  }
}

extension Double {
  /// The number that the value holds, where a double holds it exactly: `3` is 3.0, and 2^53 + 1 is refused.
  package init?(exactlyAs value: ArchiveValue) {
    switch value {
    case .double(let value): self = value
    case .float(let value): self.init(value)
    case .int(let value): self.init(exactly: value)
    case .uint(let value): self.init(exactly: value)
    default: return nil
    }
  }

  /// The double of a number or of its text where no digit is lost: the integer itself, and else the double that prints the
  /// same digits. 9007199254740993, 1e999 and 3.14159265358979323846 are refused.
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
  /// The URL of a text that is one as it is. Foundation would escape what is no URL and call it one.
  package init?(exactly text: String) {
    self.init(string: text)
    if relativeString != text { return nil }
  }
}
