import Foundation

/// One merge of a model with what comes in: reads the sides, merges them, and says what happened.
struct ModelMerge<M: VersionedModel> {
  let options: MergeOptions
  let schema = M.schema
  let graph = MergeGraph()
  let target: M
  /// The target as it is: its fields, and itself where it is an object.
  let before: ModelRecord
  let rootNumber: Int?
  private let wanted: Set<String>?
  var server: Value = .null
  var base: Value?
  var incoming = ValueMerger.Incoming()
  var source: (any VersionedModel)?
  var state: MergeState?
  var isBaseWhole = true
  var isBaseRemembered = false

  /// What a merge comes to, before anything is changed.
  struct Outcome {
    let linking: ObjectLinking
    var report: MergeReport
    let places: ObjectPlaces
    let catalog: SchemaCatalog
  }

  init(_ target: M, _ options: MergeOptions) throws {
    self.target = target
    self.options = options
    wanted = options.keys.map(Set.init)
    // Local objects have the first numbers.
    let number = M.schema.isObject ? graph.referenced.number(of: target) : nil
    rootNumber = number
    let fields = try number.map { [graph] in try graph.record($0) } ?? target.shallowRecord(graph.referenced)
    before = fields
    guard let key = schema.mergeStateKey else { return }
    state = try MergeState.make(from: fields[key] ?? .null, in: DecodingContext())
    do { state = try state?.upgraded(for: M.self) } catch {
      throw ArchiveError(
        .mergeFailed, "the conflicts of earlier merges cannot be read today", typeName: schema.name, underlying: error)
    }
  }

  var local: Value { rootNumber.map { .reference($0) } ?? .record(before) }

  // MARK: Merging

  /// Merges the sides; nothing is changed yet.
  func run() throws -> Outcome {
    var catalog = SchemaCatalog()
    M.collectSchemas(into: &catalog)
    let matching = try matched(&catalog)
    var merger = ValueMerger(
      catalog: catalog, graph: graph, options: options, isBaseKnown: base != nil, incoming: incoming)
    merger.matching = matching
    merger.roots = [local, server]
    merger.isBaseWhole = isBaseWhole
    merger.isBaseRemembered = isBaseRemembered
    if !merger.selectors.isEmpty { try merger.selectObjects(from: [local, server]) }
    let result = try mergeRoot(&merger)
    try merger.mergeObjects()
    let places = try places(merger, result)
    try noteLostEdits(&merger, places.reachable)
    var report = MergeReport()
    report.entries = try merger.notes.map { try entry($0, merger, places.all) }
    report.mergedKeys = try mergedKeys()
    try report.checkConflicts(options, typeName: schema.name)
    var values = result
    if let key = schema.mergeStateKey {
      var state = state ?? MergeState()
      let decided = zip(merger.notes, report.entries).filter { $0.0.decides }.map { $1.path }
      try state.move(
        to: ServerState(merger, server, base, wanted: wanted, state: key), report, decided: decided, result)
      values[key] = state.value
    }
    let updates = try merger.updated.map { number in
      let record = try graph.record(number)
      return ObjectLinking.Update(number: number, before: record, record: merger.updates[number] ?? record)
    }
    var completing = merger
    let linking = try ObjectLinking(graph, matching, root: .record(values), updates: updates) { entity in
      try completing.newRecord(of: entity)
    }
    return Outcome(linking: linking, report: report, places: places.all, catalog: catalog)
  }

  private func matched(_ catalog: inout SchemaCatalog) throws -> ObjectMatching? {
    // A value that holds no objects has none to match.
    guard schema.holdsObjects || !graph.isEmpty else { return nil }
    var matching = ObjectMatching(graph, catalog, rootStructure: rootNumber == nil ? schema : nil)
    // A policy of the call may merge what the field's own keeps.
    let mergesKept = !options.policies.isEmpty || options.policy != nil
    try matching.match(.init(base: base, local: local, server: server)) { [wanted, schema] owner in
      let traits = owner.mergeTraits
      let skipped = mergesKept ? traits.stateKeys : traits.keptKeys
      guard owner === schema, let wanted else { return skipped }
      return skipped.union(owner.allKeys.filter { !wanted.contains($0) })
    }
    var types = Set<ObjectIdentifier>()
    for object in graph.referenced.objects where types.insert(ObjectIdentifier(Swift.type(of: object))).inserted {
      Swift.type(of: object).collectSchemas(into: &catalog)
    }
    return matching
  }

  private func mergeRoot(_ merger: inout ValueMerger) throws -> ModelRecord {
    let isKnown = base != nil
    let policy = options.policy ?? .automatic
    guard !schema.isEnumeration else {
      let sides = merger.sides(base, local, server, isBaseKnown: isKnown)
      guard case .record(let result)? = try merger.merge(sides, policy) else {
        throw ArchiveError(.mergeFailed, "the result is no case of the enum", typeName: schema.name)
      }
      return result
    }
    var says = try fields(server)
    if let rootNumber, let entity = merger.matching?.entity(of: rootNumber) {
      merger.object = entity
      merger.queued.insert(entity)
      merger.selectors = merger.selectorsByObject[entity] ?? merger.selectors
      says = try merger.serverRecord(of: entity)
    }
    guard let says else { return before }
    // Of what the server says of keys that are not merged, nothing counts.
    return try merger.mergeFields(
      base.flatMap(fields), isBaseKnown: isKnown, before, says, schema: schema, inherited: policy,
      only: wanted, models: RootModels(target: target, source: source))
  }

  private func mergedKeys() throws -> [String] {
    guard !schema.isEnumeration, let says = try fields(server) else { return [] }
    return schema.fields.filter {
      says[$0.key] != nil && wanted?.contains($0.key) ?? true && $0.key != schema.mergeStateKey
    }.map(\.key)
  }

  // MARK: Committing

  /// Takes the outcome over.
  func commit(_ outcome: Outcome, into target: inout M) throws -> MergeReport {
    let commit = MergeCommit(
      graph: graph, linking: outcome.linking, validates: options.validates, runsHooks: outcome.catalog.finishesModels,
      rootNumber: rootNumber)
    let (after, finished) = try commit.run(&target, before, mustAdopt: schema.keepsUnknownFields)
    var report = outcome.report
    for change in finished { report.entries += entries(of: change, outcome) }
    // A key counts as changed, too, where an object that it refers to has other fields now.
    let changedInside =
      outcome.linking.updates.isEmpty
      ? [] : Set(report.entries.filter { $0.outcome != .local && $0.result != $0.local }.compactMap(\.path.firstKey))
    report.changes = schema.fields.compactMap { field in
      let (old, new) = (before[field.key], after[field.key])
      let isSame = old.map { old in new.map { old.isSame(as: $0) } ?? false } ?? (new == nil)
      return isSame && !changedInside.contains(field.key) || field.key == schema.mergeStateKey
        ? nil : MergeReport.Change(key: field.key, old: old, new: new)
    }
    // What is no field: the case of an enum, and keys that the model does not declare.
    let others = Set(before.keys + after.keys).subtracting(schema.allKeys)
    report.isChangedInside = others.contains { key in
      let (old, new) = (before[key], after[key])
      return old.map { old in new.map { !old.isSame(as: $0) } ?? true } ?? (new != nil)
    }
    return report
  }

  /// The objects that were made, without holding them.
  func additions(_ outcome: Outcome) -> [NewObject] {
    let first = graph.referenced.objects.count
    let additions = outcome.linking.additions
    guard !additions.isEmpty else { return [] }
    return additions.compactMap { addition in
      guard let number = outcome.linking.number(of: addition.entity), number < first else { return nil }
      func object<Object: VersionedModel>(_ model: Object) -> AnyObject? {
        Object.schema.isObject ? model as AnyObject : nil
      }
      return NewObject(
        object: object(graph.referenced.objects[number]), path: MergePath([], from: addition.entity, in: outcome.places)
      )
    }
  }

  /// What a model's own code changed after the merge.
  private func entries(of change: MergeCommit.Finished, _ outcome: Outcome) -> [MergeReport.Entry] {
    let entity = change.number.flatMap { outcome.linking.entity(of: $0) }
    return zip(change.after.keys, change.after.values).compactMap { key, value in
      let old = change.before[key]
      guard old.map({ !$0.isSame(as: value) }) ?? true, key != schema.mergeStateKey else { return nil }
      let path = entity.map { MergePath([.key(key)], from: $0, in: outcome.places) } ?? MergePath([.key(key)])
      func plain(_ value: Value?) -> Value? { value.map { $0.mapReferences { _ in .null } } }
      return MergeReport.Entry(
        path: path, outcome: .merged, rule: "the model's own code", base: nil, local: plain(old), server: nil,
        result: plain(value))
    }
  }
}
