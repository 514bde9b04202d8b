extension ValuePath {
  /// The reason why this is not a valid JSON path, with a suggested fix; `nil` for a path of keys, indices and `[*]`.
  package var problem: String? {
    components.lazy.filter { $0 != .anyElement }.compactMap(\.remedy).first.map {
      "the path \(self) is not a JSON path: \($0)"
    }
  }

  /// Whether the path can match several values.
  var readsEach: Bool { components.contains { $0.step == nil } }

  /// Returns the value at the path; `nil` if the value is absent, and null if a value along the path is null. For the step `[*]`, returns
  /// an array with the value from each element.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if a value along the path does not support the next step, and `missingValue`
  ///   if only some of the elements have the value. The path of the error is the path in the document.
  package func value(in json: ArchiveValue) throws(ArchiveError) -> ArchiveValue? {
    try Self.value(in: json, components[...], after: [])
  }

  private static func value(
    in json: ArchiveValue, _ components: ArraySlice<Component>, after path: [ArchiveError.PathComponent]
  ) throws(ArchiveError) -> ArchiveValue? {
    var (current, path) = (json, path)
    for (place, component) in zip(components.indices, components) {
      if current.isNull { return current }
      guard let step = component.step else {
        if let problem = ValuePath(Array(components)).problem {
          throw ArchiveError(.invalidMapping, problem, path: path)
        }
        guard case .array(let elements) = current else { throw mismatch("an array", current, path) }
        var values: [ArchiveValue] = []
        for (index, element) in elements.enumerated() {
          let path = path + [.index(index)]
          guard let value = try Self.value(in: element, components[(place + 1)...], after: path) else {
            throw ArchiveError(
              .missingValue,
              "an element of the array has no value at the path \(ValuePath(Array(components[(place + 1)...])))",
              path: path)
          }
          values.append(value)
        }
        return .array(values)
      }
      guard current.accepts(step) else { throw mismatch(component.isKey ? "an object" : "an array", current, path) }
      guard let next = current[step] else { return nil }
      current = next
      path.append(step)
    }
    return current
  }

  /// Returns the token index of the value at a path of keys and indices; `nil` if there is none. If a value along the path is null, returns
  /// the index of the null.
  ///
  /// - Throws: the same errors as for a value, and ``ArchiveError`` with the code `invalidJSON` for a duplicate key along the path.
  func place(in root: JSONElement) throws -> Int? {
    var place = root.place
    for (number, step) in errorPath.enumerated() {
      let element = root.element(at: place)
      if element.isNull { return place }
      let next: Int?
      do { next = try element.onlyPlace(of: step) } catch {
        throw element.located(error).prefixed(by: Array(errorPath.prefix(number)))
      }
      guard let next else { return nil }
      place = next
    }
    return place
  }

  private static func mismatch(
    _ expected: String, _ found: ArchiveValue, _ path: [ArchiveError.PathComponent]
  ) -> ArchiveError {
    ArchiveError.mismatch(expected: expected, found: found.kind).about(found).prefixed(by: path)
  }
}

extension JSONElement {
  /// Returns the token index of a member's value or of an element; `nil` if it is absent.
  fileprivate func onlyPlace(of component: ArchiveError.PathComponent) throws -> Int? {
    switch component {
    case .key(let key):
      var found: Int?
      try forEachMember { name, value in
        guard ExactKey.isSame(name, key) else { return }
        guard found == nil else {
          throw ArchiveError(
            .invalidJSON,
            "an object on the path has a duplicate key; each key may occur only once", byteOffset: value.byteOffset)
        }
        found = value.place
      }
      return found
    case .index(let index):
      _ = try firstElement()
      return place(ofIndex: index)
    }
  }
}

extension ArchiveValue {
  /// Returns the value at the end of the longest existing prefix of a path.
  func part(along path: [ArchiveError.PathComponent]) -> ArchiveValue {
    var part = self
    for component in path {
      guard part.accepts(component), let next = part[component] else { break }
      part = next
    }
    return part
  }
}

extension ArchiveValue {
  /// The text that represents this value in the description of a path: its JSON, or only the kind of the value if the JSON would be longer
  /// than 200 bytes or cannot be written.
  var pathText: String {
    guard let data = try? JSONWriter().write(self), data.count <= 200 else { return "(\(kind))" }
    return String(decoding: data, as: UTF8.self)
  }
}
