import Foundation

/// The shape of a type, one level deep: everything that the library needs to traverse its values.
///
/// ``Archivable/typeShape`` is the shape of an archivable type.
public struct TypeShape: Sendable {
  /// A value without parts.
  package enum Scalar: Sendable {
    case bool, integer, float, double, decimal, string, data, date, url, uuid
    /// A floating-point type other than `Float` and `Double`.
    case otherFloat
  }

  /// Children are types, and a traversal asks for their shapes when it reaches them. A `switch` over it has no
  /// `default`, so that a new case does not compile until each of them handles it.
  package enum Kind: Sendable {
    case scalar(Scalar)
    /// ``ArchiveValue``: any value.
    case untyped
    case optional(Any.Type)
    /// An array, or a type that is archived as one.
    case array(Any.Type)
    case set(Any.Type)
    case dictionary(keys: Any.Type, values: Any.Type)
    case model(any VersionedModel.Type)
    /// A type with a raw value. If the raw value is archivable, it is archived instead.
    case rawValue(Any.Type, isArchivable: Bool)
    /// A type with its own coding.
    case opaque
  }

  package let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// The shape of a type with its own coding.
  public static var opaque: TypeShape { TypeShape(.opaque) }

  /// The shape of a type that is archived as an array. A merge reads and creates its elements.
  public static func array(of element: any Archivable.Type) -> TypeShape { TypeShape(.array(element)) }

  /// The shape of a type that is archived as a set and is an array in JSON.
  public static func set(of element: any Archivable.Type) -> TypeShape { TypeShape(.set(element)) }

  /// The shape of any type. A type that is only Codable does not declare one.
  package init(of type: Any.Type) {
    if let type = Self.archivable(type) {
      self = type.typeShape
      return
    }
    switch type {
    case let type as any OptionalType.Type: self.init(.optional(type.wrappedType))
    case let type as any ArrayType.Type: self.init(.array(type.elementType))
    case let type as any SetType.Type: self.init(.set(type.elementType))
    case let type as any DictionaryType.Type: self.init(.dictionary(keys: type.keyType, values: type.valueType))
    case is any FixedWidthInteger.Type: self.init(.scalar(.integer))
    case is any BinaryFloatingPoint.Type: self.init(.scalar(.otherFloat))
    case let type as any RawRepresentable.Type: self.init(.rawValue(Self.rawType(type), isArchivable: false))
    default: self = .opaque
    }
  }

  /// The shape of the type in an optional; the shape itself if it is not optional.
  package var unwrapped: TypeShape {
    if case .optional(let type) = kind { TypeShape(of: type).unwrapped } else { self }
  }

  /// Whether the type is a dictionary, or a container of some.
  var holdsDictionary: Bool {
    switch kind {
    case .dictionary: true
    case .optional(let type), .array(let type), .set(let type): TypeShape(of: type).holdsDictionary
    case .scalar, .untyped, .model, .rawValue, .opaque: false
    }
  }

  private static func rawType<T: RawRepresentable>(_ type: T.Type) -> Any.Type { T.RawValue.self }

  /// The type as an archivable one; `nil` for any other type. Nothing else casts to `Archivable.Type`.
  package static func archivable(_ type: Any.Type) -> (any Archivable.Type)? { type as? any Archivable.Type }

  /// The type as an archivable one that can be stored and used by any task; `nil` also for a conformance that is isolated
  /// to an actor.
  static func sharedArchivable(_ type: Any.Type) -> (any (Archivable & SendableMetatype).Type)? {
    type as? any (Archivable & SendableMetatype).Type
  }

  /// The type as a model; `nil` for any other type.
  package static func model(_ type: Any.Type) -> (any VersionedModel.Type)? {
    if case .model(let model) = TypeShape(of: type).kind { model } else { nil }
  }

  package var isOptional: Bool { if case .optional = kind { true } else { false } }

  /// The type in an optional; the type itself if it is not optional.
  package static func unwrapped(_ type: Any.Type) -> Any.Type { (type as? any OptionalType.Type)?.wrappedType ?? type }
}

// Conformances that give access to the element types of generic types, whatever these are.

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

/// An array, or a type that is archived as one.
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
extension ContiguousArray: ArrayType {
  package static func made(of elements: [Element]) -> Any { ContiguousArray(elements) }
}

package protocol SetType { static var elementType: Any.Type { get } }
extension Set: SetType { package static var elementType: Any.Type { Element.self } }

package protocol DictionaryType {
  static var keyType: Any.Type { get }
  static var valueType: Any.Type { get }
}
extension Dictionary: DictionaryType {
  package static var keyType: Any.Type { Key.self }
  package static var valueType: Any.Type { Value.self }
}
