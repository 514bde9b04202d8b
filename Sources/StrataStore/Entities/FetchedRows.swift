internal import GRDB
internal import StrataCore

/// The rows of objects that were fetched together. Relations refer to rows by number, which is the index in `rows`.
final class FetchedRows: Sendable {
  struct Row: Sendable {
    let type: Int
    /// The column values, in the order of the table's `columns`. `nil` for an unknown value.
    var values: [DatabaseValue?]
    /// The numbers of the rows that each relation refers to. `nil` for a relation that was not read.
    let links: [[Int]?]
    /// The keys of the relations that were not read.
    let unread: Set<String>

    init(_ type: EntityType, _ number: Int, values: [DatabaseValue?], links: [[Int]?]) {
      (self.type, self.values, self.links) = (number, values, links)
      unread = links.contains(nil) ? Set(zip(type.relations, links).filter { $1 == nil }.map(\.0.key)) : []
    }
  }

  struct RowReference: Sendable {
    let rows: FetchedRows
    let number: Int
    var row: Row { rows.rows[number] }
  }

  let rows: [Row]
  /// Whether the values come from an object instead of the database. If so, unknown enum cases were already replaced when the
  /// object was fetched.
  let isOfObject: Bool

  init(_ rows: [Row]) { (self.rows, isOfObject) = (rows, false) }

  /// Creates rows with the column values that saving the objects would write.
  init(_ nodes: EntityNodes, _ catalog: EntityCatalog) throws {
    isOfObject = true
    rows = try nodes.nodes.map { node in
      let (type, table) = (catalog.types[node.type], catalog.table(of: node.type))
      var values = [DatabaseValue?](repeating: nil, count: table.columns.count)
      for (attribute, value) in zip(type.attributes, node.values) {
        values[attribute.slot] = try value.map { try type.stored($0, attribute, in: table) }
      }
      let links = node.links.map { link -> [Int]? in
        guard case .nodes(let found) = link else { return nil }
        return found
      }
      for (relation, found) in zip(type.relations, links) {
        guard case .toOne(let slot, let referenced) = relation.cardinality, let found else { continue }
        guard let target = found.first else {
          values[slot] = .null
          continue
        }
        values[slot] = try Self.value(of: nodes.nodes[target], referenced, catalog)
      }
      return Row(type, node.type, values: values, links: links)
    }
  }

  private static func value(of node: EntityNodes.Node, _ slot: Int, _ catalog: EntityCatalog) throws -> DatabaseValue? {
    let type = catalog.types[node.type]
    guard let place = type.attributes.firstIndex(where: { $0.slot == slot }), let value = node.values[place] else {
      return nil
    }
    return try type.stored(value, type.attributes[place], in: catalog.table(of: node.type))
  }
}
