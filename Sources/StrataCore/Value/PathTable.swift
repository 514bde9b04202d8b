/// The paths of the objects in a graph. For each object, only the components from its owner are stored, because the
/// full path of an object in a linked list can be as long as the list.
final class PathTable: Sendable {
  /// The way to an object: the owner that refers to the object, and the components from the owner to the object.
  /// Without an owner, the components begin at the root.
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

  /// - Parameter ways: one way for each object, after the way to its owner. Further ways to the same object are
  ///   ignored.
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
