/// Objects with identity, and a value that refers to them: what an archive of class models holds, without its types.
///
/// Wherever one of the objects is meant, ``ArchiveValue/reference(_:)`` has its number, so shared objects are held once
/// and cycles end.
public struct ObjectGraph: Sendable, Hashable {
  /// The objects, each under its number. Usually records; anything that a reference may name.
  public var objects: [ArchiveValue]
  /// What was archived: a reference, or a value with references inside.
  public var root: ArchiveValue

  /// A graph; every reference in it is the number of one of the objects.
  public init(objects: [ArchiveValue], root: ArchiveValue) {
    self.objects = objects
    self.root = root
  }

  /// The object that a reference names; any other value as it is. `nil` where there is no such object.
  public func resolve(_ value: ArchiveValue) -> ArchiveValue? {
    guard case .reference(let number) = value else { return value }
    return objects.indices.contains(number) ? objects[number] : nil
  }
}
