extension ValueDifference {
  /// The old value with the differences in it: the new one.
  ///
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where the value does not have what was there before.
  public func applied(to value: Value) throws -> Value {
    let root = Node(changes[...].map { ($0.path.components[...], $0) }, key)
    return try root.applied(to: value)
  }

  /// The changes below one path.
  private struct Node {
    var own: [Change] = []
    /// The key that tells the elements of arrays apart.
    let key: String
    /// In the order in which they were noted.
    var children: [(component: MergePath.Component, node: Node)] = []

    init(_ changes: [(path: ArraySlice<MergePath.Component>, change: Change)], _ key: String) {
      self.key = key
      var groups: [MergePath.Component: [(ArraySlice<MergePath.Component>, Change)]] = [:]
      var order: [MergePath.Component] = []
      for (path, change) in changes {
        guard let first = path.first else {
          own.append(change)
          continue
        }
        // A place where something was removed and one where something was added are two.
        if groups[first] == nil { order.append(first) }
        groups[first, default: []].append((path.dropFirst(), change))
      }
      children = order.map { ($0, Node(groups[$0] ?? [], key)) }
    }

    func applied(to value: Value) throws -> Value {
      if let change = own.first(where: { $0.kind == .changed }), let new = change.new {
        guard value == change.old || value.isNaN && change.old?.isNaN ?? false else { throw Self.mismatch }
        return new
      }
      switch value {
      case .object(var object):
        for (component, node) in children {
          guard case .key(let key) = component else { throw Self.mismatch }
          do { object[key] = try node.member(object[key]) } catch { throw ArchiveError.at(.key(key), error) }
        }
        return .object(object)
      case .record(var record):
        for (component, node) in children {
          guard case .key(let key) = component else { throw Self.mismatch }
          do { record[key] = try node.member(record[key]) } catch { throw ArchiveError.at(.key(key), error) }
        }
        return .record(record)
      case .array(let elements): return .array(try applied(to: elements))
      case .set(let members):
        let removed = Set(children.flatMap { $0.node.own }.compactMap { $0.kind == .removed ? $0.old : nil })
        let added = children.flatMap { $0.node.own }.compactMap { $0.kind == .added ? $0.new : nil }
        guard removed.isSubset(of: members) else { throw Self.mismatch }
        let values = members.filter { !removed.contains($0) } + added
        return .set(try CanonicalOrder.sorted(values) { try $0.write($1) })
      case .map(let entries):
        var result = entries
        for (component, node) in children {
          guard case .value(let key) = component else { throw Self.mismatch }
          let place = result.firstIndex { $0.key == key }
          let value = try node.member(place.map { result[$0].value })
          switch (place, value) {
          case (let place?, let value?): result[place].value = value
          case (let place?, nil): result.remove(at: place)
          case (nil, let value?): result.append(.init(key: key, value: value))
          case (nil, nil): break
          }
        }
        return .map(try CanonicalOrder.sorted(result, by: { try $0.write($1.key) }))
      default:
        guard own.isEmpty, children.isEmpty else { throw Self.mismatch }
        return value
      }
    }

    /// What becomes of a value that may be absent.
    private func member(_ value: Value?) throws -> Value? {
      for change in own {
        switch change.kind {
        case .added:
          guard value == nil else { throw Self.mismatch }
          return change.new
        case .removed:
          guard value == change.old else { throw Self.mismatch }
          return nil
        case .changed, .reordered: break
        }
      }
      guard let value else { throw Self.mismatch }
      return try applied(to: value)
    }

    private func applied(to elements: [Value]) throws -> [Value] {
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
        let known = Dictionary(members.map { ($0.id, $0.value) }, uniquingKeysWith: { first, _ in first })
        return try reordered.map { id in
          guard let element = known[id] else { throw Self.mismatch }
          return element
        }
      }
      if isKeyed { return try byID(elements).map(\.value) }
      return try byPlace(elements, places)
    }

    private func byID(_ elements: [Value]) throws -> [(id: Value, value: Value)] {
      guard let ids = ValueDifference.ids(elements, key) else { throw Self.mismatch }
      var nodes: [Value: Node] = [:]
      for case (.element(_, let id), let node) in children { nodes[id] = node }
      var result: [(id: Value, value: Value)] = []
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

    private func byPlace(_ elements: [Value], _ places: [(place: Int, node: Node)]) throws -> [Value] {
      var result: [Value?] = elements
      var added: [(place: Int, value: Value)] = []
      for (place, node) in places {
        let additions = node.own.filter { $0.kind == .added }.compactMap(\.new)
        added += additions.map { (place, $0) }
        var rest = node
        rest.own.removeAll { $0.kind == .added }
        guard !rest.own.isEmpty || !rest.children.isEmpty else { continue }
        guard elements.indices.contains(place) else { throw Self.mismatch }
        result[place] = try rest.member(elements[place])
      }
      var kept = result.compactMap(\.self)
      for (place, value) in added.sorted(by: { $0.place < $1.place }) {
        guard place <= kept.count else { throw Self.mismatch }
        kept.insert(value, at: place)
      }
      return kept
    }

    private static var mismatch: ArchiveError {
      ArchiveError(.mergeFailed, "the value is another one than that which was compared")
    }
  }
}
