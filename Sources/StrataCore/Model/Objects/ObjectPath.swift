/// Finds the path from a value to an object, to report it in errors. The path must be searched for, because objects are archived separately
/// from the references to them.
package struct ObjectPath {
  /// Returns the shortest path of keys and indices from `root` to an object. Returns an empty path if the object is the root itself, or if
  /// no path is found.
  ///
  /// - Complexity: linear in the size of the graph.
  package static func find<T: Archivable>(_ target: any VersionedModel, from root: T) -> [ArchiveError.PathComponent] {
    let wanted = target.identity
    var seen = Set<ObjectIdentifier>()
    var queue: [(object: any VersionedModel, path: [ArchiveError.PathComponent])] = []
    func add(_ value: ArchiveValue, _ referenced: ReferencedObjects, _ path: [ArchiveError.PathComponent]) {
      switch value {
      case .reference(let number): queue.append((referenced.objects[number], path))
      // References inside an untyped graph refer only to entries of that graph, so they never refer to the target object.
      case .graph: break
      default: value.forEachStep { add($0, referenced, path + [$1].compactMap(\.self)) }
      }
    }
    // Encoding errors are ignored, because the path only describes an error that is thrown anyway. Objects that can be
    // reached only through an object that cannot be encoded are not found.
    let referenced = ReferencedObjects()
    guard let value = try? root.archivedValue(includingExcluded: true, role: .referenced(referenced)) else { return [] }
    add(value, referenced, [])
    var next = 0
    while next < queue.count {
      let (object, path) = queue[next]
      next += 1
      let identity = object.identity
      guard seen.insert(identity).inserted else { continue }
      if identity == wanted { return path }
      let referenced = ReferencedObjects()
      // An object that cannot be encoded has no fields to search. Its error is ignored, because the path only describes
      // an error that is thrown anyway.
      if let record = try? object.shallowRecord(referenced) { add(.record(record), referenced, path) }
    }
    return []
  }
}
