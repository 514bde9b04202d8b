/// The models that a merge was asked for, which have what no field holds, too.
struct RootModels {
  let local: any VersionedModel
  /// What came in, where it is a whole model of the same type.
  let server: (any VersionedModel)?
}

extension ValueMerger {
  /// Lets a model merge the keys that it merges itself.
  ///
  /// - Returns: these keys.
  mutating func runHooks(
    _ type: any KeyMerging.Type, _ local: inout ModelRecord, _ server: ModelRecord, _ base: ModelRecord?,
    _ wanted: Set<String>?,
    _ models: RootModels?
  ) throws -> Set<String> {
    func run<M: KeyMerging>(_ type: M.Type) throws -> (ModelRecord, Set<String>) {
      let context = DecodingContext.unfinishedMerge
      // An object is made anew, a value is copied as it is.
      var model: M
      if let local = models?.local as? M, !M.schema.isObject {
        model = local
      } else {
        model = try graph.make(M.self, local, in: context)
      }
      let source: M
      if let whole = models?.server as? M {
        source = whole
      } else {
        source = try graph.make(M.self, realized(overlaid(server, M.schema, over: [local], fillsIn: true)), in: context)
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
    for key in handled.sorted() where !same(before[key], local[key]) || !same(before[key], server[key]) {
      path.append(.key(key))
      note(sides(nil, before[key], server[key], isBaseKnown: false), .merged, "mergeValue(forKey:from:)", local[key])
      path.removeLast()
    }
    return handled
  }

  /// A model of a part: what it does not say is as in another record; objects in it are made anew.
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
    return try graph.make(M.self, realized(record), in: .unfinishedMerge)
  }

  /// A record whose references lead to objects that exist: parts of a document are the objects that they correspond to,
  /// and those that are new are made, each once however many paths lead to it.
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

  /// The object that a reference leads to; `nil` for a part that corresponds to none.
  private func existing(_ number: Int) -> Int? {
    number < 0 ? matching?.entity(of: number).flatMap { matching?.entities[$0][.local].first } : number
  }
}
