extension ValueMerger {
  /// Merges models, objects and dictionaries key by key. Returns `nil` if the values are of different kinds, or if they are models with
  /// different identities.
  ///
  /// - Parameter isMatched: whether the values are known to be the same model, even if their identities differ.
  mutating func mergeNested(
    _ sides: MergePolicy.Sides, _ local: ArchiveValue, _ server: ArchiveValue, _ policy: MergePolicy,
    _ shape: TypeShape? = nil, isMatched: Bool = false
  ) throws -> ArchiveValue? {
    let isDictionary = shape?.isDictionary ?? false
    switch (local, server) {
    case (.object, .object), (.map, .map), (.record, .record): break
    case (.map, .object(let object)), (.object(let object), .map): guard object.isEmpty else { return nil }
    case (.array, .array):
      guard isDictionary, local.members(arePairs: true) != nil, server.members(arePairs: true) != nil else {
        return nil
      }
    default: return nil
    }
    guard depth < depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    depth += 1
    defer { depth -= 1 }
    guard case (.record(let own), .record(let other)) = (local, server) else {
      return try mergeDictionary(sides, local, server, inherited: policy, shape)
    }
    guard try isOneModel(own, other, isMatched: isMatched) else { return nil }
    var base = sides.base?.recordValue
    let isCase = catalog[own.typeName]?.isEnumeration ?? false
    if let known = base {
      let isSame =
        try known.typeName == own.typeName
        && (isCase ? known.keys == own.keys : isOneModel(known, own) && isOneModel(known, other))
      if !isSame { base = nil }
    }
    return .record(
      isCase
        ? try mergePayload(base, sides.isBaseKnown, own, other, policy)
        : try mergeFields(base, isBaseKnown: sides.isBaseKnown, own, other, inherited: policy))
  }

  /// Whether two records can be the same model: they have the same type, and if both have an identity, the identities are equal.
  ///
  /// - Throws: ``ArchiveError`` with the code `unsupportedVersion` if the records have different versions.
  private mutating func isOneModel(_ local: ModelRecord, _ server: ModelRecord, isMatched: Bool = false) throws -> Bool
  {
    guard local.typeName == server.typeName else { return false }
    guard local.hasSameType(as: server) else {
      throw ArchiveError(
        .unsupportedVersion,
        local.modelVersion == server.modelVersion
          ? "the local and incoming values have different versions of a model's superclasses; pass the model type, so "
            + "that its migration steps can upgrade them"
          : "the local and incoming values have different versions of a model; pass the model type, so that its "
            + "migration steps can upgrade them",
        typeName: local.typeName, foundVersion: local.modelVersion,
        supportedVersion: server.modelVersion)
    }
    guard let schema = try catalog.schema(named: local.typeName) else {
      // Without a schema, a record with a single key may be a case of an enum. Records of different cases must not be merged with each
      // other.
      return local.keys.count != 1 || server.keys.count != 1 || local.keys == server.keys
    }
    if schema.isEnumeration { return local.keys == server.keys }
    return isMatched || isSameModel(local, server, schema)
  }

  /// Merges the fields of two records of one type. Fields that are absent from the server's record are unchanged.
  ///
  /// - Parameters:
  ///   - base: the fields that both sides started from; `nil` if the model did not exist at that time.
  ///   - isBaseKnown: whether the base is known. A field that is absent from `base` is merged as if the base were not known.
  ///   - known: the schema of the local record; `nil` to look it up by the record's type name.
  ///   - wanted: the keys to merge; `nil` for all keys.
  ///   - models: the models that the records were created from; `nil` for nested models.
  mutating func mergeFields(
    _ base: ModelRecord?, isBaseKnown: Bool, _ local: ModelRecord, _ server: ModelRecord,
    schema known: ModelSchema? = nil,
    inherited: MergePolicy, only wanted: Set<String>? = nil, models: RootModels? = nil
  ) throws -> ModelRecord {
    var result = local
    let schema = try known ?? catalog.schema(named: local.typeName)
    let traits = schema?.mergeTraits
    let gaps = server.shape.gaps
    owners.append((.record(local), .record(server)))
    defer { owners.removeLast() }
    var handled = Set<String>()
    if let type = traits?.hooks {
      handled = try runHooks(type, &result, server, wanted, models)
    }
    for (key, value) in zip(server.keys, server.values) where !handled.contains(key) && wanted?.contains(key) ?? true {
      let field = traits?.fields[ExactKey(key)]
      if let schema, field == nil {
        // The server's record has a field that the local schema does not declare. The field is merged only if the model keeps unknown
        // fields and no subclass declares the field.
        guard schema.keepsUnknownFields, !(catalog[server.typeName]?.allKeys.contains(key) ?? false) else {
          path.append(.key(key))
          note(sides(nil, nil, value), .local, "the model \(schema.name) does not declare this key", nil)
          path.removeLast()
          continue
        }
      }
      if field?.type is MergeState.Type { continue }
      let isKnown = isBaseKnown && (base == nil || base?[key] != nil || field == nil)
      // An archive contains null for a conditional reference whose object it lacks. Without a base, such a null does not show that the
      // server cleared the reference, so the local reference is kept.
      if let field, field.archive == .conditional, value.isNull, !isKnown, !incoming.isJSON { continue }
      path.append(.key(key))
      let outer = isIncomplete
      isIncomplete = !gaps.isEmpty && gaps[ExactKey(key)] == .invalidElements
      defer {
        path.removeLast()
        isIncomplete = outer
      }
      let policy = self.policy(field, traits?.rules?.policy, inherited, isTyped: schema != nil)
      do {
        if !policy.keepsLocal || options.policy != nil || !selectors.isEmpty { enqueue(value) }
        result[key] = try merge(
          sides(base?[key], result[key], value, isBaseKnown: isKnown), policy, field?.shape.unwrapped)
      } catch { throw ArchiveError.at(.key(key), error) }
    }
    guard !gaps.isEmpty, let schema else { return result }
    for key in schema.allKeys where wanted?.contains(key) ?? true {
      guard let gap = gaps[ExactKey(key)], gap != .unknownCase || !handled.contains(key) else { continue }
      path.append(.key(key))
      noteGap(gap, sides(base?[key], local[key], server[key]), result[key])
      path.removeLast()
    }
    return result
  }

  /// Adds a note to the report about a field whose incoming value has parts that could not be read.
  private mutating func noteGap(_ gap: RecordShape.Gap, _ sides: MergePolicy.Sides, _ result: ArchiveValue?) {
    let outcome: MergeReport.Outcome =
      areSame(result, sides.local) ? .local : areSame(result, sides.server) ? .server : .merged
    switch gap {
    case .unknownCase: note(sides, .local, "the enum case is unknown to this program", result)
    case .unknownElements:
      note(
        sides, outcome, "elements whose enum cases are unknown to this program were skipped", result, decides: false)
    case .invalidElements: note(sides, outcome, "invalid elements were skipped", result, decides: false)
    }
  }

  /// Merges the associated values of two records of the same enum case. Values that are absent from the server's record are unchanged.
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

  /// Merges dictionaries entry by entry. If the base has a key that the server's dictionary lacks, the server has removed the key.
  private mutating func mergeDictionary(
    _ sides: MergePolicy.Sides, _ local: ArchiveValue, _ server: ArchiveValue, inherited: MergePolicy,
    _ shape: TypeShape?
  ) throws -> ArchiveValue {
    owners.append((local, server))
    defer { owners.removeLast() }
    func members(_ value: ArchiveValue?) -> [ArchiveValue.Member] { value?.members(arePairs: true) ?? [] }
    let (own, other) = (members(local), members(server))
    let bases = ArchiveValue.lookup(members(sides.base)), owns = ArchiveValue.lookup(own),
      others = ArchiveValue.lookup(other)
    // If the server's dictionary is encoded as a map, so is the result. The local encoding does not matter then, because an empty
    // dictionary may be encoded as an object even if its keys are not strings.
    let form = if case .map = server { server } else { local }
    if case .map = form, owns.count < own.count || others.count < other.count {
      throw ArchiveError(.mergeFailed, "a dictionary has more than one NaN key; each key may occur only once")
    }
    var seen = Set<ValuePath.Component>()
    var merged: [ArchiveValue.Member] = []
    let inside = shape?.dictionaryValues
    for (step, _) in own + other where seen.insert(step).inserted {
      path.append(step)
      defer { path.removeLast() }
      let inner = self.sides(bases[step], owns[step], others[step], isBaseKnown: sides.isBaseKnown)
      do { if let value = try mergeEntry(inner, inherited, inside) { merged.append((step, value)) } } catch {
        throw ArchiveError.at(step.errorStep, error)
      }
    }
    // If the result is empty, it is encoded like the empty dictionary of the local side or the server, so that the two compare as equal.
    guard !merged.isEmpty else { return own.isEmpty ? local : other.isEmpty ? server : form.with([]) }
    return try form.with(merged).inCanonicalOrder()
  }

  /// Merges the values under one key of a dictionary. Returns `nil` if the merged dictionary lacks the key.
  private mutating func mergeEntry(_ sides: MergePolicy.Sides, _ policy: MergePolicy, _ shape: TypeShape?) throws
    -> ArchiveValue?
  {
    if let server = sides.server, server.isUnknownCase {
      note(self.sides(sides.base, sides.local, nil), .local, "the enum case is unknown to this program", sides.local)
      return sides.local
    }
    guard sides.server == nil else { return try merge(sides, policy, shape) }
    guard let local = sides.local else { return nil }
    // Without a base, it is unknown whether the server removed a key that its dictionary lacks. The key is kept if the field has a policy.
    let isPart = !sides.isBaseKnown && !policy.isAutomatic && !incoming.removesAbsentKeys && options.unlisted == nil
    switch isPart ? .keep : unlisted(nil, sides) {
    case .removeUnlessEdited where sides.isBaseKnown: return try merge(sides, policy, shape)
    case .keep:
      if !policy.isRecursive { note(sides, .local, "not listed by the server", local) }
      return local
    case .remove, .removeUnlessEdited:
      if sides.isBaseKnown, sides.base == nil {
        note(sides, .local, "inserted locally", local)
        return local
      }
      note(sides, .server, "missing on the server", nil)
      return nil
    }
  }
}
