/// Commits the result of a merge: all changes, or none.
///
/// This is the only step that turns merged records back into models and runs their hooks and rules. Hooks and rules run on each changed or
/// new object after all objects have their new fields. They run on an object after the objects that it refers to, unless the references
/// form a cycle, and on the root last. All rules run, and every failure is reported with its path from the root.
struct MergeCommit {
  let graph: MergeGraph
  let linking: ObjectLinking
  /// The encoded root before the merge.
  let root: ArchiveValue
  /// The object number of the root; `nil` if the root is a struct, an enum or a list.
  let rootNumber: Int?
  let validates: Bool
  let runsHooks: Bool
  /// Whether the root's fields are replaced even if the new fields compare as equal to the old ones.
  let mustAdopt: Bool

  /// The fields of a model before and after its own code, such as a decoding hook, ran.
  struct Finished {
    /// The object number of a class instance; `nil` for a struct or an enum.
    let number: Int?
    /// The path from the root to a struct or an enum in a list. Empty for the root and for objects.
    var steps: [ValuePath.Component] = []
    let before: ModelRecord
    let after: ModelRecord
  }

  /// Creates the merged root if the root is a struct, an enum or a list. Hooks and rules run only if `finishesModels` is true in the
  /// context.
  typealias Make<Root> = (ArchiveValue, MergeCommit, DecodingContext) throws -> (root: Root, finished: [Finished])

  /// Returns the fields of the root after the merge and after the changes in `finished`; `nil` for a list.
  func rootFields(_ finished: [Finished]) -> ModelRecord? {
    if let last = finished.last(where: { $0.number == rootNumber && $0.steps.isEmpty }) { return last.after }
    if let rootNumber { return linking.updates.first { $0.number == rootNumber }?.record }
    return linking.root.recordValue
  }

  /// Changes all objects and the root, or throws an error and changes nothing.
  ///
  /// - Returns: the changes that the models' own code, such as decoding hooks, made to the merged fields.
  func run<Root: Archivable>(
    _ model: inout Root, make: Make<Root>, adopt: (inout Root, Root) throws -> Void
  ) throws -> [Finished] {
    if !linking.additions.isEmpty {
      try graph.makeObjects(linking.additions.map { ($0.type, $0.record) }, failure: Self.failure)
    }
    var undo: [(number: Int, record: ModelRecord)] = []
    var finished: [Finished] = []
    var result: Root?
    do {
      for update in linking.updates
      where update.number != rootNumber || mustAdopt || !update.record.isEqual(to: update.before) {
        undo.append((update.number, update.before))
        do { try set(update, update.record, in: .unfinishedMerge) } catch {
          throw located(error, update.number, model)
        }
      }
      // If there are changed or new objects, the root is first created without hooks. A value that does not fit its field then throws an
      // error before any hook runs.
      let hasObjects = !linking.updates.isEmpty || !linking.additions.isEmpty
      if rootNumber == nil, !runsHooks || hasObjects { result = try make(linking.root, self, .unfinishedMerge).root }
      if runsHooks {
        let context = DecodingContext(
          source: .merge, includesExcluded: true, finishing: .gathering(validates: validates))
        let unfinished = Dictionary(
          (linking.updates + newObjects).map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        for update in try finishingOrder(unfinished).compactMap({ unfinished[$0] }) {
          if update.number == rootNumber { undo.append((update.number, update.before)) }
          do {
            let after = try finish(update, in: context)
            // The report lists only changes to objects that existed before the merge, so new objects are skipped.
            if !after.isEqual(to: update.record), linking.isLocal(update.number) {
              finished.append(Finished(number: update.number, before: update.record, after: after))
            }
          } catch { throw located(error, update.number, result ?? model) }
        }
        if rootNumber == nil {
          let made = try make(linking.root, self, context)
          result = made.root
          finished += made.finished
        }
        try context.checkFailures(of: result ?? model)
      }
      if let result, mustAdopt || !finished.isEmpty || !linking.root.isEqual(to: root) { try adopt(&model, result) }
      return finished
    } catch {
      // Restores the old fields of all changed objects.
      for step in undo.reversed() {
        // An error is ignored: if the fields of an object cannot be replaced, the merge has not changed them, either. The original error is
        // thrown below.
        try? graph.set(step.record, of: step.number, in: .unfinishedMerge)
      }
      throw error
    }
  }

  // MARK: Objects

  /// The objects that the merge creates, as updates with all of their fields.
  private var newObjects: [ObjectLinking.Update] {
    zip(linking.firstAddition..., linking.additions).map { number, addition in
      .init(number: number, before: addition.record, record: addition.record)
    }
  }

  private func set(_ update: ObjectLinking.Update, _ fields: ModelRecord, in context: DecodingContext) throws {
    try checkConstants(of: graph.schema(update.number), update.before, fields)
    try graph.set(fields, of: update.number, in: context)
  }

  /// Decodes the merged fields as a new object, so that the model's hooks and rules run. The resulting fields are then copied to the
  /// existing object.
  private func finish(_ update: ObjectLinking.Update, in context: DecodingContext) throws -> ModelRecord {
    func finish<M: VersionedModel>(_ object: M) throws -> ModelRecord {
      let made = try graph.decode(M.self, from: update.record, in: context)
      let after = try made.shallowRecord(graph.referenced)
      try checkConstants(of: M.schema, update.before, after)
      guard update.number != rootNumber || mustAdopt || !after.isEqual(to: update.before) else { return after }
      var object = object
      try object.adoptFields(of: made)
      return after
    }
    return try finish(graph.referenced.objects[update.number].dynamicModel)
  }

  /// Returns the numbers of the objects in the order in which their hooks run: each object after the objects that it refers to, unless they
  /// form a cycle, and the root last.
  private func finishingOrder(_ updates: [Int: ObjectLinking.Update]) throws -> [Int] {
    var order = Postorder()
    func objects(from starts: [Int]) throws -> [Int] {
      try order.numbers(from: starts) { try ArchiveValue.record(updates[$0]?.record ?? graph.record($0)).references }
    }
    let reachable = try objects(from: linking.root.references)
    return try objects(from: updates.keys.sorted()) + reachable
  }

  private func checkConstants(of schema: ModelSchema, _ before: ModelRecord, _ after: ModelRecord) throws {
    for field in schema.fields where field.isConstant {
      // References to two local objects with the same identity count as equal, because a constant that refers to one cannot be changed to
      // refer to the other.
      if !(before[field.key] ?? .null).isEqual(to: after[field.key] ?? .null, linking.canonical) {
        throw ArchiveError(
          .mergeFailed,
          "the merge changes a constant property of an object, and the object cannot be replaced; declare the property "
            + "with var, or set its merge policy to keepLocal",
          path: [.key(field.key)], typeName: schema.name)
      }
    }
  }

  // MARK: Values

  /// Creates the merged root if the root is a struct or an enum.
  func made<M: VersionedModel>(
    _ type: M.Type, _ value: ArchiveValue, in context: DecodingContext
  ) throws -> (root: M, finished: [Finished]) {
    guard case .record(let fields) = value, case .record(let before) = root else {
      throw ArchiveError(.mergeFailed, "the merge result is not a model", typeName: M.schema.name)
    }
    do {
      let model = try graph.decode(M.self, from: fields, in: context)
      let after = context.finishesModels ? try model.shallowRecord(graph.referenced) : fields
      try checkConstants(of: M.schema, before, after)
      return (model, after.isEqual(to: fields) ? [] : [Finished(number: nil, before: fields, after: after)])
    } catch { throw Self.failure(error, M.schema) }
  }

  // MARK: Errors

  static func failure(_ error: any Error, _ schema: ModelSchema) -> ArchiveError {
    if let error = error as? ArchiveError, error.code == .invalid || error.code == .mergeFailed { return error }
    return ArchiveError(
      .mergeFailed, "the merged value is not valid for its field", path: (error as? ArchiveError)?.codingPath ?? [],
      typeName: schema.name, underlying: error)
  }

  /// Returns the error with the path from the root to an object prepended to its own path.
  private func located(_ error: any Error, _ number: Int, _ root: some Archivable) -> ArchiveError {
    let failure = Self.failure(error, graph.schema(number))
    guard number != rootNumber else { return failure }
    return ObjectPath.find(graph.referenced.objects[number], from: root).reversed().reduce(failure) {
      $0.prefixed(by: $1)
    }
  }
}

extension SchemaCatalog {
  /// Whether any model in the catalog has a decoding hook or validation rules.
  ///
  /// The library's own code for ``MergeState`` is not included, because it runs only when archives and JSON are decoded.
  var finishesMerged: Bool { schemas.contains { $0.decodingHook != nil || $0.validationHook != nil } }
}
