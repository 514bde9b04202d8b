/// Puts the result of a merge into the object, and into objects that it refers to: all of it, or nothing.
struct MergeCommit {
  let graph: MergeGraph
  let linking: ObjectLinking
  let validates: Bool
  /// Whether models are finished and validated.
  let runsHooks: Bool
  /// The number of the root where it is an object.
  let rootNumber: Int?

  /// What the models' own code made of fields when they were finished.
  struct Finished {
    let number: Int?
    let before: ModelRecord
    let after: ModelRecord
  }

  /// - Parameters:
  ///   - target: the root.
  ///   - before: its fields as they were.
  ///   - mustAdopt: whether fields count as changed that compare as equal.
  /// - Returns: the fields of the root as they are, and what models changed when they were finished.
  func run<M: VersionedModel>(
    _ target: inout M, _ before: ModelRecord, mustAdopt: Bool
  ) throws -> (after: ModelRecord, finished: [Finished]) {
    guard case .record(let values) = linking.root else {
      throw ArchiveError(.mergeFailed, "the result is no model", typeName: M.schema.name)
    }
    try makeAdditions()
    var undo: [(number: Int, record: ModelRecord)] = []
    var finished: [Finished] = []
    do {
      let news = linking.additions.indices.map { firstAddition + $0 }
      for update in linking.updates {
        undo.append((update.number, update.before))
        try set(update.number, update.record, update.before, in: unfinished)
      }
      var result = try made(M.self, values, in: unfinished)
      var after = values
      if runsHooks {
        // Hooks and rules see every object as it will be.
        for update in linking.updates {
          let record = try set(update.number, update.record, update.before, in: finishing)
          if !record.isSame(as: update.record) {
            finished.append(Finished(number: update.number, before: update.record, after: record))
          }
        }
        for (number, addition) in zip(news, linking.additions) {
          try set(number, addition.record, addition.record, in: finishing)
        }
        result = try made(M.self, values, in: finishing)
        after = try result.shallowRecord(graph.referenced)
        if !after.isSame(as: values) { finished.append(Finished(number: rootNumber, before: values, after: after)) }
      }
      try checkConstants(of: M.schema, before, after)
      if mustAdopt || !after.isSame(as: before) { try target.adoptFields(of: result) }
      return (after, finished)
    } catch {
      // What was set is set back, whatever else goes wrong: an object that took new fields takes its old ones.
      for step in undo.reversed() { try restore(step.number, step.record) }
      throw error
    }
  }

  private var firstAddition: Int { graph.referenced.objects.count - linking.additions.count }

  private var unfinished: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
  }

  private var finishing: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, validates: validates, collectsFailures: true)
  }

  /// Makes the objects that are new here; fields that refer to one made later wait for it.
  private func makeAdditions() throws {
    guard !linking.additions.isEmpty else { return }
    let table = ObjectTable(graph.referenced, adding: linking.additions.count)
    let context = unfinished
    func make<M: VersionedModel>(_ type: M.Type, _ record: ModelRecord) throws -> M {
      context.objects = table
      let unknown = M.schema.keepsUnknownFields ? M.schema.unknownFields(of: record) : UnknownFields()
      return try M.make(
        slots: M.schema.allKeys.map { record[$0] }, unknownFields: unknown, in: context, isObjectFrame: true)
    }
    var objects: [any VersionedModel] = []
    for addition in linking.additions {
      do {
        let object = try make(addition.type, addition.record)
        table.append(object)
        objects.append(object)
      } catch { throw Self.failure(error, addition.type.schema) }
    }
    context.objects = table
    try table.setWaiting(in: context)
    for object in objects { _ = graph.referenced.number(of: object) }
  }

  private func made<M: VersionedModel>(_ type: M.Type, _ values: ModelRecord, in context: DecodingContext) throws -> M {
    try Self.made(type, values, graph, in: context)
  }

  /// Makes a model of merged values.
  static func made<M: VersionedModel>(
    _ type: M.Type, _ values: ModelRecord, _ graph: MergeGraph, in context: DecodingContext
  ) throws -> M {
    do {
      let model = try graph.make(M.self, values, in: context)
      try context.checkFailures(of: model)
      return model
    } catch { throw failure(error, M.schema) }
  }

  private static func failure(_ error: any Error, _ schema: ModelSchema) -> ArchiveError {
    if let error = error as? ArchiveError, error.code == .invalid { return error }
    return ArchiveError(
      .mergeFailed, "a merged value is not what the field holds", path: (error as? ArchiveError)?.codingPath ?? [],
      typeName: schema.name, underlying: error)
  }

  /// Gives an object new fields.
  ///
  /// - Returns: what they are then.
  @discardableResult
  private func set(_ number: Int, _ values: ModelRecord, _ before: ModelRecord, in context: DecodingContext) throws
    -> ModelRecord
  {
    func set<M: VersionedModel>(_ object: M) throws -> ModelRecord {
      var target = object
      let result = try made(M.self, values, in: context)
      let after = context.finishesModels ? try result.shallowRecord(graph.referenced) : values
      try checkConstants(of: M.schema, before, after)
      try target.adoptFields(of: result)
      return after
    }
    return try set(graph.referenced.objects[number].dynamicModel)
  }

  private func restore(_ number: Int, _ record: ModelRecord) throws {
    func restore<M: VersionedModel>(_ object: M) throws {
      var target = object
      try target.adoptFields(of: graph.make(M.self, record, in: unfinished))
    }
    try restore(graph.referenced.objects[number].dynamicModel)
  }

  private func checkConstants(of schema: ModelSchema, _ before: ModelRecord, _ after: ModelRecord) throws {
    for field in schema.fields where field.isConstant {
      let (old, new) = (before[field.key] ?? .null, after[field.key] ?? .null)
      // A constant may refer to another object here that stands for the same one; it cannot be set, and stays.
      if !old.isSame(as: new, linking.canonical) {
        throw ArchiveError(
          .mergeFailed, "a constant of an object cannot change; declare it with var or merge it with keepLocal",
          path: [.key(field.key)], typeName: schema.name)
      }
    }
  }
}

extension ModelRecord {
  /// Whether two records are the same: what is not a number is the same as itself.
  func isSame(as other: ModelRecord) -> Bool { Value.record(self).isSame(as: .record(other)) }
}
