/// Finds all mistakes in a mapping.
enum JSONPlanCheck {
  static func problem(
    _ typeName: String, _ entries: [JSONPlan.Entry], _ mapping: [String: JSONField]?, _ fields: [FieldInfo]
  ) -> ArchiveError? {
    var errors: [ArchiveError] = []
    func add(_ key: String, _ reason: String) {
      errors.append(ArchiveError(.invalidMapping, reason, path: [.key(key)], typeName: typeName))
    }
    let declared = Set(fields.map(\.key))
    for key in (mapping ?? [:]).keys.filter({ !declared.contains($0) }).sorted() {
      add(
        key, "the model does not declare the field \(key); its fields are \(fields.map(\.key).joined(separator: ", "))")
    }
    for entry in entries {
      for reason in problems(of: entry) { add(entry.field.key, reason) }
    }
    let written = entries.flatMap { entry in
      entry.json.isWritten ? entry.writtenPaths.filter { !$0.readsEach }.map { (key: entry.field.key, path: $0) } : []
    }
    let nodes = JSONPathTree.nodes(written.map(\.path))
    for (number, other) in JSONPathTree.conflicts(in: nodes).sorted(by: { $0.number < $1.number }) {
      let (one, two) = (written[number], written[other])
      add(
        one.key,
        (one.path == two.path
          ? "the fields \(one.key) and \(two.key) are both written to the path \(one.path)"
          : "the path \(one.path) of \(one.key) conflicts with the path \(two.path) of \(two.key)")
          + "; change one of the paths, or make one of the fields readOnly")
    }
    for (number, path) in JSONPathTree.gaps(in: nodes).sorted(by: { $0.path.description < $1.path.description }) {
      add(written[number].key, "the mapping leaves a gap in the array at \(path); map every index, starting at 0")
    }
    return ArchiveError.combined(errors)
  }

  /// Checks the substitutes that the mapping declares for absent and null values. Returns an error for each substitute that does not fit
  /// its field.
  static func substituteProblems(of plan: JSONPlan, in context: DecodingContext) -> [ArchiveError] {
    plan.entries.filter(\.json.isRead).flatMap { (entry) -> [ArchiveError] in
      var substitutes = [("a missing value", entry.json.missing)]
      if case .value(let value) = entry.json.nullPolicy { substitutes.append(("null", value)) }
      return substitutes.compactMap { (what, value) -> ArchiveError? in
        guard let value else { return nil }
        do { try entry.field.check(value, in: context) } catch {
          return ArchiveError(
            .invalidMapping,
            "the replacement for \(what) is not valid for the field: \(ArchiveError.wrap(error).reason)",
            path: [.key(entry.field.key)], typeName: plan.typeName)
        }
        return nil
      }
    }
  }

  private static func problems(of entry: JSONPlan.Entry) -> [String] {
    var reasons: [String] = []
    let json = entry.json
    switch json.source {
    case .firstOf([]), .paths([]):
      reasons.append("the list of paths is empty; specify at least one path, or exclude the field from JSON with .none")
    case .firstOf, .paths:
      if json.isWritten, entry.writtenPaths.contains(ValuePath()) {
        reasons.append(
          "the list of paths contains the root, to which the field cannot be written; use entireObject instead of the list, "
            + "or make the field readOnly")
      }
    default: break
    }
    for path in entry.paths {
      if path.isMisspelled {
        reasons.append("the path \(path) contains an empty key; remove the extra dot, or write \"\" for the empty key")
      }
      if let problem = path.problem { reasons.append(problem) }
    }
    if let transform = json.transform {
      if let problem = transform.problem { reasons.append(problem) }
      if !holds(entry.field.type, transform.output), !transform.isUntyped {
        reasons.append(
          "the transformer returns \(transform.output), but the field has the type \(entry.field.type); use a transformer "
            + "that returns \(entry.field.type)")
      }
      if transform.write == nil, json.isWritten {
        reasons.append(
          "the transformer cannot write the field because it is not reversible; use a ReversibleTransformer, or make the "
            + "field readOnly")
      }
    }
    if json.isWritten, entry.writtenPaths.contains(where: { $0.components.contains(.anyElement) }) {
      reasons.append("a path with [*] cannot be written; make the field readOnly")
    }
    if json.nullPolicy == .useDefault, !entry.isNullable, entry.field.makeDefault == nil {
      reasons.append(
        "null cannot be replaced by the default because the field has none; give the field a default, or remove "
          + ".null(.useDefault)")
    }
    for coercion in json.coercions.sorted(by: { $0.rawValue < $1.rawValue })
    where json.transform == nil && !coercion.isFor(entry.field.type) {
      reasons.append(
        "the coercion \(coercion.rawValue) does not apply to the type \(entry.field.type); remove the coercion")
    }
    if json.skipsInvalid, !JSONCoercion.singleElement.isFor(entry.field.type) {
      reasons.append(
        "skippingInvalid applies only to arrays, but the field has the type \(entry.field.type); remove it")
    }
    return reasons
  }

  private static func holds(_ field: Any.Type, _ output: Any.Type) -> Bool {
    field == output || TypeShape.unwrapped(field) == output
  }
}
