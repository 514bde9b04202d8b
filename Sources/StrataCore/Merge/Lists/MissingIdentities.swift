/// Finds, for models that lack the identity of their type, the known models with the same values.
///
/// Two models correspond if they have the same values under all keys of the model that lacks its identity. Each known model is found once.
struct KnownModels {
  private let known: [(record: ModelRecord, key: ElementKey)]
  /// For each set of keys that was searched for, the positions in ``known`` of the models with the same values, last model first.
  private var positions: [ContentKeys: [[ArchiveValue]: [Int]]] = [:]
  private var taken = Set<ElementKey>()

  private struct ContentKeys: Hashable {
    let typeName: String
    let keys: [ExactKey]
  }

  /// The number of different sets of keys that are always allowed, and the limit for the number of sets times the number of known models.
  private static let keySetLimit = 16
  private static let comparisonLimit = 1_000_000

  /// - Parameter known: the models that may correspond, in the order in which they are searched. A model may occur several times, with
  ///   different values.
  init(_ known: [(record: ModelRecord, key: ElementKey)]) { self.known = known }

  /// Returns the identity of the first known model of the same type with the same values, and does not return this model again.
  ///
  /// - Parameter content: returns the form of a value in which values are compared.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the models have so many different sets of keys that the search would take too
  ///   long.
  /// - Complexity: O(1) on average, after O(n) for each set of keys, where n is the number of known models.
  mutating func takeIdentity(
    of record: ModelRecord, content: (ArchiveValue) throws -> ArchiveValue
  ) throws -> ArchiveValue? {
    let keys = ContentKeys(typeName: record.typeName, keys: record.keys.map(ExactKey.init))
    if positions[keys] == nil {
      guard positions.count < Self.keySetLimit || (positions.count + 1) * known.count <= Self.comparisonLimit else {
        throw ArchiveError(
          .mergeFailed,
          "the list elements without an identity have too many different sets of keys; include the identity or all keys "
            + "in each element", typeName: record.typeName)
      }
      var found: [[ArchiveValue]: [Int]] = [:]
      for (position, candidate) in known.enumerated().reversed() where candidate.record.typeName == record.typeName {
        let values = record.keys.compactMap { candidate.record[$0] }
        guard values.count == record.keys.count else { continue }
        found[try values.map(content), default: []].append(position)
      }
      positions[keys] = found
    }
    let values = try record.values.map(content)
    while let position = positions[keys]?[values]?.popLast() {
      if taken.insert(known[position].key).inserted { return known[position].key.id }
    }
    return nil
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
  /// Whether a record of the type has fields but lacks all keys of an identity, and the default of the identity differs for each new model, as
  /// in `var id = UUID()`. If the default is the same each time, it is the identity of a record without these keys.
  func isIdentityMissing(_ key: IdentityKey, in record: ModelRecord) -> Bool {
    guard !record.values.isEmpty, key.keys.allSatisfy({ record[$0] == nil }) else { return false }
    let defaults = key.keys.map { mergeTraits.fields[ExactKey($0)]?.makeDefault }
    // A default that cannot be archived throws its error when a model is created.
    return defaults.allSatisfy { $0 != nil } && defaults.contains { (try? $0?() != $0?()) ?? false }
  }
}

extension ValueMerger {
  /// Gives each incoming model of a list that lacks its identity the identity of the known model with the same values, at any depth of the
  /// list. The models of the base are searched first, then the local ones. A remembered base may lack identities, too.
  ///
  /// A dictionary whose keys are not strings can be an array of pairs. Its models correspond by key and keep their identity.
  mutating func withIdentities(_ sides: MergePolicy.Sides, _ policy: MergePolicy, _ shape: TypeShape?) throws
    -> MergePolicy.Sides
  {
    guard incoming.hasParts, let server = sides.server, server.arrayValue != nil, server.holdsRecords,
      !(shape?.isDictionary ?? false)
    else { return sides }
    var key: IdentityKey?
    switch policy.leading.rule {
    case .keepLocal: return sides
    case .byID(let id, _): key = id
    default: break
    }
    let finder = ModelFinder(catalog: catalog, graph: graph, key: key)
    var result = sides
    if isBaseRemembered, let base = sides.base, base.arrayValue != nil {
      result.base = try identified(base, by: [sides.local], finder, invents: true)
    }
    result.server = try identified(server, by: [result.base, sides.local], finder, invents: false)
    return result
  }

  /// - Parameter invents: whether a model without a counterpart gets its identity from the defaults of its keys.
  private mutating func identified(
    _ list: ArchiveValue, by known: [ArchiveValue?], _ finder: ModelFinder, invents: Bool
  ) throws -> ArchiveValue {
    guard finder.findsMissingIdentity(in: list) else { return list }
    let used = Set(try finder.models(in: list).all.map(\.place.id))
    var models: [(record: ModelRecord, key: ElementKey)] = []
    for case let list? in known where list.arrayValue != nil {
      var keys = ElementKeys()
      for (place, record) in try finder.models(in: list).all where !used.contains(place.id) {
        if let id = finder.identity(of: record) { models.append((record, keys.key(for: id.value))) }
      }
    }
    var rest = KnownModels(models)
    return try finder.map(list) { record, _ in
      .record(record)
    } anonymous: { record in
      guard let key = finder.keyOfMissingIdentity(of: record) else { return .record(record) }
      // A value that cannot be completed equals no local value.
      let id = try rest.takeIdentity(of: record) { value in withoutHidden((try? completed(value, over: [])) ?? value) }
      if let id { return .record(key.setting(id, in: record)) }
      guard invents, let whole = try? overlaid(.record(record), over: [], fillsIn: true).recordValue,
        let id = whole[key]
      else { return .record(record) }
      return .record(key.setting(id, in: record))
    }
  }
}
