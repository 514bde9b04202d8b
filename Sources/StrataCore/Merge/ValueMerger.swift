/// Merges values by policy, nested ones by the policies of their own types.
struct ValueMerger {
  private struct Pair: Hashable {
    let target: Value
    let source: Value
  }

  let catalog: SchemaCatalog
  /// The objects that references name.
  let neighbours: ObjectNeighbours
  /// The objects that are being merged, each inside the one before.
  private var open = Set<Pair>()
  private let depthLimit = ArchiveLimits().depth

  init(catalog: SchemaCatalog, neighbours: ObjectNeighbours) {
    self.catalog = catalog
    self.neighbours = neighbours
  }

  mutating func merge(_ target: Value?, _ source: Value?, _ policy: MergePolicy) throws -> Value? {
    switch policy {
    case .takeSource: return source ?? target
    case .takeSourceIfPresent: return source.map { $0.isNull ? target : $0 } ?? target
    case .keepTarget: return target
    case .custom(let merge): return try merge(target, source) ?? target
    case .recursive:
      guard let target, let source else { return source ?? target }
      return try mergeNested(target, source)
    case .byID(let key):
      guard let target, let source else { return source ?? target }
      return try mergeElements(target, source, key)
    }
  }

  /// What a reference names, taken apart; any other value as it is.
  private func opened(_ value: Value) throws -> Value {
    guard case .reference(let number) = value else { return value }
    return .record(try neighbours.objects[number].shallowRecord(neighbours))
  }

  private mutating func mergeNested(_ target: Value, _ source: Value) throws -> Value {
    guard target != source else { return target }
    let (old, new) = (try opened(target), try opened(source))
    // Objects that refer to each other come up again inside themselves, where the target's stays.
    if case .reference = target {
      guard open.insert(Pair(target: target, source: source)).inserted else { return target }
      guard open.count <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    }
    defer { open.remove(Pair(target: target, source: source)) }
    let merged = try mergeOpened(old, new)
    // An object that the merge does not change stays itself.
    return merged == old ? target : merged == new ? source : merged
  }

  private mutating func mergeOpened(_ target: Value, _ source: Value) throws -> Value {
    switch (target, source) {
    case (.record(var result), .record(let source)) where result.typeName == source.typeName:
      let schema = try catalog.schema(named: source.typeName)
      for (key, value) in source.fields {
        let policy = schema?.fields.first { $0.key == key }?.merge ?? .recursive
        do { result[key] = try merge(result[key], value, policy) } catch { throw ArchiveError.at(.key(key), error) }
      }
      return .record(result)
    case (.object(var result), .object(let source)):
      for entry in source.entries { result[entry.key] = try merge(result[entry.key], entry.value, .recursive) }
      return .object(result)
    default: return source
    }
  }

  private mutating func mergeElements(_ target: Value, _ source: Value, _ key: String) throws -> Value {
    guard case .array(let old) = target, case .array(let new) = source else { return source }
    var known: [Value: Value] = [:]
    for element in old { if let id = try opened(element)[key], !id.isNull { known[id] = element } }
    return .array(
      try new.enumerated().map { index, element in
        guard let id = try opened(element)[key], let match = known[id] else { return element }
        do { return try mergeNested(match, element) } catch { throw ArchiveError.at(.index(index), error) }
      })
  }
}
