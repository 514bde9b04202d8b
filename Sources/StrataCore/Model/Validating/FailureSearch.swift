/// Finds all validation failures in a value, with their paths. Used after decoding has found the first invalid object,
/// and to validate objects that were created in code.
///
/// Models are queued and each object is visited once, so the search ends even if there are cycles, and long lists need no recursion.
struct FailureSearch {
  private(set) var failures: [ValidationFailure] = []
  private var known: Set<ObjectIdentifier> = []
  private var waiting: [(model: any VersionedModel, step: Int)] = []
  /// The components of the paths to all models, stored as a tree: each step contains the index of its parent step in this array.
  private var steps: [(before: Int, component: ArchiveError.PathComponent)] = []

  private static let start = -1

  /// Visits all models in the value, including the value itself if it is a model.
  mutating func visit(_ value: some Archivable) throws {
    let models = ReferencedObjects()
    add([(try value.archivedValue(includingExcluded: true, role: .models(models)), Self.start)], models)
    try visitWaiting()
  }

  /// Visits all models inside a model, but not the model itself.
  mutating func visitInside<M: VersionedModel>(_ model: M) throws {
    if M.schema.isObject { known.insert(model.identity) }
    try addModels(inside: model, Self.start)
    try visitWaiting()
  }

  private mutating func visitWaiting() throws {
    while let (model, step) = waiting.popLast() { try visit(model, step) }
  }

  private mutating func visit<M: VersionedModel>(_ model: M, _ step: Int) throws {
    if M.schema.isObject, !known.insert(model.identity).inserted { return }
    do { try model.checkItself() } catch let error as ArchiveError where error.code == .invalid {
      let path = path(to: step)
      failures += error.failures.map { $0.prefixed(by: path) }
    }
    try addModels(inside: model, step)
  }

  private mutating func addModels<M: VersionedModel>(inside model: M, _ step: Int) throws {
    guard M.schema.holdsValidation else { return }
    let models = ReferencedObjects()
    let record = try model.record(includingExcluded: true, role: .models(models))
    add(record.fields.map { ($0.value, adding(.key($0.key), to: step)) }, models)
  }

  /// Queues the models that the values refer to, so that they are visited next, in the order of the values.
  private mutating func add(_ values: [(value: ArchiveValue, step: Int)], _ models: ReferencedObjects) {
    var found: [(any VersionedModel, Int)] = []
    for (value, step) in values { collect(value, step, models, &found) }
    waiting += found.reversed()
  }

  private mutating func collect(
    _ value: ArchiveValue, _ step: Int, _ models: ReferencedObjects, _ found: inout [(any VersionedModel, Int)]
  ) {
    switch value {
    case .reference(let number): found.append((models.objects[number].dynamicModel, step))
    // References inside an untyped graph refer to the graph's own entries. The entries are untyped values, so they have no rules.
    case .graph: break
    case .map(let entries):
      // In the path of a failure, a dictionary entry is identified by its index, whatever the type of its key.
      for (index, entry) in entries.enumerated() {
        let step = adding(.index(index), to: step)
        collect(entry.key, step, models, &found)
        collect(entry.value, step, models, &found)
      }
    default:
      value.forEachStep { value, component in
        collect(value, component.map { adding($0, to: step) } ?? step, models, &found)
      }
    }
  }

  private mutating func adding(_ component: ArchiveError.PathComponent, to step: Int) -> Int {
    steps.append((step, component))
    return steps.count - 1
  }

  private func path(to step: Int) -> [ArchiveError.PathComponent] {
    var path: [ArchiveError.PathComponent] = []
    var step = step
    while step != Self.start {
      path.append(steps[step].component)
      step = steps[step].before
    }
    return path.reversed()
  }
}

extension DecodingContext {
  /// Calls `make` and returns the result if no validation rule failed.
  ///
  /// - Throws: any error that `make` throws, and ``ArchiveError`` with the code `invalid` and all failures if the
  ///   result is invalid.
  package func checked<T: Archivable>(_ make: () throws -> T) throws -> T {
    // The recorded failure is cleared even if `make` throws. Otherwise it would be reported for the next value.
    defer { firstFailure = nil }
    let value = try make()
    try checkFailures(of: value)
    return value
  }

  /// Throws an error with all validation failures in the value, if at least one was recorded while the value was created.
  package func checkFailures(of value: some Archivable) throws {
    guard let firstFailure else { return }
    self.firstFailure = nil
    var search = FailureSearch()
    try search.visit(value)
    throw search.failures.isEmpty ? firstFailure : ArchiveError.invalid(search.failures)
  }
}
