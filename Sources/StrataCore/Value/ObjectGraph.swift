/// Objects with identity, and a value that refers to them: the content of an archive of class models, without Swift
/// types.
///
/// An object is referred to by its number in an ``ArchiveValue/reference(_:)``, so shared objects are stored once and
/// cycles are possible.
public struct ObjectGraph: Sendable, Hashable {
  /// The objects by number. They are usually records, but any value is allowed.
  public var objects: [ArchiveValue]
  /// The archived value: a reference, or a value with references inside.
  public var root: ArchiveValue

  /// Creates a graph. Every reference in it must be the number of one of the objects.
  public init(objects: [ArchiveValue], root: ArchiveValue) {
    self.objects = objects
    self.root = root
  }

  /// Returns the object of a reference, or any other value unchanged; `nil` if the object does not exist.
  public func resolve(_ value: ArchiveValue) -> ArchiveValue? {
    guard case .reference(let number) = value else { return value }
    return objects.indices.contains(number) ? objects[number] : nil
  }
}
