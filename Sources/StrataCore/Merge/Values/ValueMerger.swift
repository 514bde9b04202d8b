/// Merges values by policy, nested ones by the policies of their own types, and notes each decision.
///
/// The server's value is a tree in which any key of any model may be absent, and an absent key changes nothing.
/// References are not followed: each object is merged once, by itself (``mergeObjects()``), and references are compared
/// by the entities of their objects.
struct ValueMerger {
  var catalog: SchemaCatalog
  let options: MergeOptions
  /// Whether the base is known, at least in part.
  let isBaseKnown: Bool
  /// How complete the incoming data is.
  let incoming: Incoming
  let graph: MergeGraph
  /// The objects that correspond to each other; `nil` if there are no objects.
  var matching: ObjectMatching?
  /// The decisions so far, in their order.
  var notes: [MergeNote] = []
  /// The new fields of local objects, by number.
  var updates: [Int: ModelRecord] = [:]
  /// The entities whose local objects are replaced by new ones. The new fields are among the updates.
  var replaced = Set<Int>()
  /// The entities that constants of local objects refer to; computed when first needed.
  var constantEntities: Set<Int>?
  /// The entities that conditional fields of local objects refer to; computed when first needed.
  var conditionalEntities: Set<Int>?
  /// The numbers of the updates in the order in which they were added.
  var updated: [Int] = []
  /// The entities that the server's values refer to, in the order in which they were found; `queued` has the same ones.
  var pending: [Int] = []
  var queued = Set<Int>()
  /// The call's policies for paths that pass through each entity.
  var selectorsByObject: [Int: [Selection]] = [:]
  /// The call's policies for paths that begin where ``path`` does.
  var selectors: [Selection]
  /// The entity whose fields are merged; `nil` at a root that is not an object.
  var object: Int?
  var path: [ValuePath.Component] = []
  /// The number of enclosing elements whose path is also the path of another element.
  var unclearDepth = 0
  let depthLimit = ArchiveLimits().depth
  var depth = 0
  /// Whether a policy adds up the changes of both sides, so that two equal values may be two changes.
  let countsEqualChanges: Bool
  /// The values that contain the current value, the outermost first.
  var owners: [(local: ArchiveValue, server: ArchiveValue)] = []
  /// The entities that changed since the base; computed when first needed.
  var knownEdits: [ObjectMatching.Side: Set<Int>] = [:]
  /// The local and the incoming root, for finding the path of an object.
  var roots: [ArchiveValue] = []
  /// Whether the base is complete, so that an object that it lacks did not exist.
  var isBaseWhole = true
  /// Whether the base comes from a ``MergeState``, which may lack keys of models at any depth.
  var isBaseRemembered = false

  /// The policy of a value that becomes part of a remembered base; `nil` for any other value. If the policy keeps
  /// elements and keys that the source does not list, the base keeps them, too.
  var keepingPolicy: MergePolicy?

  /// How complete the incoming data is.
  struct Incoming {
    /// Whether it is a whole model, in which fields that JSON does not hold have the program's own values.
    var isWhole = false
    /// Whether it may lack keys of models.
    var hasParts = false
    /// Whether its lists and dictionaries are complete if the base is not known, like those of a record for a row.
    var hasWholeLists = false
    /// Whether it is JSON, in which null always clears.
    var isJSON = false
    /// Whether keys that a dictionary lacks were removed on purpose.
    var removesAbsentKeys = false
    /// Whether values have the form of archives, which leave out some fields.
    var isArchived = false
  }

  /// A policy that a call names for a path, without the components that are already matched.
  struct Selection {
    let path: ValuePath
    let policy: MergePolicy
    /// The position among the call's policies: the last one wins.
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
      Selection(path: named.path, policy: named.policy, order: order)
    }
    countsEqualChanges =
      isBaseKnown
      && (options.policy?.isSum ?? false || options.policies.contains { $0.policy.isSum }
        || catalog.schemas.contains { $0.fields.contains { $0.merge.isSum } })
  }

  func sides(_ base: ArchiveValue?, _ local: ArchiveValue?, _ server: ArchiveValue?, isBaseKnown: Bool? = nil)
    -> MergePolicy.Sides
  {
    let isKnown = isBaseKnown ?? self.isBaseKnown
    return MergePolicy.Sides(base: isKnown ? base : nil, isBaseKnown: isKnown, local: local, server: server)
  }

  /// The policy that the call names for the current path.
  var selectedPolicy: MergePolicy? {
    guard !selectors.isEmpty else { return nil }
    return selectors.filter { $0.path.matches(path) }.max { $0.order < $1.order }?.policy
  }

  // MARK: One value

  /// Returns the merged value; `nil` if it is absent.
  ///
  /// - Parameters:
  ///   - sides: the values, which may be absent.
  ///   - declared: the policy of the field, or of the value that contains this one.
  ///   - shape: the shape of the value's type without optionals; `nil` if the type is not known.
  mutating func merge(_ sides: MergePolicy.Sides, _ declared: MergePolicy, _ shape: TypeShape? = nil) throws
    -> ArchiveValue?
  {
    guard sides.isBaseKnown || sides.server != nil else { return sides.local }
    let named = selectedPolicy
    var policy = named ?? options.policy ?? declared
    if case .key(let key)? = path.last { policy = policy.forTime(key) }
    // The policy of a call is for values without fields. In a nested model, each field follows it.
    if named == nil, options.policy != nil, sides.isBaseKnown || declared.isRecursive, !policy.keepsLocal,
      let local = sides.local, let server = sides.server, countsEqualChanges || !areSame(local, server),
      let merged = try mergeNested(sides, local, server, declared.isRecursive ? .recursive : .automatic, shape)
    {
      return merged
    }
    return try merge(sides, by: policy, shape)
  }

  /// - Parameter uncompleted: the server's value before it was completed; `nil` if it was not.
  private mutating func merge(
    _ sides: MergePolicy.Sides, by policy: MergePolicy, _ shape: TypeShape?, uncompleted: ArchiveValue? = nil
  ) throws -> ArchiveValue? {
    var sides = sides
    sides.server = serverWithIdentity(sides)
    let (base, local, server) = (sides.base, sides.local, sides.server)
    // The first of several policies decides how the value is merged. The others only decide conflicts.
    switch policy.leading.rule {
    case .keepLocal:
      if !areSame(local, server) { note(sides, .local, policy.description, local) }
      return local
    case .ifPresent(let inner):
      if server?.isNull ?? true {
        if !areSame(local, server) { note(sides, .local, "\(policy): nothing came", local) }
        return local
      }
      return try merge(sides, by: policy.replacingLeading(by: inner), shape, uncompleted: uncompleted)
    default: break
    }
    // In archived form, the local value may lack keys too, so equal values are not completed.
    if incoming.hasParts, uncompleted == nil, let server, !incoming.isArchived || !areSame(local, server),
      isPart(server)
    {
      if let merged = try mergePart(sides, server, policy, shape) { return merged }
      return try merge(completed(sides), by: policy, shape, uncompleted: server)
    }
    switch policy.leading.rule {
    case .custom where !sides.isBaseKnown: return try resolve(sides, policy)
    case .sumOfDeltas where sides.isBaseKnown && !areSame(base, local) && !areSame(base, server):
      return try resolve(sides, policy)
    case .union where !areSame(local, server):
      if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged }
    default: break
    }
    let isSame = areSame(local, server)
    if isSame, !countsEqualChanges || !sides.isBaseKnown || areSame(base, local) { return local }
    if let merged = try mergeInside(sides, policy, shape) { return merged }
    if isSame { return local }
    if sides.isBaseKnown {
      if try !hasServerChange(uncompleted ?? server, since: base) {
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

  /// Merges whole documents: objects and records key by key, whatever the policy of the call.
  mutating func mergeRoot(_ sides: MergePolicy.Sides) throws -> ArchiveValue? {
    if selectedPolicy == nil, let local = sides.local, let server = sides.server,
      let merged = try mergeNested(sides, local, server, .recursive, isMatched: true)
    {
      return merged
    }
    return try merge(sides, .recursive)
  }

  /// Merges lists at the root, by the specified policy unless the call names one for the root.
  mutating func mergeList(_ sides: MergePolicy.Sides, _ policy: MergePolicy) throws -> ArchiveValue? {
    if let server = sides.server { enqueue(server) }
    return try merge(sides, by: selectedPolicy ?? policy, nil)
  }

  private mutating func resolve(_ sides: MergePolicy.Sides, _ policy: MergePolicy) throws -> ArchiveValue? {
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

  /// The values of both sides under a key of the nearest containing value in which either side has one.
  private func times(_ key: String) -> (local: ArchiveValue?, server: ArchiveValue?) {
    for owner in owners.reversed() {
      let (local, server) = (owner.local[key], owner.server[key])
      if local?.isNull == false || server?.isNull == false { return (local, server) }
    }
    return (nil, nil)
  }

  mutating func conflict(_ sides: MergePolicy.Sides, _ policy: MergePolicy) -> ArchiveValue? {
    let value = options.conflicts == .takeServer ? sides.server : sides.local
    // If no policy was named, the report describes the event.
    note(sides, .conflict, policy.isAutomatic || policy.isRecursive ? "both changed it" : policy.description, value)
    return value
  }

  /// Merges containers element by element or key by key, if the policy does so; otherwise returns `nil`.
  mutating func mergeInside(_ sides: MergePolicy.Sides, _ policy: MergePolicy, _ shape: TypeShape?) throws
    -> ArchiveValue?
  {
    guard let local = sides.local, let server = sides.server else { return nil }
    switch policy.rule {
    case .byID(let key, let unlisted):
      if let shape, shape.isDictionary { return try mergeNested(sides, local, server, policy, shape) }
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

  /// Whether a value is merged key by key even if the base is not known: a model, or a dictionary unless differences
  /// are conflicts. An object that a type with its own coding writes is one value.
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

  /// The policy of a field: its own, or else the policy of the model's type, or else the inherited one.
  func policy(
    _ field: FieldInfo?, _ ofType: MergePolicy?, _ inherited: MergePolicy, isTyped: Bool
  ) -> MergePolicy {
    if let own = field?.merge, !own.isAutomatic { return own }
    if let ofType, !ofType.isAutomatic { return ofType }
    if !inherited.isAutomatic, !inherited.isRecursive { return inherited }
    // JSON never holds the field, so its value in a whole model is the program's own, not the server's.
    if incoming.isWhole, field?.json.isNowhere ?? false { return .keepLocal }
    return isTyped ? .automatic : inherited.isRecursive ? .recursive : .automatic
  }

  // MARK: Account

  /// Adds a note of a policy's result, unless it is equal to both sides.
  mutating func note(_ sides: MergePolicy.Sides, decidedBy policy: MergePolicy, _ result: ArchiveValue?) {
    guard !areSame(sides.local, sides.server) || !areSame(sides.local, result) else { return }
    let isServers = areSame(result, sides.server)
    note(sides, isServers ? .server : areSame(result, sides.local) ? .local : .merged, policy.description, result)
  }

  /// - Parameter decides: whether the note decides the value at the path and everything inside of it.
  mutating func note(
    _ sides: MergePolicy.Sides, _ outcome: MergeReport.Outcome, _ rule: String, _ result: ArchiveValue?,
    decides: Bool = true
  ) {
    notes.append(
      MergeNote(
        object: object, path: path, outcome: outcome, rule: rule, sides: sides, result: result,
        decides: decides && outcome != .local && unclearDepth == 0))
  }

  /// Whether two values are the same. References are compared by the entities of their objects.
  func areSame(_ left: ArchiveValue?, _ right: ArchiveValue?) -> Bool {
    if left == right { return true }
    guard let left, let right else { return false }
    guard let matching else { return left.isEqual(to: right) { $0 } }
    return left.isEqual(to: right) { matching.canonical($0) }
  }
}

extension JSONField {
  /// Whether the field is neither read from JSON nor written to it.
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
  /// Whether the policy always keeps the local value.
  var keepsLocal: Bool { if case .keepLocal = leading.rule { true } else { false } }

  /// The policy of a field with this key: `max` if `lastWriter` reads it as the time of the model, otherwise unchanged.
  func forTime(_ key: String) -> MergePolicy {
    if case .lastWriter(key) = rule { .max } else { self }
  }
}
