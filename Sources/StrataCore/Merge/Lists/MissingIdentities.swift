/// Finds, for models that lack the identity of their type, the known models with the same values.
///
/// Two models correspond if they have the same values under all keys of the model that lacks its identity, at any depth. Each known model is
/// found once.
struct KnownModels {
  private let known: [(record: ModelRecord, key: ElementKey)]
  private let catalog: SchemaCatalog
  private let graph: MergeGraph
  /// Returns the form in which two values without models are compared.
  private let content: (ArchiveValue) throws -> ArchiveValue
  /// For each set of keys that was searched for, the positions in ``known`` of the models with the same values, last model first.
  private var positions: [ContentKeys: [[ArchiveValue]: [Int]]] = [:]
  private var taken = Set<ElementKey>()
  private var comparisons = 0
  private var depth = 0
  private let depthLimit = ArchiveLimits().depth
  /// The limit for ``comparisons``. It allows 64 different sets of keys.
  private let limit: Int

  private struct ContentKeys: Hashable {
    let typeName: String
    let keys: [ExactKey]
  }

  /// - Parameter known: the models that may correspond, in the order in which they are searched. A model may occur several times, with
  ///   different values.
  init(
    _ known: [(record: ModelRecord, key: ElementKey)], _ catalog: SchemaCatalog, _ graph: MergeGraph,
    content: @escaping (ArchiveValue) throws -> ArchiveValue = { $0 }
  ) {
    (self.known, self.catalog, self.graph, self.content) = (known, catalog, graph, content)
    limit = 1_000_000 + 64 * known.count
  }

  /// Returns the identity of the first known model of the same type with the same values, and does not return this model again.
  ///
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the search takes too many comparisons.
  /// - Complexity: O(1) on average for models without nested models, after O(n) for each set of keys, where n is the number of known models.
  mutating func takeIdentity(of record: ModelRecord) throws -> ArchiveValue? {
    let plain = zip(record.keys, record.values).filter { !$1.holdsRecords && !$1.hasReferences && !$1.isUnknownCase }
    let keys = ContentKeys(typeName: record.typeName, keys: plain.map { ExactKey($0.0) })
    if positions[keys] == nil {
      try count(known.count)
      var found: [[ArchiveValue]: [Int]] = [:]
      for (position, candidate) in known.enumerated().reversed() where candidate.record.typeName == record.typeName {
        let values = plain.compactMap { candidate.record[$0.0] }
        guard values.count == plain.count else { continue }
        found[try values.map(content), default: []].append(position)
      }
      positions[keys] = found
    }
    let values = try plain.map { try content($0.1) }
    var passed: [Int] = []
    defer { if !passed.isEmpty { positions[keys]?[values]?.append(contentsOf: passed.reversed()) } }
    while let position = positions[keys]?[values]?.popLast() {
      let candidate = known[position]
      guard !taken.contains(candidate.key) else { continue }
      if try isSame(record, candidate.record) {
        taken.insert(candidate.key)
        return candidate.key.id
      }
      passed.append(position)
    }
    return nil
  }

  private mutating func count(_ number: Int) throws {
    comparisons += number
    guard comparisons <= limit else {
      throw ArchiveError(
        .mergeFailed,
        "matching the list elements without an identity takes too many comparisons; include the identity in each element"
      )
    }
  }

  /// Whether a known value has all values that a sent value contains.
  private mutating func isSame(_ sent: ArchiveValue, _ known: ArchiveValue) throws -> Bool {
    try count(1)
    // References in a damaged base can form cycles.
    guard depth < depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    depth += 1
    defer { depth -= 1 }
    switch (sent, known) {
    case (.record(let one), .record(let other)): return try isSame(one, other)
    case (.reference(let one), .reference(let other)):
      let schema = graph.schema(one), record = try graph.record(one)
      guard one < 0, let key = graph.identityKey(of: schema), schema.isIdentityMissing(key, in: record) else {
        return try content(sent) == content(known)
      }
      return try graph.schema(other) === schema && isSame(record, graph.record(other))
    case (.array(let one), .array(let other)):
      guard one.count == other.count else { return false }
      for (left, right) in zip(one, other) where try !isSame(left, right) { return false }
      return true
    case (.set(let one), .set(var other)):
      guard one.count == other.count else { return false }
      for member in one {
        guard let match = try other.indices.first(where: { try isSame(member, other[$0]) }) else { return false }
        other.remove(at: match)
      }
      return true
    case (.object(let one), .object(let other)):
      return try one.count == other.count && hasValues(one, other)
    case (.map(let one), .map(let other)):
      guard one.count == other.count else { return false }
      let values = Dictionary(other.map { ($0.key, $0.value) }) { first, _ in first }
      for entry in one {
        guard let value = values[entry.key], try isSame(entry.value, value) else { return false }
      }
      return true
    default: return try content(sent) == content(known)
    }
  }

  private mutating func isSame(_ sent: ModelRecord, _ known: ModelRecord) throws -> Bool {
    guard sent.typeName == known.typeName else { return false }
    let isCase = catalog[sent.typeName]?.isEnumeration ?? false
    for (key, value) in zip(sent.keys, sent.values) where !value.isUnknownCase {
      guard let other = known[key] else { return false }
      if isCase, case (.object(let payload), .object(let others)) = (value, other) {
        guard try hasValues(payload, others) else { return false }
      } else if try !isSame(value, other) {
        return false
      }
    }
    return true
  }

  private mutating func hasValues(_ sent: ArchiveObject, _ known: ArchiveObject) throws -> Bool {
    for entry in sent.entries where !entry.value.isUnknownCase {
      guard let other = known[entry.key], try isSame(entry.value, other) else { return false }
    }
    return true
  }
}

extension IdentityKey {
  /// Returns the record with the given identity, which is a value of ``value(in:)``.
  func setting(_ id: ArchiveValue, in record: ModelRecord) -> ModelRecord {
    var record = record
    let values = keys.count == 1 ? [id] : id.arrayValue ?? []
    for (key, value) in zip(keys, values) where record[key] == nil { record[key] = value }
    return record
  }
}

extension ModelSchema {
  /// Whether a record of the type lacks all keys of an identity, and the default of the identity differs for each new model, as in
  /// `var id = UUID()`. If the default is the same each time, it is the identity of a record without these keys.
  func isIdentityMissing(_ key: IdentityKey, in record: ModelRecord) -> Bool {
    guard key.keys.allSatisfy({ record[$0] == nil }) else { return false }
    let defaults = key.keys.map { mergeTraits.fields[ExactKey($0)]?.makeDefault }
    // A default that cannot be archived throws its error when a model is created.
    return defaults.allSatisfy { $0 != nil } && defaults.contains { (try? $0?() != $0?()) ?? false }
  }

  /// Returns a new identity, made of the defaults of its keys; `nil` if a key has no default.
  func newIdentity(_ key: IdentityKey) throws -> ArchiveValue? {
    let values = try key.keys.map { ($0, try mergeTraits.fields[ExactKey($0)]?.makeDefault?()) }
    return key.value { name in values.first { $0.0 == name }?.1 }
  }
}

extension ValueMerger {
  /// A place in the incoming data: an object, or the root, and the path from it.
  struct Place: Hashable {
    let object: Int?
    let path: [ValuePath.Component]
  }

  /// Gives each incoming model of a list that lacks its identity an identity, at any depth of the list: the identity of the known model with
  /// the same values, or else a new one. The models of the base are searched first, then the local ones. A remembered base of an earlier
  /// version of the library may lack identities, too.
  ///
  /// A dictionary whose keys are not strings can be an array of pairs. Its models correspond by key and keep their identity.
  mutating func withIdentities(_ sides: MergePolicy.Sides, _ policy: MergePolicy, _ shape: TypeShape?) throws
    -> MergePolicy.Sides
  {
    guard incoming.hasParts || isBaseRemembered, !(shape?.isDictionary ?? false) else { return sides }
    var key: IdentityKey?
    switch policy.leading.rule {
    case .keepLocal: return sides
    case .byID(let id, _): key = id
    default: break
    }
    let finder = ModelFinder(catalog: catalog, graph: graph, key: key)
    var result = sides
    if isBaseRemembered, let base = sides.base {
      result.base = try identified(base, by: [sides.local, sides.server], finder) ?? base
    }
    if incoming.hasParts, let server = sides.server,
      let identified = try identified(server, by: [result.base, sides.local], finder)
    {
      result.server = identified
      graph.identifiedLists[Place(object: object, path: path)] = (server, identified)
    }
    return result
  }

  /// Returns a list in which no model lacks its identity. Returns `nil` if the value is no list, or if no model lacks its identity.
  private mutating func identified(_ list: ArchiveValue, by known: [ArchiveValue?], _ finder: ModelFinder) throws
    -> ArchiveValue?
  {
    guard list.arrayValue != nil, list.holdsRecords, finder.findsMissingIdentity(in: list) else { return nil }
    let used = Set(try finder.models(in: list).all.map(\.place.id))
    var models: [(record: ModelRecord, key: ElementKey)] = []
    for case let list? in known where list.arrayValue != nil {
      var keys = ElementKeys()
      for (place, record) in try finder.models(in: list).all where !used.contains(place.id) {
        if let id = finder.identity(of: record) { models.append((record, keys.key(for: id.value))) }
      }
    }
    var rest = KnownModels(models, catalog, graph)
    return try finder.map(list) { record, _ in
      .record(record)
    } anonymous: { record in
      guard let key = finder.keyOfMissingIdentity(of: record), let schema = catalog[record.typeName] else {
        return .record(record)
      }
      // A model without any values has the defaults of its type.
      let sent = record.values.isEmpty ? try overlaid(record, schema, over: [], fillsIn: true) : record
      let keys = Set(key.keys)
      let named = ModelRecord(
        typeName: sent.typeName, modelVersion: sent.modelVersion,
        fields: zip(sent.keys, sent.values).filter { !keys.contains($0.0) }.map { ($0, $1) })
      let id = try rest.takeIdentity(of: named) ?? schema.newIdentity(key)
      return .record(id.map { key.setting($0, in: record) } ?? record)
    }
  }
}
