/// The keys of an archive that a model does not declare, kept so that writing it again does not lose them.
///
/// A model asks for it with a stored property of this type:
///
///     var unknownFields = UnknownFields()
public struct UnknownFields: Sendable, Hashable {
  /// The keys and values in the order in which they were archived.
  public var object: ArchiveObject
  /// The version that wrote the record, with its floors, if it is newer than the program's. Encoding writes it again.
  package private(set) var newer: NewerVersion?

  /// A version that is newer than the program's, and may be read by it.
  package struct NewerVersion: Sendable, Hashable {
    package let version: Int
    package let floors: VersionFloors
  }

  /// No unknown keys.
  public init() { object = ArchiveObject() }

  /// These keys and values.
  public init(_ object: ArchiveObject) { self.object = object }

  package init(_ object: ArchiveObject, newer: NewerVersion?) { (self.object, self.newer) = (object, newer) }

  /// Whether there are no unknown keys.
  public var isEmpty: Bool { object.isEmpty }

  /// The prefix in archives of an unknown key that is also one of the model's: U+E000, of Unicode's private use area.
  private static let mark: Unicode.Scalar = "\u{E000}"

  /// The key of an unknown field in a record, where it cannot be confused with one of the model's keys.
  ///
  /// - Parameter taken: the keys of the model, including former ones.
  package static func archivedKey(_ key: String, besides taken: Set<ExactKey>) -> String {
    guard taken.contains(ExactKey(key)) || key.unicodeScalars.first == mark else { return key }
    return String(mark) + key
  }

  /// The key of an unknown field in JSON.
  package static func key(ofArchived key: String) -> String {
    guard key.unicodeScalars.first == mark else { return key }
    return String(key.unicodeScalars.dropFirst())
  }

  /// The value under an unknown key; `nil` if it is absent.
  public subscript(key: String) -> ArchiveValue? {
    get { object[key] }
    set { object[key] = newValue }
  }
}

extension UnknownFields: CustomStringConvertible {
  /// The keys, without the values.
  public var description: String {
    guard !isEmpty else { return "no unknown keys" }
    return "\(object.keys.count.counting("unknown key")): \(object.keys.joined(separator: ", "))".onOneLine
  }
}
