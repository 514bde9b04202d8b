public import Foundation

/// A value without a Swift type, in a form that all formats share.
///
/// Migration steps, hooks and merging work on values, so one step serves an archive, a JSON document and a database row
/// alike. Absent and null are different: a record or an object returns `nil` for an absent key and `.null` for an
/// explicit null.
///
/// Integers are exact and distinct from floating-point numbers. Booleans are neither.
public enum ArchiveValue: Sendable {
  /// An explicit null, which is not the same as an absent key.
  case null
  /// A boolean, which is not a number.
  case bool(Bool)
  /// An integer that fits in 64 bits with a sign.
  case int(Int64)
  /// An integer above `Int64.max`. Smaller ones are always `int`: create integers with ``integer(_:)``.
  case uint(UInt64)
  /// An integer that neither ``int(_:)`` nor ``uint(_:)`` holds, up to 128 bits of magnitude.
  indirect case wideInteger(WideInteger)
  /// A floating-point number of 32 bits.
  case float(Float)
  /// A floating-point number of 64 bits.
  case double(Double)
  /// A decimal number.
  indirect case decimal(Decimal)
  /// A number of a JSON text that none of the cases above holds exactly.
  case number(NumberText)
  /// A text.
  case string(String)
  /// Bytes.
  case data(Data)
  /// A point in time.
  case date(Date)
  /// A URL.
  case url(URL)
  /// A UUID.
  indirect case uuid(UUID)
  /// Elements in their order.
  case array([ArchiveValue])
  /// Elements without an order, stored in the order of their encoded bytes.
  case set([ArchiveValue])
  /// Named values without a type, as in a JSON object.
  case object(ArchiveObject)
  /// Pairs whose keys are not all strings.
  case map([MapEntry])
  /// Named values with a type name and a model version.
  case record(ModelRecord)
  /// One of the objects of an ``ObjectGraph``, by its number.
  case reference(Int)
  /// Objects with identity, and a value that refers to them.
  indirect case graph(ObjectGraph)

  /// A pair of a ``map(_:)``.
  public struct MapEntry: Sendable, Hashable {
    /// The key, of any kind.
    public var key: ArchiveValue
    /// The value.
    public var value: ArchiveValue

    /// A key and its value.
    public init(key: ArchiveValue, value: ArchiveValue) {
      self.key = key
      self.value = value
    }
  }

  /// An integer, in the smallest case that holds it.
  ///
  /// - Precondition: its magnitude has at most 128 bits.
  public static func integer(_ value: some BinaryInteger) -> ArchiveValue { ArchiveValue(WideInteger(value)) }
}
