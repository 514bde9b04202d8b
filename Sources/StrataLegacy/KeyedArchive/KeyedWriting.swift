internal import StrataCore

/// How keyed archives are written for the program that will open them. A graph does not determine it.
public struct KeyedWriting: Sendable, Hashable {
  /// Where the numbers and booleans of an object's fields are stored.
  public enum Numbers: Sendable, Hashable {
    /// Each is a separate object, as written by `encode(_:forKey:)` with an `NSNumber`, and by Mantle.
    case objects
    /// Inlined in the object, as written by `encode(_:forKey:)` with an `Int`, a `Double` or a `Bool`, and as expected
    /// by `decodeInteger(forKey:)` and the like.
    case inPlace
  }

  /// Where numbers of fields are stored if no archive determines it. The default is ``Numbers-swift.enum/objects``.
  public var numbers = Numbers.objects
  /// Whether arrays, sets and dictionaries are written as `NSMutableArray` and so on, for programs that change what
  /// they open without copying it. An archive does not record whether they were mutable.
  public var usesMutableCollections = false
  /// The names of a class and its superclasses, by type name: `["Issue": ["GHIssue", "MTLModel", "NSObject"]]`.
  public var classes: [String: [String]] = [:]
  /// The superclasses of all other classes that no archive determines, after any models: `["NSObject"]` by default.
  public var baseClasses = ["NSObject"]

  /// Numbers as separate objects, immutable collections, and classes that inherit from `NSObject`.
  public init() {}
}

/// How the fields of a class are encoded in a keyed archive. A record does not have this information, and an old
/// program expects each field as it wrote it.
struct KeyedEncoding: Sendable {
  /// Archive keys by the keys of the record, if the two differ.
  private var rawKeys: [String: String] = [:]
  /// Whether the values under an archive key are inlined in the object, not separate objects.
  private var areInlined: [String: Bool] = [:]

  /// Remembers how an object's fields are encoded.
  ///
  /// - Parameters:
  ///   - keys: the keys of the record.
  ///   - rawKeys: the archive keys, in the same order.
  ///   - areInlined: whether each value is inlined; `nil` for nil, which has no form.
  mutating func note(_ keys: [String], _ rawKeys: [String], areInlined: [Bool?]) {
    for (index, raw) in rawKeys.enumerated() {
      if keys[index] != raw { self.rawKeys[keys[index]] = raw }
      guard let isInlined = areInlined[index] else { continue }
      self.areInlined[raw] = isInlined && self.areInlined[raw] ?? true
    }
  }

  /// The archive key for a key of the record; `nil` if the archive had none.
  func rawKey(of key: String) -> String? { rawKeys[key] ?? (areInlined[key] == nil ? nil : key) }

  /// Whether values under an archive key were inlined; `nil` if the archive did not have the key.
  func isInlined(_ rawKey: String) -> Bool? { areInlined[rawKey] }
}
