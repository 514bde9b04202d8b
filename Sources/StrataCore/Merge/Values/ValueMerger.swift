/// Merges values by policy, nested ones by the policies of their own types, and keeps account of it.
///
/// What the server says is a tree in which any key of any model may be absent, and absent never touches. Objects are
/// not looked into where they are referred to: each is merged once, by itself (``mergeObjects()``), and a reference is
/// compared by what it is matched to.
struct ValueMerger {
  var catalog: SchemaCatalog
  let options: MergeOptions
  /// Whether what both sides started from is known, as far as anything of it is.
  let isBaseKnown: Bool
  /// How much what comes in says.
  let incoming: Incoming
  let graph: MergeGraph
  /// Which objects correspond to each other; `nil` where there are none.
  var matching: ObjectMatching?
  /// What was decided so far, in its order.
  var notes: [MergeNote] = []
  /// The new fields of local objects, by number.
  var updates: [Int: ModelRecord] = [:]
  /// The entities whose local objects a new object replaces. Its fields are among the updates.
  var replaced = Set<Int>()
  /// The entities that constants of local objects refer to, found when an object would be replaced.
  var constantEntities: Set<Int>?
  /// The entities that conditional fields of local objects refer to, found when an object of constants would be replaced.
  var conditionalEntities: Set<Int>?
  /// The numbers of the updates in the order in which they came up.
  var updated: [Int] = []
  /// The entities that the server says something about, in the order in which they came up, and which they are.
  var pending: [Int] = []
  var queued = Set<Int>()
  /// What was decided for the paths that lead through each entity.
  var selectorsByObject: [Int: [Selection]] = [:]
  /// What is named for paths that begin where ``path`` does.
  var selectors: [Selection]
  /// The entity whose fields are merged; `nil` at a root that is no object.
  var object: Int?
  var path: [MergePath.Component] = []
  /// How many elements around the value share their path with others.
  var unclearDepth = 0
  let depthLimit = ArchiveLimits().depth
  var depth = 0
  /// Whether a field adds up what both sides did to it, so that what looks the same may not be.
  let countsEqualChanges: Bool
  /// What holds the value that is being merged, from the outside in.
  var owners: [(local: ArchiveValue, server: ArchiveValue)] = []
  /// The entities that changed since the base, found when somebody asks.
  var knownEdits: [ObjectMatching.Side: Set<Int>] = [:]
  /// What the program has and what came in, for finding the way to an object.
  var roots: [ArchiveValue] = []
  /// Whether the base has all that the server has, so that an object that it lacks was not there.
  var isBaseWhole = true
  /// Whether the base is what a model remembers, which may lack keys of models at any depth.
  var isBaseRemembered = false

  /// How much what comes in says.
  struct Incoming {
    /// Whether it is a whole model, in which a field that JSON does not hold has what the program put there.
    var isWhole = false
    /// Whether it may lack keys of models.
    var hasParts = false
    /// Whether its lists and dictionaries are whole where the base is not known, as those of a record for a row are.
    var hasWholeLists = false
    /// Whether it is JSON, in which a null clears whatever it stands for.
    var isJSON = false
    /// Whether a key that a dictionary lacks was removed on purpose.
    var removesAbsentKeys = false
    /// Whether values are those of archives, which leave out some fields.
    var isArchived = false
  }

  /// A policy that a call names for a path, as far as the path is still to go.
  struct Selection {
    let components: ArraySlice<MergeSelector.Component>
    let policy: MergePolicy
    /// Which of the call's policies it is: the last one wins.
    let order: Int
  }

  init(
    catalog: SchemaCatalog, graph: MergeGraph = MergeGraph(), options: MergeOptions, isBaseKnown: Bool,
    incoming: Incoming = Incoming()
  ) {
    self.catalog = catalog
    self.graph = graph
    self.options = options
    self.isBaseKnown = isBaseKnown
    self.incoming = incoming
    selectors = options.policies.enumerated().map { order, named in
      Selection(components: named.path.components[...], policy: named.policy, order: order)
    }
    countsEqualChanges =
      isBaseKnown
      && (options.policy?.isSum ?? false || options.policies.contains { $0.policy.isSum }
        || catalog.schemas.contains { $0.fields.contains { $0.merge.isSum } })
  }

  /// A merger of objects that are matched by the roots of the sides, where the base is known if there is one.
  init(
    matching root: ObjectMatching.Place, _ graph: MergeGraph, _ known: SchemaCatalog, rootStructure: ModelSchema?,
    incoming: Incoming = Incoming()
  ) throws {
    var catalog = known
    for part in graph.parts { part.type._collectSchemas(into: &catalog) }
    var matching = ObjectMatching(graph, catalog, rootStructure: rootStructure)
    try matching.match(root) { _ in [] }
    self.init(
      catalog: catalog, graph: graph, options: MergeOptions(), isBaseKnown: root.base != nil, incoming: incoming)
    self.matching = matching
  }

  func sides(_ base: ArchiveValue?, _ local: ArchiveValue?, _ server: ArchiveValue?, isBaseKnown: Bool? = nil)
    -> MergeSides
  {
    let isKnown = isBaseKnown ?? self.isBaseKnown
    return MergeSides(base: isKnown ? base : nil, isBaseKnown: isKnown, local: local, server: server)
  }

  /// The policy that the call names for the place at hand.
  var selectedPolicy: MergePolicy? {
    guard !selectors.isEmpty else { return nil }
    return selectors.filter { MergeSelector.matches($0.components, path) }.max { $0.order < $1.order }?.policy
  }

  // MARK: One value

  /// The merged value; `nil` where it is absent.
  ///
  /// - Parameters:
  ///   - sides: the values, which may be absent.
  ///   - declared: the policy of the field or of what holds the value.
  ///   - shape: the shape of the value's type, which is no optional; `nil` where the type is not known.
  mutating func merge(_ sides: MergeSides, _ declared: MergePolicy, _ shape: TypeShape? = nil) throws -> ArchiveValue? {
    guard sides.isBaseKnown || sides.server != nil else { return sides.local }
    let named = selectedPolicy
    var policy = named ?? options.policy ?? declared
    if case .key(let key)? = path.last { policy = policy.forTime(key) }
    // The policy of a call is for what has no fields: of nested models, each field follows it.
    if named == nil, options.policy != nil, sides.isBaseKnown || declared.isRecursive, !policy.keepsLocal,
      let local = sides.local, let server = sides.server, countsEqualChanges || !same(local, server),
      let merged = try mergeNested(sides, local, server, declared.isRecursive ? .recursive : .automatic, shape)
    {
      return merged
    }
    return try merge(sides, by: policy, shape)
  }

  /// - Parameter said: what the server said, where its value was completed since.
  private mutating func merge(
    _ sides: MergeSides, by policy: MergePolicy, _ shape: TypeShape?, said: ArchiveValue? = nil
  ) throws -> ArchiveValue? {
    var sides = sides
    sides.server = named(sides)
    let (base, local, server) = (sides.base, sides.local, sides.server)
    // Of several policies the first says how the value is merged, and the others what to do with a conflict.
    switch policy.leading.rule {
    case .keepLocal:
      if !same(local, server) { note(sides, .local, policy.description, local) }
      return local
    case .ifPresent(let inner):
      if server?.isNull ?? true {
        if !same(local, server) { note(sides, .local, "\(policy): nothing came", local) }
        return local
      }
      return try merge(sides, by: policy.replacingLeading(by: inner), shape, said: said)
    default: break
    }
    // Without models, the local value may lack keys, too.
    if incoming.hasParts, said == nil, let server, !incoming.isArchived || !same(local, server), isPart(server) {
      if let merged = try mergePart(sides, server, policy, shape) { return merged }
      return try merge(completed(sides), by: policy, shape, said: server)
    }
    switch policy.leading.rule {
    case .custom where !sides.isBaseKnown: return try resolve(sides, policy)
    case .sumOfDeltas where sides.isBaseKnown && !same(base, local) && !same(base, server):
      return try resolve(sides, policy)
    case .union where !same(local, server):
      if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged }
    default: break
    }
    let isSame = same(local, server)
    if isSame, !countsEqualChanges || !sides.isBaseKnown || same(base, local) { return local }
    if let merged = try mergeInside(sides, policy, shape) { return merged }
    if isSame { return local }
    if sides.isBaseKnown {
      if try !isNews(said ?? server, since: base) {
        note(sides, .local, "only changed here", local)
        return local
      }
      if try !isEdited(local, since: base) {
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
  mutating func mergeRoot(_ sides: MergeSides) throws -> ArchiveValue? {
    if selectedPolicy == nil, let local = sides.local, let server = sides.server,
      let merged = try mergeNested(sides, local, server, .recursive, isMatched: true)
    {
      return merged
    }
    return try merge(sides, .recursive)
  }

  /// Merges lists that are the root, by the policy given unless the call names one for the whole.
  mutating func mergeList(_ sides: MergeSides, _ policy: MergePolicy) throws -> ArchiveValue? {
    if let server = sides.server { enqueue(server) }
    return try merge(sides, by: selectedPolicy ?? policy, nil)
  }

  private mutating func resolve(_ sides: MergeSides, _ policy: MergePolicy) throws -> ArchiveValue? {
    for alternative in policy.alternatives {
      switch alternative.rule {
      case .union: if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged }
      case .addWins: if let merged = try mergeMembers(sides, policy, isGrowOnly: !sides.isBaseKnown) { return merged }
      default: break
      }
      guard case .value(let value) = try alternative.resolve(sides, times: times) else { continue }
      note(sides, decidedBy: policy, value)
      return value
    }
    return conflict(sides, policy)
  }

  /// The value under a key beside the value, or beside what holds it: the nearest that either side has.
  private func times(_ key: String) -> (local: ArchiveValue?, server: ArchiveValue?) {
    for owner in owners.reversed() {
      let (local, server) = (owner.local[key], owner.server[key])
      if local?.isNull == false || server?.isNull == false { return (local, server) }
    }
    return (nil, nil)
  }

  mutating func conflict(_ sides: MergeSides, _ policy: MergePolicy) -> ArchiveValue? {
    let value = options.conflicts == .takeServer ? sides.server : sides.local
    // No rule was named, so the report says what happened.
    note(sides, .conflict, policy.isAutomatic || policy.isRecursive ? "both changed it" : policy.description, value)
    return value
  }

  /// Merges containers from within, where the policy does; `nil` where it does not.
  mutating func mergeInside(_ sides: MergeSides, _ policy: MergePolicy, _ shape: TypeShape?) throws -> ArchiveValue? {
    guard let local = sides.local, let server = sides.server else { return nil }
    switch policy.rule {
    case .byID(let key, let unlisted):
      if case .dictionary? = shape?.kind { return try mergeNested(sides, local, server, policy, shape) }
      if local.listsContainers || server.listsContainers,
        let merged = try mergeStructure(sides, local, server, key, policy)
      {
        return merged
      }
      return try mergeElements(sides, key, unlisted, policy)
    case .recursive, .automatic, .conflict:
      if policy.isRecursive || sides.isBaseKnown || isMergedByKey(local, policy, shape)
        || isMergedByKey(server, policy, shape)
      {
        if let merged = try mergeNested(sides, local, server, policy, shape) { return merged }
      }
      guard policy.isAutomatic else { return nil }
      if let key = identityKey(ofElements: local) ?? identityKey(ofElements: server) {
        return try mergeElements(sides, key, nil, .byID(key))
      }
      return try mergeStructure(sides, local, server, nil, policy)
    case .orElse(let policy, _): return try mergeInside(sides, policy, shape)
    default: return nil
    }
  }

  /// Whether a value is merged by its keys also where the base is not known: a model, or a dictionary unless differences are conflicts. What a
  /// type with a coding of its own writes as an object is one value.
  private func isMergedByKey(_ value: ArchiveValue, _ policy: MergePolicy, _ shape: TypeShape?) -> Bool {
    switch (value, shape?.kind) {
    case (.record(let record), _): catalog[record.typeName] != nil
    case (.object, .dictionary), (.map, .dictionary), (.array, .dictionary): policy.isAutomatic || value.holdsRecords
    case (.object(let object), nil): object.entries.contains { $0.value.recordValue != nil }
    case (.map(let entries), nil): entries.contains { $0.value.recordValue != nil }
    default: false
    }
  }

  // MARK: Models

  /// The key by which the models in an array or a set are identified.
  func identityKey(ofElements value: ArchiveValue) -> IdentityKey? {
    guard let first = value.arrayValue?.first(where: { !$0.isNull }) else { return nil }
    return graph.schema(of: first, in: catalog).flatMap(graph.identityKey)
  }

  /// The policy of a field: its own, else its type's, else what holds the record hands on.
  func policy(
    _ field: FieldInfo?, _ ofType: MergePolicy?, _ inherited: MergePolicy, isTyped: Bool
  ) -> MergePolicy {
    if let own = field?.merge, !own.isAutomatic { return own }
    if let ofType, !ofType.isAutomatic { return ofType }
    if !inherited.isAutomatic, !inherited.isRecursive { return inherited }
    // What JSON never holds is no server's business: a whole model has there what the program put in.
    if incoming.isWhole, field?.json.isNowhere ?? false { return .keepLocal }
    return isTyped ? .automatic : inherited.isRecursive ? .recursive : .automatic
  }

  // MARK: Account

  /// Accounts for what a policy made of the sides, unless all of them have it.
  mutating func note(_ sides: MergeSides, decidedBy policy: MergePolicy, _ result: ArchiveValue?) {
    guard !same(sides.local, sides.server) || !same(sides.local, result) else { return }
    let isServers = same(result, sides.server)
    note(sides, isServers ? .server : same(result, sides.local) ? .local : .merged, policy.description, result)
  }

  /// - Parameter decides: whether this decides the value at the path and all that is inside of it.
  mutating func note(
    _ sides: MergeSides, _ outcome: MergeReport.Outcome, _ rule: String, _ result: ArchiveValue?, decides: Bool = true
  ) {
    notes.append(
      MergeNote(
        object: object, path: path, outcome: outcome, rule: rule, sides: sides, result: result,
        decides: decides && outcome != .local && unclearDepth == 0))
  }

  /// Whether two values are the same; references are compared by what they are matched to.
  func same(_ left: ArchiveValue?, _ right: ArchiveValue?) -> Bool {
    if left == right { return true }
    guard let left, let right else { return false }
    guard let matching else { return left.isSame(as: right) { $0 } }
    return left.isSame(as: right) { matching.canonical($0) }
  }
}

extension JSONField {
  /// Whether JSON neither gives the field nor holds it.
  var isNowhere: Bool { if case .absent = source { !isRead && !isWritten } else { false } }
}

extension MergePolicy {
  var isAutomatic: Bool { if case .automatic = rule { true } else { false } }
  var isRecursive: Bool { if case .recursive = rule { true } else { false } }
  /// Whether equal changes of both sides count twice.
  package var isSum: Bool {
    switch rule {
    case .sumOfDeltas: true
    case .ifPresent(let policy), .orElse(let policy, _): policy.isSum
    default: false
    }
  }
  /// Whether the server's value never counts.
  var keepsLocal: Bool { if case .keepLocal = leading.rule { true } else { false } }

  /// The policy of the field that another one looks at as the time of the model: the later time counts.
  func forTime(_ key: String) -> MergePolicy {
    if case .lastWriter(key) = rule { .max } else { self }
  }
}
