internal import StrataCore

/// Options for writing a keyed archive in the form that another program expects. A graph alone does not determine this
/// form.
public struct KeyedWriting: Sendable, Hashable {
  /// The storage of the numbers and booleans in an object's fields.
  public enum Numbers: Sendable, Hashable {
    /// Each number is a separate object, as Mantle writes it, and as `encode(_:forKey:)` writes an `NSNumber`.
    case objects
    /// Each number is inlined in the object, as `encode(_:forKey:)` writes an `Int`, a `Double` or a `Bool`, and as
    /// `decodeInteger(forKey:)` and similar methods expect it.
    case inPlace
  }

  /// The storage of number fields that were not read from an archive. The default is ``Numbers-swift.enum/objects``.
  public var numbers = Numbers.objects
  /// Whether arrays, sets and dictionaries are written as `NSMutableArray` and so on, for programs that modify opened
  /// collections without copying them. An archive that was read does not record whether its collections were mutable.
  public var usesMutableCollections = false
  /// The names of a class and its superclasses, by type name, for example
  /// `["Issue": ["GHIssue", "MTLModel", "NSObject"]]`.
  public var classes: [String: [String]] = [:]
  /// The superclasses of all other classes that were not read from an archive, appended after superclasses that are
  /// models. The default is `["NSObject"]`.
  public var baseClasses = ["NSObject"]

  /// Creates the default options: numbers as separate objects, immutable collections, and classes that inherit from
  /// `NSObject`.
  public init() {}
}

/// The encoding of a class's fields in a keyed archive. Records do not contain this information, but an old program
/// expects each field in its original encoding.
struct KeyedEncoding: Sendable {
  /// The keys in the archive, by the keys of the record, if the two differ.
  private var rawKeys: [String: String] = [:]
  /// Whether the values under an archive key are inlined in the object instead of being separate objects.
  private var areInlined: [String: Bool] = [:]

  /// Remembers the encoding of an object's fields.
  ///
  /// - Parameters:
  ///   - keys: the keys of the record.
  ///   - rawKeys: the archive keys, in the same order.
  ///   - areInlined: whether each value is inlined, or `nil` if the value is nil, which has the same form in both cases.
  mutating func note(_ keys: [String], _ rawKeys: [String], areInlined: [Bool?]) {
    for (index, raw) in rawKeys.enumerated() {
      if keys[index] != raw { self.rawKeys[keys[index]] = raw }
      guard let isInlined = areInlined[index] else { continue }
      self.areInlined[raw] = isInlined && self.areInlined[raw] ?? true
    }
  }

  /// Returns the archive key for a key of the record, or `nil` if the archive did not contain the key.
  func rawKey(of key: String) -> String? { rawKeys[key] ?? (areInlined[key] == nil ? nil : key) }

  /// Returns whether the values under an archive key were inlined, or `nil` if the archive did not contain the key.
  func isInlined(_ rawKey: String) -> Bool? { areInlined[rawKey] }
}
