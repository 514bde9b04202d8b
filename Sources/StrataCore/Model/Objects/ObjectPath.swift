/// The way from a value to one of the objects that it refers to, for errors: objects do not stand where they are used.
struct ObjectPath {
  /// The keys and places that lead to an object; the shortest way, and empty where none is found.
  ///
  /// - Complexity: linear in the size of the graph.
  static func find<T: Archivable>(_ target: any VersionedModel, from root: T) -> [ArchiveError.PathComponent] {
    let wanted = target.identity
    var seen = Set<ObjectIdentifier>()
    var queue: [(object: any VersionedModel, path: [ArchiveError.PathComponent])] = []
    func add(_ value: Value, _ neighbours: ObjectNeighbours, _ path: [ArchiveError.PathComponent]) {
      switch value {
      case .reference(let number): queue.append((neighbours.objects[number], path))
      case .array(let elements), .set(let elements):
        for (index, element) in elements.enumerated() { add(element, neighbours, path + [.index(index)]) }
      case .object(let object): for entry in object.entries { add(entry.value, neighbours, path + [.key(entry.key)]) }
      case .record(let record): for field in record.fields { add(field.value, neighbours, path + [.key(field.key)]) }
      case .map(let entries):
        for entry in entries {
          let key: ArchiveError.PathComponent = .key(entry.key.stringValue ?? "(key)")
          add(entry.key, neighbours, path + [key])
          add(entry.value, neighbours, path + [key])
        }
      default: break
      }
    }
    // This finds a path for an error that is thrown in any case; an object that cannot be encoded hides those after it.
    let neighbours = ObjectNeighbours()
    guard let value = try? root.archivedValue(includingExcluded: true, role: .neighbours(neighbours)) else { return [] }
    add(value, neighbours, [])
    var next = 0
    while next < queue.count {
      let (object, path) = queue[next]
      next += 1
      let identity = object.identity
      guard seen.insert(identity).inserted else { continue }
      if identity == wanted { return path }
      let neighbours = ObjectNeighbours()
      if let record = try? object.shallowRecord(neighbours) { add(.record(record), neighbours, path) }
    }
    return []
  }
}
