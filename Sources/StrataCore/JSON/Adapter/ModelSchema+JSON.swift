extension ModelSchema {
  /// All errors of a document in the order of the schema, those of finding the values and those of making fields of
  /// them; `nil` where there are none.
  func errors(of slots: JSONSlots, _ plan: JSONPlan, in context: DecodingContext) -> ArchiveError? {
    var errors = slots.errors
    let failed = Set(slots.errors.map(\.place))
    for (place, field) in fields.enumerated() where !failed.contains(place) {
      do { try field.check(slots.values[place], in: context) } catch {
        errors.append((place, plan.locate(error, place, input: slots.values[place])))
      }
    }
    errors.sort { $0.place < $1.place }
    return ArchiveError.combined(errors.map(\.error))
  }

  /// The keys of the fields that a JSON object holds.
  package func keys(inJSON json: ArchiveValue, in context: DecodingContext) throws -> Set<String> {
    let slots = try context.json.plan(of: self).read(json, in: context, suppliesMissing: false)
    return Set(zip(fields, slots.values).compactMap { $1 == nil ? nil : $0.key })
  }

  /// A record with what JSON holds in place of the target's values, in the types of the fields.
  ///
  /// - Parameter mergesNested: whether nested objects may be partial whatever the policies of their fields are.
  package func record(
    overlaying json: ArchiveValue, on target: ModelRecord, _ referenced: ReferencedObjects, mergesNested: Bool = false,
    in context: DecodingContext
  ) throws -> ModelRecord {
    let plan = context.json.plan(of: self)
    let slots = try plan.read(json, in: context, suppliesMissing: false)
    var result = target
    for (place, field) in fields.enumerated() {
      guard let value = slots.values[place] else { continue }
      do {
        result[field.key] = try field.typed(
          json: value, over: target[field.key], referenced, mergesNested: mergesNested, in: context)
      } catch { throw plan.locate(error, place, input: value) }
    }
    for entry in slots.unknownFields.object.entries where !allKeys.contains(entry.key) {
      result[entry.key] = entry.value
    }
    return result
  }
}

extension FieldInfo {
  /// Throws what reading the field of a value would throw.
  fileprivate func check(_ value: ArchiveValue?, in context: DecodingContext) throws {
    guard let value else {
      guard !isOptional else { return }
      throw ArchiveError(.missingValue, "the key is absent; give the field a default, or map it to another path")
    }
    do {
      if let type = type as? any Archivable.Type {
        _ = try type.make(from: value, in: context)
      } else if let type = type as? any Decodable.Type {
        _ = try ValueCoding.make(type, from: value, in: context)
      }
    } catch let error as ArchiveError where unknown == .useDefault && error.isUnknownCaseHere {}
  }

  /// A JSON value in the type of the field.
  fileprivate func typed(
    json: ArchiveValue, over target: ArchiveValue?, _ referenced: ReferencedObjects, mergesNested: Bool,
    in context: DecodingContext
  ) throws -> ArchiveValue {
    var nested = target?.recordValue
    if case .reference(let number)? = target {
      nested = try referenced.objects[number].shallowRecord(referenced)
    }
    // A nested object may be partial only where it is merged key by key.
    if merge.isRecursive || mergesNested, case .object = json, let nested {
      var catalog = SchemaCatalog()
      (type as? any Archivable.Type)?.collectSchemas(into: &catalog)
      if let schema = try catalog.schema(named: nested.typeName), !schema.isEnumeration {
        return .record(
          try schema.record(overlaying: json, on: nested, referenced, mergesNested: mergesNested, in: context))
      }
    }
    if let type = type as? any Archivable.Type {
      return try type.make(from: json, in: context).archivedValue(
        includingExcluded: true, role: .referenced(referenced))
    }
    if let type = type as? any Decodable.Type {
      return try ValueCoding.value(of: ValueCoding.make(type, from: json, in: context))
    }
    return json
  }
}
