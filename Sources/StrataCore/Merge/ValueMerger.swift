/// Merges values by policy, nested ones by the policies of their own types, and keeps account of it.
struct ValueMerger {
  private struct Pair: Hashable {
    let local: Value
    let server: Value
  }

  let catalog: SchemaCatalog
  /// The objects that references name.
  let neighbours: ObjectNeighbours
  let options: MergeOptions
  /// Whether what both sides started from is known.
  let isBaseKnown: Bool
  /// What was decided so far, path by path.
  var entries: [MergeReport.Entry] = []
  /// What became of local objects, which stay themselves: their new fields, by number.
  private(set) var updates: [Int: Record] = [:]
  /// The numbers of the updates in the order in which they came up.
  private(set) var updated: [Int] = []
  /// The local objects by the objects of the server's that they stand for.
  var matches: [Int: Int] = [:]
  /// The objects of the server's that came in.
  private(set) var adopted = Set<Int>()
  var path: [MergePath.Component] = []
  /// The objects that are being merged, each inside the one before.
  private var open = Set<Pair>()
  private let depthLimit = ArchiveLimits().depth
  private var depth = 0
  /// Whether a field adds up what both sides did to it, so that what looks the same may not be.
  let countsEqualChanges: Bool
  private var knownTraits: [ObjectIdentifier: Traits] = [:]
  /// What holds the value that is being merged, from the outside in.
  private var owners: [(local: Value, server: Value)] = []

  init(
    catalog: SchemaCatalog, neighbours: ObjectNeighbours = ObjectNeighbours(), options: MergeOptions,
    isBaseKnown: Bool
  ) {
    self.catalog = catalog
    self.neighbours = neighbours
    self.options = options
    self.isBaseKnown = isBaseKnown
    countsEqualChanges =
      isBaseKnown
      && (options.policy?.isSum ?? false || options.policies.contains { $0.policy.isSum }
        || catalog.schemas.contains { $0.fields.contains { $0.merge.isSum } })
  }

  func sides(_ base: Value?, _ local: Value?, _ server: Value?) -> MergeSides {
    MergeSides(base: isBaseKnown ? base : nil, isBaseKnown: isBaseKnown, local: local, server: server)
  }

  // MARK: One value

  /// The merged value; `nil` where it is absent.
  ///
  /// - Parameters:
  ///   - sides: the values, which may be absent.
  ///   - declared: the policy of the field or of what holds the value.
  mutating func merge(_ sides: MergeSides, _ declared: MergePolicy) throws -> Value? {
    guard sides.isBaseKnown || sides.server != nil else { return sides.local }
    let named = options.policy(at: path)
    var policy = named ?? options.policy ?? declared
    if case .key(let key)? = path.last { policy = policy.forTime(key) }
    // The policy of a call is for what has no fields: of nested models, each field follows it.
    if named == nil, options.policy != nil, isBaseKnown || declared.isRecursive, !policy.keepsLocal,
      let local = sides.local, let server = sides.server, countsEqualChanges || !same(local, server),
      let merged = try mergeNested(sides, local, server, declared.isRecursive ? .recursive : .automatic)
    {
      return merged
    }
    return try merge(sides, by: policy)
  }

  private mutating func merge(_ sides: MergeSides, by policy: MergePolicy) throws -> Value? {
    let (base, local, server) = (sides.base, sides.local, sides.server)
    // Of several policies the first says how the value is merged, and the others what to do with a conflict.
    switch policy.leading.rule {
    case .keepTarget:
      if !same(local, server) { note(sides, .local, policy, local) }
      return local
    case .ifPresent(let inner):
      if server?.isNull ?? true {
        if !same(local, server) { note(sides, .local, "\(policy): nothing came", local) }
        return local
      }
      return try merge(sides, by: policy.replacingLeading(by: inner))
    case .custom where !sides.isBaseKnown: return try resolve(sides, policy)
    case .sumOfDeltas where sides.isBaseKnown && !same(base, local) && !same(base, server):
      return try resolve(sides, policy)
    case .union where !same(local, server):
      if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged.value }
    default: break
    }
    let isSame = same(local, server)
    if isSame, !countsEqualChanges || !isBaseKnown || same(base, local) { return local }
    if let merged = try mergeInside(sides, policy) { return merged.value }
    if isSame { return local }
    if sides.isBaseKnown {
      if same(base, server) {
        note(sides, .local, "only changed here", local)
        return local
      }
      if same(base, local) {
        note(sides, .server, "only changed by the server", server)
        return server
      }
    } else if local == nil {
      note(sides, .server, "absent here", server)
      return server
    }
    return try resolve(sides, policy)
  }

  /// Merges whole documents: objects and records by what they hold, whatever the policy of the call.
  mutating func mergeRoot(_ sides: MergeSides) throws -> Value? {
    if options.policy(at: []) == nil, let local = sides.local, let server = sides.server,
      let merged = try mergeNested(sides, local, server, .recursive)
    {
      return merged
    }
    return try merge(sides, .recursive)
  }

  private mutating func resolve(_ sides: MergeSides, _ policy: MergePolicy) throws -> Value? {
    for alternative in policy.alternatives {
      switch alternative.rule {
      case .union: if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged.value }
      case .addWins:
        if let merged = try mergeMembers(sides, policy, isGrowOnly: !sides.isBaseKnown) { return merged.value }
      default: break
      }
      guard case .value(let value) = try alternative.resolve(sides, times: times) else { continue }
      if !same(sides.local, sides.server) || !same(sides.local, value) {
        let outcome: MergeReport.Outcome =
          same(value, sides.server) ? .server : same(value, sides.local) ? .local : .merged
        note(sides, outcome, policy, value)
      }
      return value
    }
    return conflict(sides, policy)
  }

  /// What stands under a key beside the value, or beside what holds it: the nearest that either side has.
  private func times(_ key: String) -> (local: Value?, server: Value?) {
    for owner in owners.reversed() {
      let (local, server) = (owner.local[key], owner.server[key])
      if local?.isNull == false || server?.isNull == false { return (local, server) }
    }
    return (nil, nil)
  }

  mutating func conflict(_ sides: MergeSides, _ policy: MergePolicy) -> Value? {
    let value = options.conflicts == .takeServer ? sides.server : sides.local
    // No rule was named, so the report says what happened.
    note(sides, .conflict, policy.isAutomatic || policy.isRecursive ? "both changed it" : policy.description, value)
    return value
  }

  /// What a merge made of the inside of a value; the value in it may be absent.
  struct Merged {
    var value: Value?
  }

  /// Merges containers from within, where the policy does; `nil` where it does not.
  private mutating func mergeInside(_ sides: MergeSides, _ policy: MergePolicy) throws -> Merged? {
    guard let local = sides.local, let server = sides.server else { return nil }
    switch policy.rule {
    case .byID(let key, let missing): return try mergeElements(sides, key, missing, policy).map { Merged(value: $0) }
    case .recursive, .automatic, .conflict:
      let isAutomatic = if case .recursive = policy.rule { false } else { true }
      if isAutomatic, !sides.isBaseKnown { return nil }
      if let value = try mergeNested(sides, local, server, policy) { return Merged(value: value) }
      if case .automatic = policy.rule, let key = identity(local) ?? identity(server) {
        return try mergeElements(sides, key, .deleteUnlessEdited, .byID(key)).map { Merged(value: $0) }
      }
      return nil
    case .orElse(let policy, _): return try mergeInside(sides, policy)
    default: return nil
    }
  }

  /// The key by which the models in an array are told apart, as their type says.
  private mutating func identity(_ value: Value) -> String? {
    guard case .array(let elements) = value, let first = elements.first else { return nil }
    let typeName: String? =
      switch first {
      case .record(let record): record.typeName
      case .reference(let number): type(of: neighbours.objects[number]).schema.name
      default: nil
      }
    guard let typeName, let schema = catalog[typeName] else { return nil }
    return rules(of: schema)?.identity
  }

  mutating func rules(of schema: ModelSchema) -> MergeRules? { traits(of: schema).rules }

  /// What a model says about merging, found once: asking a type what it conforms to takes its time.
  private mutating func traits(of schema: ModelSchema) -> Traits {
    let identity = ObjectIdentifier(schema)
    if let known = knownTraits[identity] { return known }
    let traits = Traits(
      rules: (schema.type as? any Mergeable.Type)?.mergeRules, hooks: schema.type as? any ValueMerging.Type,
      fields: Dictionary(
        schema.fields.map { (ExactKey($0.key), $0) }, uniquingKeysWith: { first, _ in first }))
    knownTraits[identity] = traits
    return traits
  }

  private struct Traits {
    let rules: MergeRules?
    let hooks: (any ValueMerging.Type)?
    let fields: [ExactKey: FieldInfo]
  }

  // MARK: Nested values

  /// The fields of what a reference names, as they are by now; any other value as it is.
  func opened(_ value: Value) throws -> Value {
    guard case .reference(let number) = value else { return value }
    if let record = updates[number] { return .record(record) }
    return .record(try neighbours.objects[number].shallowRecord(neighbours))
  }

  /// Merges models and objects key by key; `nil` where the values are none of one type.
  mutating func mergeNested(
    _ sides: MergeSides, _ local: Value, _ server: Value, _ policy: MergePolicy
  ) throws -> Value? {
    let (own, other) = (try opened(local), try opened(server))
    guard try isNested(own, other) else { return nil }
    // Objects that refer to each other come up again inside themselves, where the local one stays.
    if case .reference(let target) = local {
      guard open.insert(Pair(local: local, server: server)).inserted else { return local }
      if case .reference(let source) = server, matches[source] == nil { matches[source] = target }
    }
    guard depth < depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    depth += 1
    defer {
      depth -= 1
      open.remove(Pair(local: local, server: server))
    }
    let base = try sides.base.map(opened)
    let merged: Value
    switch (own, other) {
    case (.record(let own), .record(let other)):
      merged = .record(try mergeFields(base?.recordValue, own, other, inherited: policy))
    case (.map, _), (_, .map): merged = try mergeMap(base, own, other, inherited: policy)
    case (.object(let own), .object(let other)):
      merged = .object(try mergeKeys(base?.objectValue, own, other, inherited: policy))
    default: return nil
    }
    guard case .reference(let number) = local else { return merged }
    // The local object stays itself.
    if merged != own, case .record(let record) = merged {
      if updates.updateValue(record, forKey: number) == nil { updated.append(number) }
    }
    return local
  }

  private func isNested(_ local: Value, _ server: Value) throws -> Bool {
    switch (local, server) {
    case (.object, .object), (.map, .map): return true
    case (.map, .object(let object)), (.object(let object), .map): return object.isEmpty
    case (.record(let local), .record(let server)):
      guard local.typeName == server.typeName else { return false }
      guard local.modelVersion == server.modelVersion else {
        throw ArchiveError(
          .unsupportedVersion,
          "the two sides have different versions of a model; name the model, which has the steps "
            + "from one to the other", typeName: local.typeName, foundVersion: local.modelVersion,
          supportedVersion: server.modelVersion)
      }
      if let schema = catalog[local.typeName] { return !schema.isEnumeration }
      // One key may be the case of an enum.
      return local.keys.count != 1 || server.keys.count != 1 || local.keys == server.keys
    default: return false
    }
  }

  /// Merges the fields of two records of one type; what one of them lacks is left alone.
  mutating func mergeFields(
    _ base: Record?, _ local: Record, _ server: Record, inherited: MergePolicy, skipping skipped: Set<String> = [],
    only wanted: Set<String>? = nil
  ) throws -> Record {
    var result = local
    let schema = try catalog.schema(named: server.typeName)
    let traits = if let schema { traits(of: schema) } else { nil as Traits? }
    owners.append((.record(local), .record(server)))
    defer { owners.removeLast() }
    var handled = skipped
    if skipped.isEmpty, wanted == nil, let type = traits?.hooks {
      handled = try runHooks(type, &result, server)
    }
    for (key, value) in server.fields where !handled.contains(key) && wanted?.contains(key) ?? true {
      let field = traits?.fields[ExactKey(key)]
      if field?.type is MergeState.Type { continue }
      path.append(.key(key))
      defer { path.removeLast() }
      let policy = Self.policy(field?.merge, traits?.rules?.policy, inherited, isTyped: schema != nil)
      do {
        result[key] = try merge(sides(base?[key], result[key], value), policy)
      } catch { throw ArchiveError.at(.key(key), error) }
    }
    return result
  }

  mutating func policy(of field: FieldInfo, _ schema: ModelSchema, inherited: MergePolicy) -> MergePolicy {
    Self.policy(field.merge, rules(of: schema)?.policy, inherited, isTyped: true)
  }

  /// The policy of a field: its own, else its type's, else what holds the record hands on.
  private static func policy(
    _ own: MergePolicy?, _ ofType: MergePolicy?, _ inherited: MergePolicy, isTyped: Bool
  ) -> MergePolicy {
    if let own, !own.isAutomatic { return own }
    if let ofType, !ofType.isAutomatic { return ofType }
    if case .conflict = inherited.rule { return inherited }
    return isTyped ? own ?? .automatic : inherited.isRecursive ? .recursive : .automatic
  }

  /// Merges the entries of two objects. What the server lacks was removed where the base has it.
  private mutating func mergeKeys(
    _ base: Object?, _ local: Object, _ server: Object, inherited: MergePolicy
  ) throws -> Object {
    let (bases, own, others) = (Self.lookup(base), Self.lookup(local), Self.lookup(server))
    owners.append((.object(local), .object(server)))
    defer { owners.removeLast() }
    let policy: MergePolicy =
      if case .conflict = inherited.rule { inherited } else { inherited.isRecursive ? .recursive : .automatic }
    var entries: [Object.Entry] = []
    let keys = local.keys + server.keys.filter { own[ExactKey($0)] == nil }
    for key in keys + (base?.keys ?? []).filter({ own[ExactKey($0)] == nil && others[ExactKey($0)] == nil }) {
      let name = ExactKey(key)
      let sides = sides(bases[name], own[name], others[name])
      if sides.server == nil, !isBaseKnown || options.absence == .untouched {
        if let value = sides.local { entries.append(.init(key: key, value: value)) }
        continue
      }
      path.append(.key(key))
      defer { path.removeLast() }
      do {
        if let value = try merge(sides, policy) {
          entries.append(.init(key: key, value: value))
        }
      } catch { throw ArchiveError.at(.key(key), error) }
    }
    return Object(uniqueEntries: entries)
  }

  private static func lookup(_ object: Object?) -> [ExactKey: Value] {
    Dictionary((object?.entries ?? []).map { (ExactKey($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// Lets a model inside merge the keys that it merges itself.
  private mutating func runHooks(
    _ type: any ValueMerging.Type, _ local: inout Record, _ server: Record
  ) throws -> Set<String> {
    func run<M: ValueMerging>(_ type: M.Type) throws -> (Record, Set<String>) {
      let context = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
      var model = try M.make(ofShallow: local, neighbours, in: context)
      let source = try M.make(ofShallow: server, neighbours, in: context)
      let handled = try M.schema.allKeys.filter { key in
        guard server[key] != nil else { return false }
        do { return try model.mergeValue(forKey: key, from: source) } catch { throw ArchiveError.at(.key(key), error) }
      }
      return (handled.isEmpty ? local : try model.shallowRecord(neighbours), Set(handled))
    }
    let before = local
    let handled: Set<String>
    (local, handled) = try run(type)
    for key in handled.sorted() where !same(before[key], local[key]) || !same(before[key], server[key]) {
      path.append(.key(key))
      note(sides(nil, before[key], server[key]), .merged, "mergeValue(forKey:from:)", local[key])
      path.removeLast()
    }
    return handled
  }

  // MARK: Account

  mutating func note(_ sides: MergeSides, _ outcome: MergeReport.Outcome, _ policy: MergePolicy, _ result: Value?) {
    note(sides, outcome, policy.description, result)
  }

  mutating func note(_ sides: MergeSides, _ outcome: MergeReport.Outcome, _ rule: String, _ result: Value?) {
    if outcome != .local, let result { adopt(result) }
    entries.append(
      MergeReport.Entry(
        path: MergePath(path), outcome: outcome, rule: rule, base: shown(sides.base), local: shown(sides.local),
        server: shown(sides.server), result: shown(result)))
  }

  /// A value as a report holds it: what it refers to stands in it, one level deep.
  private func shown(_ value: Value?) -> Value? {
    guard let value, !neighbours.objects.isEmpty else { return value }
    return value.mapReferences { number in
      guard let record = try? neighbours.objects[number].shallowRecord(neighbours) else { return .null }
      return Value.record(record).mapReferences { _ in .null }
    }
  }

  private mutating func adopt(_ value: Value) {
    guard !neighbours.objects.isEmpty else { return }
    _ = value.mapReferences { number in
      adopted.insert(number)
      return .null
    }
  }

  /// Whether two values are the same, objects by what they hold.
  func same(_ left: Value?, _ right: Value?) -> Bool {
    if left == right { return true }
    guard let left, let right else { return false }
    if left.isNaN, right.isNaN { return true }
    guard !neighbours.objects.isEmpty else { return false }
    return (try? ObjectComparison.areEqual(left, right, in: neighbours, updates)) ?? false
  }
}

extension MergePolicy {
  var isAutomatic: Bool { if case .automatic = rule { true } else { false } }
  var isRecursive: Bool { if case .recursive = rule { true } else { false } }
  /// Whether equal changes of both sides count twice.
  var isSum: Bool {
    switch rule {
    case .sumOfDeltas: true
    case .ifPresent(let policy), .orElse(let policy, _): policy.isSum
    default: false
    }
  }
  /// Whether the server's value never counts.
  var keepsLocal: Bool { if case .keepTarget = leading.rule { true } else { false } }

  /// The policy of the field that another one looks at as the time of the model: the later time counts.
  func forTime(_ key: String) -> MergePolicy {
    if case .lastWriter(key) = rule { .max } else { self }
  }
}
