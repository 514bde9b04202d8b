/// Prepares the value that resolves a conflict: records that represent objects are replaced with references to the actual objects.
///
/// This is necessary because a report shows an object's fields, but only the identities of the objects that these fields refer to. The
/// complete objects are found among the local objects or in the remembered base.
struct ResolvedValue {
  private let snapshot: MergeSnapshot
  private let local: IdentifiedObjects
  /// Matches the server's objects with the local ones; `nil` if the value refers to none of the server's objects.
  private(set) var merger: ValueMerger?
  private var remembered: IdentifiedObjects?

  init(_ snapshot: MergeSnapshot) throws {
    self.snapshot = snapshot
    local = try IdentifiedObjects(snapshot.graph, snapshot.root)
  }

  /// Returns the value with the records of objects replaced by references to those objects.
  ///
  /// - Parameters:
  ///   - isServers: whether the value is the server's value from the conflict.
  ///   - state: the merge state of the model.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the fields of an object in the value are not known.
  mutating func value(
    _ value: ArchiveValue, isServers: Bool, _ state: MergeState?, _ type: any VersionedModel.Type
  ) throws -> ArchiveValue {
    let found = local.located(value)
    if found.holdsObjects(snapshot.catalog), let state, let base = state.base { try remember(base, state, type) }
    let result = try known(found, isWhole: !isServers, in: nil)
    var isRemembered = false
    result.forEachReference { if $0 < 0 { isRemembered = true } }
    // If the result refers to none of the server's objects, no matching is needed.
    if !isRemembered { merger = nil }
    return result
  }

  /// Returns all fields of an object that does not exist locally yet.
  mutating func newRecord(of entity: Int) throws -> ModelRecord {
    guard let record = try merger?.newRecord(of: entity) else { throw PathEdit.lost }
    return record
  }

  private mutating func remember(_ base: ModelRecord, _ state: MergeState, _ type: any VersionedModel.Type) throws {
    let graph = snapshot.graph
    let server = try state.read(base, type, PartReader(graph, .mergedArchive))
    guard !graph.parts.isEmpty else { return }
    var catalog = snapshot.catalog
    var merge = Merge(snapshot, MergeOptions(policy: .automatic))
    merge.server = server
    let matching = try merge.matched(&catalog)
    merger = ValueMerger(
      catalog: catalog, graph: graph, options: MergeOptions(), isBaseKnown: false, incoming: .init(hasParts: true))
    merger?.matching = matching
    remembered = try IdentifiedObjects(graph, server)
  }

  /// Returns the value with each incomplete record of an object replaced by a reference to the remembered object that has the same
  /// identity.
  ///
  /// - Parameters:
  ///   - isWhole: whether the objects in the value are complete. An object with only its identity fields is never complete.
  ///   - owner: the object that contains the value; `nil` if no object does.
  private func known(_ value: ArchiveValue, isWhole: Bool, in owner: ModelRecord?) throws -> ArchiveValue {
    try value.mapRecords { record in
      let schema = (merger?.catalog ?? snapshot.catalog)[record.typeName]
      guard let schema, schema.isObject else {
        return .record(try record.mapValues { try known($0, isWhole: isWhole, in: owner) })
      }
      let isShortened =
        owner != nil && record.values.count < schema.fields.count
        && record.keys.allSatisfy { schema.identityKey?.keys.contains($0) ?? false }
      if !isWhole || isShortened, let number = remembered?.number(of: record) { return .reference(number) }
      guard !isShortened else {
        throw ArchiveError(
          .mergeFailed,
          "the conflict contains only the key of an object of \(schema.name), and neither side has that object; "
            + "resolve the conflict with .value(…), and specify all fields of the object"
        )
      }
      return .record(try record.mapValues { try known($0, isWhole: isWhole, in: record) })
    }
  }
}

/// The objects that are reachable from a value, with lookup by identity.
private struct IdentifiedObjects {
  private struct Identity: Hashable {
    let typeName: String
    let value: ArchiveValue
  }

  private var numbers: [Identity: Int] = [:]
  private var keys: [String: IdentityKey] = [:]

  init(_ graph: MergeGraph, _ root: ArchiveValue) throws {
    var waiting: [Int] = []
    var seen = Set<Int>()
    func visit(_ value: ArchiveValue) { value.forEachReference { if seen.insert($0).inserted { waiting.append($0) } } }
    visit(root)
    while let number = waiting.popLast() {
      let record = try graph.record(number)
      let schema = graph.schema(number)
      if let (key, id) = schema.identity(of: record) {
        for name in [schema.name] + schema.superclasses.map(\.name) {
          keys[name] = key
          numbers[Identity(typeName: name, value: id)] = number
        }
      }
      visit(.record(record))
    }
  }

  /// Returns the number of the object that a record represents, found by its identity; `nil` if no object has this identity.
  func number(of record: ModelRecord) -> Int? {
    guard let key = keys[record.typeName], let id = record[key] else { return nil }
    return numbers[Identity(typeName: record.typeName, value: id)]
  }

  func located(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      if let number = number(of: record) { return .reference(number) }
      return .record(record.mapValues(located))
    }
  }
}

extension ArchiveValue {
  /// Whether the value contains records of objects. A record of an unknown class is treated as an object.
  fileprivate func holdsObjects(_ catalog: SchemaCatalog) -> Bool {
    if case .record(let record) = self, catalog[record.typeName]?.isObject ?? true { return true }
    return containsInside { $0.holdsObjects(catalog) }
  }
}
