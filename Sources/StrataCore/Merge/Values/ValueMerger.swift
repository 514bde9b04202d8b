/// Merges values by policy and notes each decision. Nested values are merged by the policies of their own types.
///
/// The server's value is a tree in which any model may lack any key. An absent key changes nothing. References are not followed: each
/// object is merged separately and only once (``mergeObjects()``). Two references are equal if their objects belong to the same entity.
struct ValueMerger {
  var catalog: SchemaCatalog
  let options: MergeOptions
  /// Whether the merge has a base. Even so, the base may lack some keys or objects.
  let isBaseKnown: Bool
  let incoming: Incoming
  let graph: MergeGraph
  /// Which objects of the base, the local side and the server correspond to each other; `nil` if no side has objects.
  var matching: ObjectMatching?
  /// The decisions of the merge so far, in the order in which they were made. The report is created from these notes.
  var notes: [MergeNote] = []
  /// The new fields of the local objects that the merge changes, by object number.
  var updates: [Int: ModelRecord] = [:]
  /// The numbers of the entities (groups of matching objects) whose local objects are replaced with new ones instead of being changed.
  /// ``updates`` has the fields of the new objects, under the numbers of the old ones.
  var replaced = Set<Int>()
  /// The numbers of the entities (groups of matching objects) that cannot be replaced because constants of local objects refer to them.
  /// Computed on first use.
  var constantEntities: Set<Int>?
  /// The numbers of the entities (groups of matching objects) that conditional fields of local objects refer to. Such fields may be weak,
  /// so a replaced object could be lost. Computed on first use.
  var conditionalEntities: Set<Int>?
  /// The numbers of the local objects to change, in the order in which they were added to ``updates``. Objects in ``replaced`` are not
  /// included.
  var updated: [Int] = []
  /// The numbers of the entities (groups of matching objects) that are merged, in the order in which references to them were found in the
  /// server's values. ``queued`` contains the same numbers as a set.
  var pending: [Int] = []
  var queued = Set<Int>()
  /// For each entity (a group of matching objects), the policies that the merge call specifies for paths through the entity. The paths are
  /// shortened to begin at the entity.
  var selectorsByObject: [Int: [Selection]] = [:]
  /// The policies that the merge call specifies for paths. Like ``path``, their paths begin at the object that is being merged.
  var selectors: [Selection]
  /// The number of the entity (the group of matching objects) that is being merged; `nil` for a root that is not an object.
  var object: Int?
  var path: [ValuePath.Component] = []
  /// The number of enclosing list elements whose path is ambiguous because another element has the same path. If it is greater than 0,
  /// notes are not treated as decisions about earlier conflicts.
  var unclearDepth = 0
  let depthLimit = ArchiveLimits().depth
  var depth = 0
  /// Whether any policy adds up the changes of both sides. If so, equal values on both sides are still merged, because each side may have
  /// made the same change separately.
  let countsEqualChanges: Bool
  /// The local and the server's values that contain the value being merged, outermost first.
  var owners: [(local: ArchiveValue, server: ArchiveValue)] = []
  /// For each side, the numbers of the entities (groups of matching objects) that the side has changed since the base. Computed on first
  /// use.
  var knownEdits: [ObjectMatching.Side: Set<Int>] = [:]
  /// The local and the incoming root. Searches for the path to an object start at these values.
  var roots: [ArchiveValue] = []
  /// Whether the base is complete. An object that is missing from a complete base did not exist at that time. If the base is incomplete, it
  /// is unknown whether the object existed.
  var isBaseWhole = true
  /// Whether the base comes from a ``MergeState``. Models in such a base may lack keys at any depth.
  var isBaseRemembered = false

  /// The policy of the current value while the next remembered base is prepared; `nil` at any other time. If the policy keeps elements and
  /// keys that the source does not list, the next base must keep them, too.
  var keepingPolicy: MergePolicy?
  /// Whether the current list lacks elements that were invalid. Elements that such a list does not contain are kept.
  var isIncomplete = false

  /// The format and the completeness of the incoming data.
  struct Incoming {
    /// Whether the data is a complete model in memory. In such a model, fields that are never part of JSON have values from this program,
    /// not from the server.
    var isWhole = false
    /// Whether models in the data may lack keys. Absent keys do not change the local values.
    var hasParts = false
    /// Whether the incoming lists and dictionaries are complete, for example in a record that is merged into a database row. Elements and
    /// keys that they lack are then removed even without a base.
    var hasWholeLists = false
    /// Whether the data is JSON, in which a null always means that the field was cleared.
    var isJSON = false
    /// Whether a dictionary key that the data lacks was removed by the source, as in a patch.
    var removesAbsentKeys = false
    /// Whether the values are archived values, in which models lack the fields that archives leave out.
    var isArchived = false
  }

  /// A policy that the merge call specifies for a path. The path is relative to the object that is being merged: it does not contain the
  /// components from the root to the object.
  struct Selection {
    let path: ValuePath
    let policy: MergePolicy
    /// The index of the policy in the merge call's list of policies. If several policies match a path, the policy with the highest index is
    /// used.
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

  /// The policy that the merge call specifies for the current path; `nil` if there is none.
  var selectedPolicy: MergePolicy? {
    guard !selectors.isEmpty else { return nil }
    return selectors.filter { $0.path.matches(path) }.max { $0.order < $1.order }?.policy
  }

  // MARK: One value

  /// Returns the merged value; `nil` if the result is absent.
  ///
  /// - Parameters:
  ///   - sides: the base, local and server values, each of which may be absent.
  ///   - declared: the policy of the field or of the enclosing value.
  ///   - shape: the shape of the value's type without optionals; `nil` if the type is not known.
  mutating func merge(_ sides: MergePolicy.Sides, _ declared: MergePolicy, _ shape: TypeShape? = nil) throws
    -> ArchiveValue?
  {
    guard sides.isBaseKnown || sides.server != nil else { return sides.local }
    let named = selectedPolicy
    var policy = named ?? options.policy ?? declared
    if case .key(let key)? = path.last { policy = policy.forTime(key) }
    // A policy for the whole call applies to single values. Models and dictionaries are still merged key by key, and the policy applies to
    // the values under their keys.
    if named == nil, options.policy != nil, sides.isBaseKnown || declared.isRecursive, !policy.keepsLocal,
      let local = sides.local, let server = sides.server, countsEqualChanges || !areSame(local, server),
      let merged = try mergeNested(sides, local, server, declared.isRecursive ? .recursive : .automatic, shape)
    {
      return merged
    }
    return try merge(sides, by: policy, shape)
  }

  private static func isList(_ value: ArchiveValue?) -> Bool {
    switch value {
    case .array?, .set?: true
    default: false
    }
  }

  /// Merges a value by the given policy.
  ///
  /// - Parameter uncompleted: the server's value before its absent keys were filled in; `nil` if no keys were filled in.
  private mutating func merge(
    _ sides: MergePolicy.Sides, by policy: MergePolicy, _ shape: TypeShape?, uncompleted: ArchiveValue? = nil
  ) throws -> ArchiveValue? {
    var sides = sides
    if Self.isList(sides.server) || Self.isList(sides.base) { sides = try withIdentities(sides, policy, shape) }
    sides.server = serverWithIdentity(sides)
    let (base, local, server) = (sides.base, sides.local, sides.server)
    // If the policy has fallbacks (``MergePolicy/orElse(_:)``), only the first policy decides how the value is merged. The fallbacks
    // resolve conflicts.
    switch policy.leading.rule {
    case .keepLocal:
      if !areSame(local, server) { note(sides, .local, policy.description, local) }
      return local
    case .ifPresent(let inner):
      if server?.isNull ?? true {
        if !areSame(local, server) { note(sides, .local, "\(policy): no value from the server", local) }
        return local
      }
      return try merge(sides, by: policy.replacingLeading(by: inner), shape, uncompleted: uncompleted)
    default: break
    }
    // Archived values may also lack keys on the local side, so the local value is compared with the server's value before absent keys are
    // filled in.
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
    case .union where !areSame(local, server), .addWins where isIncomplete && !areSame(local, server):
      if let merged = try mergeMembers(sides, policy, isGrowOnly: true) { return merged }
    default: break
    }
    let isSame = areSame(local, server)
    if isSame, !countsEqualChanges || !sides.isBaseKnown || areSame(base, local) { return local }
    if let merged = try mergeInside(sides, policy, shape) { return merged }
    if isSame { return local }
    if sides.isBaseKnown {
      if try !hasServerChange(uncompleted ?? server, since: base) {
        note(sides, .local, "changed only locally", local)
        return local
      }
      if try !isEdited(local, since: base) {
        note(sides, .server, "changed only by the server", server)
        return server
      }
    } else if local == nil {
      note(sides, .server, "missing locally", server)
      return server
    }
    return try resolve(sides, policy)
  }

  /// Merges the roots of two documents. Objects and records are merged key by key, even if their identities differ, unless the merge call
  /// specifies a policy for the root path.
  mutating func mergeRoot(_ sides: MergePolicy.Sides) throws -> ArchiveValue? {
    if selectedPolicy == nil, let local = sides.local, let server = sides.server,
      let merged = try mergeNested(sides, local, server, .recursive, isMatched: true)
    {
      return merged
    }
    return try merge(sides, .recursive)
  }

  /// Merges roots that are lists. The given policy is used unless the merge call specifies a policy for the root path.
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

  /// Returns the local and the server's value of the time field with this key, from the innermost enclosing value in which at least one
  /// side has a time.
  private func times(_ key: String) -> (local: ArchiveValue?, server: ArchiveValue?) {
    for owner in owners.reversed() {
      let (local, server) = (owner.local[key], owner.server[key])
      if local?.isNull == false || server?.isNull == false { return (local, server) }
    }
    return (nil, nil)
  }

  mutating func conflict(_ sides: MergePolicy.Sides, _ policy: MergePolicy) -> ArchiveValue? {
    let value = options.conflicts == .takeServer ? sides.server : sides.local
    // If no policy was declared, or if the policy does not apply to the value, the report shows the reason for the conflict in place of the
    // policy's name.
    let isScalar =
      sides.local.map { $0.arrayValue == nil } ?? false && sides.server.map { $0.arrayValue == nil } ?? false
    let applies = !policy.isAutomatic && !policy.isRecursive && !(policy.isByID && isScalar)
    let rule = applies ? policy.description : "changed by both sides"
    note(sides, .conflict, rule, value)
    return value
  }

  /// Merges arrays and sets element by element, and models and dictionaries key by key. Returns `nil` if the policy treats such values as a
  /// whole.
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
  /// differences as conflicts. An object that a type wrote with its own encoding code is never merged key by key, because its structure is
  /// unknown.
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

  /// Returns the key that identifies the models in an array or a set; `nil` if the elements are not models with an identity.
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
    // This field is never part of JSON, so its value in a complete model does not come from the server. The local value must be kept.
    if incoming.isWhole, field?.json.isNowhere ?? false { return .keepLocal }
    return isTyped ? .automatic : inherited.isRecursive ? .recursive : .automatic
  }

  // MARK: Notes

  /// Adds the result of a policy to the report, unless the local, the server's and the merged value are all equal.
  mutating func note(_ sides: MergePolicy.Sides, decidedBy policy: MergePolicy, _ result: ArchiveValue?) {
    guard !areSame(sides.local, sides.server) || !areSame(sides.local, result) else { return }
    let isServers = areSame(result, sides.server)
    note(sides, isServers ? .server : areSame(result, sides.local) ? .local : .merged, policy.description, result)
  }

  /// Adds an entry for the current path to the report.
  ///
  /// - Parameter decides: whether the note is a decision about the value at the path and everything inside the value. False for a note that
  ///   is only about the order of elements.
  mutating func note(
    _ sides: MergePolicy.Sides, _ outcome: MergeReport.Outcome, _ rule: String, _ result: ArchiveValue?,
    decides: Bool = true
  ) {
    notes.append(
      MergeNote(
        object: object, path: path, outcome: outcome, rule: rule, sides: sides, result: result,
        decides: decides && outcome != .local && unclearDepth == 0))
  }

  /// Whether two values are equal. Two references are equal if their objects belong to the same entity, which is a group of matching
  /// objects.
  func areSame(_ left: ArchiveValue?, _ right: ArchiveValue?) -> Bool {
    guard let left, let right else { return left == right }
    return matching?.areSame(left, right) ?? (left == right || left.isEqual(to: right) { $0 })
  }
}

extension JSONField {
  /// Whether the field is neither read from JSON nor written to it.
  var isNowhere: Bool { if case .absent = source { !isRead && !isWritten } else { false } }
}

extension MergePolicy {
  var isAutomatic: Bool { if case .automatic = rule { true } else { false } }
  var isRecursive: Bool { if case .recursive = rule { true } else { false } }
  var isByID: Bool { if case .byID = leading.rule { true } else { false } }
  /// Whether the policy adds up the changes of both sides, so that two equal changes are not treated as one.
  package var isSum: Bool {
    switch rule {
    case .sumOfDeltas: true
    case .ifPresent(let policy), .orElse(let policy, _): policy.isSum
    default: false
    }
  }
  /// Whether the policy always keeps the local value, even if only the server's value changed.
  var keepsLocal: Bool { if case .keepLocal = leading.rule { true } else { false } }

  /// Returns the policy for the field with the given key: `max` if this is a `lastWriter` policy that compares the times in this field,
  /// otherwise this policy.
  func forTime(_ key: String) -> MergePolicy {
    if case .lastWriter(key) = rule { .max } else { self }
  }
}
