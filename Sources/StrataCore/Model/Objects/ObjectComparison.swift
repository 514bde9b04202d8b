/// Compares two graphs of objects from two objects on. They are equal if their permanent fields are equal and if
/// references at the same position refer to equal objects.
///
/// Pairs of objects are queued and compared once, so that cycles end and long lists need no recursion.
struct ObjectComparison {
  private struct Pair: Hashable {
    let left: ObjectIdentifier
    let right: ObjectIdentifier
  }

  private var seen = Set<Pair>()
  private var waiting: [(any VersionedModel, any VersionedModel)] = []

  static func areEqual(_ left: any VersionedModel, _ right: any VersionedModel) throws -> Bool {
    var comparison = ObjectComparison()
    comparison.waiting = [(left, right)]
    while let (left, right) = comparison.waiting.popLast() {
      guard try comparison.haveEqualFields(left, right) else { return false }
    }
    return true
  }

  private mutating func haveEqualFields(_ left: any VersionedModel, _ right: any VersionedModel) throws -> Bool {
    guard type(of: left) == type(of: right) else { return false }
    let lefts = ReferencedObjects(), rights = ReferencedObjects()
    let own = try left.permanentValues(lefts), others = try right.permanentValues(rights)
    guard own.count == others.count else { return false }
    for (own, other) in zip(own, others) {
      guard own.key == other.key, areEqual(own.value, other.value, lefts, rights) else { return false }
    }
    return true
  }

  private mutating func areEqual(
    _ left: ArchiveValue, _ right: ArchiveValue, _ lefts: ReferencedObjects, _ rights: ReferencedObjects
  ) -> Bool {
    switch (left, right) {
    case (.reference(let left), .reference(let right)):
      let (left, right) = (lefts.objects[left], rights.objects[right])
      let (one, other) = (left.identity, right.identity)
      if one != other, seen.insert(Pair(left: one, right: other)).inserted { waiting.append((left, right)) }
      return true
    case (.array(let left), .array(let right)), (.set(let left), .set(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1, lefts, rights) }
    case (.record(let left), .record(let right)):
      return left.shape == right.shape
        && zip(left.values, right.values).allSatisfy { areEqual($0, $1, lefts, rights) }
    case (.object(let left), .object(let right)):
      return left.count == right.count
        && left.entries.allSatisfy { entry in
          right[entry.key].map { areEqual(entry.value, $0, lefts, rights) } ?? false
        }
    case (.map(let left), .map(let right)):
      return left.count == right.count
        && zip(left, right).allSatisfy {
          areEqual($0.key, $1.key, lefts, rights) && areEqual($0.value, $1.value, lefts, rights)
        }
    default: return left == right
    }
  }
}
