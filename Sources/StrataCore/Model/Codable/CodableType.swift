import Foundation

/// A cache of the protocol conformances of one type. For a generic type, looking up conformances can take longer than
/// encoding a value.
final class CodableType {
  let archivable: (any Archivable.Type)?
  private let direct: (any DirectValue.Type)?
  let hashed: (any HashOrdered.Type)?
  /// The number of entries in the most recently encoded value of this type. When the next value is encoded, capacity for the same number of
  /// entries is reserved.
  @exclusivity(unchecked) var entryCount = 0

  init(_ type: Any.Type) {
    archivable = TypeShape.archivable(type)
    direct = archivable == nil ? nil : type as? any DirectValue.Type
    hashed = archivable == nil ? type as? any HashOrdered.Type : nil
  }

  /// Converts a value of this type to an archive value. Returns `nil` if the value must be encoded with its own `encode(to:)` instead.
  ///
  /// - Parameter includingExcluded: whether nested models are written with their excluded fields.
  func value<T>(of value: T, includingExcluded: Bool) throws -> ArchiveValue? {
    if let direct, let made = Self.value(of: value, as: direct) { return made }
    return archivable == nil ? nil : try (value as? any Archivable)?.archivedValue(includingExcluded: includingExcluded)
  }

  private static func value<T, D: DirectValue>(of value: T, as type: D.Type) -> ArchiveValue? {
    (value as? D)?.directValue
  }
}

/// The cached conformances of all types used in one encoding or decoding. The cache is not shared between encodings,
/// because a conformance can be isolated to an actor.
final class CodableTypes {
  @exclusivity(unchecked) private var types: [ObjectIdentifier: CodableType] = [:]
  /// Whether a `Codable` type requested containers that are nested too deeply. The methods that request a container cannot throw, so the
  /// error is thrown at the end of the encoding.
  var isTooDeep = false
  /// Whether the encoder writes the excluded fields of models.
  let includesExcluded: Bool

  init(includesExcluded: Bool = false) { self.includesExcluded = includesExcluded }

  @inline(__always)
  subscript(type: Any.Type) -> CodableType { types[ObjectIdentifier(type)] ?? add(type) }

  @inline(never)
  private func add(_ type: Any.Type) -> CodableType {
    let found = CodableType(type)
    types[ObjectIdentifier(type)] = found
    return found
  }
}

/// A type that encodes its elements in the order of their hashes, which changes from run to run. The encoder sorts the
/// encoded elements, so that equal values have equal bytes.
protocol HashOrdered { static var hasPairs: Bool { get } }
extension Set: HashOrdered { static var hasPairs: Bool { false } }
extension Dictionary: HashOrdered { static var hasPairs: Bool { true } }

/// A type whose ``Archivable/archivedValue(includingExcluded:role:)`` can be computed without an archive writer, which
/// is faster.
protocol DirectValue: Archivable {
  /// The value as an `ArchiveValue`; `nil` if it must be encoded with an archive writer, which may throw.
  var directValue: ArchiveValue? { get }
}

extension DirectValue where Self: FixedWidthInteger { var directValue: ArchiveValue? { .integer(self) } }
extension Int: DirectValue {}
extension Int8: DirectValue {}
extension Int16: DirectValue {}
extension Int32: DirectValue {}
extension Int64: DirectValue {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension Int128: DirectValue {}
extension UInt: DirectValue {}
extension UInt8: DirectValue {}
extension UInt16: DirectValue {}
extension UInt32: DirectValue {}
extension UInt64: DirectValue {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UInt128: DirectValue {}
extension Bool: DirectValue { var directValue: ArchiveValue? { .bool(self) } }
extension Double: DirectValue { var directValue: ArchiveValue? { .double(self) } }
extension Float: DirectValue { var directValue: ArchiveValue? { .float(self) } }
extension String: DirectValue { var directValue: ArchiveValue? { .string(self) } }
extension Date: DirectValue { var directValue: ArchiveValue? { .date(self) } }
extension UUID: DirectValue { var directValue: ArchiveValue? { .uuid(self) } }
extension Data: DirectValue { var directValue: ArchiveValue? { .data(self) } }

extension URL: DirectValue {
  // Returns `nil` for a relative URL with a base, and for a URL that decoding would not restore exactly. The encoder then calls
  // `archivedValue`, which throws an error if the URL cannot be restored.
  var directValue: ArchiveValue? { baseURL == nil && URL(exactly: absoluteString) != nil ? .url(self) : nil }
}

extension Optional: DirectValue where Wrapped: DirectValue {
  var directValue: ArchiveValue? {
    guard let self else { return .null }
    // If the wrapped type can be archived as null, as in a nested optional, an archive writer encodes the value. The writer throws an error
    // for a nil inside the outer optional.
    return Wrapped._mayBeNull ? nil : self.directValue
  }
}

extension Array: DirectValue where Element: DirectValue {
  var directValue: ArchiveValue? {
    var elements: [ArchiveValue] = []
    elements.reserveCapacity(count)
    for element in self {
      guard let value = element.directValue else { return nil }
      elements.append(value)
    }
    return .array(elements)
  }
}
