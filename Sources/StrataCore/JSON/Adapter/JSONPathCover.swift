/// The parts of a document that the paths of a mapping refer to. All other parts are called the rest of the document.
final class JSONPathCover: Sendable {
  private let keys: [ExactKey: JSONPathCover]
  private let indices: [Int: JSONPathCover]
  /// Whether the whole value at this position is covered, because a path ends here or continues with `[*]`.
  private let isWhole: Bool

  convenience init(_ paths: [ValuePath]) {
    self.init(JSONPathTree.nodes(paths), isWhole: paths.contains { $0.components.isEmpty })
  }

  private init(_ nodes: [JSONPathTree], isWhole: Bool) {
    var keys: [ExactKey: JSONPathCover] = [:]
    var indices: [Int: JSONPathCover] = [:]
    var isWhole = isWhole
    for node in nodes {
      let cover = JSONPathCover(node.children, isWhole: !node.leaves.isEmpty)
      switch node.step {
      case .key(let key): keys[ExactKey(key)] = cover
      case .index(let index): indices[index] = cover
      case .anyKey, .anyElement, .element, .value: isWhole = true
      }
    }
    (self.keys, self.indices, self.isWhole) = (keys, indices, isWhole)
  }

  /// Returns the parts of a value that no path covers, inside the same objects and arrays; `nil` if there are none. A covered array element
  /// becomes null, so the indices of the other elements do not change.
  func rest(of value: ArchiveValue) -> ArchiveValue? {
    if isWhole { return nil }
    switch value {
    case .object(let object) where indices.isEmpty:
      let entries = object.entries.compactMap { entry in
        rest(of: entry).map { ArchiveObject.Entry(key: entry.key, value: $0) }
      }
      return entries.isEmpty ? nil : .object(ArchiveObject(uniqueEntries: entries))
    case .array(let elements) where keys.isEmpty:
      let rests = elements.enumerated().map { index, element in
        if let cover = indices[index] { cover.rest(of: element) } else { ArchiveValue?.some(element) }
      }
      guard let last = rests.lastIndex(where: { $0 != nil }) else { return nil }
      return .array(rests[...last].map { $0 ?? .null })
    // The paths continue below this value, but it is not the object or array that they require. If it is null, the fields with these paths
    // are null. Any other value causes an error when the fields are read or unknown keys are captured.
    default: return nil
    }
  }

  /// Returns the parts of a member that no path covers; `nil` if there are none.
  func rest(of entry: ArchiveObject.Entry) -> ArchiveValue? {
    if let cover = keys[ExactKey(entry.key)] { cover.rest(of: entry.value) } else { entry.value }
  }

  /// Returns the paths of the keys in a value that no path of the mapping covers.
  func unmappedPaths(in value: ArchiveValue) -> [[ArchiveError.PathComponent]] {
    if isWhole { return [] }
    switch value {
    case .object(let object) where indices.isEmpty:
      return object.entries.flatMap { entry in
        guard let cover = keys[ExactKey(entry.key)] else { return [[ArchiveError.PathComponent.key(entry.key)]] }
        return cover.unmappedPaths(in: entry.value).map { [.key(entry.key)] + $0 }
      }
    case .array(let elements) where keys.isEmpty:
      return indices.keys.sorted().filter(elements.indices.contains).flatMap { index in
        (indices[index]?.unmappedPaths(in: elements[index]) ?? []).map { [.index(index)] + $0 }
      }
    default: return []
    }
  }
}
