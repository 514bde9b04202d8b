/// The paths of the objects in a graph. For each object, the table stores only the last part of its path, which begins at the object's
/// owner: another object that refers to it. Full paths would need too much memory, because the path of the last object of a linked list is
/// as long as the list.
final class PathTable: Sendable {
  /// The last part of the path to an object: another object that refers to it (its owner), and the path components from the owner to the
  /// object. If `owner` is `nil`, the components begin at the root of the graph.
  struct Way: Hashable {
    let object: Int
    let owner: Int?
    let steps: [ValuePath.Component]
  }

  private struct Entry {
    let way: Way
    let first: ValuePath.Component?
    let fingerprint: Int
  }

  private let entries: [Int: Entry]

  /// Creates a table of the paths to all objects.
  ///
  /// - Parameter ways: the last part of the path to each object. The entry for an owner must precede the entries for its objects. If an
  ///   object has several entries, only the first is used.
  init(_ ways: [Way]) {
    var entries: [Int: Entry] = [:]
    for way in ways where entries[way.object] == nil {
      let owner = way.owner.flatMap { entries[$0] }
      entries[way.object] = Entry(
        way: way, first: owner?.first ?? way.steps.first,
        fingerprint: way.steps.reduce(owner?.fingerprint ?? 0, ValuePath.fingerprint))
    }
    self.entries = entries
  }

  func fingerprint(of object: Int) -> Int { entries[object]?.fingerprint ?? 0 }

  func first(to object: Int) -> ValuePath.Component? { entries[object]?.first }

  func components(to object: Int) -> [ValuePath.Component] {
    var steps: [[ValuePath.Component]] = []
    var next: Int? = object
    while let entry = next.flatMap({ entries[$0] }) {
      steps.append(entry.way.steps)
      next = entry.way.owner
    }
    return steps.reversed().flatMap(\.self)
  }
}
