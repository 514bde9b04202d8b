/// Puts the result of a merge into the object, and into objects that it refers to: all of it, or nothing.
struct MergeCommit {
  let neighbours: ObjectNeighbours
  let validates: Bool
  /// The new fields of objects that stay themselves, by number, in the order in which they came up.
  var updates: [(number: Int, record: Record)]

  /// - Parameter runsHooks: whether models are finished and validated.
  func run<M: Model>(_ target: inout M, _ values: Record, runsHooks: Bool, adopts: (Record, Record) -> Bool) throws {
    let before = try target.shallowRecord(neighbours)
    var undo: [() throws -> Void] = []
    do {
      for update in updates {
        undo.append(try Self.set(neighbours.objects[update.number], update.record, neighbours, in: unfinished))
      }
      var result = try Self.made(M.self, values, in: unfinished, neighbours)
      if runsHooks {
        // Hooks and rules see every object as it will be.
        for update in updates {
          undo.append(try Self.set(neighbours.objects[update.number], update.record, neighbours, in: finishing))
        }
        result = try Self.made(M.self, values, in: finishing, neighbours)
      }
      let after = try result.shallowRecord(neighbours)
      try Self.checkConstants(of: M.schema, before, after)
      if adopts(before, after) { try target.adoptFields(of: result) }
    } catch {
      for step in undo.reversed() { try step() }
      throw error
    }
  }

  private var unfinished: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
  }

  private var finishing: DecodingContext {
    DecodingContext(source: .merge, includesExcluded: true, validates: validates, collectsFailures: true)
  }

  /// Makes a model of merged values.
  static func made<M: Model>(
    _ type: M.Type, _ values: Record, in context: DecodingContext, _ neighbours: ObjectNeighbours
  ) throws -> M {
    do {
      let model = try M.make(ofShallow: values, neighbours, in: context)
      try context.checkFailures(of: model)
      return model
    } catch {
      if let error = error as? ArchiveError, error.code == .invalid { throw error }
      throw ArchiveError(
        .mergeFailed, "a merged value is not what the field holds", path: (error as? ArchiveError)?.codingPath ?? [],
        typeName: M.schema.name, underlying: error)
    }
  }

  /// Gives an object new fields.
  ///
  /// - Returns: what gives it its old ones again.
  private static func set<M: Model>(
    _ object: M, _ values: Record, _ neighbours: ObjectNeighbours, in context: DecodingContext
  ) throws -> () throws -> Void {
    // An object of a subclass is opened as what it is.
    guard !object.isOfSubclass else { return try set(object.dynamicModel, values, neighbours, in: context) }
    var target = object
    let before = try object.shallowRecord(neighbours)
    let plain = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    let backup = try made(M.self, before, in: plain, neighbours)
    let result = try made(M.self, values, in: context, neighbours)
    try checkConstants(of: M.schema, before, result.shallowRecord(neighbours))
    try target.adoptFields(of: result)
    return { try target.adoptFields(of: backup) }
  }

  private static func checkConstants(of schema: ModelSchema, _ before: Record, _ after: Record) throws {
    for field in schema.fields where field.isConstant && before[field.key] != after[field.key] {
      throw ArchiveError(
        .mergeFailed, "a constant of an object cannot change; declare it with var or merge it with keepTarget",
        path: [.key(field.key)], typeName: schema.name)
    }
  }
}
