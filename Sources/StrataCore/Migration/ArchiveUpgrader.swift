public import Foundation

/// Rewrites archives at today's version of their models.
///
///     let upgraded = try ArchiveUpgrader(Issue.self).upgrade(data)
///
/// Steps are applied to records as they stand; a model is only built where its type has a
/// ``ValueDecoding/decodeValue(forKey:modelVersion:in:)`` hook. Objects keep their identity.
public struct ArchiveUpgrader: Sendable {
  public var compression: CompressionLevel
  public var limits: ArchiveLimits
  private let catalog: SchemaCatalog
  private let root: ModelSchema

  /// An upgrader for archives of a model and of what it holds.
  ///
  /// - Parameters:
  ///   - type: the model at the root of the archives.
  ///   - compression: how hard what comes out is compressed.
  ///   - limits: what an archive may claim.
  ///   - subclasses: classes that an archive may hold where it is expected to hold one that they inherit from, as for
  ///     ``ArchiveDecoder``.
  public init<M: Model>(
    _ type: M.Type, compression: CompressionLevel = .balanced, limits: ArchiveLimits = ArchiveLimits(),
    subclasses: [any Model.Type] = []
  ) {
    var catalog = SchemaCatalog()
    type.collectSchemas(into: &catalog)
    for subclass in subclasses { subclass.collectSchemas(into: &catalog) }
    self.catalog = catalog
    self.compression = compression
    self.limits = limits
    root = type.schema
  }

  /// The archive at today's versions. One that is there already comes back as it is.
  ///
  /// - Throws: as ``ArchiveDecoder``. The bytes given are never changed.
  public func upgrade(_ data: Data) throws -> Data {
    var report = DecodingReport()
    return try upgrade(data, report: &report)
  }

  /// The archive at today's versions, and what was upgraded.
  public func upgrade(_ data: Data, report: inout DecodingReport) throws -> Data {
    let decoder = ArchiveDecoder(limits: limits)
    return try decoder.withBody(of: data, newestVersion: root) { stamp, body in
      let context = DecodingContext(limits: limits, finishesModels: false)
      var unused = DecodingReport()
      let value = try decoder.decode(body, &unused) { try $0.readValue() }
      let upgraded = try upgrade(value, context)
      report = context.report
      if context.report.isEmpty, upgraded == value { return data }
      var stamp = stamp
      let schema = catalog[stamp.typeName] ?? root
      stamp.modelVersion = schema.modelVersion
      stamp.fingerprint = schema.fingerprint
      if catalog[stamp.typeName] != nil || upgraded.recordValue != nil { stamp.typeName = schema.name }
      return try ArchiveEncoder(compression: compression, limits: limits).archive(stamp) { try $0.write(upgraded) }
    }
  }

  private func upgrade(_ value: Value, _ context: DecodingContext) throws -> Value {
    switch value {
    case .record(let record): return .record(try upgrade(record, context))
    case .array(let elements): return .array(try upgrade(elements, context))
    case .set(let elements): return .set(try upgrade(elements, context))
    case .object(let object):
      return .object(
        Object(
          uniqueEntries: try object.entries.map { entry in
            do { return Object.Entry(key: entry.key, value: try upgrade(entry.value, context)) } catch {
              throw ArchiveError.at(.key(entry.key), error)
            }
          }))
    case .map(let entries):
      return .map(try entries.map { Value.MapEntry(key: $0.key, value: try upgrade($0.value, context)) })
    case .graph(let graph):
      return .graph(ObjectGraph(objects: try upgrade(graph.objects, context), root: try upgrade(graph.root, context)))
    default: return value
    }
  }

  private func upgrade(_ elements: [Value], _ context: DecodingContext) throws -> [Value] {
    try elements.enumerated().map { index, element in
      do { return try upgrade(element, context) } catch { throw ArchiveError.at(.index(index), error) }
    }
  }

  private func upgrade(_ record: Record, _ context: DecodingContext) throws -> Record {
    guard let schema = try catalog.schema(named: record.typeName) else {
      throw ArchiveError(
        .unknownType, "found a record of type \(record.typeName), which \(root.name) does not hold", typeName: root.name
      )
    }
    // An object of a graph cannot be made alone; its hook is asked for each key all the same.
    if !schema.isObject, let rebuild = schema.rebuild { return try rebuild(record, context) }
    if !schema.cases.isEmpty {
      var upgraded = try schema.upgraded(record, in: context)
      upgraded.typeName = schema.name
      upgraded.modelVersion = schema.modelVersion
      return try nested(upgraded, context)
    }
    let (slots, unknown) = try schema.upgradedFields(of: record, in: context)
    var result = Record(shape: schema.archivedShape, values: [])
    var isComplete = true
    var entries: [Object.Entry] = []
    for (field, slot) in zip(schema.fields, slots) where field.archive != .excluded {
      if let value = try slot ?? field.makeDefault?() ?? (field.isOptional ? .null : nil) {
        entries.append(Object.Entry(key: field.key, value: value))
      } else {
        isComplete = false
      }
    }
    guard isComplete else {
      throw ArchiveError(
        .missingValue, "a key without a default is absent; give the field a default, or a step that sets it",
        typeName: schema.name)
    }
    result.values = entries.map(\.value)
    for entry in unknown.object.entries { result[entry.key] = entry.value }
    return try nested(result, context)
  }

  private func nested(_ record: Record, _ context: DecodingContext) throws -> Record {
    var result = record
    for (place, value) in record.values.enumerated() {
      do { result.values[place] = try upgrade(value, context) } catch {
        throw ArchiveError.at(.key(record.keys[place]), error)
      }
    }
    return result
  }
}
