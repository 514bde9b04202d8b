/// The paths of the objects of a graph. Each is stored as the components from the object before it, because the full
/// paths of a long list of linked objects are as long as the list.
final class PathTable: Sendable {
  /// A reference: the object, the owner that holds the reference, and the components from the owner to it.
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

  /// - Parameter ways: for each object, its owner, which comes earlier, and the components from there. A root has no
  ///   owner.
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
