internal import GRDB
internal import StrataCore

/// The states that the objects to save had when they were fetched. Each state is the base for a three-way merge of the object with its
/// current row.
package struct EntityBases {
  private struct Visit: Hashable {
    let rows: ObjectIdentifier
    let number: Int
  }

  /// How to resolve conflicts. A conflict is a value that has changed both in the row and in the object since the object was
  /// fetched.
  let conflicts: MergeOptions.ConflictHandling
  /// Whether objects overwrite their rows without being merged or checked.
  let overwrites: Bool
  private let servers: EntityServers?
  private var ofNode: [Int: FetchedRows.RowReference] = [:]
  private var byKey: [EntityWriter.PlainKey: FetchedRows.RowReference] = [:]
  private var keys: [Visit: EntityWriter.PlainKey] = [:]

  /// Creates a value without fetched states. All objects then overwrite their rows without being merged or checked.
  package init() { (conflicts, overwrites, servers) = (.fail, true, nil) }

  /// Updates outdated primary keys of the objects to save. Finds the state in which each object was fetched.
  ///
  /// - Parameter given: the `base` argument that the app passed to `save`, or `nil`.
  /// - Throws: ``EntityError`` with the code `clash` if `given` has a different primary key than the object to save,
  ///   `missingValue` if `given` has no primary key, or `unreadRelation` if the app has set a relation that was not fetched.
  init(
    _ nodes: inout EntityNodes, given: EntityNodes?, _ conflicts: MergeOptions.ConflictHandling, overwrites: Bool,
    _ catalog: EntityCatalog, _ servers: EntityServers, _ db: Database
  ) throws {
    (self.conflicts, self.overwrites, self.servers) = (conflicts, overwrites, servers)
    nodes = try Self.withoutUnread(nodes, catalog)
    let given = try given.map { try Self.withoutUnread($0, catalog) }
    var places: [FetchedRows.RowReference] = []
    if !overwrites {
      for (number, node) in nodes.nodes.enumerated() {
        guard let place = node.rowBase?.place, place.row.type == node.type else { continue }
        // If the primary key differs from the fetched primary key, the app has turned a copy of the fetched object into a new
        // object. A new object has no base.
        let key = try Self.key(of: node, catalog)
        guard try key == nil || key == Self.key(of: place.row, catalog) else { continue }
        ofNode[number] = place
        places.append(place)
      }
      if let given, let root = nodes.roots.first, let base = given.roots.first {
        let type = catalog.types[given.nodes[base].type]
        guard let key = try Self.key(of: given.nodes[base], catalog), !key.contains(where: \.value.isNull) else {
          throw EntityError(
            .missingValue,
            "the base object has no value for its primary key; map the primary key to a property",
            entity: type.name, table: catalog.tables[type.table].name)
        }
        guard try key == Self.key(of: nodes.nodes[root], catalog) else {
          throw EntityError(
            .clash,
            "the base object and the object to save are different objects; pass an earlier state of the same "
              + "object", entity: type.name)
        }
        let place = FetchedRows.RowReference(rows: try FetchedRows(given, catalog), number: base)
        ofNode[root] = place
        places.insert(place, at: 0)
      }
    }
    try servers.updateKeys(&nodes, db)
    try visit(places, catalog, servers, db)
  }

  /// Marks the relations that were not fetched as absent in the objects to save, so that the save leaves these relations
  /// unchanged. Throws an error with the code `unreadRelation` if the app has set one of them.
  private static func withoutUnread(_ nodes: EntityNodes, _ catalog: EntityCatalog) throws -> EntityNodes {
    var result = nodes
    for (number, node) in nodes.nodes.enumerated() {
      guard let row = node.rowBase?.place?.row, row.type == node.type, !row.unread.isEmpty else { continue }
      for (place, relation) in catalog.types[node.type].relations.enumerated() where row.links[place] == nil {
        if case .nodes(let found) = node.links[place], !found.isEmpty {
          throw EntityError(
            .unreadRelation,
            "the relation was not fetched, so a save would lose the related rows; fetch the object with the relation "
              + "before you change it",
            entity: catalog.types[node.type].name, path: nodes.path(of: number) + [.key(relation.key)])
        }
        result.nodes[number].links[place] = .absent
      }
    }
    return result
  }

  /// Registers the given fetched rows, and all rows reachable from them through relations, under their current primary keys.
  private mutating func visit(
    _ places: [FetchedRows.RowReference], _ catalog: EntityCatalog, _ servers: EntityServers, _ db: Database
  ) throws {
    guard !places.isEmpty else { return }
    var found: [FetchedRows.RowReference] = []
    var seen = Set<Visit>()
    var waiting = Array(places.reversed())
    while let place = waiting.popLast() {
      guard seen.insert(.init(rows: ObjectIdentifier(place.rows), number: place.number)).inserted else { continue }
      found.append(place)
      waiting += place.row.links.compactMap(\.self).joined().map { .init(rows: place.rows, number: $0) }
    }
    var nodes = EntityNodes(try found.map { try Self.node($0.row, catalog) })
    let before = try nodes.nodes.map { try Self.key(of: $0, catalog) }
    try servers.updateKeys(&nodes, db)
    for (index, place) in found.enumerated() {
      let (row, number) = (place.row, catalog.types[place.row.type].table)
      let after = try Self.key(of: nodes.nodes[index], catalog)
      // If the primary key has not changed, uses the column values as fetched, because values that are converted back from properties
      // may have a different form.
      let today =
        before[index] == after ? catalog.tables[number].primaryKey.map { row.values[$0] } : after?.map(\.value)
      guard let key = today.flatMap({ EntityWriter.PlainKey(table: number, $0) }) else { continue }
      keys[.init(rows: ObjectIdentifier(place.rows), number: place.number)] = key
      if byKey[key] == nil { byKey[key] = place }
    }
  }

  var isEmpty: Bool { ofNode.isEmpty && byKey.isEmpty }

  /// Returns the state in which an object was fetched, or `nil` if it is unknown. Looks up the state of the object itself first, and
  /// then the state of the row with the given primary key.
  func base(ofNode node: Int?, _ key: EntityWriter.PlainKey?) -> FetchedRows.RowReference? {
    if let place = node.flatMap({ ofNode[$0] }) {
      // If the save has matched the object with a different row than the fetched one, the fetched state cannot be its base.
      let known = keys[.init(rows: ObjectIdentifier(place.rows), number: place.number)]
      if key == nil || known == nil || key == known { return place }
    }
    return key.flatMap { byKey[$0] }
  }

  /// Returns the primary keys of the rows to which a relation referred when its object was fetched, or `nil` if any of these keys
  /// is unknown.
  func links(_ place: FetchedRows.RowReference, _ relation: Int) -> [EntityWriter.PlainKey]? {
    guard let links = place.row.links[relation] else { return nil }
    let found = links.compactMap { keys[.init(rows: ObjectIdentifier(place.rows), number: $0)] }
    return found.count == links.count ? found : nil
  }

  /// Returns whether a save rejects objects without a base that would overwrite existing rows of the table. It does so for tables that
  /// are synchronized with a server, unless `overwrites` is true.
  func isGuarded(_ table: Int) -> Bool { !overwrites && servers?.has(table) ?? false }

  // MARK: Primary keys

  /// Returns the primary key of an object, or `nil` if it has none.
  static func plainKey(of node: EntityNodes.Node, _ catalog: EntityCatalog) throws -> EntityWriter.PlainKey? {
    try key(of: node, catalog).flatMap { EntityWriter.PlainKey(table: catalog.types[node.type].table, $0.map(\.value)) }
  }

  /// Returns the column values of an object's primary key, or `nil` if a column of the key is not mapped to a property.
  private static func key(of node: EntityNodes.Node, _ catalog: EntityCatalog) throws -> [ExactValue]? {
    let (type, table) = (catalog.types[node.type], catalog.table(of: node.type))
    var key: [ExactValue] = []
    for slot in table.primaryKey {
      guard let place = type.attributes.firstIndex(where: { $0.slot == slot }) else { return nil }
      key.append(ExactValue(try type.stored(node.values[place] ?? .null, type.attributes[place], in: table)))
    }
    return key
  }

  private static func key(of row: FetchedRows.Row, _ catalog: EntityCatalog) throws -> [ExactValue]? {
    try key(of: node(row, catalog), catalog)
  }

  /// Returns a node that contains only the primary key of a fetched row. The node is used to find the row's current primary key.
  private static func node(_ row: FetchedRows.Row, _ catalog: EntityCatalog) throws -> EntityNodes.Node {
    let (type, table) = (catalog.types[row.type], catalog.table(of: row.type))
    let values = try type.attributes.map { attribute -> ArchiveValue? in
      guard table.primaryKey.contains(attribute.slot), let value = row.values[attribute.slot] else { return nil }
      return try type.value(of: attribute, value, in: table)
    }
    return .init(type: row.type, values: values, links: type.relations.map { _ in .absent }, parent: nil, steps: [])
  }
}
