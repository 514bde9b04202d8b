public import Foundation

/// An untyped value. Archives, JSON documents and database rows share this representation.
///
/// Migration steps, hooks and merging work on these values, so the same migration step works for an archive, a JSON
/// document and a database row. Absent and null are different: a record or an object returns `nil` for an absent key
/// and `.null` for an explicit null.
///
/// Integers are exact and are distinct from floating-point numbers. Booleans are not numbers.
public enum ArchiveValue: Sendable {
  /// An explicit null, which differs from an absent key.
  case null
  /// A boolean. It never equals a number: `true` and 1 are different values.
  case bool(Bool)
  /// An integer in the range of `Int64`.
  case int(Int64)
  /// An integer above `Int64.max`, in the range of `UInt64`. Smaller integers must always be `int`. Use ``integer(_:)``
  /// to choose the right case.
  case uint(UInt64)
  /// An integer beyond the ranges of ``int(_:)`` and ``uint(_:)``, with a magnitude of up to 128 bits.
  indirect case wideInteger(WideInteger)
  /// A 32-bit floating-point number.
  case float(Float)
  /// A 64-bit floating-point number.
  case double(Double)
  /// A decimal number.
  indirect case decimal(Decimal)
  /// A number in a JSON text that none of the cases above can represent exactly.
  case number(NumberText)
  /// A string.
  case string(String)
  /// Binary data.
  case data(Data)
  /// A point in time.
  case date(Date)
  /// A URL.
  case url(URL)
  /// A UUID.
  indirect case uuid(UUID)
  /// An ordered list of elements.
  case array([ArchiveValue])
  /// Elements whose order does not matter, stored in the order of their encoded bytes.
  case set([ArchiveValue])
  /// Named values without a type, as in a JSON object.
  case object(ArchiveObject)
  /// Key-value pairs, for maps in which at least one key is not a string.
  case map([MapEntry])
  /// Named values with a type name and a model version.
  case record(ModelRecord)
  /// A reference to an object in an ``ObjectGraph``. The associated value is the object's index in ``ObjectGraph/objects``.
  case reference(Int)
  /// A graph of objects that can refer to each other, and a root value that refers to them.
  indirect case graph(ObjectGraph)

  /// A key and its value in a ``map(_:)``.
  public struct MapEntry: Sendable, Hashable {
    /// The key, which can be a value of any kind.
    public var key: ArchiveValue
    /// The value.
    public var value: ArchiveValue

    /// Creates an entry from a key and its value.
    public init(key: ArchiveValue, value: ArchiveValue) {
      self.key = key
      self.value = value
    }
  }

  /// Returns the integer as an ``int(_:)`` if it fits, otherwise as a ``uint(_:)`` or, if necessary, as a ``wideInteger(_:)``.
  ///
  /// - Precondition: the magnitude of `value` has at most 128 bits.
  public static func integer(_ value: some BinaryInteger) -> ArchiveValue { ArchiveValue(WideInteger(value)) }
}
