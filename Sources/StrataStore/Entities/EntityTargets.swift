internal import GRDB
internal import StrataCore

/// Caches the rows that the relations of existing rows refer to before a save, so that each relation of a row is read only once.
final class EntityTargets {
  struct RowRelation: Hashable {
    let row: Int
    /// The catalog index of the entity that declares the relation.
    let type: Int
    /// The index of the relation among the relations of the entity `type`.
    let relation: Int
  }

  private let writer: EntityWriter
  private var known: [RowRelation: [Int]] = [:]
  /// For each loaded relation through a join table, the rows of the join table, in the same order as the related rows in `known`.
  private var knownPairs: [RowRelation: [Int]] = [:]
  private var catalog: EntityCatalog { writer.catalog }

  init(_ writer: EntityWriter) { self.writer = writer }

  func relation(_ place: RowRelation) -> EntityType.Relation { catalog.types[place.type].relations[place.relation] }

  /// Returns the rows that a loaded relation refers to, in list order.
  func rows(of place: RowRelation) -> [Int] { known[place] ?? [] }

  /// Returns the join table rows of a loaded relation, in the same order as ``rows(of:)``.
  func pairs(of place: RowRelation) -> [Int] { knownPairs[place] ?? [] }

  /// Loads those of the given relations that are not loaded yet, with one query for each relation of an entity.
  func load(_ places: [RowRelation]) throws {
    var groups: [[Int]: [RowRelation]] = [:]
    for place in places where known[place] == nil {
      known[place] = []
      // A new row does not refer to any rows yet.
      if !writer.rows[place.row].isNew { groups[[place.type, place.relation], default: []].append(place) }
    }
    for (key, places) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      try load(places, catalog.types[key[0]].relations[key[1]])
    }
  }

  private func load(_ places: [RowRelation], _ relation: EntityType.Relation) throws {
    let target = catalog.types[relation.target].table, table = catalog.tables[target]
    let asking = places.filter { !(writer.rows[$0.row].original?[relation.slot].isNull ?? true) }
    let keys = asking.map { writer.rows[$0.row].original?[relation.slot] ?? .null }
    try catalog.forEachLink(relation, keys, writer.db, withPairs: true) { index, row in
      known[asking[index]]?.append(
        try writer.row(table.values(row, from: 1), table: target, type: relation.target))
      guard case .through(let pairs, _, _) = relation.cardinality else { return }
      let values = catalog.tables[pairs.table].values(row, from: 1 + table.columns.count)
      knownPairs[asking[index], default: []].append(try writer.row(values, table: pairs.table, type: nil))
    }
  }
}

extension EntityTable {
  /// Returns the SQL terms that sort the rows of a list: the order of the relation, then the primary key. The terms refer to
  /// the table as `t`.
  func order(_ order: EntityType.Relation.Order?) -> String {
    let key = primaryKey.map { "t.\(quoted($0))" }
    switch order {
    case nil: return key.joined(separator: ", ")
    case .kept(let slot): return (["t.\(quoted(slot))"] + key).joined(separator: ", ")
    case .sorted(let slot, let isDescending):
      return (["t.\(quoted(slot))\(isDescending ? " DESC" : "")"] + key).joined(separator: ", ")
    }
  }
}
