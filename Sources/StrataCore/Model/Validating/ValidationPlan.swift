/// The rules of a model, in the order in which they run. The rules are sorted when the first object is validated.
///
/// The schema does not contain the rules, because a rule may refer to the schema, which must therefore exist first.
final class ValidationPlan<M: Validating>: Sendable {
  private let rules = Mutex<[Validation<M>.Rule]?>(nil)

  /// Runs all rules, even if one of them fails. If a rule fails, the fields that rules have replaced in a class instance are restored to
  /// their original values. A struct or an enum is not restored, so the caller must discard it.
  ///
  /// - Parameter keepsReplacements: whether the fields keep the values that rules have set if no rule fails. If false, a class instance is
  ///   restored even if no rule fails.
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

  /// Adds the rejected value to the failure of each field. Values that contain models are not added, because nested models report their own
  /// failures.
  private static func adding(_ model: M, to failures: [ValidationFailure]) -> [ValidationFailure] {
    // The values come from the encoded model. If the model cannot be encoded, the failures are reported without values.
    guard let record = try? model.record(includingExcluded: true, role: .models(ReferencedObjects())) else {
      return failures
    }
    return failures.map { failure in
      guard failure.path.count == 1, failure.input == nil, let value = failure.key.flatMap({ record[$0] }),
        !value.hasReferences
      else { return failure }
      return failure.about(value)
    }
  }

  /// Converts an error that a rule has thrown to one or more failures. If the rule validated a nested object, returns
  /// the failures of that object, with the key prepended to their paths.
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
    // Checks the schema first, because two fields with the same key would stop the program in the next statement.
    try schema.check()
    let places = Dictionary(uniqueKeysWithValues: schema.allKeys.enumerated().map { ($1, $0) })
    let given = M.validation.rules.map { $0.converted(to: M.self) }
    for case let key? in given.map(\.key) where places[key] == nil {
      throw ArchiveError(
        .invalidSchema,
        "a validation rule uses the key \(key), which the model does not declare; its keys are "
          + "\(schema.allKeys.joined(separator: ", "))",
        typeName: schema.name)
    }
    // The index keeps rules of the same field in their declared order, because Swift's sort is not guaranteed to be stable.
    let sorted = given.enumerated().map { (rule: $1, place: $1.key.flatMap { places[$0] } ?? .max, number: $0) }
      .sorted { ($0.place, $0.number) < ($1.place, $1.number) }.map(\.rule)
    rules.withLock { $0 = sorted }
    return sorted
  }
}
