/// One merge of a source into a model, or into a list of models.
///
///     snapshot ┐
///     source   ┼→ one tree per side → objects matched → merged by policy → references resolved → committed
///     base     ┘
///
/// No object is changed before the last step, ``MergeCommit``.
struct Merge {
  let snapshot: MergeSnapshot
  let options: MergeOptions
  /// The policy for merging the list if the root is a list of models; `nil` if the root is a single model.
  private let listPolicy: MergePolicy?
  /// The local model. If the base is not known, a patch is applied to the JSON of this model. Merge hooks also receive the model. The
  /// fields in `snapshot` would not be enough, because the model may have properties that are not fields.
  let model: (any VersionedModel)?
  private let wanted: Set<String>?
  var server: ArchiveValue = .null
  var base: ArchiveValue?
  var incoming = ValueMerger.Incoming()
  /// The incoming model, if the source is a model of the root's type or of a subclass; otherwise `nil`.
  var source: (any VersionedModel)?
  var state: MergeState?
  var isBaseWhole = true
  var isBaseRemembered = false

  var graph: MergeGraph { snapshot.graph }
  var schema: ModelSchema { snapshot.schema }

  /// The result of a merge before any object is changed.
  struct Outcome {
    let linking: ObjectLinking
    var report: MergeReport
    let places: PathTable
    let catalog: SchemaCatalog
  }

  init(
    _ snapshot: MergeSnapshot, _ options: MergeOptions, model: (any VersionedModel)? = nil,
    listPolicy: MergePolicy? = nil
  ) {
    self.snapshot = snapshot
    self.options = options
    self.model = model
    self.listPolicy = listPolicy
    wanted = options.keys.map(Set.init)
  }

  // MARK: Merging

  /// Matches the objects of the base, the local model and the server, and merges their values. No object is changed.
  ///
  /// - Throws: ``ArchiveError`` with the code `mergeFailed`, `missingValue` or `limitExceeded`.
  func run() throws -> Outcome {
    do { return try outcome() } catch let error as MergeGraph.Unreadable { throw error.reason } catch {
      let known = error as? ArchiveError
      if let known, [.mergeFailed, .missingValue, .limitExceeded].contains(known.code) { throw known }
      // If a policy threw an error, that error is reported as the cause instead of the `rejected` error that wraps it.
      let cause = known?.code == .rejected ? known?.underlyingError ?? error : error
      throw ArchiveError(
        .mergeFailed,
        "the local and incoming values cannot be merged", path: known?.codingPath ?? [], typeName: schema.name,
        underlying: cause)
    }
  }

  private func outcome() throws -> Outcome {
    var catalog = snapshot.catalog
    let matching = try matched(&catalog)
    var merger = ValueMerger(
      catalog: catalog, graph: graph, options: options, isBaseKnown: base != nil, incoming: incoming)
    merger.matching = matching
    merger.roots = [snapshot.root, server]
    merger.isBaseWhole = isBaseWhole
    merger.isBaseRemembered = isBaseRemembered
    if !merger.selectors.isEmpty { try merger.selectObjects(from: [snapshot.root, server]) }
    var root = try mergeRoot(&merger)
    if let number = snapshot.rootNumber, case .record(let fields) = root { merger.updates[number] = fields }
    try merger.mergeObjects()
    let places = try places(merger, root)
    try noteLostEdits(&merger, places.reachable)
    var report = MergeReport()
    report.entries = try merger.notes.map { try entry($0, merger, places.all) }
    report.mergedKeys = try mergedKeys()
    try report.checkConflicts(options, typeName: schema.name)
    if let key = snapshot.stateKey, case .record(var fields) = root {
      var state = state ?? MergeState()
      let decided = zip(merger.notes, report.entries).filter { $0.0.decides }.map { $1.path }
      try state.move(
        to: ServerState(merger, server, base, wanted: wanted, state: key), report, decided: decided, fields)
      fields[key] = state.value
      root = .record(fields)
    }
    var updates = try merger.updated.map { number in
      let record = try graph.record(number)
      return ObjectLinking.Update(number: number, before: record, record: merger.updates[number] ?? record)
    }
    if let number = snapshot.rootNumber, case .record(let fields) = root {
      updates.insert(.init(number: number, before: try graph.record(number), record: fields), at: 0)
      root = snapshot.root
    }
    var completing = merger
    let linking = try ObjectLinking(
      graph, matching, root: root, updates: updates, replaced: merger.replaced
    ) { try completing.newRecord(of: $0) }
    return Outcome(linking: linking, report: report, places: places.all, catalog: catalog)
  }

  /// Matches the objects of the base, the local model and the server, and adds the schemas of their classes to a catalog. Returns `nil` if
  /// there are no objects.
  func matched(_ catalog: inout SchemaCatalog) throws -> ObjectMatching? {
    guard !graph.isEmpty else { return nil }
    let isValue = !snapshot.isList && snapshot.rootNumber == nil
    var matching = ObjectMatching(graph, catalog, rootStructure: isValue ? schema : nil)
    // Policies passed to the merge override those of the fields. They may merge a field whose own policy keeps the local value, so the
    // objects in such fields must be matched, too.
    let mergesKept = !options.policies.isEmpty || options.policy != nil
    try matching.match(.init(base: base, local: snapshot.root, server: server)) { [wanted, schema] owner in
      let traits = owner.mergeTraits
      let skipped = mergesKept ? traits.stateKeys : traits.keptKeys
      guard owner === schema, let wanted else { return skipped }
      return skipped.union(owner.allKeys.filter { !wanted.contains($0) })
    }
    var types = Set<ObjectIdentifier>()
    for type in graph.referenced.objects.map({ type(of: $0) }) as [any VersionedModel.Type] + graph.parts.map(\.type)
    where types.insert(ObjectIdentifier(type)).inserted {
      type._collectSchemas(into: &catalog)
    }
    return matching
  }

  /// Returns the merged root: the fields of a model, or the elements of a list.
  private func mergeRoot(_ merger: inout ValueMerger) throws -> ArchiveValue {
    let sides = merger.sides(base, snapshot.root, server)
    if let listPolicy { return try merger.mergeList(sides, listPolicy) ?? .array([]) }
    let policy = options.policy ?? .automatic
    guard !schema.isEnumeration else {
      guard let result = try merger.merge(sides, policy), case .record = result else {
        throw ArchiveError(.mergeFailed, "the merge result is not a case of the enum", typeName: schema.name)
      }
      return result
    }
    let before = try graph.fields(of: snapshot.root) ?? ModelRecord(shape: schema.fullShape, values: [])
    var says = try graph.fields(of: server)
    if let number = snapshot.rootNumber, let entity = merger.matching?.entity(of: number) {
      merger.object = entity
      merger.queued.insert(entity)
      merger.selectors = merger.selectorsByObject[entity] ?? merger.selectors
      says = try merger.serverRecord(of: entity)
    }
    if let number = snapshot.rootNumber, case .reference(let other) = server, other < 0 {
      let (own, theirs) = (graph.type(number), graph.type(other))
      guard theirs == own || !theirs.isSubtype(of: own) else {
        throw ArchiveError(
          .mergeFailed,
          "the incoming object has the class \(theirs.schema.name), but the local object cannot change its class; "
            + "merge into an object of the class \(theirs.schema.name)", typeName: schema.name)
      }
    }
    guard let says else { return .record(before) }
    return .record(
      try merger.mergeFields(
        base.flatMap(graph.fields), isBaseKnown: base != nil, before, says, schema: schema, inherited: policy,
        only: wanted, models: model.map { RootModels(local: $0, server: source) }))
  }

  private func mergedKeys() throws -> [String] {
    guard !snapshot.isList, !schema.isEnumeration, let says = try graph.fields(of: server) else { return [] }
    return schema.fields.filter {
      says[$0.key] != nil && wanted?.contains($0.key) ?? true && $0.key != snapshot.stateKey
    }.map(\.key)
  }

  // MARK: Committing

  /// Writes the merged values to the model and to its objects. If an error is thrown, nothing is changed.
  ///
  /// - Parameters:
  ///   - make: creates the merged root if the root is a struct, an enum or a list. A root object is changed in place like any other object.
  ///   - adopt: assigns the created root to the model.
  func commit<Root: Archivable>(
    _ outcome: Outcome, into model: inout Root, make: MergeCommit.Make<Root>, adopt: (inout Root, Root) throws -> Void
  ) throws -> MergeReport {
    let commit = self.commit(outcome)
    return try report(outcome, commit, commit.run(&model, make: make, adopt: adopt))
  }

  /// Returns the report of an outcome without committing it.
  func preview(_ outcome: Outcome) throws -> MergeReport { try report(outcome, commit(outcome), []) }

  private func commit(_ outcome: Outcome) -> MergeCommit {
    MergeCommit(
      graph: graph, linking: outcome.linking, root: snapshot.root, rootNumber: snapshot.rootNumber,
      validates: options.validates,
      runsHooks: outcome.catalog.finishesMerged, mustAdopt: !snapshot.isList && schema.keepsUnknownFields)
  }

  private func report(
    _ outcome: Outcome, _ commit: MergeCommit, _ finished: [MergeCommit.Finished]
  ) throws -> MergeReport {
    var report = outcome.report
    for change in finished { report.entries += entries(of: change, outcome) }
    // A field is also reported as changed if an object inside its value has changed fields.
    let changedInside = report.entries.filter { $0.outcome != .local && $0.result != $0.local }
    let holdsUpdates = outcome.linking.updates.contains { $0.number != snapshot.rootNumber }
    guard let before = try graph.fields(of: snapshot.root), let after = commit.rootFields(finished) else {
      report.isChangedInside =
        !snapshot.root.isEqual(to: outcome.linking.root) || !finished.isEmpty || holdsUpdates && !changedInside.isEmpty
      return report
    }
    let keysInside = holdsUpdates ? Set(changedInside.compactMap(\.path.firstKey)) : []
    report.changes = schema.fields.compactMap { field in
      let (old, new) = (before[field.key], after[field.key])
      return old.isEqual(to: new) && !keysInside.contains(field.key) || field.key == snapshot.stateKey
        ? nil : MergeReport.Change(key: field.key, old: old, new: new)
    }
    // `changes` lists only fields. All other keys are compared here: enum cases, and keys that the model does not declare.
    let others = Set(before.keys + after.keys).subtracting(schema.allKeys)
    report.isChangedInside = others.contains { !before[$0].isEqual(to: after[$0]) }
    return report
  }

  /// Returns weak references to the objects that the merge created, with their paths.
  func additions(_ outcome: Outcome) -> [NewObject] {
    let count = graph.referenced.objects.count
    return outcome.linking.additions.compactMap { addition in
      guard let number = outcome.linking.number(of: addition.entity), number < count else { return nil }
      func object<ArchiveObject: VersionedModel>(_ model: ArchiveObject) -> AnyObject? {
        ArchiveObject.schema.isObject ? model as AnyObject : nil
      }
      return NewObject(
        object: object(graph.referenced.objects[number]), path: ValuePath([], from: addition.entity, in: outcome.places)
      )
    }
  }
}
