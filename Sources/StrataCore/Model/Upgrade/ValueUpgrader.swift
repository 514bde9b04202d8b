/// Brings the records in a value to today's versions of their models, for merging values without models. Those of types
/// that the catalog does not have stay as they are.
struct ValueUpgrader {
  let catalog: SchemaCatalog

  func upgrade(_ value: ArchiveValue, _ context: DecodingContext) throws -> ArchiveValue {
    if case .record(let record) = value { return .record(try upgrade(record, context)) }
    return try value.mapLocated { try upgrade($0, context) }
  }

  private func upgrade(_ record: ModelRecord, _ context: DecodingContext) throws -> ModelRecord {
    guard let schema = try catalog.schema(named: record.typeName) else { return try nested(record, context) }
    // An object of a graph cannot be made alone; its hook is asked for each key all the same.
    if !schema.isObject, let rebuild = schema.rebuild { return try rebuild(record, context) }
    if !schema.cases.isEmpty {
      var upgraded = try schema.upgraded(record, in: context)
      upgraded.typeName = schema.name
      upgraded.modelVersion = schema.modelVersion
      return try nested(upgraded, context)
    }
    let (values, unknown) = try schema.upgradedFields(of: record, in: context)
    var result = ModelRecord(shape: schema.archivedShape, values: [])
    for (index, field) in schema.fields.enumerated() where field.archive != .excluded {
      if let value = try values[index] ?? field.makeDefault?() ?? (field.isOptional ? .null : nil) {
        result.values.append(value)
      }
    }
    guard result.values.count == schema.archivedKeys.count else {
      throw ArchiveError(
        .missingValue, "a key without a default is absent; give the field a default, or a step that sets it",
        typeName: schema.name)
    }
    for entry in unknown.object.entries {
      result[UnknownFields.archivedKey(entry.key, besides: schema.takenKeys)] = entry.value
    }
    return try nested(result, context)
  }

  private func nested(_ record: ModelRecord, _ context: DecodingContext) throws -> ModelRecord {
    let value = try ArchiveValue.record(record).mapLocated { try upgrade($0, context) }
    return value.recordValue ?? record
  }
}
