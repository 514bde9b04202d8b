/// A graph of objects that can refer to each other, and a root value that refers to them. For example, an archive of class models can be
/// read as a graph without the models' Swift types.
///
/// An ``ArchiveValue/reference(_:)`` refers to an object by its number, so shared objects are stored once and cycles
/// are possible.
public struct ObjectGraph: Sendable, Hashable {
  /// The objects. References contain the number of an object, which is its index in this array. Objects are usually records, but any value
  /// is allowed.
  public var objects: [ArchiveValue]
  /// The archived value: a reference, or a value that contains references.
  public var root: ArchiveValue

  /// Creates a graph. Every reference in `objects` and in `root` must contain a valid index of `objects`.
  public init(objects: [ArchiveValue], root: ArchiveValue) {
    self.objects = objects
    self.root = root
  }

  /// Returns the object that a reference refers to, or `nil` if the object does not exist. Returns any other value
  /// unchanged.
  public func resolve(_ value: ArchiveValue) -> ArchiveValue? {
    guard case .reference(let number) = value else { return value }
    return objects.indices.contains(number) ? objects[number] : nil
  }
}
