/// A set of paths, stored as a prefix tree. A lookup follows each common prefix only once and does not use recursion to follow references.
struct PathTree {
  private struct Node {
    var next: [ValuePath.Component: Int] = [:]
    /// The indices of the paths that end at this node, in the list of paths passed to the initializer.
    var ends: [Int] = []
  }

  /// The nodes. The root is first, and each node precedes its children.
  private var nodes = [Node()]
  private let count: Int

  init(_ paths: [[ValuePath.Component]]) {
    count = paths.count
    for (number, path) in paths.enumerated() {
      var node = 0
      for step in path {
        if let known = nodes[node].next[step] {
          node = known
        } else {
          nodes[node].next[step] = nodes.count
          node = nodes.count
          nodes.append(Node())
        }
      }
      nodes[node].ends.append(number)
    }
  }

  /// Whether the tree contains the path or a prefix of it.
  func covers(_ path: [ValuePath.Component]) -> Bool {
    var node = 0
    for step in path {
      guard nodes[node].ends.isEmpty else { return true }
      guard let next = nodes[node].next[step] else { return false }
      node = next
    }
    return !nodes[node].ends.isEmpty
  }

  /// Returns the indices of the paths that pass through a node.
  private func paths(through node: Int) -> [Int] {
    var result: [Int] = []
    var waiting = [node]
    while let node = waiting.popLast() {
      result += nodes[node].ends
      waiting += nodes[node].next.values
    }
    return result
  }

  /// For each path step after a node, finds the index of the list element that the step refers to. Also returns the steps that match
  /// several elements.
  private func places(
    _ node: Int, in elements: [ArchiveValue], _ open: (ArchiveValue) throws -> ArchiveValue
  ) throws -> (places: [ValuePath.Component: Int], ambiguous: Set<ValuePath.Component>) {
    let steps = nodes[node].next
    var places: [ValuePath.Component: Int] = [:]
    var ambiguous = Set<ValuePath.Component>()
    func add(_ step: ValuePath.Component, _ place: Int) {
      guard steps[step] != nil else { return }
      if places[step] == nil { places[step] = place } else { ambiguous.insert(step) }
    }
    let keys = keys(of: steps.keys)
    let hasContent = hasContent(node)
    for (place, element) in elements.enumerated() {
      add(.index(place), place)
      guard !keys.isEmpty || hasContent else { continue }
      let fields = try open(element)
      for key in keys { if let id = fields[key] { add(.element(key: key, id: id), place) } }
      if hasContent { add(.value(fields), place) }
    }
    return (places, ambiguous)
  }

  // MARK: Finding

  /// Finds the values at all paths.
  ///
  /// - Parameters:
  ///   - ambiguous: receives the indices of the paths that match more than one element.
  ///   - record: returns the fields of an object.
  /// - Returns: the value at each path; `nil` if there is none.
  func values(
    in root: ArchiveValue, ambiguous: inout Set<Int>, _ record: (Int) throws -> ModelRecord
  ) throws -> [ArchiveValue?] {
    var result = [ArchiveValue?](repeating: nil, count: count)
    var waiting = [(node: 0, value: root)]
    while let (node, value) = waiting.popLast() {
      for number in nodes[node].ends { result[number] = value }
      guard !nodes[node].next.isEmpty else { continue }
      let inside = try value.opened(record)
      if let elements = inside.arrayValue {
        let found = try places(node, in: elements) { try $0.opened(record) }
        let missing = missingSteps(node, found.places)
        let deeper = try missing.isEmpty ? [:] : self.held(elements, by: missing) { try $0.opened(record) }
        let pairs = hasContent(node) ? ArchiveValue.lookup(inside.members(arePairs: true)) : [:]
        for (step, inner) in nodes[node].next {
          if let value = found.places[step].map({ elements[$0] }) ?? deeper[step]?.first ?? pairs[step] {
            waiting.append((inner, value))
          }
          if found.ambiguous.contains(step) || deeper[step]?.count ?? 0 > 1 {
            ambiguous.formUnion(paths(through: inner))
          }
        }
      } else if case .map(let entries) = inside {
        for entry in entries {
          if let inner = nodes[node].next[.value(entry.key)] { waiting.append((inner, entry.value)) }
        }
      } else {
        for (step, inner) in nodes[node].next {
          if case .key(let key) = step, let next = inside[key] { waiting.append((inner, next)) }
        }
      }
    }
    return result
  }

  // MARK: Lists in lists

  // A path refers to a model in a list by its identity, even if the model is in an inner list, a dictionary or an enum case of the list.

  /// Returns the steps after a node that refer to an element by its identity, if no direct element of the list has this identity.
  private func missingSteps(_ node: Int, _ places: [ValuePath.Component: Int]) -> Set<ValuePath.Component> {
    Set(
      nodes[node].next.keys.filter { step in
        if case .element = step { places[step] == nil } else { false }
      })
  }

  /// Returns the step that matches the identity of a value; `nil` if no step matches.
  private func step(
    to value: ArchiveValue, among steps: Set<ValuePath.Component>, _ keys: Set<IdentityKey>,
    _ open: (ArchiveValue) throws -> ArchiveValue
  ) throws -> ValuePath.Component? {
    let fields = try open(value)
    return keys.lazy.compactMap { key in
      fields[key].map { ValuePath.Component.element(key: key, id: $0) }
    }.first(where: steps.contains)
  }

  private func keys(of steps: some Sequence<ValuePath.Component>) -> Set<IdentityKey> {
    Set(steps.compactMap { if case .element(let key, _) = $0 { key } else { nil } })
  }

  /// Searches inside the elements of a list for values that the steps refer to by identity. Returns these values grouped by step.
  private func held(
    _ elements: [ArchiveValue], by steps: Set<ValuePath.Component>, _ open: (ArchiveValue) throws -> ArchiveValue
  ) throws -> [ValuePath.Component: [ArchiveValue]] {
    let keys = keys(of: steps)
    var result: [ValuePath.Component: [ArchiveValue]] = [:]
    func visit(_ value: ArchiveValue) throws {
      try value.forEachHeld { held in
        if let step = try step(to: held, among: steps, keys, open) {
          result[step, default: []].append(held)
        } else {
          try visit(held)
        }
      }
    }
    for element in elements { try visit(element) }
    return result
  }

  private func hasContent(_ node: Int) -> Bool {
    nodes[node].next.keys.contains { if case .value = $0 { true } else { false } }
  }
}

extension ArchiveValue {
  /// Whether the value is a record that looks like a case of an enum: its only value is an object, which contains the associated values.
  fileprivate var isCase: Bool {
    guard case .record(let record) = self, record.values.count == 1, case .object = record.values[0] else {
      return false
    }
    return true
  }

  /// Calls `body` with each element of a list, each value of a dictionary, and each associated value of a case.
  fileprivate func forEachHeld(_ body: (ArchiveValue) throws -> Void) rethrows {
    switch self {
    case .array, .set, .object: try forEachInside(body)
    case .map(let entries): for entry in entries { try body(entry.value) }
    case .record(let record) where isCase: try record.values[0].forEachInside(body)
    default: break
    }
  }

  /// Replaces each element of a list, each value of a dictionary, and each associated value of a case. A `nil` result removes the value.
  func mapHeld(_ change: (ArchiveValue) throws -> ArchiveValue?) rethrows -> ArchiveValue {
    switch self {
    case .array(let elements): .array(try elements.compactMap(change))
    case .set(let elements): .set(try elements.compactMap(change))
    case .object, .map: with(try (members() ?? []).compactMap { step, value in try change(value).map { (step, $0) } })
    case .record(let record) where isCase: .record(try record.mapValues { try $0.mapHeld(change) })
    default: self
    }
  }
}
