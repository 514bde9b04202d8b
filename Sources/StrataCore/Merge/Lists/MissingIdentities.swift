/// Finds the identities of models that were sent without one, by comparing them with models that have known identities.
///
/// An incoming model matches a known model of the same type if both have the same values under all keys of the incoming model, at any
/// depth. Each known model is matched at most once.
struct KnownModels {
  private let known: [(record: ModelRecord, key: ElementKey)]
  private let catalog: SchemaCatalog
  private let graph: MergeGraph
  /// Converts a value that contains no models to the form in which it is compared.
  private let content: (ArchiveValue) throws -> ArchiveValue
  /// An index of the known models. For each type and set of keys, it maps the values under these keys to the models that have them, given
  /// as positions in ``known`` in descending order.
  private var positions: [ContentKeys: [[ArchiveValue]: [Int]]] = [:]
  private var taken = Set<ElementKey>()
  private var comparisons = 0
  private var depth = 0
  private let depthLimit = ArchiveLimits().depth
  /// The maximum number of ``comparisons``. It allows one million comparisons of values, and an index of the known models for each of 64
  /// sets of keys.
  private let limit: Int

  private struct ContentKeys: Hashable {
    let typeName: String
    let keys: [ExactKey]
  }

  /// - Parameter known: the models with known identities, in the order in which they are searched. The same model may occur several times,
  ///   with different values.
  init(
    _ known: [(record: ModelRecord, key: ElementKey)], _ catalog: SchemaCatalog, _ graph: MergeGraph,
    content: @escaping (ArchiveValue) throws -> ArchiveValue = { $0 }
  ) {
    (self.known, self.catalog, self.graph, self.content) = (known, catalog, graph, content)
    limit = 1_000_000 + 64 * known.count
  }

  /// Returns the identity of the first known model of the same type with the same values; `nil` if there is none. Later calls do not return
  /// the same model again. An empty record is compared as a model with the default values of its type.
  ///
  /// - Parameter key: the identity that the record lacks.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the search takes too many comparisons.
  /// - Complexity: O(1) on average for models without nested models, after O(n) for each set of keys, where n is the number of known
  ///   models.
  mutating func takeIdentity(of record: ModelRecord, without key: IdentityKey) throws -> ArchiveValue? {
    let record = try record.values.isEmpty ? defaults(of: record, without: key) : record
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

  /// Returns the default values of a model, without its identity. They are compared if the document contains an empty object, `{}`.
  private func defaults(of record: ModelRecord, without key: IdentityKey) throws -> ModelRecord {
    guard let schema = catalog[record.typeName] else { return record }
    var defaults = record
    for (place, field) in schema.fields.enumerated() where field.json.isRead && !key.keys.contains(field.key) {
      let value = try graph.missingValue?(schema, place) ?? field.absentValue()
      // A class instance is encoded as a record if it is new and as a reference if it is known, so the two cannot be compared.
      if !(schema.isObject && value?.holdsRecords ?? false) { defaults[field.key] = value }
    }
    return defaults
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

  /// Whether a known value has all the values that an incoming value contains. Keys that incoming models lack are ignored.
  private mutating func isSame(_ sent: ArchiveValue, _ known: ArchiveValue) throws -> Bool {
    try count(1)
    // In a damaged base, references can form cycles, so the depth is limited.
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
  /// Returns the record with the keys of an identity set, unless they already have values. `id` is an identity as returned by
  /// ``value(in:)``.
  func setting(_ id: ArchiveValue, in record: ModelRecord) -> ModelRecord {
    var record = record
    let values = keys.count == 1 ? [id] : id.arrayValue ?? []
    for (key, value) in zip(keys, values) where record[key] == nil { record[key] = value }
    return record
  }
}

extension ModelSchema {
  /// Whether a record lacks all keys of an identity whose default is different for each new model, as in `var id = UUID()`. If the default
  /// is always the same, it is the record's identity, so no identity is missing.
  func isIdentityMissing(_ key: IdentityKey, in record: ModelRecord) -> Bool {
    key.keys.allSatisfy { record[$0] == nil } && mergeTraits.isChanging(key)
  }

  /// Returns a new identity, made of the defaults of its keys; `nil` if a key has no default.
  func newIdentity(_ key: IdentityKey) throws -> ArchiveValue? {
    let values = try key.keys.map { ($0, try mergeTraits.fields[ExactKey($0)]?.makeDefault?()) }
    return key.value { name in values.first { $0.0 == name }?.1 }
  }
}

extension ValueMerger {
  /// The location of a value in the incoming data: the number of the entity that contains it (`nil` for a root that is not an object), and
  /// the path from there.
  struct Place: Hashable {
    let object: Int?
    let path: [ValuePath.Component]
  }

  /// Assigns identities to the models in an incoming list that lack one, at any depth. Each model gets the identity of the known model with
  /// the same values, or else a new identity. The models of the base are searched first, then the local ones. In a base that an earlier
  /// version of the library stored, models may lack identities, too.
  ///
  /// A dictionary whose keys are not strings can be encoded as an array of pairs. Dictionaries are skipped, because their models are
  /// matched by key.
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

  /// Returns the list with an identity for each model that lacks one. Returns `nil` if the value is not a list, or if no model lacks its
  /// identity.
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
      let id = try rest.takeIdentity(of: record, without: key) ?? schema.newIdentity(key)
      return .record(id.map { key.setting($0, in: record) } ?? record)
    }
  }
}
