/// A type that archives as a record: named fields, stamped with a type name and a model version.
///
/// `@Model(version:)` writes the conformance. By hand, ``DescribedModel`` needs a line a field; this protocol is what
/// both come down to, and the fastest form.
public protocol VersionedModel: Archivable, SendableMetatype {
  /// Name, version and fields. A `static let`, made once.
  static var schema: ModelSchema { get }

  /// Reads every field in the order of the schema, with the `field` methods of ``ArchiveReader``.
  init(fields reader: inout ArchiveReader) throws

  /// Writes every field in the order of the schema, with the `field` methods of ``ArchiveWriter``; an enum writes its
  /// case with ``ArchiveWriter/beginCase(_:_:count:)`` and the payload.
  func encodeFields(to writer: inout ArchiveWriter) throws

  /// For an enum: the case with this name, or `nil` where there is none.
  static func make(case name: String, payload: CasePayload) throws -> Self?

  /// The unknown keys that this object was read with; empty unless the model keeps them.
  var archivedUnknownFields: UnknownFields { get }

  /// Takes over every field of another object. A class must write this; for other types it is an assignment.
  mutating func adoptFields(of other: Self) throws

  /// What tells an object from others of its class; `nil` for a value. Nobody needs to write it.
  var _objectIdentity: ObjectIdentifier? { get }

  /// Reads one field again and sets it. Objects that refer to each other in a cycle need it: the first of them is made
  /// before the last. `@Model` writes it for classes; by hand, a class needs it where its references can form cycles.
  mutating func readField(_ place: Int, from reader: inout ArchiveReader) throws
}

/// A class that names its subclasses, so that every decoder knows them.
///
/// Where the class should not know them, ``ArchiveDecoder/subclasses`` names them.
public protocol ModelHierarchy: VersionedModel {
  /// The subclasses that archives may hold where this class is expected.
  static var subclasses: [any VersionedModel.Type] { get }
}

extension VersionedModel {
  fileprivate static var namedSubclasses: [any VersionedModel.Type] {
    (Self.self as? any ModelHierarchy.Type)?.subclasses ?? []
  }

  /// The subclasses that the class names, and those that they name.
  static var knownSubclasses: [any VersionedModel.Type] {
    var known: Set<ObjectIdentifier> = [ObjectIdentifier(Self.self)]
    var found: [any VersionedModel.Type] = []
    var waiting: [any VersionedModel.Type] = [Self.self]
    while let type = waiting.popLast() {
      // A subclass inherits what its superclass names.
      for subclass in type.namedSubclasses
      where known.insert(ObjectIdentifier(subclass)).inserted {
        found.append(subclass)
        waiting.append(subclass)
      }
    }
    return found
  }
}

extension VersionedModel {
  /// The subclass with a name, which this class, one of its subclasses or the decoder names; `nil` where there is none.
  fileprivate static func subclass(named name: String, in context: DecodingContext) -> (any VersionedModel.Type)? {
    let known = knownSubclasses + context.subclasses.flatMap { [$0] + $0.knownSubclasses }
    return known.first { $0 is Self.Type && $0.schema.isNamed(name) }
  }
}

extension VersionedModel where Self: AnyObject {
  public var _objectIdentity: ObjectIdentifier? { ObjectIdentifier(self) }
}

extension VersionedModel {
  public var _objectIdentity: ObjectIdentifier? { nil }

  public var archivedUnknownFields: UnknownFields { UnknownFields() }

  public mutating func adoptFields(of other: Self) throws {
    guard !(Self.self is AnyClass) else {
      throw ArchiveError(
        .mergeFailed, "a class takes over fields only where it implements adoptFields(of:)",
        typeName: Self.schema.name)
    }
    self = other
  }

  public mutating func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    throw ArchiveError(
      .rejected, "the objects refer to each other in a cycle, and the class does not implement readField(_:from:)")
  }

  public static var _archiveTypeName: String { schema.name }

  public static var _rootSchema: ModelSchema? { schema }
  public static var typeShape: TypeShape { TypeShape(.model(Self.self)) }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) {
    guard catalog.add(schema) else { return }
    if schema.isObject { catalog.addObjectType(Self.self) }
    for subclass in namedSubclasses {
      subclass._collectSchemas(into: &catalog)
    }
    for type in schema.fields.map(\.type) + schema.cases.flatMap(\.payload) {
      TypeShape.archivable(type)?._collectSchemas(into: &catalog)
    }
  }

  /// Writes the model as a record of its fields.
  public func write(to writer: inout ArchiveWriter) throws {
    let schema = Self.schema
    guard schema.isPlainStructure, writer.isPlain else { return try writeSpecially(to: &writer) }
    try writer.beginRecord(schema)
    do { try encodeFields(to: &writer) } catch { throw Self.located(error, writer.failedField) }
    writer.leave()
  }

  /// Writes what is more than a structure with fields, or where the writer does more than write.
  @inline(never)
  private func writeSpecially(to writer: inout ArchiveWriter) throws {
    guard Self.schema.isObject else {
      if case .models? = writer.objects, let role = writer.objects { return try writer.write(self, as: role) }
      return try writeRecord(to: &writer)
    }
    if let role = writer.objects { return try writer.write(self, as: role) }
    try writer.classCheck?(Swift.type(of: self), Self.self, writer.depth > 0)
    try writer.writeInPlace(self)
  }

  /// Writes the fields, also those of an object whose identity others care for.
  package func writeRecord(to writer: inout ArchiveWriter) throws {
    let schema = Self.schema.isObject ? try ownSchema() : Self.schema
    if schema.isEnumeration { return try encodeFields(to: &writer) }
    var unknown: [ArchiveObject.Entry] = []
    if schema.keepsUnknownFields {
      unknown = archivedUnknownFields.object.entries.map { entry in
        .init(key: UnknownFields.archivedKey(entry.key, besides: schema.takenKeys), value: entry.value)
      }
    }
    if unknown.isEmpty {
      try writer.beginRecord(schema)
    } else {
      let shape = writer.includesExcluded ? schema.fullShape : schema.archivedShape
      try schema.check()
      let extended = shape.adding(unknown.map(\.key))
      writer.note(schema, of: extended)
      try writer.beginRecord(extended)
    }
    let offset = writer.placeOffset
    writer.placeOffset = 0
    do { try encodeFields(to: &writer) } catch {
      throw Self.located(error, writer.failedField, schema)
    }
    writer.placeOffset = offset
    for entry in unknown { try writer.write(entry.value) }
    writer.leave()
  }

  /// The schema of an object's own class.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` where the class only inherits one: nobody could tell the object
  ///   from one of its superclass, and its own properties would be lost.
  private func ownSchema() throws -> ModelSchema {
    let type = Swift.type(of: self)
    let schema = type.schema
    guard schema.typeIdentity == ObjectIdentifier(type) else {
      throw ArchiveError(
        .notEncodable,
        "the class \(type) inherits its description from \(schema.name) and has none of its own; give it "
          + "@Model(version:superclass:), or a schema", typeName: schema.name)
    }
    return schema
  }

  public static func read(from reader: inout ArchiveReader) throws -> Self {
    let schema = schema
    // Apart, so that other models go straight to where they are wanted.
    if schema.readsSpecially || reader.isObjectFrame { return try readSpecially(from: &reader) }
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

  /// Reads objects, models inside of objects, and models that have code to run.
  @inline(never)
  private static func readSpecially(from reader: inout ArchiveReader) throws -> Self {
    if schema.isObject, let object = try reader.readReference(Self.self) { return object }
    // A value inside an object cannot wait; the object's field does, which holds it.
    let frame = (reader.isObjectFrame, reader.placeOffset)
    (reader.isObjectFrame, reader.placeOffset) = (false, 0)
    defer { (reader.isObjectFrame, reader.placeOffset) = frame }
    return try read(reader.beginRecord(schema), from: &reader)
  }

  /// Reads what follows the head of a record.
  package static func read(_ start: ArchiveReader.RecordStart, from reader: inout ArchiveReader) throws -> Self {
    switch start {
    case .fields:
      try reader.enter()
      var model: Self
      do { model = try Self(fields: &reader) } catch { throw located(error, reader.failedField) }
      reader.leave()
      // An object of a graph is finished when every object is made.
      if schema.finishesModels, !reader.isObjectFrame { try finish(&model, in: reader.context) }
      return model
    case .values(let shape):
      return try make(from: reader.readValues(of: shape), in: reader.context, isObjectFrame: reader.isObjectFrame)
    case .other:
      return try make(from: reader.readValue(), in: reader.context)
    }
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
    if case .reference(let number) = value, let objects = context.objects {
      return try objects.object(number, as: Self.self, in: context)
    }
    let schema = Self.schema
    if schema.isEnumeration { return try makeCase(of: value, in: context) }
    if context.takesPlainObjects, case .object(let object) = value {
      return try make(
        dictionary: Dictionary(uniqueKeysWithValues: object.entries.map { ($0.key, $0.value) }), in: context)
    }
    // A record in JSON is what a transformer made.
    guard case .record(let record) = value else {
      if context.source == .json { return try make(fromJSON: value, in: context) }
      throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind).inType(schema.name)
    }
    return try make(from: record, schema, in: context)
  }

  /// Upgrades a record and makes the model of it.
  package static func make(
    from record: ModelRecord, in context: DecodingContext, isObjectFrame: Bool = false
  ) throws -> Self {
    let schema = Self.schema
    if schema.isEnumeration { return try makeCase(of: .record(record), in: context) }
    return try make(from: record, schema, in: context, isObjectFrame: isObjectFrame)
  }

  private static func make(
    from record: ModelRecord, _ schema: ModelSchema, in context: DecodingContext, isObjectFrame: Bool = false
  ) throws -> Self {
    if schema.isObject, !schema.isNamed(record.typeName),
      let subclass = subclass(named: record.typeName, in: context)
    {
      // Through the class itself: called on `Self.Type`, the methods of the protocol would be those of this class.
      let object = try subclass.make(from: record, in: context, isObjectFrame: isObjectFrame)
      if let object = object as? Self { return object }
    }
    let (values, unknown) = try schema.upgradedFields(of: record, in: context)
    var reader = ArchiveReader(values, unknownFields: unknown, context: context)
    return try make(&reader, schema, isObjectFrame: isObjectFrame)
  }

  /// Makes the model of the values of its fields.
  package static func make(
    _ values: FieldValues, unknownFields: UnknownFields = UnknownFields(), in context: DecodingContext,
    isObjectFrame: Bool = false
  ) throws -> Self {
    var reader = ArchiveReader(values, unknownFields: unknownFields, context: context)
    return try make(&reader, schema, isObjectFrame: isObjectFrame)
  }

  private static func make(
    _ reader: inout ArchiveReader, _ schema: ModelSchema, isObjectFrame: Bool
  ) throws -> Self {
    reader.isObjectFrame = isObjectFrame
    var model: Self
    do { model = try Self(fields: &reader) } catch { throw located(error, reader.failedField) }
    if schema.finishesModels, !isObjectFrame { try finish(&model, in: reader.context) }
    return model
  }

  /// The object as a record with today's version.
  ///
  /// - Parameter role: what happens to the objects that this one refers to; unless given, they are written in place.
  package func record(includingExcluded: Bool = false, role: ObjectRole? = nil) throws -> ModelRecord {
    var writer = ArchiveWriter(includesExcluded: includingExcluded, minimumCapacity: 512)
    writer.objects = role
    if Self.schema.isObject { try writer.beginInPlace(self) }
    try writeRecord(to: &writer)
    guard case .record(let record) = try writer.value() else {
      throw ArchiveError(.notEncodable, "encodeFields(to:) did not write the fields of the schema")
    }
    return record
  }

  static func located(_ error: any Error, _ place: Int, _ known: ModelSchema? = nil) -> ArchiveError {
    let schema = known ?? schema
    guard schema.fields.indices.contains(place) else { return ArchiveError.wrap(error).inType(schema.name) }
    return ArchiveError.at(.key(schema.fields[place].key), error).inType(schema.name)
  }
}
