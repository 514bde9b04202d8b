internal import StrataCore

/// Finds the models for the classes of a keyed archive, and renames the records of their objects.
final class KeyedModels {
  private var schemas: [String: ModelSchema] = [:]
  private var plans: [ObjectIdentifier: RecordPlan] = [:]
  // Only one decoding uses it, and checking exclusivity at each record would cost more than finding the plan.
  @exclusivity(unchecked) private var lastPlan: RecordPlan?
  /// The class models, by name.
  let objectTypes: [String: any VersionedModel.Type]
  /// Whether a model occurred in a container that compares its elements. Two equal models would be merged there, so the
  /// archive must be read as a graph.
  var needGraph = false
  /// Whether a newer version of a model wrote one of the records.
  private var metNewer = false
  /// The classes of the archive.
  var classes: [String: KeyedClass] = [:]

  /// - Parameter catalog: the models.
  /// - Throws: `ArchiveError` with the code `invalidSchema` if two models have the same name.
  init(_ catalog: SchemaCatalog) throws {
    objectTypes = catalog.objectTypes
    for schema in catalog.schemas {
      for name in [schema.name] + schema.formerNames where schemas[name] == nil { schemas[name] = catalog[name] }
    }
    for schema in catalog.schemas {
      for name in (schema.type as? any LegacyModel.Type)?.legacyNames ?? [] { try add(name, schema) }
    }
  }

  private func add(_ name: String, _ schema: ModelSchema) throws {
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
  func schema(of typeName: String) -> ModelSchema? {
    schema(named: typeName) ?? classes[typeName]?.hints.lazy.compactMap { self.schema(named: $0) }.first
  }

  private func schema(named name: String) -> ModelSchema? {
    if let schema = schemas[name] { return schema }
    // Key-value observing gives an object a subclass that exists only at run time.
    if name.hasPrefix(Self.observedPrefix) { return schema(named: String(name.dropFirst(Self.observedPrefix.count))) }
    return Self.swiftName(name).flatMap { schemas[$0] }
  }

  private static let observedPrefix = "NSKVONotifying_"

  /// Returns `App.Issue` for `_TtC3App5Issue`, the Objective-C spelling of a Swift class; `nil` for any other name.
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

  /// Throws if a newer version of a model wrote a record of the graph. The error names the record nearest to the root.
  ///
  /// - Throws: `ArchiveError` with the code `newerModel`.
  /// - Complexity: linear in the number of objects, or in the graph's size in memory if there is a newer version.
  func refuseNewer(in graph: ObjectGraph) throws {
    var last: RecordShape?
    for case .record(let record) in graph.objects where record.shape !== last {
      _ = plan(of: record.shape)
      last = record.shape
    }
    guard metNewer else { return }
    var steps = [(value: graph.root, origin: -1, component: ArchiveError.PathComponent?.none)]
    var isSeen = [Bool](repeating: false, count: graph.objects.count)
    var seen: Set<StorageIdentity> = []
    var index = 0
    while index < steps.count {
      var value = steps[index].value
      if case .reference(let number) = value {
        guard isSeen.indices.contains(number), !isSeen[number] else {
          index += 1
          continue
        }
        isSeen[number] = true
        value = graph.objects[number]
      }
      if case .record(let record) = value, let error = newerModel(record.shape) {
        var path: [ArchiveError.PathComponent] = []
        var step = index
        while step >= 0, path.count < 256 {
          if let component = steps[step].component { path.append(component) }
          step = steps[step].origin
        }
        throw path.reduce(error) { $0.prefixed(by: $1) }
      }
      value.forEachStep { value, component in
        // Shared values are visited once, and empty ones are skipped.
        let storage: StorageIdentity? =
          switch value {
          case .array(let elements), .set(let elements): elements.isEmpty ? nil : StorageIdentity(elements)
          case .object(let object): object.entries.isEmpty ? nil : StorageIdentity(object.entries)
          case .map(let entries): entries.isEmpty ? nil : StorageIdentity(entries)
          default: nil
          }
        switch value {
        case .record, .reference: steps.append((value, index, component))
        default:
          guard let storage, seen.insert(storage).inserted else { return }
          steps.append((value, index, component))
        }
      }
      index += 1
    }
  }

  private func newerModel(_ shape: RecordShape) -> ArchiveError? {
    guard let version = shape.modelVersion, let schema = plan(of: shape).schema, version > schema.modelVersion else {
      return nil
    }
    return ArchiveError.newer(version, schema)
  }

  /// Gives a record the name of its model and removes its nulls, if the model is not a class.
  ///
  /// - Returns: `false` for an object of a class model or of no model, and for one that only ``record(_:in:)`` can
  ///   read. These are unchanged.
  @inline(__always)
  func inline(_ record: inout ModelRecord) -> Bool {
    let plan = plan(of: record.shape)
    guard plan.isInlined else { return false }
    plan.nameWithoutNulls(&record)
    return true
  }

  /// A record with the name of its model and without nulls: a key that holds nil leaves the field at its default.
  func record(_ record: ModelRecord, in context: DecodingContext) throws -> ModelRecord {
    let plan = plan(of: record.shape)
    guard let schema = plan.schema else { return record }
    if plan.isExternal, let representation = record[Self.representationKey] {
      do { return try self.record(of: representation, schema, record.modelVersion, in: context) } catch {
        throw ArchiveError.at(.key(Self.representationKey), error).inType(schema.name)
      }
    }
    var named = record
    plan.nameWithoutNulls(&named)
    return named
  }

  /// The plan for records of a shape.
  private func plan(of shape: RecordShape) -> RecordPlan {
    if let plan = lastPlan, plan.shape === shape { return plan }
    let plan = plans[ObjectIdentifier(shape)] ?? makePlan(of: shape)
    lastPlan = plan
    return plan
  }

  private func makePlan(of shape: RecordShape) -> RecordPlan {
    let schema = schema(of: shape.typeName)
    let isExternal = schema.map { schema in
      shape.place(of: Self.representationKey) != nil && !schema.isEnumeration
        && !schema.fields.contains { ([$0.key] + $0.formerly).contains(Self.representationKey) }
    }
    let plan = RecordPlan(shape: shape, schema: schema, isExternal: isExternal ?? false)
    if let version = shape.modelVersion, let schema, version > schema.modelVersion { metNewer = true }
    // Hostile data can have any number of shapes.
    if plans.count < 1024 { plans[ObjectIdentifier(shape)] = plan }
    return plan
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

/// How records of one shape are decoded: with the name of their model and without nulls.
private final class RecordPlan {
  let shape: RecordShape
  let schema: ModelSchema?
  /// Whether the records have Mantle's old external representation.
  let isExternal: Bool
  /// Whether the records are values of a model that is not a class.
  let isInlined: Bool
  /// The shape with the model's name.
  private let named: RecordShape
  /// The shapes without nulls, by the bit mask of the nulls' indices.
  @exclusivity(unchecked) private var others: [UInt64: RecordShape] = [:]

  init(shape: RecordShape, schema: ModelSchema?, isExternal: Bool) {
    self.shape = shape
    self.schema = schema
    self.isExternal = isExternal
    isInlined = schema.map { !$0.isObject && !isExternal } ?? false
    named = schema.map { shape.named($0.name, version: shape.modelVersion) } ?? shape
  }

  /// Gives a record the name of its model, and removes its nulls.
  @inline(__always)
  func nameWithoutNulls(_ record: inout ModelRecord) {
    var nulls: UInt64 = 0
    for index in record.values.indices where record.values[index].isNull { nulls |= 1 << UInt64(index & 63) }
    record.shape = nulls == 0 ? named : removeNulls(nulls, of: &record.values)
  }

  /// - Returns: the shape of the remaining fields.
  @inline(never)
  private func removeNulls(_ nulls: UInt64, of values: inout [ArchiveValue]) -> RecordShape {
    // Only 64 indices fit into the mask. Wider records are rare.
    let isKept = values.count <= 64
    if isKept, let known = others[nulls] {
      values.removeAll { $0.isNull }
      return known
    }
    let keys = zip(named.keys, values).compactMap { $1.isNull ? nil : $0 }
    let shape = RecordShape(
      typeName: named.typeName, modelVersion: named.modelVersion, keys: keys, levels: named.levels)
    if isKept, others.count < 256 { others[nulls] = shape }
    values.removeAll { $0.isNull }
    return shape
  }
}
