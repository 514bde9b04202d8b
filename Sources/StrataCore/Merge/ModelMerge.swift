import Foundation

/// One merge of a model with what comes in: reads the sides, merges them, and says what happened.
struct ModelMerge<M: Model> {
  private let options: MergeOptions
  private let schema = M.schema
  private let graph = MergeGraph()
  private let target: M
  /// The target as it is: its fields, and itself where it is an object.
  private let before: Record
  private let rootNumber: Int?
  private let wanted: Set<String>?
  private var server: Value = .null
  private var base: Value?
  private var incoming = ValueMerger.Incoming()
  private var source: (any Model)?
  private var state: MergeState?
  private var isBaseWhole = true
  private var isBaseRemembered = false

  /// What a merge comes to, before anything is changed.
  struct Outcome {
    let linking: ObjectLinking
    var report: MergeReport
    let places: ObjectPlaces
    let catalog: SchemaCatalog
    let matching: ObjectMatching?
    let takesUnknownFields: Bool
  }

  init(_ target: M, _ options: MergeOptions) throws {
    self.target = target
    self.options = options
    wanted = options.keys.map(Set.init)
    // Local objects have the first numbers.
    let number = M.schema.isObject ? graph.neighbours.number(of: target) : nil
    rootNumber = number
    let fields = try number.map { [graph] in try graph.record($0) } ?? target.shallowRecord(graph.neighbours)
    before = fields
    guard let key = schema.mergeStateKey else { return }
    state = try MergeState.make(from: fields[key] ?? .null, in: DecodingContext())
    do { state = try state?.lifted(for: M.self) } catch {
      throw ArchiveError(
        .mergeFailed, "the conflicts of earlier merges cannot be read today", typeName: schema.name, underlying: error)
    }
  }

  private var local: Value { rootNumber.map { .reference($0) } ?? .record(before) }

  // MARK: Reading

  /// Reads what comes in, and the base.
  mutating func read(_ source: MergeSource, _ base: (any Model)?, _ json: JSONReading) throws {
    let jsonContext = DecodingContext(source: .json, finishesModels: false)
    jsonContext.json = json
    try readBase(base)
    switch source {
    case .model(let model): try read(model.dynamicModel)
    case .text(let text): server = try part(Self.value(ofText: text), in: jsonContext)
    case .json(let value): server = try part(value, in: jsonContext)
    case .mergePatch(let data):
      let patch = try JSONReader().read(data)
      guard patch.objectValue != nil else {
        throw ArchiveError.mismatch(expected: "a merge patch that is an object", found: patch.kind).inType(schema.name)
      }
      try read(patch: { JSONMergePatch.apply(patch, to: $0) }, of: base, addsNulls: true, in: jsonContext)
    case .patch(let patch): try read(patch: { try patch.applied(to: $0) }, of: base, in: jsonContext)
    case .archive(let data): try read(archive: ArchiveDecoder().decodeValue(from: data))
    case .record(let record): try read(archive: .record(record))
    }
  }

  private mutating func part(
    _ value: Value, since before: Value? = nil, addsNulls: Bool = false, in context: DecodingContext
  ) throws -> Value {
    incoming.hasParts = true
    return try PartReader(graph, context, addsNulls: addsNulls).read(M.self, value, since: before)
  }

  private mutating func read(_ model: any Model) throws {
    incoming.isWhole = true
    let type = Swift.type(of: model)
    source = model is M ? model : nil
    if type.isSubtype(of: M.self) || M.isSubtype(of: type) {
      server = try root(model)
    } else {
      let record = try model.shallowRecord(graph.neighbours)
      server = try part(
        .record(record), in: DecodingContext(source: .merge, includesExcluded: true, finishesModels: false))
    }
  }

  private func root(_ model: any Model) throws -> Value {
    func root<Root: Model>(_ model: Root) throws -> Value {
      Root.schema.isObject
        ? .reference(graph.neighbours.number(of: model)) : .record(try model.shallowRecord(graph.neighbours))
    }
    return try root(model)
  }

  private mutating func read(archive value: Value) throws {
    switch value {
    case .record, .graph: break
    default: throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind)
    }
    server = try part(value, in: DecodingContext(includesExcluded: true, finishesModels: false))
  }

  private static func value(ofText text: Data) throws -> Value {
    try JSONReader().withRoot(of: text, depthLimit: JSONReader.maximumDepth) { root in
      // Of two values for one field, nobody knows which one another reader of the same text took.
      if root.kind == .object { _ = try M.schema.jsonPlan.keys.places(in: root, of: M.schema.jsonPlan) }
      return try root.value(duplicateKeys: .lastWins)
    }
  }

  /// Reads what a patch changes: what is the same before and after is left alone, and what is gone is null.
  private mutating func read(
    patch: (Value) throws -> Value, of base: (any Model)?, addsNulls: Bool = false, in context: DecodingContext
  ) throws {
    incoming.removesAbsentKeys = true
    let origin = try base?.dynamicModel ?? remembered() ?? target
    let before = try JSONReader().read(origin.jsonData())
    let after = try patch(before)
    guard case .object = after else {
      throw ArchiveError(
        .mergeFailed, "the patch makes something else than an object of the model", typeName: schema.name)
    }
    server = try part(after, since: before, addsNulls: addsNulls, in: context)
  }

  /// The model that the server had; what it did not say is as it is here.
  private func remembered() throws -> M? {
    guard let base else { return nil }
    var catalog = SchemaCatalog()
    M.collectSchemas(into: &catalog)
    var merger = ValueMerger(
      catalog: catalog, graph: graph, options: options, isBaseKnown: false, incoming: .init(hasParts: true))
    return try merger.realizedModel(M.self, base, over: before)
  }

  private mutating func readBase(_ known: (any Model)?) throws {
    if let known {
      base = try root(known.dynamicModel)
      return
    }
    guard let state, let record = state.base else { return }
    do {
      let reader = PartReader(graph, DecodingContext(includesExcluded: true, finishesModels: false))
      base = try state.read(record, M.self, reader)
    } catch {
      throw ArchiveError(
        .mergeFailed, "what the server had when it was merged last cannot be read today", typeName: schema.name,
        underlying: error)
    }
    isBaseRemembered = true
    guard let record = try base.flatMap(fields) else { return }
    isBaseWhole = schema.archivedKeys.allSatisfy { record[$0] != nil || $0 == schema.mergeStateKey }
  }

  private func fields(_ value: Value) throws -> Record? {
    switch value {
    case .reference(let number): try graph.record(number)
    case .record(let record): record
    default: nil
    }
  }

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
    report.entries = merger.notes.map { entry($0, merger, places.all) }
    report.mergedKeys = mergedKeys(merger)
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
    return Outcome(
      linking: linking, report: report, places: places.all, catalog: catalog, matching: matching,
      takesUnknownFields: schema.keepsUnknownFields)
  }

  private func matched(_ catalog: inout SchemaCatalog) throws -> ObjectMatching? {
    // A value that holds no objects has none to match.
    guard schema.holdsObjects || !graph.isEmpty else { return nil }
    let known = catalog
    let finder = ValueMerger(catalog: known, graph: graph, options: options, isBaseKnown: false)
    var matching = ObjectMatching(graph, rootStructure: rootNumber == nil ? schema : nil) { typeName, key, element in
      finder.listKey(typeName, key, .array([element]))
    }
    let keeps = options.policies.isEmpty && options.policy == nil
    try matching.match(.init(base: base, local: local, server: server)) { [wanted, schema] owner, key in
      if owner === schema, let wanted, !wanted.contains(key) { return false }
      guard let field = owner.fields.first(where: { $0.key == key }) else { return true }
      return !(field.type is MergeState.Type) && !(keeps && field.merge.keepsLocal)
    }
    var types = Set<ObjectIdentifier>()
    for object in graph.neighbours.objects where types.insert(ObjectIdentifier(Swift.type(of: object))).inserted {
      Swift.type(of: object).collectSchemas(into: &catalog)
    }
    return matching
  }

  private func mergeRoot(_ merger: inout ValueMerger) throws -> Record {
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

  private func mergedKeys(_ merger: ValueMerger) -> [String] {
    guard !schema.isEnumeration, let says = try? fields(server) else { return [] }
    return schema.fields.filter {
      says[$0.key] != nil && wanted?.contains($0.key) ?? true && $0.key != schema.mergeStateKey
    }.map(\.key)
  }

  // MARK: The report

  /// Where the objects of the result stand; those that are no longer in it, where they stood before.
  private func places(
    _ merger: ValueMerger, _ result: Record
  ) throws -> (all: ObjectPlaces, reachable: Set<Int>) {
    guard let matching = merger.matching, base != nil || !merger.notes.isEmpty else {
      return (ObjectPlaces([]), [])
    }
    var known = Set<ValueMerger.Way>()
    let before = try merger.ways(from: local, found: { known.insert($0) }, { try graph.record($0) })
    var ways = try merger.ways(from: rootNumber.map { .reference($0) } ?? .record(result), known: known) { number in
      if number == rootNumber { return result }
      guard let entity = matching.entity(of: number) else { return try graph.record(number) }
      let locals = matching.entities[entity][.local]
      let own = locals.contains(number) ? number : locals.first ?? number
      return try merger.updates[own] ?? graph.record(own)
    }
    let reachable = Set(ways.map(\.object))
    for way in before where !reachable.contains(way.object) { ways.append(try lost(way, matching)) }
    return (ObjectPlaces(ways), reachable)
  }

  /// The path of an object that is no longer in the result: what tells it apart, since other objects stand where it stood.
  private func lost(
    _ way: (object: Int, owner: Int?, steps: [MergePath.Component]), _ matching: ObjectMatching
  ) throws -> (object: Int, owner: Int?, steps: [MergePath.Component]) {
    guard matching.entities.indices.contains(way.object), let number = matching.entities[way.object][.local].first
    else { return way }
    let schema = graph.schema(number)
    guard let key = schema.identityKey, let id = try graph.record(number)[key], !id.isNull else { return way }
    return (way.object, nil, [.key(schema.name), .element(key: key, id: id)])
  }

  /// Says which edited objects nothing refers to any more: the edits go with them.
  private func noteLostEdits(_ merger: inout ValueMerger, _ reachable: Set<Int>) throws {
    guard base != nil, let matching = merger.matching else { return }
    for entity in try merger.ownEdits(.local).sorted() where !reachable.contains(entity) {
      guard let number = matching.entities[entity][.local].first, number != rootNumber else { continue }
      let sides = MergeSides(
        base: matching.entities[entity][.base].first.map { .reference($0) }, local: .reference(number),
        server: matching.entities[entity][.server].first.map { .reference($0) })
      // One without an identity belongs to its place, which has a line.
      guard matching.entities[entity].hasIdentity else { continue }
      merger.notes.append(
        MergeNote(
          object: entity, path: [], outcome: .server, rule: "edited here, and nothing refers to it any more",
          sides: sides, result: nil))
    }
  }

  private func entry(_ note: MergeNote, _ merger: ValueMerger, _ places: ObjectPlaces) -> MergeReport.Entry {
    let path = note.object.map { MergePath(note.path, from: $0, in: places) } ?? MergePath(note.path)
    return MergeReport.Entry(
      path: path, outcome: note.outcome, rule: note.rule, base: shown(note.sides.base, merger, false),
      local: shown(note.sides.local, merger, false), server: shown(note.sides.server, merger, false),
      result: shown(note.result, merger, true))
  }

  /// A value as a report holds it: objects stand in it as records, one level deep, with what tells further ones apart.
  private func shown(_ value: Value?, _ merger: ValueMerger, _ isResult: Bool) -> Value? {
    guard let value, value.hasReferences else { return value }
    func record(_ number: Int) -> Record? {
      var number = number
      if isResult, let entity = merger.matching?.entity(of: number), let matching = merger.matching {
        let locals = matching.entities[entity][.local]
        if !locals.contains(number) { number = locals.first ?? number }
      }
      if isResult, let update = merger.updates[number] { return update }
      // An object that was merged could be read.
      return try? graph.record(number)
    }
    return value.mapReferences { number in
      guard let fields = record(number) else { return .null }
      return Value.record(fields).mapReferences { inner in
        guard let key = graph.schema(inner).identityKey, let id = record(inner)?[key], !id.isNull else { return .null }
        let schema = graph.schema(inner)
        return .record(Record(typeName: schema.name, modelVersion: schema.modelVersion, fields: [(key, id)]))
      }
    }
  }

  // MARK: Committing

  /// Takes the outcome over.
  func commit(_ outcome: Outcome, into target: inout M) throws -> MergeReport {
    let commit = MergeCommit(
      graph: graph, linking: outcome.linking, validates: options.validates, runsHooks: outcome.catalog.finishesModels,
      rootNumber: rootNumber)
    let (after, finished) = try commit.run(&target, before, mustAdopt: outcome.takesUnknownFields)
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
    let unknown = Set(before.keys + after.keys).subtracting(schema.allKeys)
    if schema.isEnumeration, !before.isSame(as: after) || !unknown.allSatisfy({ before[$0] == after[$0] }) {
      report.isChangedInside = true
    } else if unknown.contains(where: { before[$0] != after[$0] }) {
      report.isChangedInside = true
    }
    return report
  }

  /// The objects that were made, without holding them.
  func additions(_ outcome: Outcome) -> [NewObject] {
    let first = graph.neighbours.objects.count
    let additions = outcome.linking.additions
    guard !additions.isEmpty else { return [] }
    return additions.compactMap { addition in
      guard let number = outcome.linking.number(of: addition.entity), number < first else { return nil }
      func object<Object: Model>(_ model: Object) -> AnyObject? { Object.schema.isObject ? model as AnyObject : nil }
      return NewObject(
        object: object(graph.neighbours.objects[number]), path: MergePath([], from: addition.entity, in: outcome.places)
      )
    }
  }

  /// What a model's own code changed after the merge.
  private func entries(of change: MergeCommit.Finished, _ outcome: Outcome) -> [MergeReport.Entry] {
    let entity = change.number.flatMap { outcome.matching?.entity(of: $0) }
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
