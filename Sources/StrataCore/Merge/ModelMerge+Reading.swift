import Foundation

extension ModelMerge {
  /// Reads what comes in, and the base.
  mutating func read(_ source: MergeSource, _ base: (any VersionedModel)?, _ json: JSONReading) throws {
    let jsonContext = DecodingContext(source: .json, finishesModels: false)
    jsonContext.json = json
    try readBase(base)
    switch source.form {
    case .model(let model): try read(model.dynamicModel)
    case .text(let text):
      server = try part(PartText(reading: json).value(of: text, for: M.self), in: jsonContext)
    case .json(let value): server = try part(value, in: jsonContext)
    case .mergePatch(let data):
      let patch = try PartText(reading: json).value(of: data, for: M.self)
      guard patch.objectValue != nil else {
        throw ArchiveError.mismatch(expected: "a merge patch that is an object", found: patch.kind).inType(schema.name)
      }
      try read(patch: { JSONMergePatch.apply(patch, to: $0) }, of: base, addsNulls: true, in: jsonContext)
    case .patch(let patch): try read(patch: { try patch.applied(to: $0) }, of: base, in: jsonContext)
    case .archive(let data): try read(archive: ArchiveDecoder().decodeValue(from: data))
    case .record(let record): try read(archive: .record(record))
    }
  }

  private mutating func part(
    _ value: Value, since before: Value? = nil, addsNulls: Bool = false, in context: DecodingContext
  ) throws -> Value {
    incoming.hasParts = true
    return try PartReader(graph, context, addsNulls: addsNulls).read(M.self, value, since: before)
  }

  private mutating func read(_ model: any VersionedModel) throws {
    incoming.isWhole = true
    let type = Swift.type(of: model)
    source = model is M ? model : nil
    if type.isSubtype(of: M.self) || M.isSubtype(of: type) {
      server = try root(model)
    } else {
      let record = try model.shallowRecord(graph.referenced)
      server = try part(
        .record(record), in: DecodingContext(source: .merge, includesExcluded: true, finishesModels: false))
    }
  }

  func root(_ model: any VersionedModel) throws -> Value {
    func root<Root: VersionedModel>(_ model: Root) throws -> Value {
      Root.schema.isObject
        ? .reference(graph.referenced.number(of: model)) : .record(try model.shallowRecord(graph.referenced))
    }
    return try root(model)
  }

  private mutating func read(archive value: Value) throws {
    switch value {
    case .record, .graph: break
    default: throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind)
    }
    server = try part(value, in: DecodingContext(includesExcluded: true, finishesModels: false))
  }

  /// Reads what a patch changes: what is the same before and after is left alone, and what is gone is null.
  private mutating func read(
    patch: (Value) throws -> Value, of base: (any VersionedModel)?, addsNulls: Bool = false, in context: DecodingContext
  ) throws {
    incoming.removesAbsentKeys = true
    let origin = try base?.dynamicModel ?? remembered() ?? target
    let before = try JSONReader().read(origin.jsonData())
    let after = try patch(before)
    guard case .object = after else {
      throw ArchiveError(
        .mergeFailed, "the patch makes something else than an object of the model", typeName: schema.name)
    }
    server = try part(after, since: before, addsNulls: addsNulls, in: context)
  }

  /// The model that the server had; what it did not say is as it is here.
  private func remembered() throws -> M? {
    guard let base else { return nil }
    var catalog = SchemaCatalog()
    M.collectSchemas(into: &catalog)
    var merger = ValueMerger(
      catalog: catalog, graph: graph, options: options, isBaseKnown: false, incoming: .init(hasParts: true))
    return try merger.realizedModel(M.self, base, over: before)
  }

  private mutating func readBase(_ known: (any VersionedModel)?) throws {
    if let known {
      base = try root(known.dynamicModel)
      return
    }
    guard let state, let record = state.base else { return }
    do {
      let reader = PartReader(graph, DecodingContext(includesExcluded: true, finishesModels: false))
      base = try state.read(record, M.self, reader)
    } catch {
      throw ArchiveError(
        .mergeFailed, "what the server had when it was merged last cannot be read today", typeName: schema.name,
        underlying: error)
    }
    isBaseRemembered = true
    guard let record = try base.flatMap(fields) else { return }
    isBaseWhole = schema.archivedKeys.allSatisfy { record[$0] != nil || $0 == schema.mergeStateKey }
  }

  func fields(_ value: Value) throws -> ModelRecord? {
    switch value {
    case .reference(let number): try graph.record(number)
    case .record(let record): record
    default: nil
    }
  }
}
