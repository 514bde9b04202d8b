internal import StrataCore

/// The models that the classes of a keyed archive become, and the records of their objects in today's names.
struct KeyedModels {
  private var schemas: [String: ModelSchema] = [:]
  private let plans = RecordPlans()
  private let hints: (String) -> [String]

  /// - Parameters:
  ///   - catalog: the models.
  ///   - hints: the classes to use instead of a class, as the archive says.
  /// - Throws: `ArchiveError` with the code `invalidSchema` where two models have the same name.
  init(_ catalog: SchemaCatalog, hints: @escaping (String) -> [String] = { _ in [] }) throws {
    self.hints = hints
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
    // A class that inherits its names does not mean them.
    if schema.superclasses.contains(where: { $0 === other }) { return }
    guard other.superclasses.contains(where: { $0 === schema }) else {
      throw ArchiveError(
        .invalidSchema, "\(other.name) and \(schema.name) both claim the legacy name \(name)", typeName: schema.name)
    }
    schemas[name] = schema
  }

  /// The model that objects of a class become; `nil` where there is none.
  ///
  /// It is found by the name of the class, and where no model has that, by the first of the archive's hints that one has,
  /// as Foundation does it. Superclasses do not count: an object of a subclass is no object of its superclass.
  func schema(of typeName: String) -> ModelSchema? {
    schema(named: typeName) ?? hints(typeName).lazy.compactMap { schema(named: $0) }.first
  }

  private func schema(named name: String) -> ModelSchema? {
    if let schema = schemas[name] { return schema }
    // An observed object's class is a subclass that exists only while the program runs.
    if name.hasPrefix(Self.observedPrefix) { return schema(named: String(name.dropFirst(Self.observedPrefix.count))) }
    return Self.swiftName(name).flatMap { schemas[$0] }
  }

  private static let observedPrefix = "NSKVONotifying_"

  /// The name `App.Issue` of `_TtC3App5Issue`, which is how Swift spells a class for Objective-C; `nil` for any other.
  static func swiftName(_ name: String) -> String? {
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

  /// Refuses records of a shape that a newer version of their model wrote.
  func check(_ shape: RecordShape) throws {
    guard let version = shape.modelVersion, let schema = plan(of: shape).schema, version > schema.modelVersion else {
      return
    }
    throw ArchiveError.newer(version, schema)
  }

  /// A record by the name of its model, without its nulls: a key that holds nil leaves the field at its default.
  func record(_ record: ModelRecord, in context: DecodingContext) throws -> ModelRecord {
    let plan = plan(of: record.shape)
    guard let schema = plan.schema else { return record }
    if plan.isExternal, let representation = record[Self.representationKey] {
      do { return try self.record(of: representation, schema, record.modelVersion, in: context) } catch {
        throw ArchiveError.at(.key(Self.representationKey), error).inType(schema.name)
      }
    }
    return plan.withoutNulls(record.values)
  }

  /// What records of a shape become.
  private func plan(of shape: RecordShape) -> RecordPlan {
    if let plan = plans.last, plan.shape === shape { return plan }
    let plan = plans.known[ObjectIdentifier(shape)] ?? makePlan(of: shape)
    plans.last = plan
    return plan
  }

  private func makePlan(of shape: RecordShape) -> RecordPlan {
    let schema = schema(of: shape.typeName)
    let isExternal = schema.map { schema in
      shape.place(of: Self.representationKey) != nil && !schema.isEnumeration
        && !schema.fields.contains { ([$0.key] + $0.formerly).contains(Self.representationKey) }
    }
    let plan = RecordPlan(shape: shape, schema: schema, isExternal: isExternal ?? false)
    // Data can hold shapes without end.
    if plans.known.count < 1024 { plans.known[ObjectIdentifier(shape)] = plan }
    return plan
  }

  static let representationKey = "externalRepresentation"

  private func record(
    of representation: Value, _ schema: ModelSchema, _ version: Int?, in context: DecodingContext
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

/// What records become, by the shapes that were met.
private final class RecordPlans {
  var known: [ObjectIdentifier: RecordPlan] = [:]
  // One decoding uses them, and checking that at each record would cost more than finding the plan.
  @exclusivity(unchecked) var last: RecordPlan?
}

/// What records of one shape become: those of a model, in its name and without nulls.
private final class RecordPlan {
  let shape: RecordShape
  let schema: ModelSchema?
  /// Whether the records hold the old external representation.
  let isExternal: Bool
  /// The shape in the model's name.
  private let named: RecordShape
  /// The shapes that are left without nulls, by the indices of these.
  private var others: [UInt64: RecordShape] = [:]

  init(shape: RecordShape, schema: ModelSchema?, isExternal: Bool) {
    self.shape = shape
    self.schema = schema
    self.isExternal = isExternal
    named = schema.map { shape.named($0.name, version: shape.modelVersion) } ?? shape
  }

  func withoutNulls(_ values: [Value]) -> ModelRecord {
    guard values.contains(where: { $0.isNull }) else { return ModelRecord(shape: named, values: values) }
    var nulls: UInt64 = 0
    for (index, value) in values.enumerated() where value.isNull { nulls |= 1 << UInt64(index & 63) }
    let rest = values.filter { !$0.isNull }
    // Wider records are rare, and their indices do not fit.
    if values.count <= 64, let known = others[nulls] { return ModelRecord(shape: known, values: rest) }
    let keys = zip(named.keys, values).compactMap { $1.isNull ? nil : $0 }
    let shape = RecordShape(
      typeName: named.typeName, modelVersion: named.modelVersion, keys: keys, levels: named.levels)
    if values.count <= 64, others.count < 256 { others[nulls] = shape }
    return ModelRecord(shape: shape, values: rest)
  }
}
