extension ValueMerger {
  /// Merges models, objects and dictionaries key by key; `nil` if the values are of different kinds, or models with
  /// different identities.
  ///
  /// - Parameter isMatched: whether both are known to be the same model, whatever their identities are.
  mutating func mergeNested(
    _ sides: MergeSides, _ local: ArchiveValue, _ server: ArchiveValue, _ policy: MergePolicy,
    _ shape: TypeShape? = nil, isMatched: Bool = false
  ) throws -> ArchiveValue? {
    if case .dictionary? = shape?.kind, let own = local.pairs, let other = server.pairs {
      let entries = try mergeEntries(sides, sides.base?.pairs ?? [], own, other, inherited: policy, shape) {
        ($0.key, $0.value, .value($0.key))
      }
      return .array(entries.map { .array([$0.0, $0.1]) })
    }
    switch (local, server) {
    case (.object, .object), (.map, .map), (.record, .record): break
    case (.map, .object(let object)), (.object(let object), .map): guard object.isEmpty else { return nil }
    default: return nil
    }
    guard depth < depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    depth += 1
    defer { depth -= 1 }
    switch (local, server) {
    case (.record(let own), .record(let other)):
      guard try isOneModel(own, other, isMatched: isMatched) else { return nil }
      var base = sides.base?.recordValue
      let isCase = catalog[own.typeName]?.isEnumeration ?? false
      if let known = base {
        let isSame =
          try known.typeName == own.typeName
          && (isCase ? known.keys == own.keys : isOneModel(known, own) && isOneModel(known, other))
        if !isSame { base = nil }
      }
      if isCase {
        return .record(try mergePayload(base, sides.isBaseKnown, own, other, policy))
      }
      return .record(
        try mergeFields(base, isBaseKnown: sides.isBaseKnown, own, other, inherited: policy))
    case (.object(let own), .object(let other)):
      owners.append((local, server))
      defer { owners.removeLast() }
      let base = sides.base?.objectValue
      let merged = try mergeEntries(
        sides, base?.entries ?? [], own.entries, other.entries, inherited: policy, shape
      ) {
        (ExactKey($0.key), $0.value, .key($0.key))
      }
      return .object(ArchiveObject(uniqueEntries: merged.map { .init(key: $0.0.text, value: $0.1) }))
    default: return try mergeMap(sides, local, server, inherited: policy, shape)
    }
  }

  /// Whether two records are of the same type, and do not have different identities.
  ///
  /// - Throws: ``ArchiveError`` with the code `unsupportedVersion` if the records have different versions.
  private mutating func isOneModel(_ local: ModelRecord, _ server: ModelRecord, isMatched: Bool = false) throws -> Bool
  {
    guard local.typeName == server.typeName else { return false }
    guard local.hasSameType(as: server) else {
      let whose = local.modelVersion == server.modelVersion ? "of a model's superclasses" : "of a model"
      throw ArchiveError(
        .unsupportedVersion,
        "the two sides have different versions \(whose); name the model, which has the steps "
          + "from one to the other", typeName: local.typeName, foundVersion: local.modelVersion,
        supportedVersion: server.modelVersion)
    }
    guard let schema = try catalog.schema(named: local.typeName) else {
      // Records of one key may be cases of an enum.
      return local.keys.count != 1 || server.keys.count != 1 || local.keys == server.keys
    }
    if schema.isEnumeration { return local.keys == server.keys }
    return isMatched || isSameModel(local, server, schema)
  }

  /// Merges the fields of two records of one type. Fields that the server's record lacks are unchanged.
  ///
  /// - Parameters:
  ///   - base: the fields that both sides started from; `nil` if the model did not exist then.
  ///   - isBaseKnown: whether the base is known. For keys that the base's record lacks, it is not.
  ///   - schema: the local schema, if the record alone does not determine it.
  ///   - wanted: the keys to merge; all by default.
  ///   - models: the models themselves, if the caller has them.
  mutating func mergeFields(
    _ base: ModelRecord?, isBaseKnown: Bool, _ local: ModelRecord, _ server: ModelRecord,
    schema known: ModelSchema? = nil,
    inherited: MergePolicy, only wanted: Set<String>? = nil, models: RootModels? = nil
  ) throws -> ModelRecord {
    var result = local
    let schema = try known ?? catalog.schema(named: local.typeName)
    let traits = schema?.mergeTraits
    owners.append((.record(local), .record(server)))
    defer { owners.removeLast() }
    var handled = Set<String>()
    if let type = traits?.hooks {
      handled = try runHooks(type, &result, server, base, wanted, models)
    }
    for (key, value) in zip(server.keys, server.values) where !handled.contains(key) && wanted?.contains(key) ?? true {
      let field = traits?.fields[ExactKey(key)]
      if let schema, field == nil {
        // A key that this program does not know, or one of a subclass.
        guard schema.keepsUnknownFields, !(catalog[server.typeName]?.allKeys.contains(key) ?? false) else {
          path.append(.key(key))
          note(sides(nil, nil, value), .local, "\(schema.name) does not declare the key", nil)
          path.removeLast()
          continue
        }
      }
      if field?.type is MergeState.Type { continue }
      let isKnown = isBaseKnown && (base == nil || base?[key] != nil || field == nil)
      // A null conditional reference counts as absent: without a base, it is unknown whether the reference was cleared.
      if let field, field.archive == .conditional, value.isNull, !isKnown, !incoming.isJSON { continue }
      path.append(.key(key))
      defer { path.removeLast() }
      let policy = self.policy(field, traits?.rules?.policy, inherited, isTyped: schema != nil)
      do {
        if !policy.keepsLocal || options.policy != nil || !selectors.isEmpty { enqueue(value) }
        result[key] = try merge(
          sides(base?[key], result[key], value, isBaseKnown: isKnown), policy, field?.shape.unwrapped)
      } catch { throw ArchiveError.at(.key(key), error) }
    }
    for key in graph.unknownCases(of: server) where !handled.contains(key) && wanted?.contains(key) ?? true {
      path.append(.key(key))
      note(sides(base?[key], local[key], nil), .local, "a case that this program does not know", local[key])
      path.removeLast()
    }
    return result
  }

  /// Merges the associated values of one case. Values that the server's record lacks are unchanged.
  private mutating func mergePayload(
    _ base: ModelRecord?, _ isBaseKnown: Bool, _ local: ModelRecord, _ server: ModelRecord, _ policy: MergePolicy
  ) throws -> ModelRecord {
    guard let key = server.keys.first, case .object(var result)? = local[key], case .object(let values)? = server[key]
    else { return local }
    let old = base?[key]?.objectValue
    let info = catalog[local.typeName]?.cases.first { $0.name == key }
    path.append(.key(key))
    defer { path.removeLast() }
    for entry in values.entries {
      path.append(.key(entry.key))
      defer { path.removeLast() }
      do {
        enqueue(entry.value)
        let sides = sides(
          old?[entry.key], result[entry.key], entry.value,
          isBaseKnown: isBaseKnown && (old == nil || old?[entry.key] != nil))
        let type = info?.labels.firstIndex(of: entry.key).flatMap { info?.payload[$0] }
        result[entry.key] = try merge(
          sides, policy.isRecursive ? .automatic : policy, type.map { TypeShape(of: $0).unwrapped })
      } catch { throw ArchiveError.at(.key(entry.key), error) }
    }
    return ModelRecord(shape: local.shape, values: [.object(result)])
  }

  /// Merges dictionaries whose keys are not strings. An empty one may have the form of an object.
  private mutating func mergeMap(
    _ sides: MergeSides, _ local: ArchiveValue, _ server: ArchiveValue, inherited: MergePolicy, _ shape: TypeShape?
  ) throws -> ArchiveValue {
    let (base, own, other) = (sides.base?.mapEntries ?? [], local.mapEntries ?? [], server.mapEntries ?? [])
    for entries in [own, other] where Set(entries.map(\.key)).count < entries.count {
      throw ArchiveError(.mergeFailed, "a dictionary has several keys that are not a number; each may be there once")
    }
    let entries = try mergeEntries(sides, base, own, other, inherited: inherited, shape) {
      ($0.key, $0.value, .value($0.key))
    }
    // An empty dictionary keeps the form that it has on one of the sides.
    guard !entries.isEmpty else { return own.isEmpty ? local : other.isEmpty ? server : .map([]) }
    return .map(try CanonicalOrder.sorted(entries.map { .init(key: $0.0, value: $0.1) }) { try $0.write($1.key) })
  }

  /// Merges dictionaries entry by entry. A key that the base has and the server lacks was removed by the server.
  ///
  /// - Parameter parts: returns the key of an entry for lookup, its value, and its step in a path.
  private mutating func mergeEntries<Entry, Key: Hashable>(
    _ sides: MergeSides, _ base: [Entry], _ local: [Entry], _ server: [Entry], inherited: MergePolicy,
    _ shape: TypeShape?, _ parts: (Entry) -> (key: Key, value: ArchiveValue, step: ValuePath.Component)
  ) throws -> [(Key, ArchiveValue)] {
    func lookup(_ entries: [Entry]) -> [Key: ArchiveValue] {
      Dictionary(entries.map { (parts($0).key, parts($0).value) }, uniquingKeysWith: { first, _ in first })
    }
    let (bases, own, others) = (lookup(base), lookup(local), lookup(server))
    var seen = Set<Key>()
    var merged: [(Key, ArchiveValue)] = []
    var inside: TypeShape?
    if case .dictionary(_, let values)? = shape?.kind { inside = TypeShape(of: values).unwrapped }
    for (key, _, step) in (local + server + base).map(parts) where seen.insert(key).inserted {
      path.append(step)
      defer { path.removeLast() }
      let inner = self.sides(bases[key], own[key], others[key], isBaseKnown: sides.isBaseKnown)
      do { if let value = try mergeEntry(inner, inherited, inside) { merged.append((key, value)) } } catch {
        if case .key(let key) = step { throw ArchiveError.at(.key(key), error) }
        if case .value(let key) = step { throw ArchiveError.at(.key(key.stringValue ?? "(key)"), error) }
        throw error
      }
    }
    return merged
  }

  /// Merges the values under one key of a dictionary.
  private mutating func mergeEntry(_ sides: MergeSides, _ policy: MergePolicy, _ shape: TypeShape?) throws
    -> ArchiveValue?
  {
    if let server = sides.server, server.isUnknownCase {
      note(self.sides(sides.base, sides.local, nil), .local, "a case that this program does not know", sides.local)
      return sides.local
    }
    guard sides.server == nil else { return try merge(sides, policy, shape) }
    guard let local = sides.local else { return nil }
    // Without a base, the server's keys are taken for all keys only if the field has no policy.
    let isPart = !sides.isBaseKnown && !policy.isAutomatic && !incoming.removesAbsentKeys && options.unlisted == nil
    switch isPart ? .keep : unlisted(nil, sides) {
    case .removeUnlessEdited where sides.isBaseKnown: return try merge(sides, policy, shape)
    case .keep:
      if !policy.isRecursive { note(sides, .local, "the server does not list it", local) }
      return local
    case .remove, .removeUnlessEdited:
      if sides.isBaseKnown, sides.base == nil {
        note(sides, .local, "inserted here", local)
        return local
      }
      note(sides, .server, "the server no longer has it", nil)
      return nil
    }
  }
}
