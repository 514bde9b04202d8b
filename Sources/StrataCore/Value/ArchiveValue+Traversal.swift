// All code that visits the values inside a value uses these functions. Separate implementations could miss some of the values, such as the
// keys of maps, the members of sets and the objects of graphs.

extension ArchiveValue {
  /// Whether this value is of a kind that can contain other values.
  package var holdsValues: Bool {
    switch self {
    case .array, .set, .object, .map, .record, .graph: true
    default: false
    }
  }

  /// Calls `body` with each value directly inside this value, in order. In a map, each key comes before its value. In a graph, the root
  /// comes last.
  package func forEachInside(_ body: (ArchiveValue) throws -> Void) rethrows {
    switch self {
    case .array(let elements), .set(let elements): try elements.forEach(body)
    case .object(let object): for entry in object.entries { try body(entry.value) }
    case .record(let record): try record.values.forEach(body)
    case .map(let entries):
      for entry in entries {
        try body(entry.key)
        try body(entry.value)
      }
    case .graph(let graph):
      try graph.objects.forEach(body)
      try body(graph.root)
    default: break
    }
  }

  /// The number of values in this value, at any depth, including the value itself.
  ///
  /// - Complexity: linear in the number of values. Does not use recursion.
  package var size: Int { (try? size(limit: .max)) ?? 1 }

  /// Returns the number of values in this value, at any depth, including the value itself.
  ///
  /// - Parameter depth: the depth of this value in the outermost value.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the value is deeper than `limit`.
  /// - Complexity: linear in the number of values. Does not use recursion.
  func size(atDepth depth: Int = 0, limit: Int) throws -> Int {
    guard depth <= limit else { throw ArchiveError.tooDeep(limit) }
    var size = 1
    // Only values that can contain other values are queued. Most records contain no such values, so the queue needs no memory.
    var waiting: [(value: ArchiveValue, depth: Int)] = []
    var next: (value: ArchiveValue, depth: Int)? = (self, depth)
    while let (value, depth) = next {
      guard depth < limit || !value.holdsValues else { throw ArchiveError.tooDeep(limit) }
      value.forEachInside {
        size += 1
        if $0.holdsValues { waiting.append(($0, depth + 1)) }
      }
      next = waiting.popLast()
    }
    return size
  }

  /// Returns whether any value directly inside this value satisfies the predicate.
  package func containsInside(where predicate: (ArchiveValue) throws -> Bool) rethrows -> Bool {
    var found = false
    try forEachInside { if !found { found = try predicate($0) } }
    return found
  }

  /// Returns this value with each directly contained value replaced. The kind of the value and the order of its contents stay the same.
  package func mapInside(_ replacement: (ArchiveValue) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .array(let elements): .array(try elements.map(replacement))
    case .set(let members): .set(try members.map(replacement))
    case .object(let object):
      .object(
        ArchiveObject(uniqueEntries: try object.entries.map { .init(key: $0.key, value: try replacement($0.value)) }))
    case .record(let record): .record(try record.mapValues(replacement))
    case .map(let entries):
      .map(try entries.map { .init(key: try replacement($0.key), value: try replacement($0.value)) })
    case .graph(let graph):
      .graph(ObjectGraph(objects: try graph.objects.map(replacement), root: try replacement(graph.root)))
    default: self
    }
  }

  /// Replaces each directly contained value, as in ``mapInside(_:)``. If `replacement` throws an error, the key or the index of the
  /// contained value is prepended to the path of the error.
  package func mapLocated(_ replacement: (ArchiveValue) throws -> ArchiveValue) throws -> ArchiveValue {
    try mapSteps { value, step in
      do { return try replacement(value) } catch {
        guard let step else { throw error }
        throw ArchiveError.at(step, error)
      }
    }
  }

  /// Calls `body` with each value directly inside this value, as in ``forEachInside(_:)``, and with the key or the index of the contained
  /// value. The key or index is `nil` for the root of a graph.
  package func forEachStep(_ body: (ArchiveValue, ArchiveError.PathComponent?) throws -> Void) rethrows {
    var place = 0
    try forEachInside { value in
      defer { place += 1 }
      try body(value, step(to: place))
    }
  }

  /// Replaces each directly contained value, as in ``mapInside(_:)``. `replacement` also receives the key or the index of the contained
  /// value, or `nil` for the root of a graph.
  package func mapSteps(_ replacement: (ArchiveValue, ArchiveError.PathComponent?) throws -> ArchiveValue) rethrows
    -> ArchiveValue
  {
    var place = 0
    return try mapInside { value in
      defer { place += 1 }
      return try replacement(value, step(to: place))
    }
  }

  /// Returns the key or the index of a directly contained value; `nil` for the root of a graph.
  ///
  /// - Parameter place: the index of the contained value in the order of ``forEachInside(_:)``.
  private func step(to place: Int) -> Step? {
    switch self {
    case .object(let object): .key(object.entries[place].key)
    case .record(let record): .key(record.keys[place])
    case .map(let entries): .key(entries[place / 2].key.stringValue ?? "(key)")
    case .graph(let graph) where place == graph.objects.count: nil
    default: .index(place)
    }
  }

  // MARK: References

  // References inside a graph refer to objects of that graph. The following functions therefore do not look inside graphs.

  package var hasReferences: Bool {
    switch self {
    case .reference: true
    case .graph: false
    default: containsInside(where: \.hasReferences)
    }
  }

  /// Calls `body` for each reference in this value, at any depth and in order, with the number of the referenced object. A number can occur
  /// more than once.
  package func forEachReference(_ body: (Int) throws -> Void) rethrows {
    switch self {
    case .reference(let number): try body(number)
    case .graph: break
    default: try forEachInside { try $0.forEachReference(body) }
    }
  }

  /// The numbers of the objects that the references in this value refer to, at any depth and in order. A number can occur more than once.
  package var references: [Int] {
    var numbers: [Int] = []
    forEachReference { numbers.append($0) }
    return numbers
  }

  /// Returns this value with each reference in it replaced, at any depth. The kinds of all collections stay the same.
  package func mapReferences(_ replacement: (Int) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .reference(let number): try replacement(number)
    case .graph: self
    default: try mapInside { try $0.mapReferences(replacement) }
    }
  }
}
