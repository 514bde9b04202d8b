import Foundation

/// What comes in for models that are kept elsewhere than in memory, as rows are: model by model, the values of the fields
/// that it says something about.
///
/// Whoever asks decides which fields lead to other models; those are values that are asked about in turn. What they name as
/// one object has one number.
package final class FieldParts {
  /// What one model says.
  package struct Part {
    package let type: any VersionedModel.Type
    /// The values of the fields in the order of the schema, not yet read; `nil` for what is absent.
    package let slots: [ArchiveValue?]
    /// The same, as they were found.
    package let raw: [ArchiveValue?]
    /// What tells an object from others; `nil` for a value.
    package let number: Int?
    /// The JSON of a model whose document names no class; `nil` for any other source.
    package var json: ArchiveValue?
  }

  /// What came in: a model, or an array of models.
  package let root: ArchiveValue
  /// Whether it is whole models, which have something to say about each of their fields.
  package let isWhole: Bool
  private let referenced = ReferencedObjects()
  private let graph = MergeGraph()
  private let reader: PartReader
  private var objects: [ArchiveValue] = []
  private var types: [String: any VersionedModel.Type] = [:]

  /// - Parameters:
  ///   - source: a model, a list of models, JSON, an archive or a record; a list of these is a list of models.
  ///   - adapter: how JSON holds them.
  ///   - path: where in a JSON document they are.
  /// - Throws: ``ArchiveError`` as ``MergeSource`` says of each form; `mergeFailed` for a patch, which is one of a model.
  package init<M: VersionedModel>(
    _ source: MergeSource, of type: M.Type, by adapter: JSONAdapter<M>? = nil, at path: JSONPath? = nil
  ) throws {
    var isWhole = false
    var kind = DecodingSource.archive
    var root: ArchiveValue
    switch source.form {
    case .model(let model):
      (isWhole, kind) = (true, .merge)
      root = try model.dynamicModel.archivedValue(includingExcluded: true, role: .referenced(referenced))
    case .list(let list):
      (isWhole, kind) = (true, .merge)
      root = try list.archivedValue(includingExcluded: true, role: .referenced(referenced))
    case .text(let text):
      kind = .json
      root = try JSONReader.refusingDuplicates(limits: adapter?.limits ?? ArchiveLimits()).read(text)
    case .json(let value): (kind, root) = (.json, value)
    case .archive(let data): root = try ArchiveDecoder().decodeValue(from: data)
    case .record(let record): root = .record(record)
    case .mergePatch, .patch:
      throw ArchiveError(
        .mergeFailed, "a patch is one of a model in memory; give the JSON of what is there", typeName: M.schema.name)
    }
    if kind == .json, let path {
      guard let found = try path.value(in: root) else {
        throw ArchiveError(.missingValue, "the document has nothing at the path \(path)", typeName: M.schema.name)
      }
      root = found
    }
    self.isWhole = isWhole
    let context =
      kind == .json
      ? adapter?.context(.first, finishesModels: false) ?? DecodingContext(source: .json, finishing: .never)
      : DecodingContext(source: kind, includesExcluded: true, finishing: .never)
    if case .graph(let graph) = root {
      types = try context.objectTypes(of: M.self)
      objects = graph.objects
      root = graph.root
    }
    reader = PartReader(graph, context, isIncoming: true)
    self.root = root
  }

  /// What a value says about a model.
  ///
  /// - Parameters:
  ///   - type: the type of the field that holds it; an object may be of a subclass.
  ///   - isNamed: whether the model is of the class `type`, so that the document is not asked for the class.
  /// - Throws: ``ArchiveError`` where it is no such model.
  package func part(_ type: any VersionedModel.Type, _ value: ArchiveValue, isNamed: Bool = false) throws -> Part {
    if isWhole { return try modelPart(type, value) }
    // A record in JSON is what a transformer made.
    if reader.context.source == .json, value.recordValue == nil {
      var (type, value, json) = (type, value, ArchiveValue?.some(value))
      if !isNamed, case .object(let object) = value,
        let (own, rest) = try type.schema.jsonHierarchy()?.tagged(object, in: reader.context.json)
      {
        (type, value, json) = (own, .object(rest), nil)
      }
      let plan = reader.context.json.plan(of: type.schema)
      let slots = try plan.read(value, in: reader.context, suppliesMissing: false)
      return Part(type: type, slots: slots.values, raw: plan.found(in: value), number: nil, json: json)
    }
    var (value, number): (ArchiveValue, Int?) = (value, nil)
    if case .reference(let found) = value {
      guard objects.indices.contains(found) else {
        throw ArchiveError(.damaged, "a reference names an object that does not exist")
      }
      (value, number) = (objects[found], found)
    }
    guard case .record(let record) = value else {
      throw ArchiveError.mismatch(expected: "a record of \(type.schema.name)", found: value.kind)
    }
    let own = types[record.typeName] ?? type
    guard own.isSubtype(of: type) else {
      throw ArchiveError.mismatch(
        expected: "an object of \(type.schema.name)", found: "an object of \(own.schema.name)")
    }
    let fields = try own.schema.upgradedFields(of: record, in: reader.context).values
    let slots = own.schema.fields.enumerated().map { place, field in
      // An archive leaves out an object that nothing else in it writes.
      fields[place].flatMap { $0.isNull && field.archive == .conditional ? nil : $0 }
    }
    return Part(type: own, slots: slots, raw: slots, number: number)
  }

  private func modelPart(_ type: any VersionedModel.Type, _ value: ArchiveValue) throws -> Part {
    var (type, number): (any VersionedModel.Type, Int?) = (type, nil)
    let record: ModelRecord
    switch value {
    case .reference(let found):
      let object = referenced.objects[found].dynamicModel
      (type, number) = (Swift.type(of: object), found)
      record = try object.shallowRecord(referenced)
    case .record(let found): record = found
    default: throw ArchiveError.mismatch(expected: "a record of \(type.schema.name)", found: value.kind)
    }
    let slots: [ArchiveValue?] = type.schema.fields.enumerated().map { place, field in
      let value = record.shape === type.schema.fullShape ? record.values[place] : record[field.key]
      // Where nobody knows whether it was cleared, an object without an owner says nothing about it.
      return value.flatMap { $0.isNull && field.archive == .conditional ? nil : $0 }
    }
    return Part(type: type, slots: slots, raw: slots, number: number)
  }

  /// The value of a field in its type; `nil` where it says nothing: for a case that this program does not know, where the field
  /// asks for its default. Models inside may lack keys.
  ///
  /// - Throws: ``ArchiveError`` where it is not what the field holds; the path begins with the key of the field.
  package func value(of slot: ArchiveValue, _ field: FieldInfo, in schema: ModelSchema) throws -> ArchiveValue? {
    guard !isWhole else { return slot }
    do { return try reader.value(of: field, slot, nil) } catch {
      let plan = reader.context.source == .json ? reader.context.json.plan(of: schema) : nil
      let entry = plan?.entries.first { $0.field.key == field.key }
      let known = ArchiveError.wrap(error)
      throw (entry?.naming(known, remedyFor: slot) ?? known).prefixed(by: .key(field.key)).inType(schema.name)
    }
  }

  /// What the mapping of JSON supplies for a field that is absent, where the model is new; `nil` where it supplies nothing.
  package func missingValue(of place: Int, in schema: ModelSchema) throws -> ArchiveValue? {
    guard reader.context.source == .json else { return nil }
    let missing = reader.context.json.plan(of: schema).entries[place].json.missing
    return try missing.flatMap { try value(of: $0, schema.fields[place], in: schema) }
  }

  /// Where JSON holds a field, as text; `nil` where the source is not JSON.
  package func path(of place: Int, in schema: ModelSchema) -> String? {
    guard reader.context.source == .json else { return nil }
    let paths = reader.context.json.plan(of: schema).entries[place].paths
    return paths.map(\.description).joined(separator: ", ")
  }
}

extension JSONPlan {
  /// The values at the places of the fields, before anything is done with them.
  fileprivate func found(in json: ArchiveValue) -> [ArchiveValue?] {
    entries.map { entry in
      guard entry.json.isRead else { return nil }
      if case .entireObject = entry.source { return json }
      // What cannot be followed was refused where the field was read.
      return entry.paths.lazy.compactMap { try? $0.value(in: json) }.first
    }
  }
}

/// Merges what comes in with fields that are kept elsewhere than in memory, without the objects that they lead to.
package struct FieldMerging {
  private let schema: ModelSchema
  private let catalog: SchemaCatalog
  private let isWhole: Bool
  /// Whether what comes in counts wherever it is there, so that nothing has to be merged: no field asked for has a policy, and the model
  /// no code of its own.
  package let isPlain: [Bool]
  package let hasHooks: Bool

  /// - Parameter isWhole: whether whole models come in.
  package init(_ type: any VersionedModel.Type, isWhole: Bool) {
    schema = type.schema
    self.isWhole = isWhole
    var catalog = SchemaCatalog()
    type._collectSchemas(into: &catalog)
    self.catalog = catalog
    let traits = schema.mergeTraits
    hasHooks = traits.hooks != nil
    var isRuled = false
    if let rule = traits.rules?.policy.rule, case .automatic = rule {} else { isRuled = traits.rules != nil }
    isPlain = schema.fields.map { field in
      if field.shape.holdsDictionary { return false }
      guard TypeShape.archivable(field.type)?._rootSchema == nil else { return false }
      switch field.merge.rule {
      case .automatic: return !isRuled
      case .server: return true
      default: return false
      }
    }
  }

  /// The fields with what came in merged into them; what lacks there is left alone.
  ///
  /// - Throws: ``ArchiveError`` where a policy or a hook fails.
  package func merged(_ server: ModelRecord, into local: ModelRecord) throws -> ModelRecord {
    var merger = ValueMerger(
      catalog: catalog, options: MergeOptions(), isBaseKnown: false,
      incoming: .init(isWhole: isWhole, hasParts: !isWhole, hasWholeLists: true))
    return try merger.mergeFields(
      nil, isBaseKnown: false, local, server, schema: schema, inherited: .automatic)
  }

  /// What came in merged with what was changed here since a base, field by field.
  ///
  /// - Parameters:
  ///   - base: what both sides started from; its fields are those that are merged.
  /// - Returns: the fields, and what no rule decided.
  /// - Throws: ``ArchiveError`` where a policy or a hook fails.
  package func merged(
    _ server: ModelRecord, into local: ModelRecord, base: ModelRecord
  ) throws -> (record: ModelRecord, conflicts: [MergeReport.Entry]) {
    var merger = ValueMerger(
      catalog: catalog, options: MergeOptions(), isBaseKnown: true,
      incoming: .init(isWhole: isWhole, hasParts: !isWhole))
    let record = try merger.mergeFields(
      base, isBaseKnown: true, local, server, schema: schema, inherited: .automatic)
    return (record, merger.notes.filter { $0.outcome == .conflict }.map(\.entry))
  }

  /// A value that is new, with the defaults of models inside for what it lacks.
  ///
  /// - Throws: ``ArchiveError`` with the code `missingValue` where a key is absent and has no default.
  package func completed(_ value: ArchiveValue) throws -> ArchiveValue {
    guard !isWhole else { return value }
    var merger = ValueMerger(
      catalog: catalog, options: MergeOptions(), isBaseKnown: false, incoming: .init(isWhole: false, hasParts: true))
    return try merger.completed(value, over: [])
  }

  /// The rule of a field that leads to other models: its own, or the one of its type.
  private func relationRule(_ field: FieldInfo) -> MergePolicy.Rule {
    if case .automatic = field.merge.rule { return schema.mergeTraits.rules?.policy.rule ?? .automatic }
    return field.merge.rule
  }

  /// Whether merging leaves a field alone that leads to other models, where there is something.
  package func keepsRelation(_ field: FieldInfo) -> Bool {
    switch relationRule(field) {
    case .keepLocal, .local: true
    default: false
    }
  }

  /// Whether merging takes what comes in for a field that leads to other models, which are merged each by itself.
  package func takesRelation(_ field: FieldInfo) -> Bool {
    switch relationRule(field) {
    case .automatic, .server, .recursive: true
    case .byID(_, let unlisted): unlisted != .keep
    default: false
    }
  }
}
