/// The last known state of the server: the base, updated with the incoming values.
struct ServerState {
  private var merger: ValueMerger
  var catalog: SchemaCatalog { merger.catalog }
  private let server: ArchiveValue
  private let base: ArchiveValue?
  private let wanted: Set<String>?
  private let stateKey: String
  private var root: ModelRecord
  private var known: [Int: ModelRecord] = [:]

  /// Creates the last known state of the server from the base and the incoming values.
  ///
  /// - Parameters:
  ///   - wanted: the keys that were merged. Other keys are ignored. `nil` means all keys.
  ///   - stateKey: the key of the model's merge state.
  init(
    _ merger: ValueMerger, _ server: ArchiveValue, _ base: ArchiveValue?, wanted: Set<String>?, state stateKey: String
  ) throws {
    self.merger = merger
    self.merger.path = []
    // A patch names the elements and keys that it removes. For other sources, the merge policies decide whether elements and keys that the
    // source does not list stay in the base.
    if !merger.incoming.removesAbsentKeys { self.merger.keepingPolicy = .automatic }
    self.server = server
    self.base = base
    self.wanted = wanted
    self.stateKey = stateKey
    root = ModelRecord(typeName: "", modelVersion: nil)
    self.merger.object = rootEntity
    root = try rootFields()
    if let rootEntity { known[rootEntity] = root }
  }

  private mutating func rootFields() throws -> ModelRecord {
    func fields(_ value: ArchiveValue?) throws -> (ModelRecord, ModelSchema)? {
      switch value {
      case .reference(let number)?: (try merger.graph.record(number), merger.graph.schema(number))
      case .record(let record)?: merger.catalog[record.typeName].map { (record, $0) }
      default: nil
      }
    }
    let old = try fields(base)?.0
    guard let (found, schema) = try fields(server) else { return old ?? ModelRecord(typeName: "", modelVersion: nil) }
    var incoming = found
    if case .reference(let number) = server, let entity = merger.matching?.entity(of: number) {
      incoming = try merger.serverRecord(of: entity) ?? incoming
    }
    if let wanted { for key in incoming.keys where !wanted.contains(key) { incoming[key] = nil } }
    incoming[stateKey] = nil
    return try merger.overlaid(withoutHidden(incoming), schema, over: old.map { [$0] } ?? [], fillsIn: false)
  }

  /// Returns the fields of an object as the server last sent them: the fields of the base, updated with the incoming fields.
  private mutating func record(_ number: Int) throws -> ModelRecord {
    guard let matching = merger.matching, let entity = matching.entity(of: number) else {
      return try merger.graph.record(number)
    }
    if let known = known[entity] { return known }
    let old = try matching.entities[entity][.base].first.map { try merger.graph.record($0) }
    var result = old
    merger.selectors = merger.selectorsByObject[entity] ?? []
    merger.object = entity
    if let incoming = try merger.serverRecord(of: entity) {
      result = try merger.overlaid(
        withoutHidden(incoming), merger.graph.schema(number), over: old.map { [$0] } ?? [], fillsIn: false)
    }
    let found = try result ?? merger.graph.record(number)
    known[entity] = found
    return found
  }

  /// Returns the record without the fields that are never part of JSON.
  private func withoutHidden(_ record: ModelRecord) -> ModelRecord {
    if case .record(let fields) = merger.statedByServer(.record(record)) { fields } else { record }
  }

  private var rootEntity: Int? {
    guard case .reference(let number) = server else { return nil }
    return merger.matching?.entity(of: number)
  }

  /// Returns the state as archives store it.
  func remembered() throws -> (base: ModelRecord, objects: [ModelRecord]) {
    var copy = self
    let matching = merger.matching
    let root: ArchiveValue = if case .reference = server { server } else { .record(self.root) }
    return try RememberedGraph.encoded(merger.catalog, root, canonical: { matching?.entity(of: $0) ?? $0 }) {
      try copy.record($0)
    }
  }

  // MARK: Conflicts

  /// Returns, for each path, whether the conflict there has ended. A conflict ends if the server sends a new value or the merge result has
  /// the server's value.
  func ended(_ paths: [ValuePath], with result: ModelRecord) throws -> [Bool] {
    var copy = self
    let matching = merger.matching
    let rootEntity = rootEntity
    let tree = PathTree(paths.map(\.components))
    var ambiguous = Set<Int>()
    let own = try tree.values(in: .record(result), ambiguous: &ambiguous) { number in
      guard let entity = matching?.entity(of: number), let local = matching?.entities[entity][.local].first else {
        return try copy.merger.graph.record(number)
      }
      if entity == rootEntity { return result }
      return try copy.merger.updates[local] ?? copy.merger.graph.record(local)
    }
    let new = try tree.values(in: .record(root), ambiguous: &ambiguous) { try copy.record($0) }
    let old = try base.map { base in
      try tree.values(in: base, ambiguous: &ambiguous) { number in
        guard let entity = matching?.entity(of: number), let old = matching?.entities[entity][.base].first else {
          return try copy.merger.graph.record(number)
        }
        return try copy.merger.graph.record(old)
      }
    }
    return paths.indices.map { place in
      guard !ambiguous.contains(place) else { return false }
      return merger.areSame(own[place], new[place]) || old.map { !merger.areSame($0[place], new[place]) } ?? true
    }
  }
}
