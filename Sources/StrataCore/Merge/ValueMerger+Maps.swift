extension ValueMerger {
  /// Merges dictionaries whose keys are no strings, key by key as objects. An empty one may be an object.
  mutating func mergeMap(
    _ base: Value?, _ local: Value, _ server: Value, inherited: MergePolicy
  ) throws -> Value {
    let (own, other, old) = (local.mapEntries ?? [], server.mapEntries ?? [], base?.mapEntries ?? [])
    func lookup(_ entries: [Value.MapEntry]) -> [Value: Value] {
      Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
    let (bases, mine, theirs) = (lookup(old), lookup(own), lookup(other))
    let policy: MergePolicy =
      if case .conflict = inherited.rule { inherited } else { inherited.isRecursive ? .recursive : .automatic }
    var entries: [Value.MapEntry] = []
    for key in own.map(\.key) + other.map(\.key).filter({ mine[$0] == nil }) {
      let sides = sides(bases[key], mine[key], theirs[key])
      if sides.server == nil, !isBaseKnown || options.absence == .untouched {
        if let value = sides.local { entries.append(.init(key: key, value: value)) }
        continue
      }
      path.append(.value(key))
      defer { path.removeLast() }
      do {
        if let value = try merge(sides, policy) { entries.append(.init(key: key, value: value)) }
      } catch { throw ArchiveError.at(.key(key.stringValue ?? "(key)"), error) }
    }
    // An empty dictionary is what it was on one of the sides.
    guard !entries.isEmpty else { return own.isEmpty ? local : other.isEmpty ? server : .map([]) }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }
}

extension Value {
  /// The pairs of a dictionary.
  fileprivate var mapEntries: [MapEntry]? {
    switch self {
    case .map(let entries): entries
    case .object(let object): object.entries.map { MapEntry(key: .string($0.key), value: $0.value) }
    default: nil
    }
  }
}
