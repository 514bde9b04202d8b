import Foundation

/// A form of a value that a field accepts besides the exact one. Writing always uses the exact one.
public enum JSONLenience: String, Sendable, Hashable, CaseIterable {
  /// Text of digits for a number: `"12"`.
  case numericString
  /// A floating-point number without a fraction for an integer: `3.0`.
  case wholeNumber
  /// 0 and 1 for a boolean.
  case booleanNumber
  /// `"true"` and `"false"` for a boolean.
  case booleanString
  /// A number for text: `12` becomes `"12"`.
  case stringFromNumber
  /// Empty text for null.
  case emptyStringAsNull
  /// One value for an array of it.
  case singleElement
}

/// What a field holds, as far as lenience depends on it.
enum FieldKind: Hashable {
  case integer, number, bool, string, array, other

  init(_ type: Any.Type) {
    if let type = type as? any OptionalType.Type {
      self.init(type.wrappedType)
    } else if type is any FixedWidthInteger.Type {
      self = .integer
    } else if type is any BinaryFloatingPoint.Type || type is Decimal.Type {
      self = .number
    } else if type is Bool.Type {
      self = .bool
    } else if type is String.Type {
      self = .string
    } else if type is any ArrayType.Type {
      self = .array
    } else if let type = type as? any RawRepresentable.Type {
      self = Self.rawKind(type)
    } else {
      self = .other
    }
  }

  private static func rawKind<T: RawRepresentable>(_ type: T.Type) -> FieldKind { FieldKind(T.RawValue.self) }

  func allows(_ lenience: JSONLenience) -> Bool {
    switch lenience {
    case .numericString: self == .integer || self == .number
    case .wholeNumber: self == .integer
    case .booleanNumber, .booleanString: self == .bool
    case .stringFromNumber: self == .string
    case .emptyStringAsNull: true
    case .singleElement: self == .array
    }
  }
}

extension JSONLenience {
  /// The value in the exact form, or `nil` where this lenience does not apply to it.
  func exact(_ value: ArchiveValue) -> ArchiveValue? {
    switch (self, value) {
    case (.numericString, .string(let text)): Self.number(text)
    // By the digits in the text: 1e23 has 23 zeros, and the nearest double is another integer.
    case (.wholeNumber, .double), (.wholeNumber, .decimal), (.wholeNumber, .number): ExactNumber(value)?.integer
    case (.booleanNumber, .int), (.booleanString, .string): value.truth.map { .bool($0) }
    case (.stringFromNumber, .string), (.stringFromNumber, .bool): nil
    case (.stringFromNumber, _): value.scalarText.map { .string($0) }
    case (.emptyStringAsNull, .string("")): .null
    case (.singleElement, .array), (.singleElement, .null): nil
    case (.singleElement, _): .array([value])
    default: nil
    }
  }

  /// The number that a text is in the form of JSON's, so no hexadecimal digits and no infinity, with all its digits; or
  /// an integer with zeros before it.
  private static func number(_ text: String) -> ArchiveValue? {
    guard let first = text.utf8.first, first == UInt8(ascii: "-") || 48...57 ~= first else { return nil }
    guard NumberText(text) != nil else { return Int128(text).map { .integer($0) } }
    let isInteger = text.utf8.dropFirst().allSatisfy { 48...57 ~= $0 }
    return ByteBuffer.withUTF8(of: text) { ArchiveValue.number(ofJSON: $0.bytes, isInteger: isInteger) }
  }
}

/// Tells arrays, and what is archived as they are, apart at run time.
package protocol ArrayType<Element> {
  associatedtype Element
  /// What a field of the type holds for elements that were made already.
  static func made(of elements: [Element]) -> Any
}
extension ArrayType {
  package static var elementType: Any.Type { Element.self }
}
extension Array: ArrayType {
  package static func made(of elements: [Element]) -> Any { elements }
}
