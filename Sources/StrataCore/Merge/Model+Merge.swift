public import Foundation

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
  /// too. All or nothing: when anything fails, the object is as it was.
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
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    if isOfSubclass || source.isOfSubclass {
      return try mergeDynamically(source.dynamicModel, keys, policy, validates)
    }
    let neighbours = ObjectNeighbours()
    let values = try source.shallowRecord(neighbours)
    return try merge(source, values, neighbours, present: Set(Self.schema.allKeys), keys, policy, validates)
  }

  /// Folds an object of another model in: the keys that both declare are merged, the others stay.
  ///
  /// - Throws: as `mergeValues(from:)`.
  @discardableResult
  @_disfavoredOverload
  public mutating func mergeValues<Source: Model>(
    from source: Source, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    if isOfSubclass || source.isOfSubclass {
      return try mergeDynamically(source.dynamicModel, keys, policy, validates)
    }
    let neighbours = ObjectNeighbours()
    let values = try source.shallowRecord(neighbours)
    let shared = Set(Self.schema.allKeys).intersection(Source.schema.allKeys)
    var own = try shallowRecord(neighbours)
    for key in shared { own[key] = values[key] }
    return try merge(Self.made(of: own, neighbours), values, neighbours, present: shared, keys, policy, validates)
  }

  /// Folds a JSON object in: only the keys that the document holds are touched. An explicit null is a value.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON or a key of a field stands
  ///   twice, `typeMismatch` where a value is not what a field holds, and as `mergeValues(from:)`. The object is then unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    let value = try JSONReader().withRoot(of: json, depthLimit: JSONReader.maximumDepth) { root in
      // Of two values for one field, nobody knows which one another reader of the same text took.
      if root.kind == .object { _ = try Self.schema.jsonPlan.keys.places(in: root, of: Self.schema.jsonPlan) }
      return try root.value(duplicateKeys: .lastWins)
    }
    return try mergeValues(fromJSON: value, forKeys: keys, policy: policy, validates: validates)
  }

  /// Folds a JSON object in that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    let context = DecodingContext(source: .json, finishesModels: false)
    return try merge(fromJSON: json, forKeys: keys, policy: policy, validates: validates, in: context)
  }

  /// Folds a JSON object in by the mappings of a context, which does not finish models: only the result is.
  mutating func merge(
    fromJSON json: Value, forKeys keys: [String]?, policy: MergePolicy?, validates: Bool,
    in context: DecodingContext
  ) throws -> MergeReport {
    if isOfSubclass {
      func merge<M: Model>(_ object: M) throws -> MergeReport {
        var object = object
        return try object.merge(fromJSON: json, forKeys: keys, policy: policy, validates: validates, in: context)
      }
      return try merge(dynamicModel)
    }
    let present = try Self.schema.keys(inJSON: json, in: context)
    let neighbours = ObjectNeighbours()
    let own = try shallowRecord(neighbours)
    // The source is a whole object: keys that the document lacks have the target's values.
    let overlaid = try Self.schema.record(overlaying: json, on: own, neighbours, in: context)
    let source = try Self.made(of: overlaid, neighbours)
    return try merge(
      source, source.shallowRecord(neighbours), neighbours, present: present, keys, policy, validates,
      takesUnknownFields: context.json.unknownKeys == .capture && keys == nil)
  }

  // MARK: Inside

  /// Merges objects as what they are, where the caller knew only classes that they inherit from.
  private mutating func mergeDynamically(
    _ source: any Model, _ keys: [String]?, _ policy: MergePolicy?, _ validates: Bool
  ) throws -> MergeReport {
    func merge<Target: Model, Source: Model>(_ target: Target, _ source: Source) throws -> MergeReport {
      var target = target
      if let source = source as? Target {
        // An object of a subclass has every field of the target.
        let neighbours = ObjectNeighbours()
        return try target.merge(
          source, source.shallowRecord(neighbours), neighbours, present: Set(Target.schema.allKeys), keys, policy,
          validates)
      }
      return try target.mergeValues(from: source, forKeys: keys, policy: policy, validates: validates)
    }
    return try merge(dynamicModel, source)
  }

  private mutating func merge(
    _ source: Self, _ sourceValues: Record, _ neighbours: ObjectNeighbours, present: Set<String>, _ keys: [String]?,
    _ policy: MergePolicy?,
    _ validates: Bool, takesUnknownFields: Bool = false
  ) throws -> MergeReport {
    let schema = Self.schema
    try schema.checkKeys(keys ?? [])
    let wanted = keys.map(Set.init)
    let merged = schema.fields.filter { present.contains($0.key) && wanted?.contains($0.key) ?? true }
    let before = try shallowRecord(neighbours)
    var result = try working(before, neighbours)
    var remaining: [FieldInfo] = []
    for field in merged {
      if try !result.runHook(field.key, source) { remaining.append(field) }
    }
    var values = try result.shallowRecord(neighbours)
    var catalog = SchemaCatalog()
    Self.collectSchemas(into: &catalog)
    var merger = ValueMerger(catalog: catalog, neighbours: neighbours)
    for field in remaining {
      do {
        values[field.key] = try merger.merge(values[field.key], sourceValues[field.key], policy ?? field.merge)
      } catch { throw Self.failure(field.key, error) }
    }
    if takesUnknownFields, schema.keepsUnknownFields {
      for entry in source.archivedUnknownFields.object.entries { values[entry.key] = entry.value }
    }
    if !remaining.isEmpty || takesUnknownFields { result = try Self.made(of: values, neighbours) }
    if catalog.finishesModels {
      result = try Self.made(of: result.shallowRecord(neighbours), neighbours, finishes: true, validates: validates)
    }
    let after = try result.shallowRecord(neighbours)
    let changes = schema.fields.compactMap { field in
      before[field.key] == after[field.key]
        ? nil : MergeReport.Change(key: field.key, old: before[field.key], new: after[field.key])
    }
    for field in schema.fields where field.isConstant && before[field.key] != after[field.key] {
      throw ArchiveError(
        .mergeFailed, "a constant of an object cannot change; declare it with var or merge it with keepTarget",
        path: [.key(field.key)], typeName: schema.name)
    }
    if !changes.isEmpty || takesUnknownFields && before != after { try adoptFields(of: result) }
    return MergeReport(changes: changes, mergedKeys: merged.map(\.key))
  }

  /// A copy that hooks may change: an object is made anew, a value is copied as it is.
  private func working(_ values: Record, _ neighbours: ObjectNeighbours) throws -> Self {
    Self.self is AnyClass ? try Self.made(of: values, neighbours) : self
  }

  private mutating func runHook(_ key: String, _ source: Self) throws -> Bool {
    guard var hooked = self as? any ValueMerging else { return false }
    do {
      guard try hooked.runOwnHook(key, source) else { return false }
      if let changed = hooked as? Self { self = changed }
      return true
    } catch { throw Self.failure(key, error) }
  }

  private static func failure(_ key: String, _ error: any Error) -> ArchiveError {
    let path = (error as? ArchiveError)?.codingPath ?? []
    return ArchiveError(
      .mergeFailed, "the values cannot be merged", path: [.key(key)] + path, typeName: schema.name, underlying: error)
  }

  /// - Parameter finishes: whether hooks and validation run; they do on the result alone.
  private static func made(
    of values: Record, _ neighbours: ObjectNeighbours, finishes: Bool = false, validates: Bool = true
  ) throws -> Self {
    let context = DecodingContext(
      source: .merge, includesExcluded: true, finishesModels: finishes, validates: validates,
      collectsFailures: true)
    do {
      let model = try make(ofShallow: values, neighbours, in: context)
      try context.checkFailures(of: model)
      return model
    } catch {
      if let error = error as? ArchiveError, error.code == .invalid { throw error }
      throw ArchiveError(
        .mergeFailed, "a merged value is not what the field holds", path: (error as? ArchiveError)?.codingPath ?? [],
        typeName: schema.name, underlying: error)
    }
  }
}

extension ValueMerging {
  fileprivate mutating func runOwnHook(_ key: String, _ source: some Model) throws -> Bool {
    guard let source = source as? Self else { return false }
    return try mergeValue(forKey: key, from: source)
  }
}
