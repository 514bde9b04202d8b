internal import StrataCore

/// The objects that are reachable from a value, each after those that it refers to itself, as far as cycles allow.
///
/// Objects that are decoded in this order find the objects that they refer to. Those in a cycle wait for its last one.
struct ReferenceOrder {
  private let graph: ObjectGraph
  /// The numbers of the objects in the graph, in this order.
  private(set) var numbers: [Int] = []
  /// The index in this order of each object of the graph; -1 if the object is unreachable.
  private var indices: [Int]
  /// The object that first referred to each one; -1 for the root, -2 for none.
  private var origins: [Int]
  /// Whether the graph has its objects in this order already.
  private var isInOrder = true

  /// - Complexity: linear in the size of everything reachable. The stack does not grow with the graph.
  init(_ graph: ObjectGraph) {
    self.graph = graph
    indices = [Int](repeating: -1, count: graph.objects.count)
    origins = [Int](repeating: -2, count: graph.objects.count)
    guard !graph.objects.isEmpty else { return }
    var found: [Int] = []
    graph.root.forEachReference { found.append($0) }
    var steps = found.reversed().map { (number: $0, origin: -1, isLeaving: false) }
    while let step = steps.popLast() {
      if step.isLeaving {
        append(step.number)
        continue
      }
      guard graph.objects.indices.contains(step.number), origins[step.number] == -2 else { continue }
      origins[step.number] = step.origin
      found.removeAll(keepingCapacity: true)
      graph.objects[step.number].forEachReference { found.append($0) }
      guard !found.isEmpty else {
        append(step.number)
        continue
      }
      steps.append((step.number, step.origin, true))
      for child in found.reversed() where !origins.indices.contains(child) || origins[child] == -2 {
        steps.append((child, step.number, false))
      }
    }
  }

  private mutating func append(_ number: Int) {
    indices[number] = numbers.count
    if number != numbers.count { isInOrder = false }
    numbers.append(number)
  }

  /// Returns the value with its references renumbered to this order.
  func renumbered(_ value: ArchiveValue) -> ArchiveValue {
    // A value without references is not copied.
    guard !isInOrder, value.hasReferences else { return value }
    if case .reference(let number) = value {
      return .reference(indices.indices.contains(number) ? indices[number] : -1)
    }
    return value.mapInside(renumbered)
  }

  /// A short path from the root to an object, for errors.
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

  private static func path(to number: Int, in value: ArchiveValue) -> [ArchiveError.PathComponent] {
    var rest: [(value: ArchiveValue, path: [ArchiveError.PathComponent])] = [(value, [])]
    while let (value, path) = rest.popLast() {
      if case .reference(number) = value { return path }
      var inside: [(value: ArchiveValue, path: [ArchiveError.PathComponent])] = []
      value.forEachStep { inside.append(($0, path + [$1].compactMap(\.self))) }
      rest += inside.reversed()
    }
    return []
  }
}
