/// The local and the incoming model that were passed to the merge. Unlike their records, the models also have properties that are not
/// fields.
struct RootModels {
  let local: any VersionedModel
  /// The incoming model, if the merge was called with a model of the same type; `nil` for a JSON document or any other source.
  let server: (any VersionedModel)?
}

extension ValueMerger {
  /// Calls a model's `mergeValue(forKey:from:)` for each key of the server's record.
  ///
  /// - Returns: the keys that the model's own code merged.
  mutating func runHooks(
    _ type: any KeyMerging.Type, _ local: inout ModelRecord, _ server: ModelRecord, _ wanted: Set<String>?,
    _ models: RootModels?
  ) throws -> Set<String> {
    func run<M: KeyMerging>(_ type: M.Type) throws -> (ModelRecord, Set<String>) {
      let context = DecodingContext.unfinishedMerge
      // The hook receives a copy. A class instance is decoded again, because the original must not change. A struct or an enum is copied
      // together with its properties that are not fields.
      var model: M
      if let local = models?.local as? M, !M.schema.isObject {
        model = local
      } else {
        model = try graph.decode(M.self, from: local, in: context)
      }
      let source: M
      if let whole = models?.server as? M {
        source = whole
      } else {
        source = try graph.decode(
          M.self, from: realized(overlaid(server, M.schema, over: [local], fillsIn: true)), in: context)
      }
      let handled = try M.schema.allKeys.filter { key in
        guard server[key] != nil, wanted?.contains(key) ?? true else { return false }
        do { return try model.mergeValue(forKey: key, from: source) } catch { throw ArchiveError.at(.key(key), error) }
      }
      return (handled.isEmpty ? local : try model.shallowRecord(graph.referenced), Set(handled))
    }
    let before = local
    let handled: Set<String>
    (local, handled) = try run(type)
    for key in handled.sorted() where !areSame(before[key], local[key]) || !areSame(before[key], server[key]) {
      path.append(.key(key))
      note(sides(nil, before[key], server[key], isBaseKnown: false), .merged, "mergeValue(forKey:from:)", local[key])
      path.removeLast()
    }
    return handled
  }

  /// Creates a complete model from the base in a ``MergeState``. Keys that the base lacks are filled in from `known`. If the base refers to
  /// a part (``MergeGraph/Part``), the part becomes a new object unless it corresponds to an existing one.
  mutating func realizedModel<M: VersionedModel>(_ type: M.Type, _ part: ArchiveValue, over known: ModelRecord) throws
    -> M
  {
    var record = known
    switch part {
    case .reference(let number): record = try graph.record(number)
    case .record(let found): record = found
    default: break
    }
    if !M.schema.isEnumeration { record = try overlaid(record, M.schema, over: [known], fillsIn: true) }
    return try graph.decode(M.self, from: realized(record), in: .unfinishedMerge)
  }

  /// Replaces references to parts (``MergeGraph/Part``) with references to objects in memory: the corresponding local object, or else a new
  /// object. If several references refer to the same part, only one object is created.
  private mutating func realized(_ record: ModelRecord) throws -> ModelRecord {
    var parts: [Int: ModelRecord] = [:]
    let numbers = try Postorder.numbers(from: newParts(of: record)) { number in
      let part = try overlaid(graph.record(number), graph.schema(number), over: [], fillsIn: true)
      parts[number] = part
      return newParts(of: part)
    }
    let places = Dictionary(uniqueKeysWithValues: zip(numbers, graph.referenced.objects.count...))
    func linked(_ record: ModelRecord) -> ModelRecord {
      record.mapValues { value in value.mapReferences { .reference(existing($0) ?? places[$0] ?? $0) } }
    }
    if !numbers.isEmpty {
      try graph.makeObjects(numbers.compactMap { number in parts[number].map { (graph.type(number), linked($0)) } })
    }
    return linked(record)
  }

  /// Returns the numbers of the parts that a record refers to and that have no local object yet.
  private func newParts(of record: ModelRecord) -> [Int] {
    ArchiveValue.record(record).references.filter { existing($0) == nil }
  }

  /// Returns the number of the existing object that a reference refers to; `nil` if it refers to a part that has no local object.
  private func existing(_ number: Int) -> Int? {
    number < 0 ? matching?.entity(of: number).flatMap { matching?.entities[$0][.local].first } : number
  }
}
