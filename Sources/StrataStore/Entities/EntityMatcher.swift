internal import GRDB
internal import StrataCore

/// Finds the existing row of each object in the graph of a save, or creates a new row. The objects are the nodes of the graph.
///
/// A node with a complete key is matched by that key, with one query per key and entity. If a key contains a foreign key, the rows of
/// the referenced nodes are found first. A node without a complete key is compared with the rows to which its parent's row refers, and
/// matched with a row that has the same column values.
struct EntityMatcher {
  private let writer: EntityWriter
  private var catalog: EntityCatalog { writer.catalog }
  /// A cache of the rows to which existing rows refer through relations before the save.
  let targets: EntityTargets
  /// For each node, the owners of the lists that contain the node. `slot` is the index of the foreign key column that references
  /// the owner. A node is included only if one of its keys contains this foreign key, because the key depends on the owner's row.
  private var owners: [Int: [(slot: Int, owner: EntityRowState.Reference)]] = [:]
  private var drafts: [DraftKey: Int] = [:]
  /// For each relation of a row, the candidates for nodes without a complete key: existing and new rows.
  private var candidateRows: [EntityTargets.RowRelation: [Int]] = [:]
  /// For each new row, the column values of the node for which the row was created, by column index. If another node without a complete
  /// key has the same values, it is matched with this row.
  private var made: [Int: [Int: DatabaseValue]] = [:]
  /// The nodes that were waiting in a cycle and have a complete key. To break the cycle, their keys that depend on nodes without a row
  /// are ignored.
  private var nodesDoneWaiting = Set<Int>()
  /// The key values of each new row, by the key's index in the entity's list of keys.
  private var newKeys: [Int: [Int: [Part]]] = [:]
  /// The rows that are already assigned to a node.
  private var assignedRows = Set<Int>()
  /// For each node, its parent (`owner`) and the parent's relation that contains the node. Used to match nodes without a
  /// complete key.
  private var parentRelation: [Int: (owner: Int, relation: Int)] = [:]

  /// The value of one column of a key.
  private enum Part: Hashable {
    case value(ExactValue)
    /// A column value of a new row, which is unknown until the row is inserted. No existing row can contain the value.
    case new(EntityRowState.Reference)

    var isNull: Bool { if case .value(let value) = self { value.value.isNull } else { false } }
  }

  /// A key of a row that was assigned to a node in this save. A later node with the same key gets the same row.
  private struct DraftKey: Hashable {
    let table: Int
    let slots: [Int]
    let parts: [Part]
  }

  /// Whether the values of one key of a node are known.
  private enum Candidate {
    case complete([Part])
    case incomplete
    /// The key depends on the row of the given node, which has not been matched yet.
    case waits(Int)

    var parts: [Part]? { if case .complete(let parts) = self { parts } else { nil } }
    var node: Int? { if case .waits(let node) = self { node } else { nil } }
  }

  init(_ writer: EntityWriter) {
    self.writer = writer
    targets = EntityTargets(writer)
  }

  mutating func run() throws {
    noteOwners()
    var pending = Array(writer.nodes.nodes.indices)
    /// The waiting nodes, grouped by the node whose row must be found first.
    var waiting: [Int: [Int]] = [:]
    while !pending.isEmpty {
      var (ready, keyless): ([Int], [Int]) = ([], [])
      var candidates: [Int: [Candidate]] = [:]
      for node in pending {
        let found = try self.candidates(of: node)
        if let other = found.lazy.compactMap(\.node).first {
          waiting[other, default: []].append(node)
        } else if found.contains(where: { $0.parts != nil }) {
          ready.append(node)
          candidates[node] = found
        } else if let way = parentRelation[node], writer.rowOfNode[way.owner] == nil {
          waiting[way.owner, default: []].append(node)
        } else {
          keyless.append(node)
        }
      }
      try matchByKey(ready, candidates)
      try matchByContent(keyless)
      pending = (ready + keyless).flatMap { waiting.removeValue(forKey: $0) ?? [] }.sorted()
      guard pending.isEmpty, let first = waiting.values.joined().min() else { continue }
      // The remaining nodes wait for each other in a cycle. A node that has a complete key is matched by that key. Its keys that
      // wait for other nodes are ignored.
      let stuck = waiting.values.joined().sorted()
      pending = try stuck.filter { node in
        try !nodesDoneWaiting.contains(node) && self.candidates(of: node).contains { $0.parts != nil }
      }
      nodesDoneWaiting.formUnion(pending)
      if pending.isEmpty {
        // If no node has a complete key, the nodes that wait only for their owner are inserted as new rows. This breaks the
        // cycle.
        pending = try stuck.filter { node in try self.candidates(of: node).allSatisfy { $0.node == nil } }
        for node in pending { parentRelation[node] = nil }
      }
      let released = Set(pending)
      for (other, nodes) in waiting { waiting[other] = nodes.filter { !released.contains($0) } }
      guard !pending.isEmpty else {
        throw writer.located(
          EntityError(
            .clash, "the keys of the objects depend on each other in a cycle, so no row can be looked up first"),
          node: first)
      }
    }
  }

  private func candidates(of node: Int) throws -> [Candidate] {
    let keys = catalog.types[writer.nodes.nodes[node].type].keys
    var found = try keys.map { counts($0, node) ? try candidate(node, $0) : .incomplete }
    if nodesDoneWaiting.contains(node) { found = found.map { $0.node == nil ? $0 : .incomplete } }
    // A unique index allows several rows with the same key if the key contains null. A key with null is therefore used only if the node
    // has no complete key without null.
    guard found.contains(where: { $0.parts.map { !$0.contains(where: \.isNull) } ?? false }) else { return found }
    return found.map { $0.parts?.contains(where: \.isNull) ?? false ? .incomplete : $0 }
  }

  // MARK: Matching by key

  private mutating func noteOwners() {
    let nodes = writer.nodes.nodes
    for (number, node) in nodes.enumerated() {
      for (place, relation) in catalog.types[node.type].relations.enumerated() {
        guard case .nodes(let children) = node.links[place] else { continue }
        // Several nodes may refer to the same child. Only the relation of the child's `parent`, the first node that refers to
        // it, is used, because a chain of parents cannot form a cycle.
        for child in children where parentRelation[child] == nil && nodes[child].parent == number {
          parentRelation[child] = (number, place)
        }
        guard case .toMany(let slot, let referenced, _, _) = relation.cardinality else { continue }
        for child in children where catalog.types[nodes[child].type].keys.contains(where: { $0.slots.contains(slot) }) {
          owners[child, default: []].append((slot, .init(row: number, slot: referenced)))
        }
      }
    }
  }

  private func candidate(_ node: Int, _ key: EntityType.Key) throws -> Candidate {
    var parts: [Part] = []
    for (slot, collation) in zip(key.slots, key.collations) {
      switch try part(node, slot, collation) {
      case .complete(let part): parts += part
      case .incomplete: return .incomplete
      case .waits(let other): return .waits(other)
      }
    }
    // A key may contain nulls, such as the parent of a root folder, but at least one part must have a value.
    return parts.allSatisfy(\.isNull) ? .incomplete : .complete(parts)
  }

  private func part(_ number: Int, _ slot: Int, _ collation: String?) throws -> Candidate {
    let node = writer.nodes.nodes[number]
    let type = catalog.types[node.type]
    let table = catalog.tables[type.table]
    func reference(_ owner: Int, _ referenced: Int) -> Candidate {
      guard let row = writer.rowOfNode[owner] else { return .waits(owner) }
      guard let value = writer.rows[row].values[referenced] else {
        return writer.rows[row].isNew ? .complete([.new(.init(row: row, slot: referenced))]) : .incomplete
      }
      return value.isNull ? .incomplete : .complete([.value(ExactValue(value))])
    }
    for (place, relation) in type.relations.enumerated() {
      guard case .toOne(slot, let referenced) = relation.cardinality, case .nodes(let found) = node.links[place] else {
        continue
      }
      if let target = found.first { return reference(target, referenced) }
      if owner(of: number, slot) == nil { return .complete([.value(ExactValue(.null))]) }
    }
    for (place, attribute) in type.attributes.enumerated() where attribute.slot == slot {
      guard let value = node.values[place], !value.isNull || owner(of: number, slot) == nil else { break }
      do {
        let stored = try type.stored(value, attribute, in: table)
        return .complete([.value(ExactValue(EntityTable.folded(stored, collation)))])
      } catch { throw writer.located(error, node: number) }
    }
    if let owner = owner(of: number, slot) { return reference(owner.row, owner.slot) }
    return .incomplete
  }

  /// Returns the owner of the list that contains the node and sets the given foreign key, or `nil` if there is no such list.
  private func owner(of number: Int, _ slot: Int) -> EntityRowState.Reference? {
    owners[number]?.first { $0.slot == slot }?.owner
  }

  private mutating func matchByKey(_ numbers: [Int], _ candidates: [Int: [Candidate]]) throws {
    // For each node, the rows that were found by its keys, one element per key. An element is `nil` if the key found no row.
    var hits: [Int: [Int?]] = [:]
    for (number, nodes) in Dictionary(grouping: numbers, by: { writer.nodes.nodes[$0].type })
      .sorted(by: { $0.key < $1.key })
    {
      let (type, table) = (catalog.types[number], catalog.table(of: number))
      for node in nodes { hits[node] = [Int?](repeating: nil, count: type.keys.count) }
      for (place, key) in type.keys.enumerated() {
        var (asking, tuples): ([Int], [[DatabaseValue]]) = ([], [])
        for node in nodes {
          guard let parts = candidates[node]?[place].parts else { continue }
          let values = parts.compactMap { if case .value(let value) = $0 { value.value } else { nil } }
          guard values.count == parts.count else { continue }
          asking.append(node)
          tuples.append(values)
        }
        try table.forEachRow(where: key.slots, in: tuples, collations: key.collations, writer.db) { index, values in
          let (node, row) = (asking[index], try writer.row(values, table: type.table, type: number))
          guard hits[node]?[place] == nil else {
            throw writer.located(
              EntityError(
                .clash, "several rows match the key “\(key.name)” because the key contains null; use a different key",
                table: table.name, columns: key.slots.map { table.columns[$0].name }), node: node)
          }
          hits[node]?[place] = row
        }
      }
    }
    for node in numbers { try choose(node, candidates[node] ?? [], hits[node] ?? []) }
  }

  /// Returns whether a key may be used to find a node's row. If the caller passed a list of keys, only these keys may be used
  /// for nodes of the root entity. The list does not apply to nodes of other entities.
  private func counts(_ key: EntityType.Key, _ node: Int) -> Bool {
    let nodes = writer.nodes
    guard let matching = writer.matching, let root = nodes.roots.first, nodes.nodes[root].type == nodes.nodes[node].type
    else { return true }
    return matching.contains(key.name)
  }

  /// Chooses a node's row from the rows found by the node's keys, or creates a new row.
  private mutating func choose(_ node: Int, _ candidates: [Candidate], _ hits: [Int?]) throws {
    let number = writer.nodes.nodes[node].type
    let type = catalog.types[number]
    func clash(_ reason: String, _ key: EntityType.Key) -> any Error {
      let table = catalog.tables[type.table]
      return writer.located(
        EntityError(.clash, reason, table: table.name, columns: key.slots.map { table.columns[$0].name }), node: node)
    }
    /// Looks for a key before index `found` whose values differ between the row and the node. Returns the index of the first such key,
    /// or `nil` if there is none.
    func earlier(_ found: Int, distinguishing row: Int) -> Int? {
      (0..<found).first { place in
        guard hits[place] != row, let parts = candidates[place].parts, !parts.contains(where: \.isNull) else {
          return false
        }
        return writer.rows[row].isNew
          ? newKeys[row]?[place].map { $0 != parts } ?? false
          : type.keys[place].slots.allSatisfy { !(writer.rows[row].values[$0]?.isNull ?? true) }
      }
    }
    // Skips a row that was found by one key if an earlier key has different values in the row and the node. The skipped row keeps
    // its value for the later key, so the write will violate the unique index unless this save also changes that value.
    var found: Int?
    for (place, row) in hits.enumerated() where found == nil {
      if let row, earlier(place, distinguishing: row) == nil { found = row }
    }
    for (place, key) in type.keys.enumerated() {
      guard let parts = candidates[place].parts,
        let draft = drafts[DraftKey(table: type.table, slots: key.slots, parts: parts)]
      else { continue }
      guard found == nil || found == draft else {
        throw clash(
          "two objects to be saved have the same key “\(key.name)”, but their other keys identify different "
            + "rows; correct the keys of one object", key)
      }
      if let other = earlier(place, distinguishing: draft) {
        throw clash(
          "two objects to be saved have the same key “\(key.name)”, but different values for the key "
            + "“\(type.keys[other].name)”; correct the keys of one object", key)
      }
      found = draft
    }
    let row = found ?? writer.newRow(table: type.table, type: number)
    for (place, key) in type.keys.enumerated() {
      guard let parts = candidates[place].parts else { continue }
      drafts[DraftKey(table: type.table, slots: key.slots, parts: parts)] = row
      if writer.rows[row].isNew { newKeys[row, default: [:]][place] = parts }
    }
    assign(row, node, number)
    guard writer.rows[row].isNew else { return }
    // Sets the key columns of the new row now, because the keys of other nodes may depend on these columns.
    for slot in Set(type.keys.flatMap(\.slots)) where writer.rows[row].values[slot] == nil {
      do { writer.rows[row].values[slot] = try storedValue(node, slot) } catch {
        throw writer.located(error, node: node)
      }
    }
  }

  /// Returns the value that a node stores in a column, or `nil` if the node's value is absent or null.
  private func storedValue(_ number: Int, _ slot: Int) throws -> DatabaseValue? {
    let node = writer.nodes.nodes[number]
    let type = catalog.types[node.type]
    guard let place = type.attributes.firstIndex(where: { $0.slot == slot && $0.isWritten }),
      let value = node.values[place],
      !value.isNull
    else { return nil }
    return try type.stored(value, type.attributes[place], in: catalog.tables[type.table])
  }

  private mutating func assign(_ row: Int, _ node: Int, _ type: Int) {
    writer.rowOfNode[node] = row
    if writer.rows[row].node == nil {
      writer.rows[row].node = node
      // Keeps the type of an existing row, because the row may belong to a subclass of the node's entity.
      if writer.rows[row].isNew || writer.rows[row].type == nil { writer.rows[row].type = type }
    }
    assignedRows.insert(row)
  }

  // MARK: Matching by column values

  private mutating func matchByContent(_ numbers: [Int]) throws {
    var groups: [EntityTargets.RowRelation: [Int: [Int]]] = [:]
    var order: [EntityTargets.RowRelation] = []
    for node in numbers {
      let number = writer.nodes.nodes[node].type
      guard let way = parentRelation[node], let row = writer.rowOfNode[way.owner] else {
        assign(writer.newRow(table: catalog.types[number].table, type: number), node, number)
        continue
      }
      let place = EntityTargets.RowRelation(row: row, type: writer.nodes.nodes[way.owner].type, relation: way.relation)
      if groups[place] == nil { order.append(place) }
      groups[place, default: [:]][way.owner, default: []].append(node)
    }
    try targets.load(order)
    for place in order {
      if candidateRows[place] == nil {
        // A row with a foreign key to its owner is in only one list, so a row that is already assigned to a node is not a
        // candidate. In other relations, several objects may refer to the same row.
        let isOwned = if case .toMany = targets.relation(place).cardinality { true } else { false }
        candidateRows[place] = targets.rows(of: place).filter { !isOwned || !assignedRows.contains($0) }
      }
      for (_, nodes) in (groups[place] ?? [:]).sorted(by: { $0.key < $1.key }) { try match(nodes, place) }
    }
  }

  /// Finds a row for each node in one relation of an object. If two objects are assigned to the same row, the related nodes of both are
  /// matched with the same candidate rows.
  private mutating func match(_ nodes: [Int], _ place: EntityTargets.RowRelation) throws {
    let free = candidateRows[place] ?? []
    var used = Set<Int>()
    // For each set of columns, the candidate rows grouped by the values of these columns. The rows are in reverse order, so
    // that `popLast` returns the first one.
    var byContent: [[Int]: [[ExactValue]: [Int]]] = [:]
    for node in nodes {
      let number = writer.nodes.nodes[node].type
      let (slots, values) = try content(of: node)
      if byContent[slots] == nil {
        let rows = free.reversed().filter { writer.rows[$0].table == catalog.types[number].table }
        byContent[slots] = Dictionary(grouping: rows) { row in
          slots.map { ExactValue(made[row]?[$0] ?? writer.rows[row].values[$0] ?? .null) }
        }
      }
      var found: Int?
      while found == nil, let row = byContent[slots]?[values]?.popLast() {
        if !used.contains(row) { found = row }
      }
      // If the relation refers to at most one row, the existing row is reused regardless of its values.
      if found == nil, targets.relation(place).shape == .one {
        found = free.first { !assignedRows.contains($0) && writer.rows[$0].table == catalog.types[number].table }
      }
      let row = found ?? writer.newRow(table: catalog.types[number].table, type: number)
      if found == nil {
        candidateRows[place, default: []].append(row)
        made[row] = Dictionary(zip(slots, values.map(\.value)), uniquingKeysWith: { first, _ in first })
      }
      used.insert(row)
      assign(row, node, number)
    }
  }

  /// Returns the indices of the columns for which a node has a value, and these values.
  private func content(of number: Int) throws -> (slots: [Int], values: [ExactValue]) {
    let node = writer.nodes.nodes[number]
    let type = catalog.types[node.type]
    let (table, merging) = (catalog.tables[type.table], type.merging(isWhole: writer.nodes.isWhole))
    var (slots, values): ([Int], [ExactValue]) = ([], [])
    for (attribute, value) in zip(type.attributes, node.values) {
      guard let value, attribute.isWritten, !(value.isNull && table.primaryKey.contains(attribute.slot)) else {
        continue
      }
      do {
        let whole = attribute.isPlain ? value : try merging.completed(value)
        slots.append(attribute.slot)
        values.append(ExactValue(try type.stored(whole, attribute, in: table)))
      } catch { throw writer.located(error, node: number) }
    }
    return (slots, values)
  }
}
