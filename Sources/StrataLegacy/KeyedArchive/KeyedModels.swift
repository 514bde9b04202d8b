internal import StrataCore

/// Finds the models for the classes of a keyed archive and converts the archive's records to records of these models.
struct KeyedModels {
  /// A cache key: the shape of a record, and the indices of the fields whose value is null.
  private struct Nulls: Hashable {
    let shape: ObjectIdentifier
    let indices: [Int]
  }

  /// The model for all records with the same shape. `schema` is `nil` if there is no model.
  private struct ShapeModel {
    let shape: RecordShape
    let schema: ModelSchema?
    /// Whether the records have a field ``representationKey`` with a dictionary of the actual fields, as old Mantle
    /// versions wrote it.
    let hasRepresentation: Bool
  }

  private var schemas: [String: ModelSchema] = [:]
  /// The models found so far, by class name in the archive; `nil` for a class without a model.
  private var found: [String: ModelSchema?] = [:]
  /// The model for the latest record. It is checked first, because objects of the same class often follow each other.
  private var last: ShapeModel?
  /// The model for each shape. The graph already holds the shapes, so this cache needs no more memory than the graph.
  private var models: [ObjectIdentifier: ShapeModel] = [:]
  /// The shapes of converted records, by the original shape and the fields with null values. A converted shape has the
  /// registered name of the model as its type name, and no keys with null values.
  private var shapes: [Nulls: RecordShape] = [:]
  /// The models that are classes, by registered name.
  let objectTypes: [String: any VersionedModel.Type]
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
    // The subclass inherited the name from its superclass, so the name still refers to the superclass.
    if schema.superclasses.contains(where: { $0 === other }) { return }
    guard other.superclasses.contains(where: { $0 === schema }) else {
      throw ArchiveError(
        .invalidSchema,
        "the models \(other.name) and \(schema.name) have the same legacy name \(name); give one of them a different "
          + "legacy name",
        typeName: schema.name)
    }
    schemas[name] = schema
  }

  /// Returns the model for objects of a class, or `nil` if there is none.
  ///
  /// The class name is looked up first, then the names of its fallback classes, in the order in the archive. Foundation
  /// uses the same order. Superclasses are not considered, because an object of a subclass is not decoded as its
  /// superclass.
  private mutating func schema(of typeName: String) -> ModelSchema? {
    // The result is cached, because in a hostile file each object can have its own shape, and a class can have many
    // long names of fallback classes.
    if let known = found[typeName] { return known }
    var schema = schema(named: typeName)
    for hint in classes[typeName]?.hints ?? [] where schema == nil { schema = self.schema(named: hint) }
    found.updateValue(schema, forKey: typeName)
    return schema
  }

  private mutating func model(of record: ModelRecord) -> ShapeModel {
    let shape = record.shape
    if let last, last.shape === shape { return last }
    let model = models[ObjectIdentifier(shape)] ?? newModel(of: shape)
    models[ObjectIdentifier(shape)] = model
    last = model
    return model
  }

  private mutating func newModel(of shape: RecordShape) -> ShapeModel {
    let key = Self.representationKey
    guard let schema = schema(of: shape.typeName) else {
      return ShapeModel(shape: shape, schema: nil, hasRepresentation: false)
    }
    let takesKey = schema.isEnumeration || schema.takenKeys.contains(ExactKey(key))
    return ShapeModel(shape: shape, schema: schema, hasRepresentation: !takesKey && shape.place(of: key) != nil)
  }

  private func schema(named name: String) -> ModelSchema? {
    if let schema = schemas[name] { return schema }
    // Key-value observing changes the class of an object to a subclass that is created at run time. The prefix of that
    // subclass is removed, which leaves the original class name.
    var rest = name[...]
    while rest.hasPrefix(Self.observedPrefix) { rest = rest.dropFirst(Self.observedPrefix.count) }
    let name = String(rest)
    return schemas[name] ?? Self.swiftName(name).flatMap { schemas[$0] }
  }

  private static let observedPrefix = "NSKVONotifying_"

  /// Returns `App.Issue` for `_TtC3App5Issue`, the Objective-C spelling of a Swift class, or `nil` for any other name.
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

  /// - Throws: `ArchiveError` with the code `newerModel` if the record was written by a newer version of its model.
  mutating func refuseNewer(_ record: ModelRecord) throws {
    guard let version = record.modelVersion, let schema = model(of: record).schema, version > schema.modelVersion
    else { return }
    throw ArchiveError.newer(version, schema)
  }

  /// Returns the record with the registered name of its model, or `nil` if there is no model. Keys with null values are
  /// omitted, so that the fields get their default values.
  ///
  /// - Parameter place: replaces the references in an external representation with the referenced values, because
  ///   ``LegacyModel/record(fromExternalRepresentation:version:)`` cannot resolve references.
  mutating func record(
    _ record: ModelRecord, in context: DecodingContext, placing place: (ArchiveValue) throws -> ArchiveValue
  ) throws -> ModelRecord? {
    let model = model(of: record)
    guard let schema = model.schema else { return nil }
    let key = Self.representationKey
    if model.hasRepresentation, let representation = record[key] {
      do { return try self.record(of: place(representation), schema, record.modelVersion, in: context) } catch {
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
    // The cache is limited, because hostile data can contain any number of shapes.
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
      throw ArchiveError(.invalidSchema, "the schema does not belong to a model type")
    }
    if version == nil { context.report.addMissingVersion(of: schema.name) }
    record.typeName = schema.name
    if let version, version < schema.modelVersion, record.modelVersion == schema.modelVersion {
      context.report.addUpgrade(of: schema.name, from: version, to: schema.modelVersion)
    }
    return record
  }
}
