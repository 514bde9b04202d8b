extension ValueMerger {
  /// Merges dictionaries whose keys are no strings, key by key as objects. An empty one may be an object.
  mutating func mergeMap(
    _ sides: MergeSides, _ local: Value, _ server: Value, inherited: MergePolicy
  ) throws -> Value {
    let (own, other, old) = (local.mapEntries ?? [], server.mapEntries ?? [], sides.base?.mapEntries ?? [])
    // Keys that are equal to nothing are found again here.
    func lookup(_ entries: [Value.MapEntry]) -> [SameValue: Value] {
      Dictionary(entries.map { (SameValue($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    }
    let (bases, mine, theirs) = (lookup(old), lookup(own), lookup(other))
    guard mine.count == own.count, theirs.count == other.count else {
      throw ArchiveError(.mergeFailed, "a dictionary has several keys that are not a number; each may be there once")
    }
    let policy = inherited.handedOn
    var entries: [Value.MapEntry] = []
    for key in own.map(\.key) + other.map(\.key).filter({ mine[SameValue($0)] == nil }) {
      let inner = self.sides(
        bases[SameValue(key)], mine[SameValue(key)], theirs[SameValue(key)], isBaseKnown: sides.isBaseKnown)
      path.append(.value(key))
      defer { path.removeLast() }
      do {
        if let value = try mergeEntry(inner, policy, inherited) { entries.append(.init(key: key, value: value)) }
      } catch { throw ArchiveError.at(.key(key.stringValue ?? "(key)"), error) }
    }
    // An empty dictionary is what it was on one of the sides.
    guard !entries.isEmpty else { return own.isEmpty ? local : other.isEmpty ? server : .map([]) }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }
}
