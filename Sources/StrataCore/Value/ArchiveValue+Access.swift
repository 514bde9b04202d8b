import Foundation

extension ArchiveValue {
  /// Whether the value is an explicit null.
  public var isNull: Bool { if case .null = self { true } else { false } }

  /// The boolean, or `nil` for any other kind of value. The integer 1 is not `true`.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The string, or `nil` for any other kind of value.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// The integer, or `nil` if the value is not an integer or does not fit into an `Int`. A floating-point number is not
  /// an integer.
  public var intValue: Int? { integer(as: Int.self) }

  /// The integer in `int`, `uint` or `wideInteger`; `nil` for any other kind of value.
  package var wideInteger: WideInteger? {
    switch self {
    case .int(let value): WideInteger(value)
    case .uint(let value): WideInteger(value)
    case .wideInteger(let value): value
    default: nil
    }
  }

  /// Returns the integer as a `T`, or `nil` if the value is not an integer or `T` cannot represent the integer.
  public func integer<T: FixedWidthInteger>(as type: T.Type) -> T? {
    switch self {
    case .int(let value): T(exactly: value)
    case .uint(let value): T(exactly: value)
    case .wideInteger(let value): value.exactly(T.self)
    default: nil
    }
  }

  /// The number as a double, or `nil` if the value is not a number or is beyond the range of a double. Integers beyond
  /// 2^53, and numbers with more digits than a double can represent, are rounded.
  public var doubleValue: Double? {
    switch self {
    case .double(let value): value
    case .float(let value): Double(value)
    case .int(let value): Double(value)
    case .uint(let value): Double(value)
    case .wideInteger(let value): Double(value.description)
    case .decimal(let value): value.isFinite ? Double(value.description) : nil
    case .number(let value): Double(value.text).flatMap { $0.isFinite ? $0 : nil }
    default: nil
    }
  }

  /// The elements of an array or a set, or `nil` for any other kind of value.
  public var arrayValue: [ArchiveValue]? {
    switch self {
    case .array(let elements), .set(let elements): elements
    default: nil
    }
  }

  /// The object without a type name, or `nil` for any other kind of value. A record is a different kind of value.
  public var objectValue: ArchiveObject? { if case .object(let value) = self { value } else { nil } }

  /// The record, or `nil` for any other kind of value.
  public var recordValue: ModelRecord? { if case .record(let value) = self { value } else { nil } }

  /// The value under a key of a record or an object; `nil` if the key is absent, or if this value is neither a record nor an object.
  ///
  /// Setting `nil` removes the key. Setting a key of null turns null into an object. Setting a key of any other kind of
  /// value is a programming error and stops the program. To get an error instead, use ``set(_:at:)``.
  public subscript(key: String) -> ArchiveValue? {
    get {
      switch self {
      case .object(let object): object[key]
      case .record(let record): record[key]
      default: nil
      }
    }
    set { self[ValuePath(key: key)] = newValue }
  }

  /// The kind of this value as a noun, for messages. The text never contains user data.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .int, .uint, .wideInteger: "integer"
    case .float, .double: "floating-point number"
    case .decimal: "decimal"
    case .number: "number"
    case .string: "string"
    case .data: "data"
    case .date: "date"
    case .url: "URL"
    case .uuid: "UUID"
    case .array: "array"
    case .set: "set"
    case .object: "object"
    case .map: "map"
    case .record: "record"
    case .reference: "reference"
    case .graph: "graph"
    }
  }
}

extension ArchiveValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: ArchiveValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, ArchiveValue)...) {
    self = .object(ArchiveObject(elements.map { ArchiveObject.Entry(key: $0.0, value: $0.1) }))
  }
}
