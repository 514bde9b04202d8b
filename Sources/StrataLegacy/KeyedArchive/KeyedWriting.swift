internal import StrataCore

/// How keyed archives are written: what a graph does not tell of the program that will open them.
public struct KeyedWriting: Sendable, Hashable {
  /// Where numbers and booleans of an object's fields are.
  public enum Numbers: Sendable, Hashable {
    /// Each is an object of its own, as `encode(_:forKey:)` of an `NSNumber` and Mantle write it.
    case objects
    /// In the object itself, as `encode(_:forKey:)` of an `Int`, a `Double` or a `Bool` writes them, which
    /// `decodeInteger(forKey:)` and its like ask for.
    case inPlace
  }

  /// Where numbers of fields are that no archive told of: ``Numbers-swift.enum/objects`` unless set.
  public var numbers = Numbers.objects
  /// Whether arrays, sets and dictionaries are written as `NSMutableArray` and so on, for programs that change what they
  /// open without copying it. An archive does not tell which they were.
  public var usesMutableCollections = false
  /// The name of a class and those of its superclasses, by type name: `["Issue": ["GHIssue", "MTLModel", "NSObject"]]`.
  public var classes: [String: [String]] = [:]
  /// The superclasses of any other class that no archive told of, after those that are models: `["NSObject"]` unless set.
  public var baseClasses = ["NSObject"]

  /// Numbers as objects, collections that cannot be changed, and classes that inherit from `NSObject`.
  public init() {}
}

/// How the fields of a class are encoded in a keyed archive, which a record does not tell: an old program asks for each
/// field as it wrote it.
struct KeyedEncoding: Sendable {
  /// Keys of the archive by the keys of the record, where the two differ.
  private var rawKeys: [String: String] = [:]
  /// Whether the values under a key of the archive are inlined in the object, and no objects of their own.
  private var areInlined: [String: Bool] = [:]

  /// Remembers how an object's fields are encoded.
  ///
  /// - Parameters:
  ///   - keys: the keys of the record.
  ///   - rawKeys: the keys of the archive, in the same order.
  ///   - areInlined: whether each value is inlined; `nil` for nil, which is neither.
  mutating func note(_ keys: [String], _ rawKeys: [String], areInlined: [Bool?]) {
    for (index, raw) in rawKeys.enumerated() {
      if keys[index] != raw { self.rawKeys[keys[index]] = raw }
      guard let isInlined = areInlined[index] else { continue }
      self.areInlined[raw] = isInlined && self.areInlined[raw] ?? true
    }
  }

  /// The key of the archive for a key of the record; `nil` where the archive had none.
  func rawKey(of key: String) -> String? { rawKeys[key] ?? (areInlined[key] == nil ? nil : key) }

  /// Whether values under a key of the archive were inlined; `nil` where the archive did not have it.
  func isInlined(_ rawKey: String) -> Bool? { areInlined[rawKey] }
}
