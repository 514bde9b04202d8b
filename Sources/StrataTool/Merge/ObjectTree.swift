internal import StrataCore

/// Converts graphs of objects to trees, and the trees back to graphs.
struct ObjectTree {
  /// The type names of the records that were objects in a converted graph. ``graph(_:)`` converts records of these
  /// types back to objects.
  private(set) var types = Set<String>()

  /// Returns the value with each reference replaced by the referenced object. In a stream, each model has its own
  /// graph.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` if objects are shared or form cycles.
  mutating func tree(_ value: ArchiveValue) throws -> ArchiveValue {
    if case .array(let elements) = value { return .array(try elements.map { try tree($0) }) }
    guard case .graph(let graph) = value else { return value }
    for case .record(let record) in graph.objects { types.insert(record.typeName) }
    return try graph.asTree()
  }

  /// Returns the value as a graph in which the records of the types in ``types`` are objects. Returns the value
  /// unchanged if it contains no such records.
  func graph(_ value: ArchiveValue) -> ArchiveValue {
    guard !types.isEmpty else { return value }
    var objects: [ArchiveValue] = []
    let root = moved(value, &objects)
    return objects.isEmpty ? value : .graph(ObjectGraph(objects: objects, root: root))
  }

  /// Replaces the objects in a value with references. Objects are numbered from the inside out, as in archives of
  /// models.
  private func moved(_ value: ArchiveValue, _ objects: inout [ArchiveValue]) -> ArchiveValue {
    let result = value.mapInside { moved($0, &objects) }
    guard case .record(let record) = result, types.contains(record.typeName) else { return result }
    objects.append(result)
    return .reference(objects.count - 1)
  }
}

extension ObjectGraph {
  fileprivate func asTree() throws -> ArchiveValue { try ArchiveValue.graph(self).asTree() }

  /// Returns the graph as a tree that can be compared. A repeated object is replaced with the path of its first
  /// occurrence.
  func unfolded() throws -> ArchiveValue {
    var places: [Int: ValuePath] = [:]
    var level = 0
    func unfold(_ value: ArchiveValue, _ path: [ValuePath.Component]) throws -> ArchiveValue {
      switch value {
      case .reference(let number):
        if let first = places[number] { return ["same as": .string(first.description)] }
        guard objects.indices.contains(number) else { return .null }
        guard level < 256 else { throw ArchiveError.tooDeep(256) }
        places[number] = ValuePath(path)
        level += 1
        defer { level -= 1 }
        return try unfold(objects[number], path)
      case .graph: return value
      // The elements of sets and the keys of maps have no path of their own, so the path of the container is used.
      case .set, .map: return try value.mapInside { try unfold($0, path) }
      default:
        return try value.mapSteps { value, step in
          switch step {
          case .key(let key)?: try unfold(value, path + [.key(key)])
          case .index(let index)?: try unfold(value, path + [.index(index)])
          case nil: try unfold(value, path)
          }
        }
      }
    }
    return try unfold(root, [])
  }
}
