import Foundation

extension Merge {
  mutating func read(_ source: MergeSource, _ base: (any Archivable)?, _ json: JSONReading) throws {
    let type = snapshot.type
    let jsonContext = DecodingContext(source: .json, finishing: .never)
    jsonContext.json = json
    jsonContext.triesRules = options.validates
    try readBase(base)
    switch source.form {
    case .model(let model): try read(model.dynamicModel)
    case .list(let list):
      incoming.isWhole = true
      server = try graph.value(of: list)
    case .text(let text):
      let value = try PartText(reading: json, classes: classes).value(of: text, for: type)
      do { server = try part(value, in: jsonContext) } catch {
        throw JSONReader.refusingDuplicates(limits: json.limits).located(error, in: text)
      }
    case .json(let value): server = try part(value, in: jsonContext)
    case .mergePatch(let data):
      let patch = try PartText(reading: json, classes: classes).value(of: data, for: type)
      guard patch.objectValue != nil else {
        throw ArchiveError.mismatch(
          expected: "a merge patch (a JSON object)", found: patch.kind
        ).inType(schema.name)
      }
      try read(patch: { JSONMergePatch.apply(patch, to: $0) }, of: base, addsNulls: true, in: jsonContext)
    case .patch(let patch): try read(patch: { try patch.applied(to: $0) }, of: base, in: jsonContext)
    case .archive(let data): try read(archive: ArchiveDecoder().decodeValue(from: data))
    case .record(let record): try read(archive: .record(record))
    }
  }

  /// Returns the distinct classes of all objects that are reachable from the local model or the base.
  private func classes() throws -> [any VersionedModel.Type] {
    let roots = [snapshot.root, base].compactMap(\.self).flatMap(\.references)
    let numbers = try Postorder.numbers(from: roots) { ArchiveValue.record(try graph.record($0)).references }
    return Array(
      Dictionary(numbers.map(graph.type).map { (ObjectIdentifier($0), $0) }, uniquingKeysWith: { $1 }).values)
  }

  private mutating func part(
    _ value: ArchiveValue, since before: ArchiveValue? = nil, addsNulls: Bool = false, in context: DecodingContext
  ) throws -> ArchiveValue {
    incoming.hasParts = true
    let reader = PartReader(graph, context, addsNulls: addsNulls, isIncoming: true)
    if context.source == .json {
      incoming.isJSON = true
      graph.setReading(context.json, missingValue: reader.missingValue)
    }
    return try reader.read(snapshot.type, value, since: before)
  }

  private mutating func read(_ model: any VersionedModel) throws {
    incoming.isWhole = true
    let type = Swift.type(of: model)
    guard let own = TypeShape.model(snapshot.type), type.isSubtype(of: own) || own.isSubtype(of: type) else {
      server = try part(.record(model.shallowRecord(graph.referenced)), in: .unfinishedMerge)
      return
    }
    if type.isSubtype(of: own) { source = model }
    server = try graph.value(of: model)
  }

  private mutating func read(archive value: ArchiveValue) throws {
    switch value {
    case .record, .graph: break
    case .array where TypeShape.model(snapshot.type) == nil: break
    default: throw ArchiveError.mismatch(expected: "a record of \(schema.name)", found: value.kind)
    }
    server = try part(value, in: .mergedArchive)
  }

  /// Applies a patch to the JSON of the base, or of the local model if there is no base. The changes are then read as the server's value,
  /// in which unchanged values are absent and removed values are null.
  private mutating func read(
    patch: (ArchiveValue) throws -> ArchiveValue, of base: (any Archivable)?, addsNulls: Bool = false,
    in context: DecodingContext
  ) throws {
    incoming.removesAbsentKeys = true
    guard context.json === JSONReading.standard else {
      throw ArchiveError(
        .mergeFailed,
        "an adapter cannot merge a patch; apply the patch to the server's document, and merge the result with .json(…)",
        typeName: schema.name)
    }
    guard let origin = try (base as? any VersionedModel)?.dynamicModel ?? remembered() ?? model?.dynamicModel else {
      throw ArchiveError(.mergeFailed, "a patch can be applied only to a model", typeName: schema.name)
    }
    let before = try JSONReader().read(origin.jsonData())
    let after = try patch(before)
    guard case .object = after else {
      throw ArchiveError(.mergeFailed, "the patched document is not a JSON object", typeName: schema.name)
    }
    server = try part(after, since: before, addsNulls: addsNulls, in: context)
  }

  /// Returns the base in the model's ``MergeState``, which is the server's last known state, as a model. Fields that the base lacks get
  /// their local values.
  private func remembered() throws -> (any VersionedModel)? {
    guard let base, let type = TypeShape.model(snapshot.type),
      let before = try graph.fields(of: snapshot.root)
    else { return nil }
    var merger = ValueMerger(
      catalog: snapshot.catalog, graph: graph, options: options, isBaseKnown: false, incoming: .init(hasParts: true))
    return try merger.realizedModel(type, base, over: before)
  }

  /// Whether an element of a list has a ``MergeState`` with a base.
  private func remembersBase(_ element: ArchiveValue) throws -> Bool {
    // An object can belong to a subclass of the list's element type.
    let schema = if case .reference(let number) = element { graph.schema(number) } else { self.schema }
    guard let key = schema.mergeStateKey, let state = try graph.opened(element)[key] else { return false }
    return try MergeState.decode(from: state, in: DecodingContext()).base != nil
  }

  private mutating func readBase(_ known: (any Archivable)?) throws {
    guard let type = TypeShape.model(snapshot.type) else {
      base = try known.map { try graph.value(of: $0) }
      // Without a base, the merge would overwrite local edits that a merge of each element detects with the base in its ``MergeState``.
      if known == nil, try snapshot.root.arrayValue?.contains(where: remembersBase) ?? false {
        throw ArchiveError(
          .mergeFailed,
          "the elements of the list have MergeStates, whose bases a merge of a list does not use; pass the list as the "
            + "server last sent it as the base, or merge each element", typeName: schema.name)
      }
      return
    }
    state = try snapshot.state
    if let known {
      base = try graph.value(of: known)
      return
    }
    guard let state, let record = state.base else { return }
    do { base = try state.read(record, type, PartReader(graph, .mergedArchive)) } catch {
      throw ArchiveError(
        .mergeFailed, "the server's value from the last merge, which is recorded in the model, cannot be decoded",
        typeName: schema.name, underlying: error)
    }
    isBaseRemembered = true
    guard let record = try base.flatMap(graph.fields) else { return }
    isBaseWhole = schema.archivedKeys.allSatisfy { record[$0] != nil || $0 == snapshot.stateKey }
  }
}
