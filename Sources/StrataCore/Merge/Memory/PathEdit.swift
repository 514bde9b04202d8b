/// A copy of a value in which the value at one path is replaced. Used to resolve conflicts. References on the path are followed in a loop
/// instead of recursively.
struct PathEdit {
  private(set) var root: ArchiveValue
  /// The new fields of objects on the path, by object number.
  private(set) var updates: [Int: ModelRecord] = [:]

  static var lost: ArchiveError {
    ArchiveError(.mergeFailed, "the path of the conflict no longer exists in the model")
  }

  /// Creates a copy of `root` in which the value at `path` is replaced.
  ///
  /// - Parameter new: the new value; `nil` removes the existing one.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if no value exists at the path, or if several elements match it.
  init(_ root: ArchiveValue, _ path: ValuePath, to new: ArchiveValue?, in graph: MergeGraph) throws {
    var object: (number: Int, path: ArraySlice<ValuePath.Component>)?
    func edited(_ value: ArchiveValue?, _ path: ArraySlice<ValuePath.Component>) throws -> ArchiveValue? {
      guard let step = path.first else { return new }
      let rest = path.dropFirst()
      switch (value, step) {
      case (.reference(let number)?, _):
        object = (number, path)
        return value
      // An empty dictionary can be encoded as an empty object even if its keys are not strings, so an empty object is edited like an empty
      // map.
      case (.object(let object)?, .value) where object.isEmpty: return try edited(.map([]), path)
      case (.map(let entries)?, .value(let key)):
        let place = entries.lastIndex { $0.key == key }
        let entry = try edited(place.map { entries[$0].value }, rest).map { ArchiveValue.MapEntry(key: key, value: $0) }
        return .map(entries.putting(entry, at: place))
      // A record has only the keys that its model declares, so a value under any other key would be lost.
      case (.record?, .key(let key)) where value?[key] != nil, (.object?, .key(let key)):
        var changed = value
        changed?[key] = try edited(value?[key], rest)
        return changed
      case (.array?, .value(let key)) where value?.isPairs(with: key) ?? false:
        var members = value?.members(arePairs: true) ?? []
        let place = members.lastIndex { $0.step == step }
        let member = try edited(place.map { members[$0].value }, rest).map { (step: step, value: $0) }
        members = members.putting(member, at: place)
        return value?.with(members)
      case (.array(let elements)?, _): return .array(try list(elements, step, rest))
      case (.set(let elements)?, _): return .set(try list(elements, step, rest))
      default: throw Self.lost
      }
    }
    func isNamed(_ value: ArchiveValue, _ step: ValuePath.Component) throws -> Bool {
      switch step {
      case .element(let key, let id): try graph.opened(value)[key] == id
      case .value(let content): try graph.opened(value) == content
      case .key, .index, .anyKey, .anyElement: false
      }
    }
    func list(
      _ elements: [ArchiveValue], _ step: ValuePath.Component, _ rest: ArraySlice<ValuePath.Component>
    ) throws -> [ArchiveValue] {
      var places = try elements.indices.filter { try isNamed(elements[$0], step) }
      var count = places.count
      switch step {
      case .element where places.isEmpty:
        // A path refers to a model in a list only by its identity, even if the model is in an inner list, a dictionary or an enum case of
        // the list. The search therefore includes nested values.
        func held(_ value: ArchiveValue) throws -> ArchiveValue? {
          guard try isNamed(value, step) else { return try value.mapHeld(held) }
          count += 1
          return try edited(value, rest)
        }
        let inside = try elements.map { try $0.mapHeld(held) }
        if count == 1 { return inside }
      case .index(let place) where elements.indices.contains(place): places = [place]
      // If no element matches, the new value is appended to the list.
      case .element, .value: break
      case .key, .index, .anyKey, .anyElement: throw Self.lost
      }
      guard count < 2 else {
        throw ArchiveError(
          .mergeFailed,
          "the path \(path.keysOnly) matches several elements with the same identity, so the element to change is "
            + "ambiguous; change that element in the model, and resolve the conflict with .local")
      }
      return elements.putting(try edited(places.first.map { elements[$0] }, rest), at: places.first)
    }
    self.root = root
    self.root = try edited(root, path.components[...]) ?? .null
    while let (number, rest) = object {
      object = nil
      updates[number] = try edited(.record(graph.record(number)), rest)?.recordValue
    }
  }
}

extension Array {
  /// Returns the array with the element at an index replaced, or with the element appended if the index is `nil`. If the new element is
  /// `nil`, the existing one is removed.
  fileprivate func putting(_ element: Element?, at place: Int?) -> [Element] {
    var result = self
    let place = place ?? count
    result.replaceSubrange(place..<Swift.min(place + 1, count), with: element.map { [$0] } ?? [])
    return result
  }
}
