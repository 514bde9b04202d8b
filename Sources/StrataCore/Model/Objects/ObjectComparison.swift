enum ObjectComparison {
  private struct Pair: Hashable { let left, right: ObjectIdentifier }

  /// Returns whether two objects and all objects reachable from them are equal. Two objects are equal if their permanent fields are equal
  /// and if their references at the same positions refer to equal objects.
  ///
  /// Pairs of objects are queued and each pair is compared once, so the comparison ends even if there are cycles, and long lists need no
  /// recursion.
  static func areEqual(_ left: any VersionedModel, _ right: any VersionedModel) throws -> Bool {
    var seen = Set<Pair>()
    var waiting = [(left, right)]
    while let (left, right) = waiting.popLast() {
      guard type(of: left) == type(of: right) else { return false }
      let lefts = ReferencedObjects(), rights = ReferencedObjects()
      let own = try left.permanentValues(lefts), others = try right.permanentValues(rights)
      guard
        own.elementsEqual(
          others, by: { $0.key == $1.key && $0.value.withoutObjectNumbers == $1.value.withoutObjectNumbers })
      else {
        return false
      }
      for (one, other) in zip(own.flatMap(\.value.references), others.flatMap(\.value.references)) {
        let (left, right) = (lefts.objects[one], rights.objects[other])
        let pair = Pair(left: left.identity, right: right.identity)
        if pair.left != pair.right, seen.insert(pair).inserted { waiting.append((left, right)) }
      }
    }
    return true
  }
}

extension ArchiveValue {
  /// Returns a copy in which all references are replaced by the same placeholder. A set, keyed object or map that contains references
  /// becomes an array, so that the order of its elements is compared too.
  fileprivate var withoutObjectNumbers: ArchiveValue {
    guard hasReferences else { return self }
    return switch self {
    case .reference: .reference(0)
    case .set(let elements): .array(elements.map(\.withoutObjectNumbers))
    case .object(let object): .array(object.entries.flatMap { [.string($0.key), $0.value.withoutObjectNumbers] })
    case .map(let entries): .array(entries.flatMap { [$0.key.withoutObjectNumbers, $0.value.withoutObjectNumbers] })
    default: mapInside(\.withoutObjectNumbers)
    }
  }
}
