/// The keys of an archive that a model does not declare, kept so that writing it again does not lose them.
///
/// A model asks for it with a stored property of this type:
///
///     var unknownFields = UnknownFields()
public struct UnknownFields: Sendable, Hashable {
  /// The keys and values in the order in which they were archived.
  public var object: ArchiveObject

  /// No unknown keys.
  public init() { object = ArchiveObject() }

  public init(_ object: ArchiveObject) { self.object = object }

  public var isEmpty: Bool { object.isEmpty }

  /// The value under an unknown key; `nil` where it is absent.
  public subscript(key: String) -> ArchiveValue? {
    get { object[key] }
    set { object[key] = newValue }
  }
}
