import Foundation

/// A conversion that lets a field accept JSON values of a different type, such as the string `"12"` for a number. Fields are always written
/// with their exact JSON type.
public enum JSONCoercion: String, Sendable, Hashable, CaseIterable {
  /// Accepts a string of digits as a number: `"12"`.
  case numericString
  /// Accepts a floating-point number without a fraction as an integer: `3.0`.
  case wholeNumber
  /// Accepts `0` and `1` as booleans.
  case booleanNumber
  /// Accepts `"true"` and `"false"` as booleans.
  case booleanString
  /// Accepts a number as a string: `12` becomes `"12"`.
  case stringFromNumber
  /// Accepts an empty string as null.
  case emptyStringAsNull
  /// Accepts a single value as an array with one element.
  case singleElement
}

extension JSONCoercion {
  /// Returns whether the coercion applies to fields of the given type. An optional is treated like its wrapped type. A type with a raw
  /// value is treated like the type of the raw value.
  func isFor(_ type: Any.Type) -> Bool {
    switch (self, TypeShape(of: type).kind) {
    case (.emptyStringAsNull, _): true
    case (_, .optional(let type)), (_, .rawValue(let type, _)): isFor(type)
    case (_, .scalar(let scalar)): isFor(scalar)
    case (.singleElement, .array): true
    case (_, .array), (_, .untyped), (_, .set), (_, .dictionary), (_, .model), (_, .opaque): false
    }
  }

  private func isFor(_ scalar: TypeShape.Scalar) -> Bool {
    switch scalar {
    case .integer: self == .numericString || self == .wholeNumber
    case .float, .double, .otherFloat, .decimal: self == .numericString
    case .bool: self == .booleanNumber || self == .booleanString
    case .string: self == .stringFromNumber
    case .data, .date, .url, .uuid: false
    }
  }

  /// Converts a value to the JSON type that the field requires. Returns `nil` if this coercion does not apply to the value.
  func exact(_ value: ArchiveValue) -> ArchiveValue? {
    switch (self, value) {
    case (.numericString, .string(let text)): Self.number(text)
    // The integer is computed from the decimal digits. Converting to a double first could change it: the double nearest to 1e23 is a
    // different integer.
    case (.wholeNumber, .double), (.wholeNumber, .decimal), (.wholeNumber, .number): ExactNumber(value)?.integer
    case (.booleanNumber, .int), (.booleanString, .string): value.lenientBool.map { .bool($0) }
    case (.stringFromNumber, .string), (.stringFromNumber, .bool): nil
    case (.stringFromNumber, _): value.scalarText.map { .string($0) }
    case (.emptyStringAsNull, .string("")): .null
    case (.singleElement, .array), (.singleElement, .null): nil
    case (.singleElement, _): .array([value])
    default: nil
    }
  }

  /// Parses a number in JSON syntax, keeping all of its digits. Unlike JSON, this function also accepts an integer with leading zeros.
  /// Texts such as `0x1F` and `inf` are rejected.
  private static func number(_ text: String) -> ArchiveValue? {
    guard let first = text.utf8.first, first == UInt8(ascii: "-") || 48...57 ~= first else { return nil }
    guard NumberText(text) != nil else { return WideInteger(text).map { ArchiveValue($0) } }
    let isInteger = text.utf8.dropFirst().allSatisfy { 48...57 ~= $0 }
    return ByteBuffer.withUTF8(of: text) { ArchiveValue.number(ofJSON: $0.bytes, isInteger: isInteger) }
  }
}
