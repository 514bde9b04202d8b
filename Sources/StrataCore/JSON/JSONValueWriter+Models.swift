extension JSONValueWriter {
  mutating func contents(of record: ModelRecord, _ layout: JSONLayout) throws -> JSONFrame.Contents {
    if let problem = layout.problem { throw problem }
    let fields = frames.isEmpty ? fields : nil
    let values = try values(of: record, layout, layout.leaves, fields)
    guard layout.whole.isEmpty else { return try contents(of: record, layout, values, fields) }
    let members = try members(layout.nodes, values, layout) { node in
      guard case .key(let key) = node.step, let leaf = layout.rests[ExactKey(key)] else { return nil }
      return values[leaf].map { ($0, leaf) }
    }
    return .members(Self.withGaps(members), layout)
  }

  /// Returns the value to write for each leaf of the layout; `nil` for a leaf that is not written.
  private func values(
    of record: ModelRecord, _ layout: JSONLayout, _ leaves: [JSONLayout.Leaf], _ fields: Set<String>?
  ) throws -> [ArchiveValue?] {
    var values: [ArchiveValue?] = []
    values.reserveCapacity(leaves.count)
    // The leaves of a field with several paths are adjacent, so it is enough to keep the last transformed value.
    var last: (index: Int, value: ArchiveValue)?
    for leaf in leaves {
      // If only some fields are written, keys without a mapping are not written, even if `fields` contains a field with the same name.
      guard fields.map({ leaf.entry != nil && $0.contains(leaf.key) }) ?? true else {
        values.append(nil)
        continue
      }
      if leaf.isFallbackPath {
        // The preceding leaf has a value if the field is written. Only then is the placeholder written at the fallback path.
        values.append(values.last.flatMap(\.self) == nil ? nil : JSONLayout.mark)
        continue
      }
      guard !leaf.isPlain, let entry = leaf.entry else {
        let value = record.values[leaf.index]
        values.append(leaf.entry != nil && value.isNull && writing.nulls == .omit ? nil : value)
        continue
      }
      do {
        let value =
          try last.flatMap { $0.index == leaf.index ? $0.value : nil } ?? transformed(record.values[leaf.index], entry)
        last = (leaf.index, value)
        let part = try entry.part(of: value, at: leaf.path)
        values.append(part?.isNull == true && (entry.json.nulls ?? writing.nulls) == .omit ? nil : part)
      } catch { throw layout.located(error, leaf) }
    }
    return values
  }

  private func transformed(_ value: ArchiveValue, _ entry: JSONPlan.Entry) throws -> ArchiveValue {
    guard let transform = entry.json.transform else { return value }
    if value.isNull, !transform.takesNull { return value }
    guard let write = transform.write else { return .null }
    return transform.isUntyped ? try write(json(value)) : try write(value)
  }

  /// Those members or elements of a container that no field reads, with the index of their leaf in the layout.
  private typealias Rest = (value: ArchiveValue, leaf: Int)

  /// Creates the members for all nodes that have a value. A nested object or array is at the position of the first value in it.
  ///
  /// - Parameter restAt: returns those members or elements at a node that no field reads.
  private func members(
    _ nodes: [JSONPathTree], _ values: [ArchiveValue?], _ layout: JSONLayout, restAt: (JSONPathTree) -> Rest?
  ) throws -> [JSONFrame.Member] {
    var members: [JSONFrame.Member] = []
    for node in nodes {
      let content: JSONFrame.Member.Content
      let rest = restAt(node).flatMap { $0.value.isNull ? nil : $0 }
      if let leaf = node.leaves.first {
        if let rest { throw Self.pathConflict(rest, layout) }
        guard let value = values[leaf] else { continue }
        content = .value(value, leaf)
      } else {
        let inside = try self.members(node, rest, values, layout)
        guard !inside.isEmpty || writing.keepsContainers && node.isObject else { continue }
        content = .group(inside)
      }
      members.append(JSONFrame.Member(step: node.step, content: content))
    }
    return members
  }

  /// Creates the members of the object or array at a node. Members that no field reads are at the end.
  private func members(
    _ node: JSONPathTree, _ rest: Rest?, _ values: [ArchiveValue?], _ layout: JSONLayout
  ) throws -> [JSONFrame.Member] {
    var members = try members(node.children, values, layout) { child in
      guard let rest else { return nil }
      return child.step.step.flatMap { rest.value[$0] }.map { ($0, rest.leaf) }
    }
    if let rest { members += try Self.members(of: rest, besides: node.children, layout) }
    return Self.withGaps(members)
  }

  private static func withGaps(_ members: [JSONFrame.Member]) -> [JSONFrame.Member] {
    guard members.first?.step.isKey == false else { return members }
    // Omitted elements become null, because the indices of the other elements must not change.
    var elements: [JSONFrame.Member] = []
    for member in members.sorted(by: { $0.index < $1.index }) {
      while elements.count < member.index {
        elements.append(JSONFrame.Member(step: .index(elements.count), content: .constant(.null)))
      }
      elements.append(member)
    }
    return elements
  }

  /// Creates members for those parts of a container that no field reads. Keys and indices that have a node are excluded.
  private static func members(
    of rest: Rest, besides nodes: [JSONPathTree], _ layout: JSONLayout
  ) throws -> [JSONFrame.Member] {
    let keys = Set(nodes.compactMap { if case .key(let key) = $0.step { ExactKey(key) } else { nil } })
    let indices = Set(nodes.compactMap { if case .index(let index) = $0.step { index } else { nil } })
    switch rest.value {
    case .object(let object) where indices.isEmpty:
      return object.entries.compactMap { entry in
        if keys.contains(ExactKey(entry.key)) { return nil }
        return JSONFrame.Member(step: .key(entry.key), content: .value(entry.value, rest.leaf))
      }
    case .array(let elements) where keys.isEmpty:
      return elements.enumerated().compactMap { index, element in
        // A null before the end is only a placeholder for a field or a gap, not an element of its own.
        if element.isNull && index < elements.count - 1 || indices.contains(index) { return nil }
        return JSONFrame.Member(step: .index(index), content: .value(element, rest.leaf))
      }
    default: throw pathConflict(rest, layout)
    }
  }

  private static func pathConflict(_ rest: Rest, _ layout: JSONLayout) -> ArchiveError {
    layout.pathConflict(layout.leaves[rest.leaf])
  }

  /// Returns the contents of a model that has fields mapped to the whole object. These fields are written first, because all other fields
  /// override their members.
  private func contents(
    of record: ModelRecord, _ layout: JSONLayout, _ values: [ArchiveValue?], _ fields: Set<String>?
  ) throws -> JSONFrame.Contents {
    var target = ArchiveValue.object(ArchiveObject())
    for (leaf, value) in try zip(layout.whole, self.values(of: record, layout, layout.whole, fields)) {
      guard let value, !value.isNull else { continue }
      do {
        guard case .object(let object) = try json(value) else {
          throw ArchiveError(
            .notEncodable, "a field that represents the whole object must contain an object; found \(value.kind)")
        }
        for entry in object.entries { try target.set(entry.value, at: [.key(entry.key)]) }
      } catch { throw layout.located(error, leaf) }
    }
    // In each object, the members that no field reads are added before the fields.
    let order = layout.rests.values.sorted() + layout.leaves.indices.dropLast(layout.rests.count)
    for (leaf, value) in order.map({ (layout.leaves[$0], values[$0]) }) {
      guard let value else {
        if writing.keepsContainers { try target.addObjects(leaf.path.components.dropLast()) }
        continue
      }
      do {
        if layout.rests[ExactKey(leaf.key)] != nil, leaf.entry == nil, !value.isContainer {
          throw layout.pathConflict(leaf)
        }
        try target.set(json(value), at: leaf.path.steps()[...]) { try ArchiveValue.container(.null, for: $1) }
      } catch { throw layout.located(error, leaf) }
    }
    return .entries(target.objectValue?.entries ?? [])
  }
}

extension ArchiveValue {
  fileprivate var isContainer: Bool {
    switch self {
    case .object, .array: true
    default: false
    }
  }

  /// Adds the missing objects along a path of keys. Stops at an index or at a value that is not an object.
  fileprivate mutating func addObjects(_ steps: ArraySlice<ValuePath.Component>) throws {
    var path: [ArchiveError.PathComponent] = []
    var current = self
    for step in steps {
      guard case .key(let key) = step, case .object(let object) = current else { return }
      path.append(.key(key))
      if object[key] == nil { try set(.object([:]), at: path[...]) }
      current = object[key] ?? [:]
    }
  }
}
