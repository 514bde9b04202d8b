/// How keyed archives are written: what a graph does not tell of the program that will open them.
public struct KeyedWriting: Sendable, Hashable {
  /// Where numbers and booleans of an object's fields stand.
  public enum Numbers: Sendable, Hashable {
    /// Each is an object of its own, as `encode(_:forKey:)` of an `NSNumber` and Mantle write it.
    case objects
    /// In the object itself, as `encode(_:forKey:)` of an `Int`, a `Double` or a `Bool` writes them, which
    /// `decodeInteger(forKey:)` and its like ask for.
    case inPlace
  }

  /// Where numbers of fields stand that no archive told of: ``Numbers-swift.enum/objects`` unless set.
  public var numbers = Numbers.objects
  /// Whether arrays, sets and dictionaries are written as `NSMutableArray` and so on, for programs that change what they
  /// open without copying it. An archive does not tell which they were.
  public var usesMutableCollections = false
  /// The name of a class and those of its superclasses, by type name: `["Issue": ["GHIssue", "MTLModel", "NSObject"]]`.
  public var classes: [String: [String]] = [:]
  /// The superclasses of any other class that no archive told of, after those that are models: `["NSObject"]` unless set.
  public var baseClasses = ["NSObject"]

  public init() {}
}
