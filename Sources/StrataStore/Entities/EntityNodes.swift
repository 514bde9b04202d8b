package import StrataCore

/// The objects of a save, as a graph. Each incoming object is a node with references to other nodes.
///
/// The nodes are created before the transaction begins, so that no model code runs within the transaction. They are `Sendable`
/// because they are passed to the database's queue.
package struct EntityNodes: Sendable {
  /// The value of a node's relation.
  package enum Link: Sendable {
    /// The source does not contain the relation.
    case absent
    /// The indices of the referenced nodes in the graph. Empty for a null reference or an empty list.
    case nodes([Int])
  }

  package struct Node: Sendable {
    /// The index of the entity in the catalog.
    package private(set) var type: Int
    /// The values of the attributes, in the order of the entity's attributes. An absent value is `nil`.
    package var values: [ArchiveValue?]
    /// The values of the relations, in the order of the entity's relations.
    package var links: [Link]
    /// The node from which this node was first reached, or `nil` for a root.
    package let parent: Int?
    /// The path components from the parent to this node.
    package let steps: [ArchiveError.PathComponent]
    /// The indices of the attributes for which the source contains an unknown enum case. Their values are treated as absent, except
    /// that the source's defaults for absent values are not used.
    package var unknownCases: Set<Int> = []
    /// The keys of the fields whose lists are incomplete, because invalid elements were skipped. A save removes no existing elements
    /// from these lists.
    package var incompleteFields: Set<String> = []
    /// Whether the values have already been merged with the values of the existing row. If so, merge policies are skipped.
    package var isMerged = false
    /// For a complete object, its ``RowBase``, which contains the state of its row when it was fetched. `nil` if the object has no
    /// ``RowBase``.
    var rowBase: RowBase.Box?
    /// The results of decoding the node as each subclass of its entity, by the subclass's index in the catalog. Once the node's row is
    /// found, the row's class determines which result is used. Empty if the source specifies the class.
    fileprivate var subclasses: [Int: Result<Subclass, any Error>] = [:]

    package init(
      type: Int, values: [ArchiveValue?], links: [Link], parent: Int?, steps: [ArchiveError.PathComponent]
    ) {
      self.type = type
      self.values = values
      self.links = links
      self.parent = parent
      self.steps = steps
    }
  }

  fileprivate struct Subclass {
    let values: [ArchiveValue?]
    let links: [Int?]
    let unknownCases: Set<Int>
    let incompleteFields: Set<String>
  }

  /// Changes a node's type to the subclass of its row. Does nothing if the source specifies the class.
  ///
  /// - Throws: ``EntityError`` if the source cannot be decoded as that subclass.
  mutating func refine(_ number: Int, to type: Int) throws {
    guard let subclass = try nodes[number].subclasses[type]?.get() else { return }
    nodes[number].refine(subclass, to: type)
  }

  package var nodes: [Node] = []
  package var roots: [Int] = []
  let isWhole: Bool
  /// Whether merge policies apply to existing rows. If false, the saved values replace the existing values.
  package let merges: Bool
  /// The default values that the source's mapping declares for absent attributes of new rows. The key is the index of the
  /// entity in the catalog, and the array contains one element per attribute.
  private(set) var defaults: [Int: [ArchiveValue?]] = [:]

  /// Creates the nodes for all objects of a source, such as models, JSON or an archive.
  ///
  /// - Parameters:
  ///   - trace: a closure that is called with each decoded field.
  package init<E: Entity>(
    _ source: MergeSource, of type: E.Type, in catalog: EntityCatalog,
    by adapter: JSONAdapter<E>? = nil, at path: ValuePath? = nil, merges: Bool = true,
    trace: ((EntityTrace) -> Void)? = nil
  ) throws {
    self.merges = merges
    let parts: FieldParts
    do { parts = try FieldParts(source, of: type, by: adapter, at: path) } catch {
      throw Self.failure(error, type.schema.name, [])
    }
    isWhole = parts.isWhole
    var walk = Walk(catalog: catalog, parts: parts, trace: trace)
    let values: [(ArchiveValue, [ArchiveError.PathComponent])] =
      switch parts.root {
      case .array(let elements), .set(let elements): elements.enumerated().map { ($1, [.index($0)]) }
      default: [(parts.root, [])]
      }
    let known = try catalog.known(type)
    for (value, steps) in values { roots.append(try walk.add(value, known, parent: nil, steps)) }
    try walk.run()
    nodes = walk.nodes
    for type in Set(nodes.map(\.type)) {
      let (schema, attributes) = (catalog.types[type].schema, catalog.types[type].attributes)
      do { defaults[type] = try attributes.map { try parts.missingValue(of: $0.place, in: schema) } } catch {
        throw Self.failure(error, schema.name, [])
      }
    }
  }

  /// Creates a graph of complete objects in which each node is a root.
  init(_ nodes: [Node]) { (self.nodes, roots, isWhole, merges) = (nodes, Array(nodes.indices), true, false) }

  /// Returns the path from the root to a node.
  package func path(of number: Int) -> [ArchiveError.PathComponent] { Self.path(of: number, in: nodes) }

  private static func path(of number: Int?, in nodes: [Node]) -> [ArchiveError.PathComponent] {
    var path: [ArchiveError.PathComponent] = []
    var next = number
    while let number = next {
      path = nodes[number].steps + path
      next = nodes[number].parent
    }
    return path
  }

  /// Returns the roots that satisfy `kept`, with all nodes that are reachable from these roots through nodes that satisfy
  /// `kept`. References to other nodes are removed. A relation that loses all its nodes becomes absent.
  package func reduced(to kept: (Int) -> Bool) -> EntityNodes {
    var numbers: [Int: Int] = [:]
    var waiting = roots.filter(kept).reversed() as [Int]
    while let number = waiting.popLast() {
      guard numbers[number] == nil else { continue }
      numbers[number] = 0
      for case .nodes(let found) in nodes[number].links { waiting += found.filter(kept) }
    }
    for (place, number) in numbers.keys.sorted().enumerated() { numbers[number] = place }
    var result = self
    result.roots = roots.compactMap { numbers[$0] }
    result.nodes = numbers.keys.sorted().map { number in
      let node = nodes[number]
      let links = node.links.map { link -> Link in
        guard case .nodes(let found) = link else { return .absent }
        let left = found.compactMap { numbers[$0] }
        return left.isEmpty && !found.isEmpty ? .absent : .nodes(left)
      }
      let parent = node.parent.flatMap { numbers[$0] }
      var copy = Node(
        type: node.type, values: node.values, links: links, parent: parent, steps: parent == nil ? [] : node.steps)
      (copy.isMerged, copy.unknownCases, copy.rowBase) = (node.isMerged, node.unknownCases, node.rowBase)
      copy.incompleteFields = node.incompleteFields
      return copy
    }
    return result
  }

  /// If all nodes are roots, splits them into consecutive parts of at most `count` nodes. Otherwise returns all nodes as a
  /// single part.
  package func parts(of count: Int) -> [EntityNodes] {
    guard nodes.count > count, nodes.count == roots.count else { return [self] }
    return stride(from: 0, to: nodes.count, by: count).map { start in
      var part = self
      part.nodes = Array(nodes[start..<min(start + count, nodes.count)])
      part.roots = Array(part.nodes.indices)
      return part
    }
  }

  static func failure(_ error: any Error, _ entity: String, _ path: [ArchiveError.PathComponent]) -> any Error {
    if let error = error as? EntityError { return error.located(entity: entity, path: path) }
    return EntityError.of(
      error, .invalidSource, "the incoming data cannot be decoded as the entity", entity: entity, path: path)
  }

  /// A traversal that creates the nodes of a source. It is not recursive, because deeply nested values could overflow the
  /// stack.
  private struct Walk {
    let catalog: EntityCatalog
    let parts: FieldParts
    let trace: ((EntityTrace) -> Void)?
    var nodes: [Node] = []
    private var waiting: [(node: Int, part: FieldParts.Part?)] = []
    private var known: [Int: Int] = [:]
    /// For each entity, by its index in the catalog, a cache of the subclasses that are stored in the same table.
    private var subclasses: [Int: [Int]] = [:]

    init(catalog: EntityCatalog, parts: FieldParts, trace: ((EntityTrace) -> Void)?) {
      self.catalog = catalog
      self.parts = parts
      self.trace = trace
    }

    private func path(_ parent: Int?, _ steps: [ArchiveError.PathComponent]) -> [ArchiveError.PathComponent] {
      EntityNodes.path(of: parent, in: nodes) + steps
    }

    /// Returns the node of a value. Creates the node unless the value is a reference to an object that already has a node.
    mutating func add(
      _ value: ArchiveValue, _ type: Int, parent: Int?, _ steps: [ArchiveError.PathComponent]
    ) throws -> Int {
      let declared = catalog.types[type]
      if case .reference(let number) = value, let node = known[number] {
        guard catalog.types[nodes[node].type].type.isSubtype(of: declared.type) else {
          throw EntityNodes.failure(
            ArchiveError.mismatch(
              expected: "an object of \(declared.name)", found: "an object of \(catalog.types[nodes[node].type].name)"),
            declared.name, path(parent, steps))
        }
        return node
      }
      do {
        let part = try parts.part(declared.type, value)
        // If the value is an instance of a subclass, the node uses the entity of that subclass.
        let own = try part.type == declared.type ? type : catalog.known(part.type)
        let values = try catalog.types[own].attributes.map { attribute -> ArchiveValue? in
          guard let slot = part.slots[attribute.place] else { return nil }
          return try parts.value(of: slot, part.type.schema.fields[attribute.place], in: part.type.schema)
        }
        var node = Node(type: own, values: values, links: [], parent: parent, steps: steps)
        node.incompleteFields = Set(part.skipped.map { part.type.schema.fields[$0].key })
        for (number, attribute) in catalog.types[own].attributes.enumerated()
        where values[number] == nil && part.slots[attribute.place] != nil { node.unknownCases.insert(number) }
        if parts.isWhole { node.rowBase = catalog.types[own].rowBase.flatMap { RowBase.box(of: part.slots[$0]) } }
        nodes.append(node)
        if let json = part.json { try noteSubclasses(of: nodes.count - 1, json) }
        if let number = part.number { known[number] = nodes.count - 1 }
        waiting.append((nodes.count - 1, part))
        return nodes.count - 1
      } catch { throw EntityNodes.failure(error, declared.name, path(parent, steps)) }
    }

    /// Decodes a node's JSON as each subclass of its entity. Once the node's row is found, the row's class determines which result is
    /// used.
    private mutating func noteSubclasses(of number: Int, _ json: ArchiveValue) throws {
      let own = nodes[number].type
      let found =
        subclasses[own]
        ?? catalog.types.indices.filter { place in
          let (type, own) = (catalog.types[place], catalog.types[own])
          return type.type != own.type && type.table == own.table && type.type.isSubtype(of: own.type)
        }
      subclasses[own] = found
      for place in found {
        let type = catalog.types[place]
        nodes[number].subclasses[place] = Result {
          do { return try subclass(type, of: number, json) } catch {
            throw EntityNodes.failure(error, type.name, path(number, []))
          }
        }
      }
    }

    private func subclass(_ type: EntityType, of number: Int, _ json: ArchiveValue) throws -> Subclass {
      let (node, own) = (nodes[number], catalog.types[nodes[number].type])
      let part = try parts.part(type.type, json, isNamed: true)
      let inherited = Dictionary(uniqueKeysWithValues: own.attributes.enumerated().map { (own.key(of: $1), $0) })
      var unknownCases = Set<Int>()
      let values = try type.attributes.enumerated().map { place, attribute -> ArchiveValue? in
        if let known = inherited[type.key(of: attribute)] {
          if node.unknownCases.contains(known) { unknownCases.insert(place) }
          return node.values[known]
        }
        guard let slot = part.slots[attribute.place] else { return nil }
        let value = try parts.value(of: slot, type.schema.fields[attribute.place], in: type.schema)
        if value == nil { unknownCases.insert(place) }
        return value
      }
      let links = try type.relations.map { relation -> Int? in
        let known = own.relations.firstIndex { $0.key == relation.key }
        guard known != nil || part.slots[relation.place] == nil else {
          throw EntityError(
            .invalidSource,
            "the document contains the relation “\(relation.key)”, but only the row's subclass \(type.name) "
              + "declares this relation; save the document as \(type.name), or add the class tag of \(type.name) "
              + "to the document",
            path: [.key(relation.key)])
        }
        return known
      }
      return Subclass(
        values: values, links: links, unknownCases: unknownCases,
        incompleteFields: Set(part.skipped.map { type.schema.fields[$0].key }))
    }

    mutating func run() throws {
      var next = 0
      // Traverses breadth-first, so that each node gets its shortest path.
      while next < waiting.count {
        guard let part = waiting[next].part else { break }
        let node = waiting[next].node
        waiting[next].part = nil
        next += 1
        if let trace { report(node, part, trace) }
        nodes[node].links = try catalog.types[nodes[node].type].relations.map { relation in
          guard let slot = part.slots[relation.place] else { return .absent }
          return .nodes(try elements(of: slot, relation, node))
        }
      }
    }

    private mutating func elements(of value: ArchiveValue, _ relation: EntityType.Relation, _ node: Int) throws -> [Int]
    {
      switch (relation.shape, value) {
      case (.one, .null):
        guard relation.isOptional else {
          throw EntityNodes.failure(
            EntityError(.invalidSource, "the relation must not be null because it is not optional"),
            catalog.types[nodes[node].type].name, path(node, [.key(relation.key)]))
        }
        return []
      case (.one, _): return [try add(value, relation.target, parent: node, [.key(relation.key)])]
      case (_, .array(let elements)), (_, .set(let elements)):
        if relation.shape == .set { try checkSet(elements, relation, node) }
        return try elements.enumerated().map { place, element in
          try add(element, relation.target, parent: node, [.key(relation.key), .index(place)])
        }
      default:
        throw EntityNodes.failure(
          EntityError(.invalidSource, "the relation must be a list; found \(value.kind)"),
          catalog.types[nodes[node].type].name, path(node, [.key(relation.key)]))
      }
    }

    /// Throws if a set contains a duplicate element, because the rows could not be read back as a set.
    private func checkSet(_ elements: [ArchiveValue], _ relation: EntityType.Relation, _ node: Int) throws {
      var seen = Set<ArchiveValue>()
      for (place, element) in elements.enumerated() where !seen.insert(element).inserted {
        throw EntityNodes.failure(
          EntityError(
            .invalidSource,
            "a set contains the same element twice; remove the duplicate"), catalog.types[nodes[node].type].name,
          path(node, [.key(relation.key), .index(place)]))
      }
    }

    private func report(_ node: Int, _ part: FieldParts.Part, _ trace: (EntityTrace) -> Void) {
      let type = catalog.types[nodes[node].type]
      let (table, merging) = (catalog.tables[type.table], type.merging(isWhole: false))
      let raw = parts.raw(of: part)
      for (place, field) in part.type.schema.fields.enumerated() {
        let index = type.attributes.firstIndex { $0.place == place }
        let written = index.map { type.attributes[$0] }.flatMap { $0.isWritten ? $0 : nil }
        var value = index.map { nodes[node].values[$0] } ?? part.slots[place]
        // If required keys are missing from the value, only an existing row could supply them, so the trace shows the value unchanged.
        if written != nil { value = value.map { (try? merging.completed($0)) ?? $0 } }
        trace(
          EntityTrace(
            entity: type.name, path: path(node, []), key: field.key,
            source: parts.path(of: place, in: part.type.schema),
            raw: raw[place], value: value, column: written.map { table.columns[$0.slot].name },
            // `stored` is `nil` if the column cannot store the value, for example because required keys are missing.
            stored: written.flatMap { attribute in value.flatMap { try? type.stored($0, attribute, in: table) } }))
      }
    }
  }
}

extension EntityNodes.Node {
  fileprivate mutating func refine(_ subclass: EntityNodes.Subclass, to type: Int) {
    let known = links
    links = subclass.links.map { $0.map { known[$0] } ?? .absent }
    (self.type, values, unknownCases, subclasses) = (type, subclass.values, subclass.unknownCases, [:])
    incompleteFields.formUnion(subclass.incompleteFields)
  }
}
