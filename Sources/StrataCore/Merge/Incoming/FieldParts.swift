import Foundation

/// Splits incoming data into one part per model, for merging into models that are not in memory, such as database rows.
///
/// The caller chooses which fields are relations and calls `part` for each related value. If several references refer to the same object,
/// their parts have the same object number.
package final class FieldParts {
  /// The fields of one model that the incoming data contains.
  package struct Part {
    package let type: any VersionedModel.Type
    /// The values of the fields in the order of the schema, not yet decoded; `nil` for an absent field.
    package let slots: [ArchiveValue?]
    /// The indices of the fields whose lists had invalid elements that were skipped.
    package var skipped: Set<Int> = []
    /// The JSON that the fields were read from; `nil` if the source is not JSON.
    fileprivate var source: ArchiveValue?
    /// The object number, which is the same for all references to one object; `nil` if the data does not refer to the model by a reference.
    package var number: Int?
    /// The JSON of the model if the document has no class tag for it; otherwise `nil`. If the matching object is an instance of a subclass,
    /// the fields of the subclass are read from this JSON.
    package var json: ArchiveValue?
  }

  /// The incoming value: a model, or an array of models.
  package let root: ArchiveValue
  /// Whether the source consists of models in memory, which have a value for every field.
  package let isWhole: Bool
  private let referenced = ReferencedObjects()
  private let graph = MergeGraph()
  private let reader: PartReader
  private var objects: [ArchiveValue] = []
  private var types: [String: any VersionedModel.Type] = [:]

  /// Reads the source.
  ///
  /// - Parameters:
  ///   - source: a model, a list of models, JSON, an archive or a record. JSON and archives may hold a list of models.
  ///   - adapter: the mapping from JSON.
  ///   - path: the path of the models in a JSON document.
  /// - Throws: ``ArchiveError`` as documented at ``MergeSource`` for each form; `mergeFailed` for a patch, because patches apply only to
  ///   models in memory; `missingValue` if the document has no value at the path.
  package init<M: VersionedModel>(
    _ source: MergeSource, of type: M.Type, by adapter: JSONAdapter<M>? = nil, at path: ValuePath? = nil
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
        .mergeFailed,
        "a patch can be applied only to a model in memory; pass the patched JSON document instead",
        typeName: M.schema.name
      )
    }
    if kind == .json, let path {
      guard let found = try path.value(in: root) else {
        throw ArchiveError(.missingValue, "the document has no value at the path \(path)", typeName: M.schema.name)
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

  /// Reads a value as a model and returns the fields that the value contains.
  ///
  /// - Parameters:
  ///   - type: the type of the field that holds the value. An object may be an instance of a subclass.
  ///   - isNamed: whether the caller knows that the class is `type`, so that a class tag in the document is not read.
  /// - Throws: ``ArchiveError`` if the value is not a model of this type.
  package func part(_ type: any VersionedModel.Type, _ value: ArchiveValue, isNamed: Bool = false) throws -> Part {
    if isWhole { return try modelPart(type, value) }
    // JSON has no records. In a JSON source, a record can only come from a transformer, and it is read below like a record in an archive.
    if reader.context.source == .json, value.recordValue == nil {
      var (type, value, json) = (type, value, ArchiveValue?.some(value))
      if !isNamed, case .object(let object) = value,
        let (own, rest) = try type.schema.jsonHierarchy()?.tagged(object, in: reader.context.json)
      {
        (type, value, json) = (own, .object(rest), nil)
      }
      let plan = reader.context.json.plan(of: type.schema)
      let slots = try plan.read(value, in: reader.context, suppliesMissing: false)
      return Part(type: type, slots: slots.values, skipped: slots.skipped, source: value, json: json)
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
      // An archive contains null for a conditional reference if it does not contain the referenced object. Such a null does not mean that
      // the reference was cleared, so it is treated as absent.
      fields[place].flatMap { $0.isNull && field.archive == .conditional ? nil : $0 }
    }
    return Part(type: own, slots: slots, number: number)
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
      // A null conditional reference is treated as absent, because without a base it is unknown whether the reference was cleared.
      return value.flatMap { $0.isNull && field.archive == .conditional ? nil : $0 }
    }
    return Part(type: type, slots: slots, number: number)
  }

  /// Decodes a value as the type of its field. Models inside the value may lack keys. Returns `nil` for an unknown enumeration case if the
  /// field falls back to its default.
  ///
  /// - Throws: ``ArchiveError`` if the value does not fit the field. The path of the error begins with the key of the field.
  package func value(of slot: ArchiveValue, _ field: FieldInfo, in schema: ModelSchema) throws -> ArchiveValue? {
    guard !isWhole else { return slot }
    do { return try reader.value(of: field, slot, nil).value } catch {
      let plan = reader.context.source == .json ? reader.context.json.plan(of: schema) : nil
      let entry = plan?.entries.first { $0.field.key == field.key }
      let known = ArchiveError.wrap(error)
      throw (entry?.naming(known, remedyFor: slot) ?? known).prefixed(by: .key(field.key)).inType(schema.name)
    }
  }

  /// Returns the value that the JSON mapping supplies for an absent field of a new model; `nil` if it supplies none.
  package func missingValue(of place: Int, in schema: ModelSchema) throws -> ArchiveValue? {
    guard reader.context.source == .json else { return nil }
    let missing = reader.context.json.plan(of: schema).entries[place].json.missing
    return try missing.flatMap { try value(of: $0, schema.fields[place], in: schema) }
  }

  /// Returns the values of the fields as they are in the source, before the JSON mapping transforms them.
  package func raw(of part: Part) -> [ArchiveValue?] {
    part.source.map { reader.context.json.plan(of: part.type.schema).found(in: $0) } ?? part.slots
  }

  /// Returns the JSON paths of a field as text; `nil` if the source is not JSON.
  package func path(of place: Int, in schema: ModelSchema) -> String? {
    guard reader.context.source == .json else { return nil }
    let paths = reader.context.json.plan(of: schema).entries[place].paths
    return paths.map(\.description).joined(separator: ", ")
  }
}

extension JSONPlan {
  /// Returns the values at the JSON paths of the fields, before the mapping transforms those values.
  fileprivate func found(in json: ArchiveValue) -> [ArchiveValue?] {
    entries.map { entry in
      guard entry.json.isRead else { return nil }
      if case .entireObject = entry.source { return json }
      // A path that cannot be followed is skipped here, because reading the field has already thrown the error.
      return entry.paths.lazy.compactMap { try? $0.value(in: json) }.first
    }
  }
}

/// Merges incoming fields into a model that is not in memory. Related objects are not merged.
package struct FieldMerging {
  private let schema: ModelSchema
  private let catalog: SchemaCatalog
  private let isWhole: Bool
  /// For each field, whether an incoming value simply replaces the local one. Such a field contains no models or dictionaries.
  /// In addition, its policy is `serverWins`, or neither the field nor the model declares a policy. Merge hooks are not considered (see
  /// `hasHooks`).
  package let isPlain: [Bool]
  package let hasHooks: Bool

  /// - Parameter isWhole: whether the source consists of models in memory, which have a value for every field.
  package init(_ type: any VersionedModel.Type, isWhole: Bool) {
    schema = type.schema
    self.isWhole = isWhole
    catalog = SchemaCatalog(of: type)
    let traits = schema.mergeTraits
    hasHooks = traits.hooks != nil
    isPlain = schema.fields.map { field in
      guard !field.shape.holdsDictionary, TypeShape.archivable(field.type)?._rootSchema == nil else { return false }
      switch field.merge.rule {
      case .automatic: return traits.rules?.policy.isAutomatic ?? true
      case .server: return true
      default: return false
      }
    }
  }

  /// Merges the incoming fields into the local ones. Absent fields are unchanged.
  ///
  /// - Parameters:
  ///   - base: the state that both sides started from; `nil` if it is not known. A field that is absent from the base is merged as if the
  ///     base were not known.
  /// - Returns: the merged fields, and the conflicts that no policy resolved.
  /// - Throws: ``ArchiveError`` if a policy or a hook fails.
  package func merged(
    _ server: ModelRecord, into local: ModelRecord, base: ModelRecord? = nil
  ) throws -> (record: ModelRecord, conflicts: [MergeReport.Entry]) {
    var merger = merger(isBaseKnown: base != nil)
    let record = try merger.mergeFields(
      base, isBaseKnown: base != nil, local, server, schema: schema, inherited: .automatic)
    return (record, merger.notes.filter { $0.outcome == .conflict }.map(\.entry))
  }

  /// Returns the value with the absent keys of all models inside it set to their default values.
  ///
  /// - Throws: ``ArchiveError`` with the code `missingValue` if a key is absent and has no default.
  package func completed(_ value: ArchiveValue) throws -> ArchiveValue {
    var merger = merger(isBaseKnown: false)
    return try merger.completed(value, over: [])
  }

  private func merger(isBaseKnown: Bool) -> ValueMerger {
    ValueMerger(
      catalog: catalog, options: MergeOptions(), isBaseKnown: isBaseKnown,
      incoming: .init(isWhole: isWhole, hasParts: !isWhole, hasWholeLists: !isBaseKnown))
  }

  /// Returns the policy rule of a relation: the field's rule, or the type's rule if the field declares none.
  private func relationRule(_ field: FieldInfo) -> MergePolicy.Rule {
    if case .automatic = field.merge.rule { return schema.mergeTraits.rules?.policy.rule ?? .automatic }
    return field.merge.rule
  }

  /// Whether a merge keeps the existing value of a relation.
  package func keepsRelation(_ field: FieldInfo) -> Bool {
    switch relationRule(field) {
    case .keepLocal, .local: true
    default: false
    }
  }

  /// Whether a merge uses the incoming value of a relation. The models that the value refers to are merged separately.
  package func takesRelation(_ field: FieldInfo) -> Bool {
    switch relationRule(field) {
    case .automatic, .server, .recursive: true
    case .byID(_, let unlisted): unlisted != .keep
    default: false
    }
  }
}
