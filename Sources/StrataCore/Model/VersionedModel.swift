/// A type that is archived as a record, with named fields, a type name and a model version.
///
/// `@Model(version:)` generates the conformance. To describe a model by hand, use ``DescribedModel``, which needs one
/// line per field. A type can also conform to this protocol directly, which gives the fastest code.
public protocol VersionedModel: Archivable, SendableMetatype {
  /// The name, version and fields of the model. Declare this property as a `static let`, because the schema should be
  /// created only once.
  static var schema: ModelSchema { get }

  /// Reads all fields in schema order with the `field` methods of ``ArchiveReader``, and creates the model from them.
  init(fields reader: inout ArchiveReader) throws

  /// Writes all fields in schema order with the `field` methods of ``ArchiveWriter``. An enum writes its case with
  /// ``ArchiveWriter/beginCase(_:_:count:)``, followed by its associated values.
  func encodeFields(to writer: inout ArchiveWriter) throws

  /// For an enum, creates the case with the given name and associated values. Returns `nil` if there is no such case.
  static func make(case name: String, payload: CasePayload) throws -> Self?

  /// The keys that were found when this model was decoded but that the model does not declare, with their values. Always empty unless the
  /// model keeps unknown keys.
  var archivedUnknownFields: UnknownFields { get }

  /// Copies all fields of another object into this object. A class must implement this method. For other types, the
  /// default implementation assigns the other value.
  mutating func adoptFields(of other: Self) throws

  /// The identity of an object; `nil` for a struct or an enum. Conforming types use the default implementation.
  var _objectIdentity: ObjectIdentifier? { get }

  /// Decodes the field with this index again and sets it. Used for reference cycles, because the first object of a cycle is created before
  /// the objects it refers to. `@Model` generates the method for classes. A class without the macro must implement the method if its
  /// references can form cycles.
  mutating func readField(_ place: Int, from reader: inout ArchiveReader) throws
}

/// A class that lists its subclasses, so that every decoder can create instances of them.
///
/// If the class should not depend on its subclasses, list the subclasses in ``ArchiveDecoder/subclasses`` instead.
public protocol ModelHierarchy: VersionedModel {
  /// The subclasses whose instances archives may contain in place of instances of this class.
  static var subclasses: [any VersionedModel.Type] { get }
}

extension VersionedModel {
  fileprivate static var namedSubclasses: [any VersionedModel.Type] {
    (Self.self as? any ModelHierarchy.Type)?.subclasses ?? []
  }

  /// All subclasses that the class lists, directly or through other subclasses.
  static var knownSubclasses: [any VersionedModel.Type] {
    var known: Set<ObjectIdentifier> = [ObjectIdentifier(Self.self)]
    var found: [any VersionedModel.Type] = []
    var waiting: [any VersionedModel.Type] = [Self.self]
    while let type = waiting.popLast() {
      // A subclass inherits its superclass's list, so the search would never end if classes could be visited more than once.
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
  /// Returns the subclass with this registered name; `nil` if it is not known. The subclass must be listed by this
  /// class, by one of its subclasses or by the decoder.
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
        .mergeFailed,
        "the class does not implement adoptFields(of:), which a merge requires; implement the method, or use @Model",
        typeName: Self.schema.name)
    }
    self = other
  }

  public mutating func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    throw ArchiveError(
      .rejected,
      "the class does not implement readField(_:from:), which a reference cycle requires; implement the method, or use "
        + "@Model")
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

  /// The slow path of ``write(to:)``, for class instances, enums and models that keep unknown keys. If the writer's `isPlain` is false, all
  /// models take this path.
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

  /// Writes the model as a record, even if it is a class instance that would otherwise be written as a reference.
  package func writeRecord(to writer: inout ArchiveWriter) throws {
    let schema = Self.schema.isObject ? try ownSchema() : Self.schema
    if schema.isEnumeration { return try encodeFields(to: &writer) }
    var unknown: [ArchiveObject.Entry] = []
    var newer: UnknownFields.NewerVersion?
    if schema.keepsUnknownFields {
      let kept = archivedUnknownFields
      // A record of a newer version keeps that version when it is written again. With the model's own version, migration steps would later
      // set defaults for its absent keys (``ModelSchema/floors``). The model's own version is still used in two cases: when excluded fields
      // are written, because merges need records of that version, and in a stream whose header does not list the version floors of the
      // newer version.
      newer = kept.newer.flatMap { newer in
        let isKnown = writer.knownFloors.map { $0[schema.name, newer.version] != nil } ?? true
        return writer.includesExcluded || !isKnown ? nil : newer
      }
      unknown = kept.object.entries.map { entry in
        .init(key: UnknownFields.archivedKey(entry.key, besides: schema.takenKeys), value: entry.value)
      }
    }
    if unknown.isEmpty, newer == nil {
      try writer.beginRecord(schema)
    } else {
      var shape = writer.includesExcluded ? schema.fullShape : schema.archivedShape
      try schema.check()
      if let newer { shape = try schema.shape(of: newer) }
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

  /// Returns the schema of the object's own class.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if the class has no schema of its own but inherits one. A reader would then
  ///   create an object of the superclass, and the properties of the object's own class would be lost.
  private func ownSchema() throws -> ModelSchema {
    let type = Swift.type(of: self)
    let schema = type.schema
    guard schema.typeIdentity == ObjectIdentifier(type) else {
      throw ArchiveError(
        .notEncodable,
        "the class \(type) has no schema of its own and inherits the schema of \(schema.name); declare the class with "
          + "@Model(version:superclass:), or write a schema for it",
        typeName: schema.name)
    }
    return schema
  }

  public static func read(from reader: inout ArchiveReader) throws -> Self {
    let schema = schema
    // Special cases are handled in a separate function, so that the code for all other models stays short and fast.
    if schema.readsSpecially || reader.isObjectFrame { return try readSpecially(from: &reader) }
    return try read(reader.beginRecord(schema), schema, from: &reader)
  }

  /// Reads class instances, models nested in class instances, and models with hooks or rules.
  @inline(never)
  private static func readSpecially(from reader: inout ArchiveReader) throws -> Self {
    let schema = schema
    if schema.isObject, let object = try reader.readReference(Self.self) { return object }
    // A field of a struct cannot be set after the struct has been created. If it refers to an object not yet decoded,
    // the field of the enclosing object is deferred instead.
    let frame = (reader.isObjectFrame, reader.placeOffset)
    (reader.isObjectFrame, reader.placeOffset) = (false, 0)
    defer { (reader.isObjectFrame, reader.placeOffset) = frame }
    return try read(reader.beginRecord(schema), schema, from: &reader)
  }

  /// Reads the rest of a record whose head has already been read, and creates the model.
  @inline(__always)
  package static func read(
    _ start: ArchiveReader.RecordStart, _ schema: ModelSchema, from reader: inout ArchiveReader
  ) throws -> Self {
    switch start {
    case .fields:
      try reader.enter()
      var model: Self
      do { model = try Self(fields: &reader) } catch { throw located(error, reader.failedField) }
      reader.leave()
      // The hooks and rules of objects in a graph run only after all objects of the graph have been created.
      if schema.finishesModels, !reader.isObjectFrame { try finish(&model, in: reader.context) }
      return model
    case .values(let shape):
      return try decode(from: reader.readValues(of: shape), in: reader.context, isObjectFrame: reader.isObjectFrame)
    case .other:
      return try decode(from: reader.readValue(), in: reader.context)
    }
  }

  /// Creates a model from a record. A record of an older version is upgraded first.
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
    if case .reference(let number) = value, let objects = context.objects {
      return try objects.object(number, as: Self.self, in: context)
    }
    let schema = Self.schema
    if schema.isEnumeration { return try makeCase(of: value, in: context) }
    if context.takesPlainObjects, case .object(let object) = value {
      var dictionary: [String: ArchiveValue] = [:]
      for entry in object.entries where dictionary.updateValue(entry.value, forKey: entry.key) != nil {
        throw ArchiveError(
          .unknownKey,
          "the key \(entry.key) occurs in two Unicode spellings; keep only the spelling that the model declares",
          path: [.key(entry.key)], typeName: schema.name)
      }
      return try decode(dictionary: dictionary, in: context)
    }
    // A JSON document contains no records. In JSON, a value is therefore a record only if a transformer returned it.
    guard case .record(let record) = value else {
      if context.source == .json { return try decode(fromJSON: value, in: context) }
      throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind).inType(schema.name)
    }
    return try decode(from: record, in: context)
  }

  /// Upgrades a record and creates the model from it.
  package static func decode(
    from record: ModelRecord, in context: DecodingContext, isObjectFrame: Bool = false
  ) throws -> Self {
    let schema = Self.schema
    if schema.isEnumeration { return try makeCase(of: .record(record), in: context) }
    if schema.isObject, !schema.isNamed(record.typeName),
      let subclass = subclass(named: record.typeName, in: context)
    {
      // `decode` is called on `subclass`, so that it creates an instance of the subclass instead of this class.
      return try ObjectTable.cast(
        subclass.decode(from: record, in: context, isObjectFrame: isObjectFrame), to: Self.self)
    }
    let objects = context.objects
    try objects?.enterRecord(in: context)
    defer { objects?.leaveRecord() }
    let (values, unknown) = try schema.upgradedFields(of: record, in: context)
    return try decode(fields: values, unknownFields: unknown, in: context, isObjectFrame: isObjectFrame)
  }

  /// Creates the model from the values of its fields.
  package static func decode(
    fields values: consuming FieldValues, unknownFields: consuming UnknownFields = UnknownFields(),
    in context: DecodingContext,
    isObjectFrame: Bool = false
  ) throws -> Self {
    var reader = ArchiveReader(values, unknownFields: unknownFields, context: context)
    reader.isObjectFrame = isObjectFrame
    var model: Self
    do { model = try Self(fields: &reader) } catch { throw located(error, reader.failedField) }
    if schema.finishesModels, !isObjectFrame { try finish(&model, in: reader.context) }
    return model
  }

  /// Returns the model as a record of the current version.
  ///
  /// - Parameter role: how to write the objects to which this model refers. If `nil`, the record contains them in place, like structs.
  package func record(includingExcluded: Bool = false, role: ObjectRole? = nil) throws -> ModelRecord {
    var writer = ArchiveWriter(includesExcluded: includingExcluded, minimumCapacity: 512)
    writer.objects = role
    if Self.schema.isObject { try writer.beginInPlace(self) }
    try writeRecord(to: &writer)
    guard case .record(let record) = try writer.value() else {
      throw ArchiveError(.notEncodable, "encodeFields(to:) did not write the fields that the schema declares")
    }
    return record
  }

  static func located(_ error: any Error, _ place: Int, _ known: ModelSchema? = nil) -> ArchiveError {
    let schema = known ?? schema
    guard schema.fields.indices.contains(place) else { return ArchiveError.wrap(error).inType(schema.name) }
    return ArchiveError.at(.key(schema.fields[place].key), error).inType(schema.name)
  }
}
