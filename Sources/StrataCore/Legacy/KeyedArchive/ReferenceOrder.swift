/// The objects of a graph that a value refers to, each after those that it refers to itself, as far as cycles allow.
///
/// Objects that are made in this order find what they need, and those in a cycle wait for the last of them.
struct ReferenceOrder {
  private let graph: ObjectGraph
  /// The numbers of the objects in the graph, in the order.
  private(set) var numbers: [Int] = []
  /// The index in the order of each object of the graph; -1 where the root does not lead to it.
  private var indices: [Int]
  /// The object that led to each one; -1 is the root, -2 none.
  private var origins: [Int]
  /// Whether the objects are in the order already.
  private var isInOrder = true

  /// - Complexity: linear in the size of what the value refers to. The stack does not grow with the graph.
  init(_ graph: ObjectGraph) {
    self.graph = graph
    indices = [Int](repeating: -1, count: graph.objects.count)
    origins = [Int](repeating: -2, count: graph.objects.count)
    var found: [Int] = []
    Self.collect(graph.root, into: &found)
    var steps = found.reversed().map { (number: $0, origin: -1, isLeaving: false) }
    while let step = steps.popLast() {
      if step.isLeaving {
        indices[step.number] = numbers.count
        if step.number != numbers.count { isInOrder = false }
        numbers.append(step.number)
        continue
      }
      guard graph.objects.indices.contains(step.number), origins[step.number] == -2 else { continue }
      origins[step.number] = step.origin
      steps.append((step.number, step.origin, true))
      found.removeAll(keepingCapacity: true)
      Self.collect(graph.objects[step.number], into: &found)
      for child in found.reversed() where !origins.indices.contains(child) || origins[child] == -2 {
        steps.append((child, step.number, false))
      }
    }
  }

  /// A value whose references name the indices in the order.
  func renumbered(_ value: Value) -> Value { isInOrder ? value : changed(value) ?? value }

  /// The value with other references; `nil` where it has none.
  private func changed(_ value: Value) -> Value? {
    switch value {
    case .reference(let number): .reference(indices.indices.contains(number) ? indices[number] : -1)
    case .array(let elements): changed(elements).map { .array($0) }
    case .set(let elements): changed(elements).map { .set($0) }
    case .object(let object):
      changed(object.entries.map(\.value)).map { values in
        .object(Object(uniqueEntries: zip(object.entries, values).map { .init(key: $0.key, value: $1) }))
      }
    case .map(let entries):
      .map(entries.map { .init(key: changed($0.key) ?? $0.key, value: changed($0.value) ?? $0.value) })
    case .record(let record): changed(record.values).map { .record(ModelRecord(shape: record.shape, values: $0)) }
    default: nil
    }
  }

  private func changed(_ values: [Value]) -> [Value]? {
    var result: [Value]?
    for (index, value) in values.enumerated() {
      guard let new = changed(value) else { continue }
      if result == nil { result = values }
      result?[index] = new
    }
    return result
  }

  /// The path from the root to an object: a short one, for errors.
  func path(to number: Int) -> [ArchiveError.PathComponent] {
    var parts: [[ArchiveError.PathComponent]] = []
    var current = number
    while origins.indices.contains(current), origins[current] > -2, parts.count < 256 {
      let origin = origins[current]
      let value = origin < 0 ? graph.root : graph.objects[origin]
      parts.append(Self.path(to: current, in: value))
      current = origin
    }
    return Array(parts.reversed().joined())
  }

  /// Adds the numbers that references in a value name, in their order.
  private static func collect(_ value: Value, into found: inout [Int]) {
    switch value {
    case .reference(let number): found.append(number)
    case .array(let elements), .set(let elements): for element in elements { collect(element, into: &found) }
    case .object(let object): for entry in object.entries { collect(entry.value, into: &found) }
    case .record(let record): for value in record.values { collect(value, into: &found) }
    case .map(let entries):
      for entry in entries {
        collect(entry.key, into: &found)
        collect(entry.value, into: &found)
      }
    default: break
    }
  }

  private static func path(to number: Int, in value: Value) -> [ArchiveError.PathComponent] {
    var rest: [(value: Value, path: [ArchiveError.PathComponent])] = [(value, [])]
    while let (value, path) = rest.popLast() {
      if case .reference(number) = value { return path }
      for child in children(of: value).reversed() { rest.append((child.value, path + [child.component])) }
    }
    return []
  }

  private static func children(of value: Value) -> [(component: ArchiveError.PathComponent, value: Value)] {
    switch value {
    case .array(let elements), .set(let elements): elements.enumerated().map { (.index($0), $1) }
    case .object(let object): object.entries.map { (.key($0.key), $0.value) }
    case .record(let record): record.fields.map { (.key($0.key), $0.value) }
    case .map(let entries):
      entries.flatMap { entry in
        let key = ArchiveError.PathComponent.key(entry.key.stringValue ?? "(key)")
        return [(key, entry.key), (key, entry.value)]
      }
    default: []
    }
  }
}
