/// The models that a merge was called with, which also have properties that are not fields.
struct RootModels {
  let local: any VersionedModel
  /// The incoming model, if it is a whole model of the same type.
  let server: (any VersionedModel)?
}

extension ValueMerger {
  /// Calls `mergeValue(forKey:from:)` of a model for each key that the server's record has.
  ///
  /// - Returns: the keys that the model merged itself.
  mutating func runHooks(
    _ type: any KeyMerging.Type, _ local: inout ModelRecord, _ server: ModelRecord, _ wanted: Set<String>?,
    _ models: RootModels?
  ) throws -> Set<String> {
    func run<M: KeyMerging>(_ type: M.Type) throws -> (ModelRecord, Set<String>) {
      let context = DecodingContext.unfinishedMerge
      // An object is created anew. A value is copied, with its properties that are not fields.
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

  /// Creates a model from a part, with absent keys taken from another record. Parts that it refers to become new
  /// objects, unless they correspond to existing ones.
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

  /// Resolves references to parts of a document: to the objects that they correspond to, or else to new objects, each
  /// of which is created once.
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

  /// The parts that a record refers to and that correspond to no object.
  private func newParts(of record: ModelRecord) -> [Int] {
    ArchiveValue.record(record).references.filter { existing($0) == nil }
  }

  /// The object that a reference resolves to; `nil` for a part that corresponds to none.
  private func existing(_ number: Int) -> Int? {
    number < 0 ? matching?.entity(of: number).flatMap { matching?.entities[$0][.local].first } : number
  }
}
