/// A model that merges some of its fields itself.
public protocol ValueMerging: Model {
  /// Merges one key.
  ///
  /// The receiver is a copy: when anything fails later, the object that the merge was called on is unchanged.
  ///
  /// `source` is the whole source. Where it is a JSON document, keys that it lacks have the target's values.
  ///
  /// - Returns: whether the key was dealt with; else its policy decides.
  mutating func mergeValue(forKey key: String, from source: Self) throws -> Bool
}

extension Model {
  /// Folds another object's values into this one, key by key.
  ///
  /// Each field follows its own policy, or the one given for this call; by default the source's value wins, a null
  /// too. All or nothing: when anything fails, the object is as it was. Where the model keeps a ``MergeState``, it knows
  /// the base, as with `mergeValues(from:base:options:)`.
  ///
  /// - Parameters:
  ///   - source: the object whose values are taken; it stays as it is.
  ///   - keys: the keys to merge; all of them unless given.
  ///   - policy: overrides the policies of the fields.
  ///   - validates: whether the result must keep the model's rules (see ``Validating``).
  /// - Returns: what changed.
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, and
  ///   `mergeFailed` where a hook or a policy fails or yields what the field cannot hold; `invalid` where the result
  ///   breaks a rule of the model.
  /// - Complexity: linear in the size of both, where no list was put into another order.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try merge(source, nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds another object's values into this one, by the options of this call.
  ///
  /// - Throws: as `mergeValues(from:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(from source: Self, options: MergeOptions) throws -> MergeReport {
    try merge(source, nil, options)
  }

  /// Merges what a server has with what was edited here, since both started from `base`.
  ///
  /// What only one side changed counts, in nested models and in lists with identities too. What both changed, each in
  /// its own way, follows the field's policy; where that is ``MergePolicy/automatic``, it is a conflict, the local
  /// value stays, and the report has all three.
  ///
  /// - Parameters:
  ///   - source: the server's state.
  ///   - base: the server's state that the local edits started from.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(from:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, base: Self, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try merge(source, base, options)
  }

  /// Folds an object of another model in: the keys that both declare are merged, the others stay.
  ///
  /// - Throws: as `mergeValues(from:)`.
  @discardableResult
  @_disfavoredOverload
  public mutating func mergeValues<Source: Model>(
    from source: Source, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    let options = MergeOptions(policy: policy, keys: keys, validates: validates)
    if isOfSubclass || source.isOfSubclass { return try mergeDynamically(source.dynamicModel, options) }
    return try mergeShared(source, nil, options)
  }

  // MARK: Inside

  /// Merges the keys that an object of another model declares too.
  private mutating func mergeShared<Source: Model>(
    _ source: Source, _ base: Self?, _ options: MergeOptions
  ) throws -> MergeReport {
    let neighbours = ObjectNeighbours()
    _ = try shallowRecord(neighbours)
    let whole = try overlaid(by: source, neighbours)
    let shared = Set(Self.schema.allKeys).intersection(Source.schema.allKeys)
    return try merge(whole, source.shallowRecord(neighbours), neighbours, present: shared, base: base, options)
  }

  /// An object with another one's values under the keys that both declare, and its own under the others.
  private func overlaid<Source: Model>(by source: Source, _ neighbours: ObjectNeighbours) throws -> Self {
    var own = try shallowRecord(neighbours)
    let values = try source.shallowRecord(neighbours)
    for key in Set(Self.schema.allKeys).intersection(Source.schema.allKeys) { own[key] = values[key] }
    let context = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    return try MergeCommit.made(Self.self, own, in: context, neighbours)
  }

  private mutating func merge(_ source: Self, _ base: Self?, _ options: MergeOptions) throws -> MergeReport {
    if isOfSubclass || source.isOfSubclass { return try mergeDynamically(source.dynamicModel, options, base) }
    let neighbours = ObjectNeighbours()
    // Local objects have the first numbers.
    _ = try shallowRecord(neighbours)
    return try merge(
      source, source.shallowRecord(neighbours), neighbours, present: Set(Self.schema.allKeys), base: base, options)
  }

  /// Merges objects as what they are, where the caller knew only classes that they inherit from.
  private mutating func mergeDynamically(
    _ source: any Model, _ options: MergeOptions, _ base: Self? = nil
  ) throws -> MergeReport {
    func merge<Target: Model, Source: Model>(_ target: Target, _ source: Source) throws -> MergeReport {
      var target = target
      // A base of a class above has only a part of the fields; what it lacks was not edited.
      let known = try base.map { base in
        try (base.dynamicModel as? Target) ?? target.overlaid(by: base.dynamicModel, ObjectNeighbours())
      }
      if let source = source as? Target {
        // An object of a subclass has every field of the target.
        let neighbours = ObjectNeighbours()
        _ = try target.shallowRecord(neighbours)
        return try target.merge(
          source, source.shallowRecord(neighbours), neighbours, present: Set(Target.schema.allKeys),
          base: known, options)
      }
      return try target.mergeShared(source, known, options)
    }
    return try merge(dynamicModel, source)
  }

  /// What the server had when it was merged last, where the model remembers it.
  var rememberedBase: Self? {
    get throws {
      guard let state = try mergeState, let base = state.base else { return nil }
      let context = DecodingContext(finishesModels: false)
      do { return try Self.make(from: base, in: context) } catch {
        throw ArchiveError(
          .mergeFailed, "what the server had when it was merged last cannot be read today", typeName: Self.schema.name,
          underlying: error)
      }
    }
  }

  /// What merging remembers of this object; `nil` where the model does not ask for it.
  var mergeState: MergeState? {
    get throws {
      guard let key = Self.schema.mergeStateKey else { return nil }
      let record = try shallowRecord(ObjectNeighbours())
      return try MergeState.make(from: record[key] ?? .null, in: DecodingContext())
    }
  }

  /// The fields of an object as the base of later merges.
  func baseRecord(_ catalog: SchemaCatalog) throws -> Record {
    do { return try record(includingExcluded: false).withoutMergeState(catalog) } catch {
      throw ArchiveError(
        .mergeFailed, "the server's state cannot be kept as a base; give the merge its base, and leave MergeState out",
        typeName: Self.schema.name, underlying: error)
    }
  }

  /// - Parameters:
  ///   - source: the whole source; what it lacks has the target's values, or the base's.
  ///   - present: the keys that the source has something to say about.
  ///   - knownBase: the base, where the caller has it.
  mutating func merge(
    _ source: Self, _ sourceValues: Record, _ neighbours: ObjectNeighbours, present: Set<String>, base knownBase: Self?,
    _ options: MergeOptions, takesUnknownFields: Bool = false
  ) throws -> MergeReport {
    let schema = Self.schema
    try schema.checkKeys(options.keys ?? [])
    let wanted = options.keys.map(Set.init)
    let stateKey = schema.mergeStateKey
    let merged = schema.fields.filter {
      present.contains($0.key) && wanted?.contains($0.key) ?? true && $0.key != stateKey
    }
    let base = try knownBase ?? rememberedBase
    let before = try shallowRecord(neighbours)
    var catalog = SchemaCatalog()
    Self.collectSchemas(into: &catalog)
    var merger = ValueMerger(
      catalog: catalog, neighbours: neighbours, options: options, isBaseKnown: base != nil)
    if schema.isObject { merger.matches[neighbours.number(of: source)] = neighbours.number(of: self) }
    let (hooked, handled) = try mergedByHooks(merged, source, before, neighbours, &merger)
    var values: Record
    do {
      values = try merger.mergeFields(
        base?.shallowRecord(neighbours), hooked, sourceValues, inherited: options.policy ?? .automatic,
        skipping: handled, only: Set(merged.map(\.key)))
    } catch { throw Self.failure(error) }
    var report = MergeReport()
    report.entries = merger.entries
    report.mergedKeys = merged.map(\.key)
    try report.checkConflicts(options, typeName: schema.name)
    if takesUnknownFields, schema.keepsUnknownFields {
      for entry in source.archivedUnknownFields.object.entries { values[entry.key] = entry.value }
    }
    if let stateKey {
      var state = try mergeState ?? MergeState()
      state.take(report) { path in
        let (own, other) = (try? merger.value(at: path, in: values), try? merger.value(at: path, in: sourceValues))
        return merger.same(own, other)
      }
      // Where nothing was merged, the server's state stays the one that was merged last.
      var known = try source.baseRecord(catalog)
      let last = try (base ?? self).baseRecord(catalog)
      for key in known.keys where !merged.contains(where: { $0.key == key }) { known[key] = last[key] }
      state.base = known
      values[stateKey] = state.value
    }
    var updates = merger.updated.compactMap { number in merger.updates[number].map { (number: number, record: $0) } }
    try ObjectAdoption(neighbours, merger.matches).run(merger.adopted, &values, &updates)
    let commit = MergeCommit(neighbours: neighbours, validates: options.validates, updates: updates)
    // A key counts as changed, too, where an object that it refers to has other fields now.
    let changedInside =
      updates.isEmpty
      ? [] : Set(report.entries.filter { $0.outcome != .local && $0.result != $0.local }.compactMap(\.path.firstKey))
    var changes: [MergeReport.Change] = []
    try commit.run(&self, values, runsHooks: catalog.finishesModels) { before, after in
      changes = schema.fields.compactMap { field in
        (before[field.key] == after[field.key] && !changedInside.contains(field.key)) || field.key == stateKey
          ? nil : MergeReport.Change(key: field.key, old: before[field.key], new: after[field.key])
      }
      return before != after || takesUnknownFields
    }
    report.changes = changes
    return report
  }

  /// Runs the model's own code for the keys that it wants to merge itself.
  private func mergedByHooks(
    _ fields: [FieldInfo], _ source: Self, _ before: Record, _ neighbours: ObjectNeighbours,
    _ merger: inout ValueMerger
  ) throws -> (Record, Set<String>) {
    guard self is any ValueMerging else { return (before, []) }
    // An object is made anew, a value is copied as it is.
    let context = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    var result = Self.self is AnyClass ? try MergeCommit.made(Self.self, before, in: context, neighbours) : self
    var handled = Set<String>()
    for field in fields where try result.runHook(field.key, source) { handled.insert(field.key) }
    guard !handled.isEmpty else { return (before, []) }
    let after = try result.shallowRecord(neighbours)
    let other = try source.shallowRecord(neighbours)
    for field in fields where handled.contains(field.key) && after[field.key] != before[field.key] {
      merger.path = [.key(field.key)]
      merger.note(
        merger.sides(nil, before[field.key], other[field.key]), .merged, "mergeValue(forKey:from:)", after[field.key])
      merger.path = []
    }
    return (after, handled)
  }

  private mutating func runHook(_ key: String, _ source: Self) throws -> Bool {
    guard var hooked = self as? any ValueMerging else { return false }
    do {
      guard try hooked.runOwnHook(key, source) else { return false }
      if let changed = hooked as? Self { self = changed }
      return true
    } catch {
      let path = (error as? ArchiveError)?.codingPath ?? []
      throw ArchiveError(
        .mergeFailed, "the values cannot be merged", path: [.key(key)] + path, typeName: Self.schema.name,
        underlying: error)
    }
  }

  private static func failure(_ error: any Error) -> ArchiveError {
    let known = error as? ArchiveError
    // What a policy threw is the cause, and not that it is no error of ours.
    let cause = known?.code == .rejected ? known?.underlyingError ?? error : error
    return ArchiveError(
      .mergeFailed, "the values cannot be merged", path: known?.codingPath ?? [], typeName: schema.name,
      underlying: cause)
  }
}

extension ValueMerging {
  fileprivate mutating func runOwnHook(_ key: String, _ source: some Model) throws -> Bool {
    guard let source = source as? Self else { return false }
    return try mergeValue(forKey: key, from: source)
  }
}

extension MergePath {
  /// The path without the values that tell elements apart, for messages of errors.
  var keysOnly: String {
    MergePath(
      components.map { component in
        switch component {
        case .element, .value: .index(-1)
        default: component
        }
      }
    ).description.replacing("[-1]", with: "[*]")
  }
}
