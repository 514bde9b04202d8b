/// A type that archives as a record: named fields, stamped with a type name and a model version.
///
/// `@Model(version:)` writes the conformance. By hand, ``DescribedModel`` needs a line a field; this protocol is what
/// both come down to, and the fastest form.
public protocol Model: Archivable, SendableMetatype {
  /// Name, version and fields. A `static let`, made once.
  static var schema: ModelSchema { get }

  /// Reads every field in the order of the schema, with the `field` methods of ``ArchiveReader``.
  init(fields reader: inout ArchiveReader) throws

  /// Writes every field in the order of the schema, with the `field` methods of ``ArchiveWriter``.
  func encodeFields(to writer: inout ArchiveWriter) throws

  /// The unknown keys that this object was read with; empty unless the model keeps them.
  var archivedUnknownFields: UnknownFields { get }

  /// Takes over every field of another object. A class must write this; for other types it is an assignment.
  mutating func adoptFields(of other: Self) throws
}

extension Model {
  public var archivedUnknownFields: UnknownFields { UnknownFields() }

  public mutating func adoptFields(of other: Self) throws {
    guard !(Self.self is AnyClass) else {
      throw ArchiveError(
        .mergeFailed, "a class takes over fields only where it implements adoptFields(of:)",
        typeName: Self.schema.name)
    }
    self = other
  }

  public static var archiveTypeName: String { schema.name }

  public static var rootSchema: ModelSchema? { schema }

  public static func collectSchemas(into catalog: inout SchemaCatalog) {
    guard catalog.add(schema) else { return }
    for field in schema.fields { (field.type as? any Archivable.Type)?.collectSchemas(into: &catalog) }
  }

  public func write(to writer: inout ArchiveWriter) throws {
    let schema = Self.schema
    if schema.keepsUnknownFields, !archivedUnknownFields.isEmpty {
      try writer.write(record(includingExcluded: writer.includesExcluded))
      return
    }
    try writer.beginRecord(schema)
    do { try encodeFields(to: &writer) } catch {
      throw Self.located(error, writer.failedField)
    }
    writer.leave()
  }

  public static func read(from reader: inout ArchiveReader) throws -> Self {
    let schema = schema
    switch try reader.beginRecord(schema) {
    case .fields:
      try reader.enter()
      do {
        let model = try Self(fields: &reader)
        reader.leave()
        return model
      } catch {
        throw located(error, reader.failedField)
      }
    case .values(let shape):
      return try make(from: reader.readValues(of: shape), in: reader.context)
    case .other:
      return try make(from: reader.readValue(), in: reader.context)
    }
  }

  public static func make(from value: Value, in context: DecodingContext) throws -> Self {
    if context.source == .json { return try make(fromJSON: value, in: context) }
    guard case .record(let record) = value else {
      throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind).inType(schema.name)
    }
    return try make(from: record, in: context)
  }

  /// Upgrades a record and makes the model of it.
  package static func make(from record: Record, in context: DecodingContext) throws -> Self {
    let (slots, unknown) = try schema.upgradedFields(of: record, in: context)
    return try make(slots: slots, unknownFields: unknown, in: context)
  }

  /// Makes the model of values that stand in the order of the schema.
  package static func make(
    slots: [Value?], unknownFields: UnknownFields = UnknownFields(), in context: DecodingContext
  ) throws -> Self {
    var reader = ArchiveReader(slots: slots, unknownFields: unknownFields, context: context)
    do { return try Self(fields: &reader) } catch { throw located(error, reader.failedField) }
  }

  /// The object as a record with today's version.
  package func record(includingExcluded: Bool = false) throws -> Record {
    var writer = ArchiveWriter(includesExcluded: includingExcluded, minimumCapacity: 512)
    try writer.beginRecord(Self.schema)
    do { try encodeFields(to: &writer) } catch { throw Self.located(error, writer.failedField) }
    guard case .record(var record) = try writer.value() else {
      throw ArchiveError(.notEncodable, "encodeFields(to:) did not write the fields of the schema")
    }
    if Self.schema.keepsUnknownFields {
      for entry in archivedUnknownFields.object.entries where record[entry.key] == nil {
        record[entry.key] = entry.value
      }
    }
    return record
  }

  private static func located(_ error: any Error, _ place: Int) -> ArchiveError {
    guard schema.fields.indices.contains(place) else { return ArchiveError.wrap(error).inType(schema.name) }
    return ArchiveError.at(.key(schema.fields[place].key), error).inType(schema.name)
  }
}
