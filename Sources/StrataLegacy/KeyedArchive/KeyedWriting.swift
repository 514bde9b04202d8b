internal import StrataCore

/// Options for writing a keyed archive in the form that another program expects. A graph records neither the superclasses of its classes
/// nor how numbers are stored, so these options specify both.
public struct KeyedWriting: Sendable, Hashable {
  /// How the numbers and booleans in the fields of an object are stored.
  public enum Numbers: Sendable, Hashable {
    /// Each number is a separate object. Mantle writes numbers in this way, and so does `encode(_:forKey:)` for an `NSNumber`.
    case objects
    /// Each number is inlined in the object. `encode(_:forKey:)` writes an `Int`, a `Double` or a `Bool` in this way, and
    /// `decodeInteger(forKey:)` and similar methods expect it.
    case inPlace
  }

  /// How numbers are stored in fields that were not read from an archive. Fields that were read keep their original storage. The
  /// default is ``Numbers-swift.enum/objects``.
  public var numbers = Numbers.objects
  /// Whether arrays, sets and dictionaries are written as `NSMutableArray` and so on, for programs that modify opened collections without
  /// copying them. Also set this option when you rewrite an archive that was read from a file, because reading does not preserve whether
  /// collections were mutable.
  public var usesMutableCollections = false
  /// The names of classes in the archive, by type name. The first name is the class name for records of this type, and the others are the
  /// names of the superclasses, for example `["Issue": ["GHIssue", "MTLModel", "NSObject"]]`.
  public var classes: [String: [String]] = [:]
  /// The superclasses of all classes that are neither in ``classes`` nor read from an archive. In the archive, they follow the superclasses
  /// that are models. The default is `["NSObject"]`.
  public var baseClasses = ["NSObject"]

  /// Creates the default options: numbers as separate objects, immutable collections, and classes that inherit from
  /// `NSObject`.
  public init() {}
}

/// The encoding of a class's fields in a keyed archive. Records do not contain this information, but an old program
/// expects each field in its original encoding.
struct KeyedEncoding: Sendable {
  /// The archive key for each record key that differs from its archive key.
  private var rawKeys: [String: String] = [:]
  /// Whether the values under an archive key are inlined in the object instead of being separate objects.
  private var areInlined: [String: Bool] = [:]

  /// Remembers how the fields of one object are encoded.
  ///
  /// - Parameters:
  ///   - keys: the keys of the record.
  ///   - rawKeys: the keys in the archive, in the same order.
  ///   - areInlined: whether each value is inlined, in the same order; `nil` for a nil value, which is written in the same way in
  ///     both cases.
  mutating func note(_ keys: [String], _ rawKeys: [String], areInlined: [Bool?]) {
    for (index, raw) in rawKeys.enumerated() {
      if keys[index] != raw { self.rawKeys[keys[index]] = raw }
      guard let isInlined = areInlined[index] else { continue }
      self.areInlined[raw] = isInlined && self.areInlined[raw] ?? true
    }
  }

  /// Returns the archive key for a key of the record, or `nil` if the archive that was read did not contain the key.
  func rawKey(of key: String) -> String? { rawKeys[key] ?? (areInlined[key] == nil ? nil : key) }

  /// Returns whether the values under an archive key were inlined, or `nil` if the archive that was read did not contain the key.
  func isInlined(_ rawKey: String) -> Bool? { areInlined[rawKey] }
}
