extension ValueDifference {
  /// Applies the differences to a value. If the value is the old value, the result is the new value.
  ///
  /// If the value is a different one, everything in it that no difference mentions is unchanged. If a difference reorders an array whose
  /// elements are identified by a key, elements that the new order does not list are placed at the end.
  ///
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the value lacks the old value of a difference, or already contains a key or
  ///   a set member that a difference adds.
  /// - Complexity: linear in the sizes of the value and of the difference, times the length of the paths; n log n in the members of sets
  ///   and maps.
  public func applied(to value: ArchiveValue) throws -> ArchiveValue {
    let root = Node(changes[...].map { ($0.path.components[...], $0) }, key)
    return try root.applied(to: value)
  }

  /// The changes at and below one path.
  private struct Node {
    var own: [Change] = []
    /// The key that identifies array elements; `nil` if they have no identity.
    let key: IdentityKey?
    /// The child nodes, in the order of the changes.
    var children: [(component: ValuePath.Component, node: Node)] = []

    init(_ changes: [(path: ArraySlice<ValuePath.Component>, change: Change)], _ key: IdentityKey?) {
      self.key = key
      var groups: [ValuePath.Component: [(ArraySlice<ValuePath.Component>, Change)]] = [:]
      var order: [ValuePath.Component] = []
      for (path, change) in changes {
        guard let first = path.first else {
          own.append(change)
          continue
        }
        // The same index can occur in a removal and in an addition: the index of a removal refers to the old array, and the index of an
        // addition to the new array.
        if groups[first] == nil { order.append(first) }
        groups[first, default: []].append((path.dropFirst(), change))
      }
      children = order.map { ($0, Node(groups[$0] ?? [], key)) }
    }

    func applied(to value: ArchiveValue) throws -> ArchiveValue {
      if let change = own.first(where: { $0.kind == .changed }), let new = change.new {
        guard change.old == value else { throw Self.mismatch }
        return new
      }
      // Only an array can be reordered.
      if case .array = value {} else if own.contains(where: { $0.kind == .reordered }) { throw Self.mismatch }
      switch value {
      case .object(let object): return .object(ArchiveObject(uniqueEntries: try applied(to: object.entries)))
      case .record(let record): return .record(record.with(try applied(to: record.object.entries)))
      case .array(let elements): return .array(try applied(to: elements))
      case .set(let members): return .set(try applied(toMembers: members))
      case .map(let entries): return .map(try applied(to: entries))
      default:
        guard own.isEmpty, children.isEmpty else { throw Self.mismatch }
        return value
      }
    }

    private func applied(to entries: [ArchiveObject.Entry]) throws -> [ArchiveObject.Entry] {
      var places = KeyPlaces(entries)
      var values: [ArchiveValue?] = entries.map(\.value)
      var added: [ArchiveObject.Entry] = []
      var next = 0
      for (component, node) in children {
        guard case .key(let key) = component else { throw Self.mismatch }
        let place = places.place(of: key, near: next)
        let value: ArchiveValue?
        do {
          value = try node.member(place.map { entries[$0].value })
        } catch { throw ArchiveError.at(.key(key), error) }
        if let place {
          values[place] = value
          next = place + 1
        } else if let value {
          added.append(.init(key: key, value: value))
        }
      }
      return zip(entries, values).compactMap { entry, value in value.map { .init(key: entry.key, value: $0) } } + added
    }

    private func applied(toMembers members: [ArchiveValue]) throws -> [ArchiveValue] {
      let changes = try children.flatMap { component, node in
        guard case .value = component, node.children.isEmpty, node.own.allSatisfy({ $0.kind != .changed }) else {
          throw Self.mismatch
        }
        return node.own
      }
      let removed = Set(changes.compactMap { $0.kind == .removed ? $0.old : nil })
      let added = changes.compactMap { $0.kind == .added ? $0.new : nil }
      let known = Set(members)
      guard removed.isSubset(of: known), known.isDisjoint(with: added) else {
        throw Self.mismatch
      }
      let values = members.filter { !removed.contains($0) } + added
      return try CanonicalOrder.sorted(values) { try $0.write($1) }
    }

    private func applied(to entries: [ArchiveValue.MapEntry]) throws -> [ArchiveValue.MapEntry] {
      let places = Dictionary(
        entries.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { first, _ in first })
      var values: [ArchiveValue?] = entries.map(\.value)
      var added: [ArchiveValue.MapEntry] = []
      for (component, node) in children {
        guard case .value(let key) = component else { throw Self.mismatch }
        let place = places[key]
        let value = try node.member(place.map { entries[$0].value })
        if let place {
          values[place] = value
        } else if let value {
          added.append(.init(key: key, value: value))
        }
      }
      let kept = zip(entries, values).compactMap { entry, value in
        value.map { ArchiveValue.MapEntry(key: entry.key, value: $0) }
      }
      return try CanonicalOrder.sorted(kept + added, by: { try $0.write($1.key) })
    }

    /// Returns the value of a key or an element after the changes of this node; `nil` if they remove it.
    private func member(_ value: ArchiveValue?) throws -> ArchiveValue? {
      for change in own {
        switch change.kind {
        case .added:
          guard value == nil else { throw Self.mismatch }
          return change.new
        case .removed:
          guard value != nil, change.old == value else { throw Self.mismatch }
          return nil
        case .changed, .reordered: break
        }
      }
      guard let value else { throw Self.mismatch }
      return try applied(to: value)
    }

    private func applied(to elements: [ArchiveValue]) throws -> [ArchiveValue] {
      var isKeyed = false
      var places: [(place: Int, node: Node)] = []
      for (component, node) in children {
        switch component {
        case .element: isKeyed = true
        case .index(let place): places.append((place, node))
        default: throw Self.mismatch
        }
      }
      if let reordered = own.first(where: { $0.kind == .reordered })?.new?.arrayValue {
        let members = try byID(elements)
        var rest = Dictionary(members.map { ($0.id, $0.value) }, uniquingKeysWith: { first, _ in first })
        let ordered = try reordered.map { id in
          guard let element = rest.removeValue(forKey: id) else { throw Self.mismatch }
          return element
        }
        // Elements that the new order does not list are appended, like added elements.
        return ordered + members.filter { rest[$0.id] != nil }.map(\.value)
      }
      if isKeyed { return try byID(elements).map(\.value) }
      return try byPlace(elements, places)
    }

    private func byID(_ elements: [ArchiveValue]) throws -> [(id: ArchiveValue, value: ArchiveValue)] {
      guard let key, let ids = ValueDifference.ids(elements, key) else { throw Self.mismatch }
      var nodes: [ArchiveValue: Node] = [:]
      for case (.element(_, let id), let node) in children { nodes[id] = node }
      var result: [(id: ArchiveValue, value: ArchiveValue)] = []
      for (id, element) in zip(ids, elements) {
        guard let value = try nodes[id].map({ try $0.member(element) }) ?? element else { continue }
        result.append((id, value))
      }
      let known = Set(ids)
      for case (.element(_, let id), let node) in children where !known.contains(id) {
        if let value = try node.member(nil) { result.append((id, value)) }
      }
      return result
    }

    private func byPlace(_ elements: [ArchiveValue], _ places: [(place: Int, node: Node)]) throws -> [ArchiveValue] {
      var result: [ArchiveValue?] = elements
      var added: [(place: Int, value: ArchiveValue)] = []
      for (place, node) in places {
        let additions = node.own.filter { $0.kind == .added }.compactMap(\.new)
        added += additions.map { (place, $0) }
        var rest = node
        rest.own.removeAll { $0.kind == .added }
        guard !rest.own.isEmpty || !rest.children.isEmpty else { continue }
        guard elements.indices.contains(place) else { throw Self.mismatch }
        result[place] = try rest.member(elements[place])
      }
      var rest = result.compactMap(\.self)[...]
      var merged: [ArchiveValue] = []
      merged.reserveCapacity(rest.count + added.count)
      for (place, value) in added.sorted(by: { $0.place < $1.place }) {
        let passed = place - merged.count
        guard passed >= 0, passed <= rest.count else { throw Self.mismatch }
        merged += rest.prefix(passed)
        rest = rest.dropFirst(passed)
        merged.append(value)
      }
      return merged + rest
    }

    private static var mismatch: ArchiveError {
      ArchiveError(.mergeFailed, "a difference can be applied only to the value from which it was computed")
    }
  }
}
