/// Upgrades all records in a value to the current versions of their models, so that values can be merged without creating models. Records
/// of types that are not in the catalog are not changed. Absent keys are not filled with defaults, because a merge must be able to detect
/// that a key is absent.
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
      // The model's hook may return any value that the field can decode. The value is decoded and encoded again, so that it has the form in
      // which the field is archived.
      if schema.hook != nil, TypeShape.archivable(field.type)?._rootSchema == nil {
        do {
          value = try ValueCoding.typed(
            value, as: field.type, ReferencedObjects(), in: context, includingExcluded: false)
        } catch let error as ArchiveError where field.acceptsUnknownCase(error) {
          // The value contains an enum case that this program does not declare. The case is kept here. When the merged value is decoded
          // later, the field uses its default or skips the elements with unknown cases.
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
