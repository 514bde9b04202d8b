/// The keys and values of an archive that a model does not declare. The model keeps them and writes them again.
///
/// A model keeps unknown fields if it has a stored property of this type:
///
///     var unknownFields = UnknownFields()
public struct UnknownFields: Sendable, Hashable {
  /// The keys and values in the order in which they were archived.
  public var object: ArchiveObject
  /// The version and the version floors (oldest allowed reader and writer) of the record, if a newer version of the model wrote it;
  /// otherwise `nil`. Encoding writes them again.
  package private(set) var newer: NewerVersion?

  /// A newer version of the model that allows this program to read its records, with the oldest versions that may read and write the
  /// records.
  package struct NewerVersion: Sendable, Hashable {
    package let version: Int
    package let floors: VersionFloors
  }

  /// Creates an instance without unknown keys.
  public init() { object = ArchiveObject() }

  /// Creates an instance with the given keys and values.
  public init(_ object: ArchiveObject) { self.object = object }

  package init(_ object: ArchiveObject, newer: NewerVersion?) { (self.object, self.newer) = (object, newer) }

  /// Whether there are no unknown keys.
  public var isEmpty: Bool { object.isEmpty }

  /// The prefix that archives add to an unknown key if the model declares the same key: U+E000, from Unicode's private use area.
  private static let mark: Unicode.Scalar = "\u{E000}"

  /// Returns the key of an unknown field in a record, with a prefix if the model declares the same key or the key already begins with the
  /// prefix.
  ///
  /// - Parameter taken: the keys of the model, including former keys.
  package static func archivedKey(_ key: String, besides taken: Set<ExactKey>) -> String {
    guard taken.contains(ExactKey(key)) || key.unicodeScalars.first == mark else { return key }
    return String(mark) + key
  }

  /// Returns the key of an unknown field in a record, without the prefix that archives may have added.
  package static func key(ofArchived key: String) -> String {
    guard key.unicodeScalars.first == mark else { return key }
    return String(key.unicodeScalars.dropFirst())
  }

  /// The value under an unknown key; `nil` if the key is absent.
  public subscript(key: String) -> ArchiveValue? {
    get { object[key] }
    set { object[key] = newValue }
  }
}

extension UnknownFields: CustomStringConvertible {
  /// The number of unknown keys and the keys, without their values.
  public var description: String {
    guard !isEmpty else { return "no unknown keys" }
    return "\(object.keys.count.counting("unknown key")): \(object.keys.joined(separator: ", "))".onOneLine
  }
}
