extension ValueMerger {
  /// Merges lists and sets whose models are nested in inner lists, dictionaries or enum cases. The models are merged by identity,
  /// regardless of their position, and their arrangement is merged as a single value. Returns `nil` if there are no nested models.
  ///
  /// - Parameter key: the key that identifies models; `nil` to use the identity of each type.
  mutating func mergeStructure(
    _ sides: MergePolicy.Sides, _ local: ArchiveValue, _ server: ArchiveValue, _ key: IdentityKey?,
    _ policy: MergePolicy
  ) throws -> ArchiveValue? {
    guard local.arrayValue != nil, server.arrayValue != nil, local.isSet == server.isSet,
      local.holdsRecords || server.holdsRecords
    else { return nil }
    let finder = ModelFinder(catalog: catalog, graph: graph, key: key)
    let (own, other) = (try finder.models(in: local), try finder.models(in: server))
    guard !own.isEmpty || !other.isEmpty else { return nil }
    let old = try sides.base.map(finder.models)
    let (isServers, isConflict) = try takesStructure(sides, own, other, old, finder, policy)
    let (chosen, rest) = isServers ? (other, own) : (own, other)
    var merged = try finder.map(isServers ? server : local) { record, place in
      guard let (key, id) = finder.identity(of: record) else { return .record(record) }
      let isRepeated = own.isRepeated(place.id) || other.isRepeated(place.id)
      let counterpart = rest.counterpart(of: place, isRepeated: isRepeated).map { ArchiveValue.record($0) }
      let before = old?.counterpart(of: place, isRepeated: isRepeated).map { ArchiveValue.record($0) }
      path.append(.element(key: key, id: id))
      if isRepeated { unclearDepth += 1 }
      defer {
        path.removeLast()
        if isRepeated { unclearDepth -= 1 }
      }
      let (mine, theirs) = isServers ? (counterpart, .record(record)) : (.record(record), counterpart)
      return try mergeModel(
        self.sides(before, mine, theirs, isBaseKnown: sides.isBaseKnown), policy) ?? .record(record)
    }
    merged = try completed(merged, over: [])
    guard !isConflict else { return merged }
    for (place, record) in rest.all {
      let isRepeated = own.isRepeated(place.id) || other.isRepeated(place.id)
      guard chosen.counterpart(of: place, isRepeated: isRepeated) == nil,
        let (key, id) = finder.identity(of: record)
      else { continue }
      let before = old?.counterpart(of: place, isRepeated: isRepeated).map { ArchiveValue.record($0) }
      path.append(.element(key: key, id: id))
      if isRepeated { unclearDepth += 1 }
      defer {
        path.removeLast()
        if isRepeated { unclearDepth -= 1 }
      }
      let value = ArchiveValue.record(record)
      note(
        self.sides(before, isServers ? value : nil, isServers ? nil : value, isBaseKnown: sides.isBaseKnown),
        isServers ? .server : .local, isServers ? "\(policy): missing on the server" : "removed locally", nil)
    }
    return merged
  }

  /// Merges a model that the result must contain. If only one side has the model, it is kept.
  private mutating func mergeModel(_ sides: MergePolicy.Sides, _ policy: MergePolicy) throws -> ArchiveValue? {
    if sides.local != nil, sides.server != nil { return try mergeElement(sides, nil, policy) }
    guard sides.local == nil else {
      if sides.isBaseKnown, sides.base == nil { note(sides, .local, "inserted locally", sides.local) }
      return sides.local
    }
    let sides = try completed(sides)
    note(sides, .server, sides.isBaseKnown ? "inserted by the server" : "missing locally", sides.server)
    return sides.server
  }

  /// Decides whether the result uses the server's arrangement of the models instead of the local one, and whether the two arrangements
  /// conflict.
  private mutating func takesStructure(
    _ sides: MergePolicy.Sides, _ own: IdentifiedModels, _ other: IdentifiedModels, _ old: IdentifiedModels?,
    _ finder: ModelFinder, _ policy: MergePolicy
  ) throws -> (isServers: Bool, isConflict: Bool) {
    func structure(_ value: ArchiveValue?) throws -> ArchiveValue? {
      guard let value else { return nil }
      let found = try finder.structure(of: value)
      // If a key without a default is missing, the value cannot be completed and is compared as it is.
      return (try? completed(found, over: [])) ?? found
    }
    let (mine, theirs) = (try structure(sides.local), try structure(sides.server))
    guard !areSame(mine, theirs) else { return (true, false) }
    // Whether the server's arrangement lacks a local model that must be kept. If so, the merge cannot decide where to insert the model.
    let named: Unlisted? = if case .byID(_, let named) = policy.leading.rule { named } else { nil }
    let losesKept =
      self.unlisted(named, sides) == .keep && (sides.isBaseKnown || isIncomplete)
      && own.all.contains { place, _ in
        let isRepeated = own.isRepeated(place.id) || other.isRepeated(place.id)
        return other.counterpart(of: place, isRepeated: isRepeated) == nil
          && (!sides.isBaseKnown || old?.counterpart(of: place, isRepeated: isRepeated) != nil)
      }
    guard sides.isBaseKnown || losesKept else {
      note(sides, .server, "\(policy): the elements or their order differ", nil, decides: false)
      return (true, false)
    }
    let before = try structure(sides.base)
    let (isOwnNews, isServersNews) = (!areSame(before, mine), !areSame(before, theirs))
    // Whether using the arrangement of the other side, which has the models in `rest`, would lose an edited model of `models`.
    func losesEdit(_ models: IdentifiedModels, _ rest: IdentifiedModels, _ side: ObjectMatching.Side) throws -> Bool {
      try models.all.contains { place, record in
        let isRepeated = own.isRepeated(place.id) || other.isRepeated(place.id)
        guard rest.counterpart(of: place, isRepeated: isRepeated) == nil,
          let known = old?.counterpart(of: place, isRepeated: isRepeated)
        else { return false }
        let (value, base) = (ArchiveValue.record(record), ArchiveValue.record(known))
        return side == .local ? try isEdited(value, since: base) : try hasServerChange(value, since: base)
      }
    }
    let isConflict =
      try losesKept || isOwnNews && isServersNews
      || (isServersNews ? losesEdit(own, other, .local) : losesEdit(other, own, .server))
    guard isConflict else {
      if isServersNews {
        note(sides, .server, "only the server changed the elements or their order", nil, decides: false)
      }
      return (isServersNews, false)
    }
    let whole = try self.sides(
      sides.base, sides.local, sides.server.map { try completed($0, over: [sides.base, sides.local]) })
    _ = conflict(whole, policy)
    return (options.conflicts == .takeServer, true)
  }
}

extension ArchiveValue {
  /// Whether the value is a record or contains one in an array, a set or a dictionary.
  var holdsRecords: Bool {
    switch self {
    case .record: true
    case .array, .set, .object: containsInside(where: \.holdsRecords)
    case .map(let entries): entries.contains { $0.value.holdsRecords }
    default: false
    }
  }

  /// Whether the value is an array or a set that directly contains an array or a set.
  var listsContainers: Bool { arrayValue?.contains { $0.arrayValue != nil } ?? false }
}
