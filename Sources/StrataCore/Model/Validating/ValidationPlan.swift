/// The rules of a model in the order in which they run, found with the first object.
///
/// Not with the schema: a rule may name it.
final class ValidationPlan<M: Validating>: Sendable {
  private let rules = Mutex<[Validation<M>.Rule]?>(nil)

  /// Runs every rule. Where one fails, values that others replaced are as they were.
  ///
  /// - Parameter keepsReplacements: whether replaced values stay where nothing fails.
  func run(on model: inout M, keepsReplacements: Bool) throws {
    var undo = Undo<M>()
    var failures: [ValidationFailure] = []
    for rule in try ordered() {
      do { try rule.run(&model, &undo) } catch { failures += Self.failures(error, rule.key) }
    }
    if !failures.isEmpty { failures = Self.adding(model, to: failures) }
    if !failures.isEmpty || !keepsReplacements { undo.run(&model) }
    if !failures.isEmpty { throw ArchiveError.invalid(failures) }
  }

  /// The failures with the values that were refused. Models inside are not asked for theirs: they have failures of their own.
  private static func adding(_ model: M, to failures: [ValidationFailure]) -> [ValidationFailure] {
    // A model that cannot be encoded has no values to tell.
    guard let record = try? model.record(includingExcluded: true, role: .models(ReferencedObjects())) else {
      return failures
    }
    return failures.map { failure in
      guard failure.path.count == 1, failure.input == nil, let value = failure.key.flatMap({ record[$0] }),
        !value.holdsReference
      else { return failure }
      return failure.about(value)
    }
  }

  /// What a rule threw; a rule that validates an object inside has its failures, with the key in front.
  private static func failures(_ error: any Error, _ key: String?) -> [ValidationFailure] {
    if let error = error as? ArchiveError, !error.failures.isEmpty {
      return error.failures.map { failure in failure.prefixed(by: key.map { [.key($0)] } ?? []) }
    }
    let key = key ?? (error as? InvalidValue)?.key
    return [ValidationFailure(path: key.map { [.key($0)] } ?? [], typeName: M.schema.name, error: error, input: nil)]
  }

  private func ordered() throws -> [Validation<M>.Rule] {
    if let known = rules.withLock({ $0 }) { return known }
    let schema = M.schema
    let places = Dictionary(uniqueKeysWithValues: schema.allKeys.enumerated().map { ($1, $0) })
    let given = M.validation.rules.map { $0.converted(to: M.self) }
    for case let key? in given.map(\.key) where places[key] == nil {
      throw ArchiveError(
        .invalidSchema,
        "a rule names the key \(key), which the model does not declare; its keys are "
          + schema.allKeys.joined(separator: ", "), typeName: schema.name)
    }
    // Sorting keeps the order of equal elements only together with their own places.
    let sorted = given.enumerated().map { (rule: $1, place: $1.key.flatMap { places[$0] } ?? .max, number: $0) }
      .sorted { ($0.place, $0.number) < ($1.place, $1.number) }.map(\.rule)
    rules.withLock { $0 = sorted }
    return sorted
  }
}

extension ArchiveValue {
  /// Whether a model stands in this value.
  fileprivate var holdsReference: Bool {
    switch self {
    case .reference: return true
    case .map(let entries): return entries.contains { $0.key.holdsReference || $0.value.holdsReference }
    default:
      var holds = false
      forEachStep { value, _ in holds = holds || value.holdsReference }
      return holds
    }
  }
}
