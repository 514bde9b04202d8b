import Foundation

/// The structure of a type, one level deep: scalar, optional, container, model or opaque. The library uses shapes to
/// traverse values.
///
/// An archivable type declares its shape as ``Archivable/typeShape``.
public struct TypeShape: Sendable {
  /// The kinds of values that contain no other values.
  package enum Scalar: Sendable {
    case bool, integer, float, double, decimal, string, data, date, url, uuid
    /// A floating-point type other than `Float` and `Double`.
    case otherFloat
  }

  /// The kind of a type. Nested types are stored as types instead of shapes, so that shapes are computed only on
  /// demand. No `switch` over a kind has a `default` case, so that the compiler reports every `switch` when a kind is
  /// added.
  package enum Kind: Sendable {
    case scalar(Scalar)
    /// ``ArchiveValue``, which can contain any value.
    case untyped
    case optional(Any.Type)
    /// An array, or a type that is archived as an array.
    case array(Any.Type)
    case set(Any.Type)
    case dictionary(keys: Any.Type, values: Any.Type)
    case model(any VersionedModel.Type)
    /// A type with raw values of the given type. `isArchivable` tells whether the type conforms to ``Archivable``, in
    /// which case a value is archived as its raw value.
    case rawValue(Any.Type, isArchivable: Bool)
    /// A type with its own coding, whose structure is unknown.
    case opaque
  }

  package let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// The shape of a type with its own coding.
  public static var opaque: TypeShape { TypeShape(.opaque) }

  /// The shape of a type that is archived as an array. Merges can access the elements of such a type.
  public static func array(of element: any Archivable.Type) -> TypeShape { TypeShape(.array(element)) }

  /// The shape of a type that is archived as a set. In JSON, the set is an array.
  public static func set(of element: any Archivable.Type) -> TypeShape { TypeShape(.set(element)) }

  /// Creates the shape of any type. A type that is not archivable declares no shape, so its shape is derived from its protocol
  /// conformances.
  package init(of type: Any.Type) {
    if let type = Self.archivable(type) {
      self = type.typeShape
      return
    }
    switch type {
    case let type as any ContainerType.Type: self = type.containerShape
    case is any FixedWidthInteger.Type: self.init(.scalar(.integer))
    case is any BinaryFloatingPoint.Type: self.init(.scalar(.otherFloat))
    case let type as any RawRepresentable.Type: self.init(.rawValue(Self.rawType(type), isArchivable: false))
    default: self = .opaque
    }
  }

  /// The shape of the innermost wrapped type, if this is the shape of an optional; otherwise this shape itself.
  package var unwrapped: TypeShape {
    if case .optional(let type) = kind { TypeShape(of: type).unwrapped } else { self }
  }

  /// The types of the values that a container contains: the element type, or for a dictionary the key type and the
  /// value type.
  package var parts: [Any.Type] {
    switch kind {
    case .optional(let type), .array(let type), .set(let type): [type]
    case .dictionary(let keys, let values): [keys, values]
    case .scalar, .untyped, .model, .rawValue, .opaque: []
    }
  }

  /// The shape of the dictionary's values, unwrapped if they are optional; `nil` if the type is not a dictionary.
  var dictionaryValues: TypeShape? {
    if case .dictionary(_, let values) = kind { TypeShape(of: values).unwrapped } else { nil }
  }

  var isDictionary: Bool { if case .dictionary = kind { true } else { false } }

  /// Whether the type is a dictionary or a container of dictionaries.
  var holdsDictionary: Bool { isDictionary || parts.contains { TypeShape(of: $0).holdsDictionary } }

  private static func rawType<T: RawRepresentable>(_ type: T.Type) -> Any.Type { T.RawValue.self }

  /// Casts a type to `Archivable.Type`; returns `nil` if the type is not archivable. All such casts in the library go through this
  /// function.
  package static func archivable(_ type: Any.Type) -> (any Archivable.Type)? { type as? any Archivable.Type }

  /// Casts a type to an archivable type that can be shared between tasks. Returns `nil` if the type is not archivable, or if its
  /// conformance is isolated to an actor.
  static func sharedArchivable(_ type: Any.Type) -> (any (Archivable & SendableMetatype).Type)? {
    type as? any (Archivable & SendableMetatype).Type
  }

  /// Casts a type to a model type; returns `nil` if the type is not a model.
  package static func model(_ type: Any.Type) -> (any VersionedModel.Type)? {
    if case .model(let model) = TypeShape(of: type).kind { model } else { nil }
  }

  package var isOptional: Bool { if case .optional = kind { true } else { false } }

  /// Returns the wrapped type of an optional, or the type itself if it is not an optional.
  package static func unwrapped(_ type: Any.Type) -> Any.Type { (type as? any OptionalType.Type)?.wrappedType ?? type }
}

/// A container type, such as an array, whose shape is known even if its elements are not archivable.
package protocol ContainerType { static var containerShape: TypeShape { get } }

package protocol OptionalType: ContainerType {
  static var absentValue: Self { get }
  static var wrappedType: Any.Type { get }
  var isNone: Bool { get }
}
extension Optional: OptionalType {
  package static var containerShape: TypeShape { TypeShape(.optional(Wrapped.self)) }
  package static var absentValue: Wrapped? { nil }
  package static var wrappedType: Any.Type { Wrapped.self }
  package var isNone: Bool { self == nil }
}

/// An array, or a type that is archived as an array.
package protocol ArrayType<Element>: ContainerType {
  associatedtype Element
  /// Returns a value of this type that contains the given elements.
  static func made(of elements: [Element]) -> Any
}
extension ArrayType {
  package static var containerShape: TypeShape { TypeShape(.array(Element.self)) }
}
extension Array: ArrayType {
  package static func made(of elements: [Element]) -> Any { elements }
}
extension ContiguousArray: ArrayType {
  package static func made(of elements: [Element]) -> Any { ContiguousArray(elements) }
}

extension Set: ContainerType {
  package static var containerShape: TypeShape { TypeShape(.set(Element.self)) }
}
extension Dictionary: ContainerType {
  package static var containerShape: TypeShape { TypeShape(.dictionary(keys: Key.self, values: Value.self)) }
}
