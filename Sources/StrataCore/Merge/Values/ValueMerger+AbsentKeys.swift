extension ValueMerger {
  /// Whether the value contains, at any depth, a model that lacks some of the keys of its schema.
  func isPart(_ value: ArchiveValue) -> Bool {
    switch value {
    case .record(let record):
      guard let schema = catalog[record.typeName] else {
        return value.isUnknownCase || record.values.contains(where: isPart)
      }
      if schema.isEnumeration {
        guard let name = record.keys.first, case .object(let payload)? = record[name],
          let info = schema.cases.first(where: { $0.name == name })
        else { return false }
        return payload.count < info.payload.count || info.labels.isEmpty && !payload.isEmpty
          || payload.entries.contains { isPart($0.value) }
      }
      let keys = incoming.isArchived ? schema.archivedKeys : schema.allKeys
      return record.values.count < keys.count || keys.contains { record[$0] == nil }
        || record.values.contains(where: isPart)
    case .array(let elements), .set(let elements): return elements.contains(where: isPart)
    case .object(let object): return object.entries.contains { isPart($0.value) }
    case .map(let entries): return entries.contains { isPart($0.value) }
    default: return false
    }
  }

  /// Merges an incoming value, whose models may lack keys, into the local value. The absent keys stay unchanged. Returns `nil` if this is
  /// not possible, for example because the policy needs complete values.
  mutating func mergePart(
    _ sides: MergePolicy.Sides, _ server: ArchiveValue, _ policy: MergePolicy, _ shape: TypeShape?
  ) throws -> ArchiveValue? {
    guard let local = sides.local else { return nil }
    switch (policy.leading.rule, server) {
    case (.custom, _), (.resolver, _): return nil
    case (_, .record): return try mergeNested(sides, local, server, policy.leading, shape)
    default: return try mergeInside(sides, policy.leading, shape)
    }
  }

  /// Returns the server's value. If the server's model lacks keys of its identity, they are taken from the base's model at the same path.
  mutating func serverWithIdentity(_ sides: MergePolicy.Sides) -> ArchiveValue? {
    guard incoming.hasParts, sides.isBaseKnown, case .record(var server)? = sides.server,
      case .record(let base)? = sides.base, base.typeName == server.typeName, let schema = catalog[server.typeName],
      let key = graph.identityKey(of: schema), base[key] != nil
    else { return sides.server }
    for key in key.keys where server[key] == nil { server[key] = base[key] }
    return .record(server)
  }

  /// Whether the local value differs from the base. Keys that a remembered base lacks are not compared, because their earlier values are
  /// unknown.
  mutating func isEdited(_ local: ArchiveValue?, since base: ArchiveValue?) throws -> Bool {
    guard isBaseRemembered, let base, isPart(base) else { return !areSame(base, local) }
    return try !areSame(overlaid(base, over: [local], fillsIn: false), local)
  }

  /// Whether the server's value differs from the base. Keys that the server's value lacks are treated as unchanged.
  mutating func hasServerChange(_ server: ArchiveValue?, since base: ArchiveValue?) throws -> Bool {
    guard !areSame(base, server) else { return false }
    guard let base, let server, isBaseRemembered || incoming.hasParts, isPart(base) || isPart(server) else {
      return true
    }
    return try !areSame(overlaid(statedByServer(server), over: [base], fillsIn: false), base)
  }

  /// If the source is a complete model in memory, returns the value without the fields that are never part of JSON, because the server did
  /// not send them. Otherwise, returns the value unchanged.
  func statedByServer(_ value: ArchiveValue) -> ArchiveValue { incoming.isWhole ? withoutHidden(value) : value }

  /// Returns a copy without the fields that are never part of JSON, at any depth.
  private func withoutHidden(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      guard let schema = catalog[record.typeName], !schema.isEnumeration else { return .record(record) }
      var record = record
      for field in schema.fields where field.json.isNowhere { record[field.key] = nil }
      return .record(record.mapValues(withoutHidden))
    }
  }

  /// Finds the models in a list that have no identity but have fields that are never part of JSON, and groups them by their other fields.
  /// If an incoming model has the same other fields, the merge replaces it with a model of the group, so that the fields that JSON lacks
  /// are kept. Each model is used only once.
  private func hiddenModels(of list: ArchiveValue, _ finder: ModelFinder) throws -> [ArchiveValue: [ModelRecord]] {
    var models: [ArchiveValue: [ModelRecord]] = [:]
    _ = try finder.map(list) { record, _ in
      .record(record)
    } anonymous: { record in
      let shown = withoutHidden(.record(record))
      if shown.recordValue?.values.count != record.values.count { models[shown, default: []].append(record) }
      return .null
    }
    return models.mapValues { $0.reversed() }
  }

  /// Fills in the absent keys of the models in the server's value. The values come from the same model in the local value, or else in the
  /// base. If neither has the model, absent keys get their defaults.
  mutating func completed(_ sides: MergePolicy.Sides) throws -> MergePolicy.Sides {
    var result = sides
    result.server = try sides.server.map { try completed($0, over: [sides.local, sides.base]) }
    return result
  }

  /// Returns the value with the absent keys of all models filled in.
  ///
  /// - Parameter known: the values that absent keys are filled in from. Each key comes from the first value that is the same model and has
  ///   the key.
  /// - Throws: ``ArchiveError`` with the code `missingValue` if a key is absent from all values and has no default.
  mutating func completed(_ value: ArchiveValue, over known: [ArchiveValue?]) throws -> ArchiveValue {
    guard incoming.hasParts, isPart(value) else { return value }
    return try overlaid(value, over: known, fillsIn: true)
  }

  /// Returns a value with its absent keys filled in from other values.
  ///
  /// - Parameters:
  ///   - fillsIn: whether a key that is absent from all of these values gets its default. If false, the key stays absent.
  ///   - step: the component to append to ``path`` for this value. Used only while the next remembered base is prepared.
  ///   - declared: the policy of the value; `nil` for the policy of its container. Used only while the next remembered base is prepared.
  mutating func overlaid(
    _ value: ArchiveValue, over known: [ArchiveValue?], fillsIn: Bool, at step: ValuePath.Component? = nil,
    _ declared: MergePolicy? = nil, _ shape: TypeShape? = nil
  ) throws -> ArchiveValue {
    guard let outer = keepingPolicy else { return try overlaidInside(value, over: known, fillsIn: fillsIn, shape) }
    let count = path.count
    if let step { path.append(step) }
    defer {
      path.removeLast(path.count - count)
      keepingPolicy = outer
    }
    let (policy, named) = (declared ?? outer, selectedPolicy)
    // A policy for the whole merge call does not apply to a dictionary itself but to its entries, unless the policy is
    // ``MergePolicy/keepLocal``.
    let inner = named ?? (options.policy == nil ? policy : .automatic)
    keepingPolicy = value.arrayValue == nil ? inner : .recursive
    var value = value
    // An element of a list can have the same path as the list, so the incoming values are also compared.
    if !graph.identifiedLists.isEmpty, let known = graph.identifiedLists[Place(object: object, path: path)],
      known.incoming == value
    {
      value = known.identified
    }
    let result = try overlaidInside(value, over: known, fillsIn: fillsIn, shape)
    guard let base = known.first ?? nil else { return result }
    let isDictionary = value.arrayValue == nil || shape?.isDictionary ?? false
    let mergesEntries = if case .keepLocal? = options.policy?.rule { false } else { isDictionary }
    return try keepingUnlisted(result, of: base, mergesEntries ? inner : named ?? options.policy ?? policy, shape)
  }

  private mutating func overlaidInside(
    _ value: ArchiveValue, over known: [ArchiveValue?], fillsIn: Bool, _ shape: TypeShape?
  ) throws -> ArchiveValue {
    switch value {
    case .record(let record):
      guard let schema = catalog[record.typeName] else { return value }
      if schema.isEnumeration { return .record(try payload(record, schema, known, fillsIn)) }
      let others = known.compactMap { $0?.recordValue }.filter { isSameModel(record, $0, schema) }
      return .record(try overlaid(record, schema, over: others, fillsIn: fillsIn))
    case .array, .set:
      guard value.holdsRecords else { return value }
      let finder = ModelFinder(catalog: catalog, graph: graph, key: nil)
      let olds = known.compactMap { list in list.flatMap { $0.arrayValue == nil ? nil : $0 } }
      let lists = try olds.map(finder.models)
      var merged = value
      if lists.contains(where: { !$0.isEmpty }) {
        let own = try finder.models(in: value)
        merged = try finder.map(value) { record, place in
          let others = lists.compactMap { list in
            list.counterpart(of: place, isRepeated: own.isRepeated(place.id)).map { ArchiveValue.record($0) }
          }
          let id = keepingPolicy == nil ? nil : finder.identity(of: record)
          return try overlaid(
            .record(record), over: others, fillsIn: fillsIn, at: id.map { .element(key: $0.key, id: $0.value) })
        }
      }
      // Only the first list is searched for models without an identity. If two lists contained the same model, two elements of the result
      // could become that model.
      var hidden = incoming.isJSON && fillsIn ? try olds.first.map { try hiddenModels(of: $0, finder) } ?? [:] : [:]
      if !hidden.isEmpty {
        merged = try finder.map(merged) { record, _ in
          .record(record)
        } anonymous: { record in
          let whole = try overlaid(.record(record), over: [], fillsIn: true)
          return hidden[withoutHidden(whole)]?.popLast().map { .record($0) } ?? whole
        }
      }
      let elements = try (merged.arrayValue ?? []).enumerated().map { place, element in
        do { return try overlaid(element, over: [], fillsIn: fillsIn) } catch {
          throw ArchiveError.at(.index(place), error)
        }
      }
      return value.isSet ? try .set(ofMerged: elements) : .array(elements)
    case .object, .map:
      let others = known.map { ArchiveValue.lookup($0?.members()) }
      let inside = shape?.dictionaryValues
      return value.with(
        try (value.members() ?? []).compactMap { step, item in
          let olds = others.map { $0[step] }
          if item.isUnknownCase { return olds.lazy.compactMap(\.self).first.map { (step, $0) } }
          do { return (step, try overlaid(item, over: olds, fillsIn: fillsIn, at: step, nil, inside)) } catch {
            throw ArchiveError.at(step.errorStep, error)
          }
        })
    default: return value
    }
  }

  /// Returns the fields of a model. Absent fields are filled in from other records of the same model.
  mutating func overlaid(
    _ record: ModelRecord, _ schema: ModelSchema, over others: [ModelRecord], fillsIn: Bool
  ) throws -> ModelRecord {
    var keys: [String] = []
    var values: [ArchiveValue] = []
    keys.reserveCapacity(schema.fields.count)
    values.reserveCapacity(schema.fields.count)
    let (gaps, outer) = (record.shape.gaps, isIncomplete)
    defer { isIncomplete = outer }
    for (place, field) in schema.fields.enumerated() {
      let olds = others.compactMap { $0[field.key] }
      isIncomplete = !gaps.isEmpty && gaps[ExactKey(field.key)] == .invalidElements
      do {
        if let value = record[field.key] {
          let policy = keepingPolicy.map { self.policy(field, schema.mergeTraits.rules?.policy, $0, isTyped: true) }
          values.append(
            try overlaid(
              value, over: olds, fillsIn: fillsIn, at: .key(field.key), policy,
              policy == nil ? nil : field.shape.unwrapped))
        } else if let value = olds.first {
          values.append(value)
        } else if fillsIn, !incoming.isArchived || field.archive != .excluded {
          guard let value = try graph.missingValue?(schema, place) ?? field.absentValue() else {
            throw ArchiveError(
              .missingValue,
              "the key is missing from an incoming object that matches no local one; include the key in the incoming "
                + "data, or give the field a default"
            )
          }
          values.append(value)
        } else {
          continue
        }
      } catch { throw ArchiveError.at(.key(field.key), error).inType(schema.name) }
      keys.append(field.key)
    }
    let full = incoming.isArchived ? schema.archivedShape : schema.fullShape
    let shape = gaps.isEmpty ? full.limited(to: keys) : full.with(gaps, limitedTo: keys)
    var result = ModelRecord(shape: shape, values: values)
    for other in [record] + others {
      for (key, value) in zip(other.keys, other.values)
      where schema.fullShape.place(of: key) == nil && result[key] == nil {
        result[key] = value
      }
    }
    return result
  }

  private mutating func payload(
    _ record: ModelRecord, _ schema: ModelSchema, _ known: [ArchiveValue?], _ fillsIn: Bool
  ) throws -> ModelRecord {
    guard let name = record.keys.first, case .object(let values)? = record[name],
      let info = schema.cases.first(where: { $0.name == name })
    else { return record }
    let others = known.compactMap { $0?.recordValue }.filter { $0.typeName == record.typeName }.compactMap {
      $0[name]?.objectValue
    }
    guard !info.labels.isEmpty else {
      // If an enum case declares no labels, its complete list of associated values is unknown. Absent values are then taken from the first
      // known record, in the order of that record.
      let missing = (others.first?.entries ?? []).filter { values[$0.key] == nil }
      let keys = others.first?.keys ?? []
      let all = values.entries + missing
      let order = keys.compactMap { key in all.first { ExactKey.isSame($0.key, key) } }
      let rest = all.filter { entry in !keys.contains { ExactKey.isSame($0, entry.key) } }
      return ModelRecord(shape: record.shape, values: [.object(ArchiveObject(uniqueEntries: order + rest))])
    }
    path.append(.key(name))
    defer { path.removeLast() }
    var entries: [ArchiveObject.Entry] = []
    for (label, type) in zip(info.labels, info.payload) {
      let olds = others.map { $0[label] }
      do {
        if let value = values[label] {
          let policy = keepingPolicy.map { $0.isRecursive ? .automatic : $0 }
          let value = try overlaid(
            value, over: olds, fillsIn: fillsIn, at: .key(label), policy,
            policy == nil ? nil : TypeShape(of: type).unwrapped)
          entries.append(.init(key: label, value: value))
        } else if let value = olds.compactMap(\.self).first {
          entries.append(.init(key: label, value: value))
        } else if fillsIn {
          guard TypeShape(of: type).isOptional else {
            throw ArchiveError(
              .missingValue,
              "an associated value is missing from an incoming enum case that matches no local one; include the "
                + "value in the incoming data, or make its type optional")
          }
          entries.append(.init(key: label, value: .null))
        }
      } catch { throw ArchiveError.at(.key(name), ArchiveError.at(.key(label), error)).inType(schema.name) }
    }
    return ModelRecord(shape: record.shape, values: [.object(ArchiveObject(uniqueEntries: entries))])
  }

  /// Whether two records can be the same model: they have the same type, and if both have an identity, the identities are equal.
  func isSameModel(_ one: ModelRecord, _ other: ModelRecord, _ schema: ModelSchema) -> Bool {
    guard one.typeName == other.typeName else { return false }
    guard let left = graph.identity(of: one, schema), let right = graph.identity(of: other, schema) else { return true }
    return areSame(left.value, right.value)
  }
}
