extension ModelSchema {
  /// Upgrades a record to the current version.
  ///
  /// - Throws: ``ArchiveError`` with the code `unknownType`, `newerModel`, `unsupportedVersion` or `migrationFailed`.
  package func upgraded(_ record: ModelRecord, in context: DecodingContext) throws -> ModelRecord {
    try check()
    guard isNamed(record.typeName) else {
      let found = record.typeName
      let reason =
        switch (isObject, (record.modelVersion ?? 0) > modelVersion) {
        case (true, true):
          "found a record of type \(found) where the type \(name) is expected; if \(found) is a subclass, add it to the "
            + "decoder's subclasses; if the type was renamed, add its former name or update this program"
        case (true, false):
          "found a record of type \(found) where the type \(name) is expected; if \(found) is a subclass, add it to the "
            + "decoder's subclasses; if the type was renamed, add its former name"
        case (false, true):
          "found a record of type \(found) where the type \(name) is expected; if the type was renamed, add its former "
            + "name or update this program"
        case (false, false):
          "found a record of type \(found) where the type \(name) is expected; if the type was renamed, add its former "
            + "name"
        }
      throw ArchiveError(.unknownType, reason, typeName: name)
    }
    if record.modelVersion == nil { context.report.addMissingVersion(of: name) }
    let version = record.modelVersion ?? 0
    try checkVersion(version, record.shape.floors)
    var upgraded = superclasses.isEmpty ? record : try upgradedLevels(of: record, in: context)
    if version < modelVersion {
      context.report.addUpgrade(of: name, from: version, to: modelVersion)
      if let migration { upgraded = try upgrade(upgraded, by: migration, of: self, in: context) }
    }
    return upgraded
  }

  /// Throws `newerModel` if a record has a newer version than the model. A newer record is accepted if the model keeps unknown fields and
  /// its version is not below the oldest version that can read the record (``VersionFloors/reader``).
  func checkVersion(_ version: Int, _ floors: VersionFloors?) throws {
    guard version > modelVersion else { return }
    guard let floors, floors.reader <= modelVersion else { throw ArchiveError.newer(version, self) }
    guard keepsUnknownFields else {
      throw ArchiveError.newer(version, self).changed {
        $0.reason +=
          ", or declare var unknownFields = UnknownFields() in the model, so that version \(modelVersion) can read the "
          + "data and keep its unknown keys"
      }
    }
  }

  /// Upgrades the inherited fields of a record to the current versions of the superclasses, using the migration steps of
  /// each superclass. The farthest superclass comes first.
  ///
  /// If a record does not name a superclass, the class did not have that superclass when the record was written. The migration steps of the
  /// class itself then produce the inherited fields.
  private func upgradedLevels(of record: ModelRecord, in context: DecodingContext) throws -> ModelRecord {
    var upgraded = record
    for schema in superclasses.reversed() {
      try schema.check()
      guard let level = record.shape.levels.first(where: { schema.isNamed($0.typeName) }) else { continue }
      guard level.modelVersion <= schema.modelVersion else { throw ArchiveError.newer(level.modelVersion, schema) }
      guard level.modelVersion < schema.modelVersion else { continue }
      context.report.addUpgrade(of: schema.name, from: level.modelVersion, to: schema.modelVersion)
      guard let migration = schema.migration else { continue }
      // The migration starts at the record's version. While the steps of the superclass run, the record therefore gets the version that it
      // has for the superclass.
      upgraded.modelVersion = level.modelVersion
      upgraded = try upgrade(upgraded, by: migration, of: schema, in: context)
      upgraded.modelVersion = record.modelVersion
    }
    return upgraded
  }

  /// Applies the migration steps of a class to a record. For an enum, operations that find nothing to change are not reported: a record of
  /// an enum contains only one case, so this is expected.
  private func upgrade(
    _ record: ModelRecord, by migration: MigrationPlan, of schema: ModelSchema, in context: DecodingContext
  ) throws -> ModelRecord {
    try migration.upgrade(record, isComplete: context.readsCompleteRecords && !isEnumeration) { step, operation in
      if !isEnumeration { context.report.addIdle(operation, of: step, typeName: schema.name) }
    }
  }

  /// Returns the version with which the field at this index was archived. Inherited fields have the version of the superclass that declares
  /// them.
  private func version(of place: Int, in record: ModelRecord) -> Int {
    // The loop starts with the farthest superclass, because the fields of a superclass include those of its own superclasses.
    for schema in superclasses.reversed() where place >= fields.count - schema.fields.count {
      if let level = record.shape.levels.first(where: { schema.isNamed($0.typeName) }) { return level.modelVersion }
    }
    return record.modelVersion ?? 0
  }

  /// Upgrades a record. Returns the values of the current fields and the unknown fields.
  package func upgradedFields(
    of record: ModelRecord, in context: DecodingContext
  ) throws -> (values: FieldValues, unknown: UnknownFields) {
    try fields(of: upgraded(record, in: context), from: record, in: context)
  }

  /// Returns the values of the current fields and the unknown fields of a record that has been upgraded.
  ///
  /// - Parameter record: the record before the upgrade. Its versions are passed to the model's hook.
  package func fields(
    of upgraded: ModelRecord, from record: ModelRecord, in context: DecodingContext
  ) throws -> (values: FieldValues, unknown: UnknownFields) {
    let unknown = try keepsUnknownFields ? unknownFields(of: upgraded, in: context) : UnknownFields()
    let age = RecordAge(record, of: self)
    guard let hook else {
      return (.record(upgraded.values, indices: context.places(of: self, in: upgraded.shape, age: age)), unknown)
    }
    _ = context.places(of: self, in: upgraded.shape, age: age)
    var slots: [ArchiveValue?] = []
    slots.reserveCapacity(fields.count)
    for (place, field) in fields.enumerated() {
      let version = version(of: place, in: record)
      do {
        slots.append(try hook(field.key, version, upgraded) ?? value(ofFormerKeys: field, in: upgraded))
      } catch {
        throw ArchiveError(
          .migrationFailed, "decodeValue(forKey:modelVersion:in:) failed", path: [.key(field.key)], typeName: name,
          foundVersion: version, supportedVersion: modelVersion, underlying: error)
      }
    }
    return (.slots(slots), unknown)
  }

  /// Returns the value that the record has under a former key of the field. Returns `nil` if the record has the current key: in that case,
  /// the model's hook has returned nil to request the default.
  private func value(ofFormerKeys field: FieldInfo, in record: ModelRecord) -> ArchiveValue? {
    guard !field.formerly.isEmpty, record[field.key] == nil else { return nil }
    return field.formerly.lazy.compactMap { record[$0] }.first
  }

  /// Returns the fields of a record that the model does not declare. References in their values are replaced with the contents of the
  /// objects, because object numbers are valid only within one archive.
  private func unknownFields(of record: ModelRecord, in context: DecodingContext) throws -> UnknownFields {
    let unknown = unknownFields(of: record)
    guard let objects = context.objects, !unknown.isEmpty else { return unknown }
    let entries = unknown.object.entries
    return UnknownFields(
      ArchiveObject(
        uniqueEntries: try entries.map { .init(key: $0.key, value: try objects.withoutReferences($0.value)) }),
      newer: unknown.newer)
  }

  private func newerVersion(of record: ModelRecord) -> UnknownFields.NewerVersion? {
    guard let version = record.modelVersion, version > modelVersion, let floors = record.shape.floors else {
      return nil
    }
    return .init(version: version, floors: floors)
  }

  package func unknownFields(of record: ModelRecord) -> UnknownFields {
    UnknownFields(
      ArchiveObject(
        uniqueEntries: record.object.entries.compactMap { entry in
          if takenKeys.contains(ExactKey(entry.key)) { return nil }
          return ArchiveObject.Entry(key: UnknownFields.key(ofArchived: entry.key), value: entry.value)
        }), newer: newerVersion(of: record))
  }
}
