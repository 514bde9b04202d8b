extension PartReader {
  func archivedCase(_ record: ModelRecord, _ type: any VersionedModel.Type) throws -> ArchiveValue {
    let schema = type.schema
    let record = context.source == .merge ? record : try schema.upgraded(record, in: context)
    guard let key = record.keys.first, record.keys.count == 1, case .object(let payload)? = record[key],
      let values = try self.payload(schema, key, payload, nil)
    else { return try present(whole(type, .record(record)), record) }
    return values
  }

  func jsonCase(_ json: ArchiveObject, _ type: any VersionedModel.Type, _ before: ModelRecord?) throws -> ArchiveValue {
    let found = try type.schema.jsonCase(in: json)
    let record = found.record
    guard let key = record.keys.first, case .object(let payload)? = record[key] else {
      return try whole(type, .object(json))
    }
    let old = before.flatMap { $0.keys.first == key ? $0[key]?.objectValue : nil }
    let adds = addsNulls && old == nil && listDepth == 0
    return try self.payload(type.schema, key, payload, old, in: found, adds: adds)
      ?? present(whole(type, .object(json)), record)
  }

  /// Returns a decoded enum case without the associated values that the incoming data does not contain. Needed if the schema does not
  /// declare the labels and the types of the associated values.
  private func present(_ made: ArchiveValue, _ record: ModelRecord) throws -> ArchiveValue {
    guard case .record(let whole) = made, let key = whole.keys.first, case .object(let values)? = whole[key],
      let name = record.keys.first, case .object(let payload)? = record[name]
    else { return made }
    let entries = values.entries.filter { payload[$0.key] != nil }
    return .record(ModelRecord(shape: whole.shape, values: [.object(ArchiveObject(uniqueEntries: entries))]))
  }

  /// Returns the associated values that the source contains; `nil` if the case, its labels or the types of its associated values are not
  /// known.
  ///
  /// - Parameters:
  ///   - found: the location of the associated values in JSON; `nil` for an archive.
  ///   - adds: whether a merge patch added the case, so that absent optional values become null.
  private func payload(
    _ schema: ModelSchema, _ key: String, _ payload: ArchiveObject, _ before: ArchiveObject?,
    in found: JSONKinds.Case? = nil, adds: Bool = false
  ) throws -> ArchiveValue? {
    guard let name = schema.caseName(key), let info = schema.cases.first(where: { $0.name == name }),
      info.labels.count == info.payload.count, !info.labels.isEmpty || payload.isEmpty
    else { return nil }
    var entries: [ArchiveObject.Entry] = []
    for (label, type) in zip(info.labels, info.payload) {
      let step = ArchiveError.PathComponent.key(label)
      do {
        try at(.key(key), json: found?.path) {
          try at(step, json: found.map { $0.isWhole && label == "_0" ? [] : [step] }) {
            switch (before?[label], payload[label]) {
            case (nil, nil):
              if adds, TypeShape(of: type).isOptional { entries.append(.init(key: label, value: .null)) }
            case (_?, nil): entries.append(.init(key: label, value: try part(type, .null, nil)))
            case (let old, let new?): entries.append(.init(key: label, value: try part(type, new, old)))
            }
          }
        }
      } catch { throw ArchiveError.wrap(error).inType(schema.name) }
    }
    return .record(
      ModelRecord(
        shape: schema.caseShapes[name] ?? schema.fullShape, values: [.object(ArchiveObject(uniqueEntries: entries))])
    )
  }
}
