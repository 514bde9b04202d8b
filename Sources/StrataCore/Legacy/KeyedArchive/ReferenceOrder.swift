/// The objects of a graph that a value refers to, each behind those that it refers to itself, as far as cycles allow.
///
/// Objects that are made in this order find what they need, and those in a cycle wait for the last of them.
struct ReferenceOrder {
  private let graph: ObjectGraph
  /// The numbers of the objects in the graph, in the order.
  private(set) var numbers: [Int] = []
  /// The place in the order of each object of the graph.
  private var places: [Int: Int] = [:]
  /// The object that led to each one; -1 is the root.
  private var origins: [Int: Int] = [:]

  /// - Complexity: linear in the size of what the value refers to. The stack does not grow with the graph.
  init(_ graph: ObjectGraph) {
    self.graph = graph
    var steps = Self.references(in: graph.root).reversed().map { (number: $0, origin: -1, isLeaving: false) }
    while let step = steps.popLast() {
      if step.isLeaving {
        places[step.number] = numbers.count
        numbers.append(step.number)
        continue
      }
      guard graph.objects.indices.contains(step.number), origins[step.number] == nil else { continue }
      origins[step.number] = step.origin
      steps.append((step.number, step.origin, true))
      for child in Self.references(in: graph.objects[step.number]).reversed() where origins[child] == nil {
        steps.append((child, step.number, false))
      }
    }
  }

  /// A value whose references name the places in the order.
  func renumbered(_ value: Value) -> Value {
    switch value {
    case .reference(let number): .reference(places[number] ?? -1)
    case .array(let elements): .array(elements.map(renumbered))
    case .set(let elements): .set(elements.map(renumbered))
    case .object(let object):
      .object(Object(uniqueEntries: object.entries.map { .init(key: $0.key, value: renumbered($0.value)) }))
    case .map(let entries): .map(entries.map { .init(key: renumbered($0.key), value: renumbered($0.value)) })
    case .record(let record): .record(Record(shape: record.shape, values: record.values.map(renumbered)))
    default: value
    }
  }

  /// The way from the root to an object: a short one, for errors.
  func path(to number: Int) -> [ArchiveError.PathComponent] {
    var parts: [[ArchiveError.PathComponent]] = []
    var current = number
    while let origin = origins[current], parts.count < 256 {
      let value = origin < 0 ? graph.root : graph.objects[origin]
      parts.append(Self.path(to: current, in: value))
      current = origin
    }
    return Array(parts.reversed().joined())
  }

  private static func references(in value: Value) -> [Int] {
    var found: [Int] = []
    var rest = [value]
    while let value = rest.popLast() {
      if case .reference(let number) = value { found.append(number) }
      rest.append(contentsOf: children(of: value).reversed().map(\.value))
    }
    return found
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
