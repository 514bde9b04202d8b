/// Merges values by policy, and notes each decision. Nested values are merged by the policies of their own types.
///
/// The server's value is a tree in which any model may lack any key. An absent key changes nothing. References are not followed: each
/// object is merged separately and only once (``mergeObjects()``). Two references are equal if their objects belong to the same entity.
struct ValueMerger {
  var catalog: SchemaCatalog
  let options: MergeOptions
  /// Whether the base is known, at least in part.
  let isBaseKnown: Bool
  let incoming: Incoming
  let graph: MergeGraph
  /// The correspondence between the objects of all sides; `nil` if there are no objects.
  var matching: ObjectMatching?
  /// The decisions so far, in the order in which they were made.
  var notes: [MergeNote] = []
  /// The new fields of local objects, by object number.
  var updates: [Int: ModelRecord] = [:]
  /// The numbers of the entities whose local objects are replaced by new ones. ``updates`` contains the fields of the new objects.
  var replaced = Set<Int>()
  /// The numbers of the entities that constants of local objects refer to, computed on first use.
  var constantEntities: Set<Int>?
  /// The numbers of the entities that conditional fields of local objects refer to, computed on first use.
  var conditionalEntities: Set<Int>?
  /// The keys of ``updates``, in the order in which they were added.
  var updated: [Int] = []
  /// The numbers of the entities that the server's values refer to, in the order of discovery. ``queued`` contains the same numbers as a
  /// set.
  var pending: [Int] = []
  var queued = Set<Int>()
  /// The policies of this call whose paths pass through an entity, by entity number.
  var selectorsByObject: [Int: [Selection]] = [:]
  /// The policies that this call specifies for paths, relative to the same value as ``path``.
  var selectors: [Selection]
  /// The number of the entity whose fields are being merged; `nil` at a root that is not an object.
  var object: Int?
  var path: [ValuePath.Component] = []
  /// The number of enclosing elements whose path is ambiguous, because another element has the same path.
  var unclearDepth = 0
  let depthLimit = ArchiveLimits().depth
  var depth = 0
  /// Whether a policy adds up the changes of both sides. Equal values may then come from two separate changes.
  let countsEqualChanges: Bool
  /// The values that enclose the current value, outermost first.
  var owners: [(local: ArchiveValue, server: ArchiveValue)] = []
  /// The numbers of the entities that each side changed since the base, computed on first use.
  var knownEdits: [ObjectMatching.Side: Set<Int>] = [:]
  /// The local and the incoming root, in which the paths of objects are looked up.
  var roots: [ArchiveValue] = []
  /// Whether the base is complete. An object that is missing from a complete base did not exist.
  var isBaseWhole = true
  /// Whether the base comes from a ``MergeState``. Models in such a base may lack keys at any depth.
  var isBaseRemembered = false

  /// The policy of the current value while the next remembered base is prepared; otherwise `nil`. If the policy keeps elements and keys
  /// that the source does not list, the next base keeps them, too.
  var keepingPolicy: MergePolicy?

  /// How complete the incoming data is.
  struct Incoming {
    /// Whether the data is a complete model. Fields that JSON never holds then have the program's own values.
    var isWhole = false
    /// Whether models in the data may lack keys.
    var hasParts = false
    /// Whether lists and dictionaries are complete if the base is not known, as in a record for a database row.
    var hasWholeLists = false
    /// Whether the data is JSON, in which null always clears a field.
    var isJSON = false
    /// Whether an absent dictionary key means that the source removed the key.
    var removesAbsentKeys = false
    /// Whether values are in archived form, which leaves out some fields.
    var isArchived = false
  }

  /// A policy that the call specifies for a path. Components of the path that are already matched are removed.
  struct Selection {
    let path: ValuePath
    let policy: MergePolicy
    /// The index among the call's policies. If several policies match, the last one wins.
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

  /// The policy that the call specifies for the current path.
  var selectedPolicy: MergePolicy? {
    guard !selectors.isEmpty else { return nil }
    return selectors.filter { $0.path.matches(path) }.max { $0.order < $1.order }?.policy
  }

  // MARK: One value

  /// Returns the merged value; `nil` if the result is absent.
  ///
  /// - Parameters:
  ///   - sides: the values, which may be absent.
  ///   - declared: the policy of the field or of the enclosing value.
  ///   - shape: the shape of the value's type without optionals; `nil` if the type is not known.
  mutating func merge(_ sides: MergePolicy.Sides, _ declared: MergePolicy, _ shape: TypeShape? = nil) throws
    -> ArchiveValue?
  {
    guard sides.isBaseKnown || sides.server != nil else { return sides.local }
    let named = selectedPolicy
    var policy = named ?? options.policy ?? declared
    if case .key(let key)? = path.last { policy = policy.forTime(key) }
    // A policy for the whole call applies to values without fields. A nested model is merged field by field with that policy.
    if named == nil, options.policy != nil, sides.isBaseKnown || declared.isRecursive, !policy.keepsLocal,
      let local = sides.local, let server = sides.server, countsEqualChanges || !areSame(local, server),
      let merged = try mergeNested(sides, local, server, declared.isRecursive ? .recursive : .automatic, shape)
    {
      return merged
    }
    return try merge(sides, by: policy, shape)
  }

  /// - Parameter uncompleted: the server's value before its absent keys were filled in; `nil` if no keys were filled in.
  private mutating func merge(
    _ sides: MergePolicy.Sides, by policy: MergePolicy, _ shape: TypeShape?, uncompleted: ArchiveValue? = nil
  ) throws -> ArchiveValue? {
    var sides = sides
    sides.server = serverWithIdentity(sides)
    let (base, local, server) = (sides.base, sides.local, sides.server)
    // If there are several policies, the first one decides how the value is merged, and the others only decide conflicts.
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
    // In archived form, the local value may lack keys too, so a server value that equals the local value is not completed.
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

  /// Merges whole documents. Objects and records are merged key by key, unless the call specifies a policy for the root path.
  mutating func mergeRoot(_ sides: MergePolicy.Sides) throws -> ArchiveValue? {
    if selectedPolicy == nil, let local = sides.local, let server = sides.server,
      let merged = try mergeNested(sides, local, server, .recursive, isMatched: true)
    {
      return merged
    }
    return try merge(sides, .recursive)
  }

  /// Merges lists at the root by `policy`, unless the call specifies a policy for the root.
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

  /// Returns the local and the server's value under a key, from the innermost enclosing value in which either side has a non-null value.
  private func times(_ key: String) -> (local: ArchiveValue?, server: ArchiveValue?) {
    for owner in owners.reversed() {
      let (local, server) = (owner.local[key], owner.server[key])
      if local?.isNull == false || server?.isNull == false { return (local, server) }
    }
    return (nil, nil)
  }

  mutating func conflict(_ sides: MergePolicy.Sides, _ policy: MergePolicy) -> ArchiveValue? {
    let value = options.conflicts == .takeServer ? sides.server : sides.local
    // If no policy was specified, the report gives the reason for the conflict instead.
    note(sides, .conflict, policy.isAutomatic || policy.isRecursive ? "both changed it" : policy.description, value)
    return value
  }

  /// Merges containers element by element or key by key. Returns `nil` if the policy does not merge containers.
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

  /// Whether a value is merged key by key even without a known base. This applies to models, and to dictionaries unless the policy treats
  /// differences as conflicts. An object written by a type with its own coding is a single value.
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

  /// Returns the key that identifies the models in an array or a set.
  func identityKey(ofElements value: ArchiveValue) -> IdentityKey? {
    guard let first = value.arrayValue?.first(where: { !$0.isNull }) else { return nil }
    return graph.schema(of: first, in: catalog).flatMap(graph.identityKey)
  }

  /// Returns the policy of a field: the field's own policy, the policy of the model's type, or the inherited policy, in this order.
  func policy(
    _ field: FieldInfo?, _ ofType: MergePolicy?, _ inherited: MergePolicy, isTyped: Bool
  ) -> MergePolicy {
    if let own = field?.merge, !own.isAutomatic { return own }
    if let ofType, !ofType.isAutomatic { return ofType }
    if !inherited.isAutomatic, !inherited.isRecursive { return inherited }
    // JSON never holds this field, so its value in a complete model is the program's own, not the server's.
    if incoming.isWhole, field?.json.isNowhere ?? false { return .keepLocal }
    return isTyped ? .automatic : inherited.isRecursive ? .recursive : .automatic
  }

  // MARK: Account

  /// Notes the result of a policy, unless the local, the server's and the merged value are all equal.
  mutating func note(_ sides: MergePolicy.Sides, decidedBy policy: MergePolicy, _ result: ArchiveValue?) {
    guard !areSame(sides.local, sides.server) || !areSame(sides.local, result) else { return }
    let isServers = areSame(result, sides.server)
    note(sides, isServers ? .server : areSame(result, sides.local) ? .local : .merged, policy.description, result)
  }

  /// - Parameter decides: whether the note decides the value at the path and everything inside that value.
  mutating func note(
    _ sides: MergePolicy.Sides, _ outcome: MergeReport.Outcome, _ rule: String, _ result: ArchiveValue?,
    decides: Bool = true
  ) {
    notes.append(
      MergeNote(
        object: object, path: path, outcome: outcome, rule: rule, sides: sides, result: result,
        decides: decides && outcome != .local && unclearDepth == 0))
  }

  /// Whether two values are equal. Two references are equal if their objects belong to the same entity.
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
  /// Whether equal changes made by both sides count twice.
  package var isSum: Bool {
    switch rule {
    case .sumOfDeltas: true
    case .ifPresent(let policy), .orElse(let policy, _): policy.isSum
    default: false
    }
  }
  /// Whether the policy always keeps the local value.
  var keepsLocal: Bool { if case .keepLocal = leading.rule { true } else { false } }

  /// Returns `max` if this is a `lastWriter` policy that uses the field as the model's time; otherwise returns this policy.
  func forTime(_ key: String) -> MergePolicy {
    if case .lastWriter(key) = rule { .max } else { self }
  }
}
