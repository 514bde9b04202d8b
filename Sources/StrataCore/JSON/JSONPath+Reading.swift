extension JSONPath {
  /// The value at the path; `nil` where nothing is there. Null on the way is null, and a step into every element gives the
  /// array of what is there in each.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where something on the way has no such step, and `missingValue`
  ///   where one of several elements lacks what the path leads to. The path of the error is that in the document.
  func value(in json: ArchiveValue) throws(ArchiveError) -> ArchiveValue? {
    try Self.value(in: json, steps[...], after: [])
  }

  private static func value(
    in json: ArchiveValue, _ steps: ArraySlice<Step>, after path: [ArchiveError.PathComponent]
  ) throws(ArchiveError) -> ArchiveValue? {
    var (current, path) = (json, path)
    for (place, step) in zip(steps.indices, steps) {
      if current.isNull { return current }
      let component: ArchiveError.PathComponent
      switch step {
      case .key(let key): component = .key(key)
      case .index(let index): component = .index(index)
      case .each:
        guard case .array(let elements) = current else { throw mismatch("an array", current, path) }
        var values: [ArchiveValue] = []
        for (index, element) in elements.enumerated() {
          let path = path + [.index(index)]
          guard let value = try Self.value(in: element, steps[(place + 1)...], after: path) else {
            throw ArchiveError(.missingValue, "an element of the array lacks what the path leads to", path: path)
          }
          values.append(value)
        }
        return .array(values)
      }
      guard current.takes(component) else {
        let expected = if case .key = step { "an object" } else { "an array" }
        throw mismatch(expected, current, path)
      }
      guard let next = current[component] else { return nil }
      current = next
      path.append(component)
    }
    return current
  }

  private static func mismatch(
    _ expected: String, _ found: ArchiveValue, _ path: [ArchiveError.PathComponent]
  ) -> ArchiveError {
    ArchiveError.mismatch(expected: expected, found: found.kind).about(found).prefixed(by: path)
  }
}
