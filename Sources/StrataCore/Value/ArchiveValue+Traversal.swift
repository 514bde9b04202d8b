// All code that walks values uses these functions, so that no collection is forgotten: keys of maps, members of sets,
// objects of graphs.

extension ArchiveValue {
  /// Whether this may hold other values.
  package var holdsValues: Bool {
    switch self {
    case .array, .set, .object, .map, .record, .graph: true
    default: false
    }
  }

  /// Calls `body` with each value directly inside, in order. In a map, each key comes before its value. In a graph, the root comes last.
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

  /// The number of values, including this one and all values inside.
  ///
  /// - Complexity: linear in that number. Does not use recursion.
  package var size: Int { (try? size(limit: .max)) ?? 1 }

  /// The number of values, including this one and all values inside.
  ///
  /// - Parameter depth: the number of levels around this value.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if more levels than the limit are nested.
  /// - Complexity: linear in that number. Does not use recursion.
  func size(atDepth depth: Int = 0, limit: Int) throws -> Int {
    guard depth <= limit else { throw ArchiveError.tooDeep(limit) }
    var size = 1
    // Most records hold no others, and then take no memory here.
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

  /// Whether a value directly inside satisfies the predicate.
  package func containsInside(where predicate: (ArchiveValue) throws -> Bool) rethrows -> Bool {
    var found = false
    try forEachInside { if !found { found = try predicate($0) } }
    return found
  }

  /// Returns the value with each value directly inside replaced. The kind and the order stay the same.
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

  /// Like ``mapInside(_:)``. Adds the step to the failing value to an error of `replacement`.
  package func mapLocated(_ replacement: (ArchiveValue) throws -> ArchiveValue) throws -> ArchiveValue {
    try mapSteps { value, step in
      do { return try replacement(value) } catch {
        guard let step else { throw error }
        throw ArchiveError.at(step, error)
      }
    }
  }

  /// Like ``forEachInside(_:)``, with the step to each value. The root of a graph has no step.
  package func forEachStep(_ body: (ArchiveValue, ArchiveError.PathComponent?) throws -> Void) rethrows {
    var place = 0
    try forEachInside { value in
      defer { place += 1 }
      try body(value, step(to: place))
    }
  }

  /// Like ``mapInside(_:)``, with the step to each value. The root of a graph has no step.
  package func mapSteps(_ replacement: (ArchiveValue, ArchiveError.PathComponent?) throws -> ArchiveValue) rethrows
    -> ArchiveValue
  {
    var place = 0
    return try mapInside { value in
      defer { place += 1 }
      return try replacement(value, step(to: place))
    }
  }

  /// The step to the value at a position in the order of ``forEachInside(_:)``; `nil` for the root of a graph.
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

  // References inside a graph refer to its own objects, so these functions skip graphs.

  package var hasReferences: Bool {
    switch self {
    case .reference: true
    case .graph: false
    default: containsInside(where: \.hasReferences)
    }
  }

  /// Calls `body` with the number of each referenced object, in order, with repetitions.
  package func forEachReference(_ body: (Int) throws -> Void) rethrows {
    switch self {
    case .reference(let number): try body(number)
    case .graph: break
    default: try forEachInside { try $0.forEachReference(body) }
    }
  }

  /// The numbers of the referenced objects, in order, with repetitions.
  package var references: [Int] {
    var numbers: [Int] = []
    forEachReference { numbers.append($0) }
    return numbers
  }

  /// Returns the value with each reference replaced. Sets stay sets.
  package func mapReferences(_ replacement: (Int) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .reference(let number): try replacement(number)
    case .graph: self
    default: try mapInside { try $0.mapReferences(replacement) }
    }
  }
}
