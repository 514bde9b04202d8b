internal import StrataCore

/// The objects of a graph in their places, and back.
struct ObjectTree {
  /// The types whose records were objects.
  private(set) var types = Set<String>()

  /// The value with the objects of its graphs in their places; a stream has a graph for each model.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` where objects are shared or in cycles.
  mutating func tree(_ value: ArchiveValue) throws -> ArchiveValue {
    if case .array(let elements) = value { return .array(try elements.map { try tree($0) }) }
    guard case .graph(let graph) = value else { return value }
    for case .record(let record) in graph.objects { types.insert(record.typeName) }
    return try graph.asTree()
  }

  /// The value with a graph of the records that are objects, where there are any.
  func graph(_ value: ArchiveValue) -> ArchiveValue {
    guard !types.isEmpty else { return value }
    var objects: [ArchiveValue] = []
    let root = moved(value, &objects)
    return objects.isEmpty ? value : .graph(ObjectGraph(objects: objects, root: root))
  }

  /// Objects get their numbers from the inside out, as models write them.
  private func moved(_ value: ArchiveValue, _ objects: inout [ArchiveValue]) -> ArchiveValue {
    let result = value.mapInside { moved($0, &objects) }
    guard case .record(let record) = result, types.contains(record.typeName) else { return result }
    objects.append(result)
    return .reference(objects.count - 1)
  }
}

extension ObjectGraph {
  fileprivate func asTree() throws -> ArchiveValue { try ArchiveValue.graph(self).asTree() }

  /// The graph as a tree for comparing: where an object occurs again, the path of its first place stands for it.
  func unfolded() throws -> ArchiveValue {
    var places: [Int: MergePath] = [:]
    var level = 0
    func unfold(_ value: ArchiveValue, _ path: [MergePath.Component]) throws -> ArchiveValue {
      switch value {
      case .reference(let number):
        if let first = places[number] { return ["same as": .string(first.description)] }
        guard objects.indices.contains(number) else { return .null }
        guard level < 256 else { throw ArchiveError.tooDeep(256) }
        places[number] = MergePath(path)
        level += 1
        defer { level -= 1 }
        return try unfold(objects[number], path)
      case .graph: return value
      // Nothing says where a member of a set is, or a key.
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
