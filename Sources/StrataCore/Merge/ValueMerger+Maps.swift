extension ValueMerger {
  /// Merges dictionaries whose keys are no strings, key by key as objects. An empty one may be an object.
  mutating func mergeMap(
    _ sides: MergeSides, _ local: Value, _ server: Value, inherited: MergePolicy
  ) throws -> Value {
    let (own, other, old) = (local.mapEntries ?? [], server.mapEntries ?? [], sides.base?.mapEntries ?? [])
    func lookup(_ entries: [Value.MapEntry]) -> [Value: Value] {
      Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
    let (bases, mine, theirs) = (lookup(old), lookup(own), lookup(other))
    let policy = inherited.handedOn
    var entries: [Value.MapEntry] = []
    for key in own.map(\.key) + other.map(\.key).filter({ mine[$0] == nil }) {
      let inner = self.sides(bases[key], mine[key], theirs[key], isBaseKnown: sides.isBaseKnown)
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
