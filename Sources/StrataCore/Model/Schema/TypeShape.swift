import Foundation

/// The shape of a type, one level deep. Children are types, and a walker asks for their shapes when it reaches them.
///
/// A `switch` over it has no `default`: a new case does not compile until each of them has a rule for it.
package enum TypeShape: Sendable {
  /// A value without parts.
  package enum Scalar: Sendable {
    case bool, integer, float, double, decimal, string, data, date, url, uuid
    /// A floating-point type other than `Float` and `Double`.
    case otherFloat
  }

  case scalar(Scalar)
  /// ``ArchiveValue``: any value.
  case untyped
  case optional(Any.Type)
  /// An array, or what is archived as one.
  case array(Any.Type)
  case set(Any.Type)
  case dictionary(keys: Any.Type)
  case model(any VersionedModel.Type)
  /// A type with a raw value, in whose place an archivable one is archived.
  case rawValue(Any.Type, isArchivable: Bool)
  /// A type with a coding of its own.
  case opaque

  /// The shape of a type. A lookup of a conformance is slow, so a caller keeps a shape that it needs often.
  package init(of type: Any.Type) {
    switch type {
    case is ArchiveValue.Type: self = .untyped
    case let type as any OptionalType.Type: self = .optional(type.wrappedType)
    case is Bool.Type: self = .scalar(.bool)
    case is any FixedWidthInteger.Type: self = .scalar(.integer)
    case is Double.Type: self = .scalar(.double)
    case is Float.Type: self = .scalar(.float)
    case is any BinaryFloatingPoint.Type: self = .scalar(.otherFloat)
    case is Decimal.Type: self = .scalar(.decimal)
    case is String.Type: self = .scalar(.string)
    case is Data.Type: self = .scalar(.data)
    case is Date.Type: self = .scalar(.date)
    case is URL.Type: self = .scalar(.url)
    case is UUID.Type: self = .scalar(.uuid)
    case let type as any ArrayType.Type: self = .array(type.elementType)
    case let type as any SetType.Type: self = .set(type.elementType)
    case let type as any DictionaryType.Type: self = .dictionary(keys: type.keyType)
    case let type as any VersionedModel.Type: self = .model(type)
    case let type as any RawRepresentable.Type:
      self = .rawValue(Self.rawType(type), isArchivable: type is any Archivable.Type)
    default: self = .opaque
    }
  }

  private static func rawType<T: RawRepresentable>(_ type: T.Type) -> Any.Type { T.RawValue.self }

  /// The type in an optional; the type itself if it is none.
  package static func unwrapped(_ type: Any.Type) -> Any.Type { (type as? any OptionalType.Type)?.wrappedType ?? type }
}

// Conformances by which the shape of a generic type is found. They hold whatever the type of the elements.

package protocol OptionalType {
  static var absentValue: Self { get }
  static var wrappedType: Any.Type { get }
  var isNone: Bool { get }
}
extension Optional: OptionalType {
  package static var absentValue: Wrapped? { nil }
  package static var wrappedType: Any.Type { Wrapped.self }
  package var isNone: Bool { self == nil }
}

/// An array, and what is archived as one.
package protocol ArrayType<Element> {
  associatedtype Element
  /// A value of the type with these elements.
  static func made(of elements: [Element]) -> Any
}
extension ArrayType {
  package static var elementType: Any.Type { Element.self }
}
extension Array: ArrayType {
  package static func made(of elements: [Element]) -> Any { elements }
}

package protocol SetType { static var elementType: Any.Type { get } }
extension Set: SetType { package static var elementType: Any.Type { Element.self } }

package protocol DictionaryType { static var keyType: Any.Type { get } }
extension Dictionary: DictionaryType { package static var keyType: Any.Type { Key.self } }
