internal import StrataCore

/// Finds the models for the classes of a keyed archive, and converts the records of its objects to records of models.
struct KeyedModels {
  /// A record's shape, and the indices of its nulls.
  private struct Nulls: Hashable {
    let shape: ObjectIdentifier
    let indices: [Int]
  }

  /// The model for the records of a shape.
  private struct Kind {
    let shape: RecordShape
    let schema: ModelSchema?
    /// Whether the records hold their fields under ``representationKey``.
    let hasRepresentation: Bool
  }

  private var schemas: [String: ModelSchema] = [:]
  /// The kind of the last record. Objects of one class often follow each other.
  private var last: Kind?
  /// The shapes of records with the names of their models and without nulls.
  private var shapes: [Nulls: RecordShape] = [:]
  /// The class models, by name.
  let objectTypes: [String: any VersionedModel.Type]
  /// The classes of the archive.
  private let classes: [String: KeyedClass]

  /// - Parameters:
  ///   - catalog: the models.
  ///   - classes: the classes of the archive.
  /// - Throws: `ArchiveError` with the code `invalidSchema` if two models have the same name.
  init(_ catalog: SchemaCatalog, _ classes: [String: KeyedClass]) throws {
    objectTypes = catalog.objectTypes
    self.classes = classes
    for schema in catalog.schemas {
      for name in [schema.name] + schema.formerNames where schemas[name] == nil { schemas[name] = catalog[name] }
    }
    for schema in catalog.schemas {
      for name in (schema.type as? any LegacyModel.Type)?.legacyNames ?? [] { try add(name, schema) }
    }
  }

  private mutating func add(_ name: String, _ schema: ModelSchema) throws {
    guard let other = schemas[name], other !== schema else {
      schemas[name] = schema
      return
    }
    // A subclass does not claim the names that it inherits.
    if schema.superclasses.contains(where: { $0 === other }) { return }
    guard other.superclasses.contains(where: { $0 === schema }) else {
      throw ArchiveError(
        .invalidSchema, "\(other.name) and \(schema.name) both claim the legacy name \(name)", typeName: schema.name)
    }
    schemas[name] = schema
  }

  /// The model for objects of a class; `nil` if there is none.
  ///
  /// The class name is looked up first, then the archive's hints in order, as in Foundation. Superclasses do not count:
  /// an object of a subclass is not decoded as its superclass.
  private func schema(of typeName: String) -> ModelSchema? {
    schema(named: typeName) ?? classes[typeName]?.hints.lazy.compactMap { self.schema(named: $0) }.first
  }

  private mutating func kind(of record: ModelRecord) -> Kind {
    if let last, last.shape === record.shape { return last }
    let schema = schema(of: record.typeName), key = ExactKey(Self.representationKey)
    let kind = Kind(
      shape: record.shape, schema: schema,
      hasRepresentation: schema.map { !$0.isEnumeration && !$0.takenKeys.contains(key) } ?? false
        && record.keys.contains(key.text))
    last = kind
    return kind
  }

  private func schema(named name: String) -> ModelSchema? {
    if let schema = schemas[name] { return schema }
    // Key-value observing gives an object a subclass that exists only at run time.
    if name.hasPrefix(Self.observedPrefix) { return schema(named: String(name.dropFirst(Self.observedPrefix.count))) }
    return Self.swiftName(name).flatMap { schemas[$0] }
  }

  private static let observedPrefix = "NSKVONotifying_"

  /// Returns `App.Issue` for `_TtC3App5Issue`, the Objective-C spelling of a Swift class; `nil` for any other name.
  private static func swiftName(_ name: String) -> String? {
    guard name.hasPrefix("_TtC") else { return nil }
    var rest = name.dropFirst(4)
    var parts: [Substring] = []
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      guard let length = Int(digits), length > 0, rest.dropFirst(digits.count).utf8.count >= length else { return nil }
      let part = rest.dropFirst(digits.count).prefix(length)
      parts.append(part)
      rest = rest.dropFirst(digits.count + part.count)
    }
    return parts.count == 2 ? parts.joined(separator: ".") : nil
  }

  /// - Throws: `ArchiveError` with the code `newerModel` if a newer version of its model wrote the record.
  mutating func refuseNewer(_ record: ModelRecord) throws {
    guard let version = record.modelVersion, let schema = kind(of: record).schema, version > schema.modelVersion
    else { return }
    throw ArchiveError.newer(version, schema)
  }

  /// A record with the name of its model and without nulls: a key that holds nil leaves the field at its default. `nil`
  /// if there is no model.
  mutating func record(_ record: ModelRecord, in context: DecodingContext) throws -> ModelRecord? {
    let kind = kind(of: record)
    guard let schema = kind.schema else { return nil }
    let key = Self.representationKey
    if kind.hasRepresentation, let representation = record[key] {
      do { return try self.record(of: representation, schema, record.modelVersion, in: context) } catch {
        throw ArchiveError.at(.key(key), error).inType(schema.name)
      }
    }
    let nulls = record.values.indices.filter { record.values[$0].isNull }
    var known = record
    known.shape = shape(Nulls(shape: ObjectIdentifier(record.shape), indices: nulls), of: record, schema)
    if !nulls.isEmpty { known.values.removeAll(where: \.isNull) }
    return known
  }

  private mutating func shape(_ nulls: Nulls, of record: ModelRecord, _ schema: ModelSchema) -> RecordShape {
    if let shape = shapes[nulls] { return shape }
    let keys = zip(record.keys, record.values).compactMap { $1.isNull ? nil : $0 }
    let shape = record.shape.named(schema.name, version: record.modelVersion).limited(to: keys)
    // Hostile data can have any number of shapes.
    if shapes.count < 1024 { shapes[nulls] = shape }
    return shape
  }

  static let representationKey = "externalRepresentation"

  private func record(
    of representation: ArchiveValue, _ schema: ModelSchema, _ version: Int?, in context: DecodingContext
  ) throws -> ModelRecord {
    guard case .object(let object) = representation else {
      throw ArchiveError.mismatch(expected: "a dictionary", found: representation.kind)
    }
    var record: ModelRecord
    if let type = schema.type as? any LegacyModel.Type {
      record = try type.record(fromExternalRepresentation: object, version: version ?? 0)
    } else if let type = schema.type as? any VersionedModel.Type {
      record = try type.recordByJSON(object)
    } else {
      throw ArchiveError(.invalidSchema, "the schema is of no model")
    }
    if version == nil { context.report.addMissingVersion(of: schema.name) }
    record.typeName = schema.name
    if let version, version < schema.modelVersion, record.modelVersion == schema.modelVersion {
      context.report.addUpgrade(of: schema.name, from: version, to: schema.modelVersion)
    }
    return record
  }
}
