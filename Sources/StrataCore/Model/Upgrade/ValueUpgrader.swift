/// Upgrades all records in a value to the current versions of their models, in order to merge values without creating
/// models. Records of types that are not in the catalog are not changed. A key that is absent stays absent, because a
/// merge treats an absent key differently from any value.
struct ValueUpgrader {
  let catalog: SchemaCatalog

  func upgrade(_ value: ArchiveValue, _ context: DecodingContext) throws -> ArchiveValue {
    if case .record(let record) = value { return .record(try upgrade(record, context)) }
    return try value.mapLocated { try upgrade($0, context) }
  }

  private func upgrade(_ record: ModelRecord, _ context: DecodingContext) throws -> ModelRecord {
    guard let schema = try catalog.schema(named: record.typeName) else { return try nested(record, context) }
    if !schema.cases.isEmpty {
      var upgraded = try schema.upgraded(record, in: context)
      upgraded.typeName = schema.name
      upgraded.modelVersion = schema.modelVersion
      return try nested(upgraded, context)
    }
    let (values, unknown) = try schema.upgradedFields(of: record, in: context)
    var keys: [String] = []
    var found: [ArchiveValue] = []
    for (index, field) in schema.fields.enumerated() where field.archive != .excluded {
      guard var value = values[index] else { continue }
      // The value is converted to the form in which the field writes it, because a hook may return any form that the field
      // can read.
      if schema.hook != nil, TypeShape.archivable(field.type)?._rootSchema == nil {
        do {
          value = try ValueCoding.typed(
            value, as: field.type, ReferencedObjects(), in: context, includingExcluded: false)
        } catch let error as ArchiveError where field.acceptsUnknownCase(error) {
          // The value keeps its unknown enum case. Reading the merged value later skips the case.
        } catch {
          throw ArchiveError.at(.key(field.key), error).inType(schema.name)
        }
      }
      keys.append(field.key)
      found.append(value)
    }
    var result = ModelRecord(shape: schema.archivedShape.limited(to: keys), values: found)
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
