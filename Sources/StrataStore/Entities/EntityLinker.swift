internal import GRDB
internal import StrataCore

/// Sets the foreign keys of the saved rows according to the objects' relations. Also finds the rows that are removed from lists.
///
/// A list and its elements' to-one references back to the owner are stored in the same foreign key column, so they must agree. If an
/// element's reference is null, the foreign key is set from the list.
struct EntityLinker {
  private let writer: EntityWriter
  private let targets: EntityTargets
  private var catalog: EntityCatalog { writer.catalog }
  /// The foreign keys that are set by to-one relations. `target` is the index of the referenced row, or `nil` if the foreign key
  /// is set to null. `node` is the index of the object with the relation.
  private var claims: [ForeignKeySlot: (target: Int?, node: Int)] = [:]
  /// The foreign keys that are set by lists, with the index of the row that owns the list.
  private var listed: [ForeignKeySlot: Int] = [:]
  /// The lists that completely replace the lists in the database. Each list is identified by its owner's row and its elements' foreign
  /// key column.
  private var wholeLists = Set<ForeignKeySlot>()
  /// The rows of join tables, by the pair of rows that they connect. `row` is the index of the join table's row. `node` and
  /// `relation` identify a list that contains or may contain the pair. `isListed` is false for an existing row that is in no
  /// saved list.
  private var pairs: [Pair: (row: Int, node: Int, relation: EntityType.Relation, isListed: Bool)] = [:]
  /// The elements of each many-to-many list that completely replaces the list in the database. The dictionary key consists of the
  /// owner's row and the join table column that references the owner.
  private var wholePairs: [ForeignKeySlot: Set<Int>] = [:]
  /// The pairs to remove from many-to-many lists. If the row of the removed element is deleted too, `element` is the index of
  /// this row; otherwise it is `nil`.
  private var lostPairs: [(pair: Pair, element: Int?)] = []

  /// Two rows that are connected by a row of a join table. The lists on both sides of the relation produce the same pair, because the
  /// initializer sorts the two rows.
  private struct Pair: Hashable {
    /// The row whose foreign key column comes first in the join table.
    let first: ForeignKeySlot
    let second: ForeignKeySlot

    init(_ one: ForeignKeySlot, _ other: ForeignKeySlot) {
      (first, second) = one.slot < other.slot ? (one, other) : (other, one)
    }
  }

  /// The foreign key column of one row, identified by the indices of the row, the table and the column.
  private struct ForeignKeySlot: Hashable {
    let row: Int
    let table: Int
    let slot: Int
  }

  private struct List {
    let place: EntityTargets.RowRelation
    let node: Int
    var elements: [Int]
    /// Whether invalid elements were left out of the list. If so, the save removes no elements from it.
    var isIncomplete: Bool
    var row: Int { place.row }
  }

  init(_ writer: EntityWriter, _ targets: EntityTargets) {
    self.writer = writer
    self.targets = targets
  }

  mutating func run() throws {
    var lists: [List] = []
    for (number, node) in writer.nodes.nodes.enumerated() {
      guard let row = writer.rowOfNode[number] else { continue }
      for (place, relation) in catalog.types[node.type].relations.enumerated() {
        guard case .nodes(let found) = node.links[place] else { continue }
        // The field's merge policy leaves the relation of an existing row unchanged.
        if writer.nodes.merges, relation.keepsLocal, !writer.rows[row].isNew { continue }
        try checkDeleted(number, row, place, found)
        let elements = found.compactMap { writer.rowOfNode[$0] }
        if case .toOne(let slot, let referenced) = relation.cardinality {
          guard try isReassigned(number, row, slot, referenced, found, elements, relation) else { continue }
          try claim(row, slot, referenced, elements.first, number, relation)
        } else {
          lists.append(
            .init(
              place: .init(row: row, type: node.type, relation: place), node: number, elements: elements,
              isIncomplete: node.incompleteFields.contains(relation.key)))
        }
      }
    }
    let superseded = try join(&lists)
    try targets.load(lists.map(\.place))
    lists = try lists.compactMap { try merged($0) }
    for list in lists { try add(list) }
    try checkClaims()
    try checkPairs()
    for list in lists { try order(list) }
    try placeClaimed()
    try removeUnlisted(lists)
    drop(superseded)
  }

  /// Discards new rows that are referenced only by superseded lists. A list is superseded if a later list for the same row replaces it.
  private func drop(_ superseded: Set<Int>) {
    guard !superseded.isEmpty else { return }
    var linked = Set(writer.nodes.roots.compactMap { writer.rowOfNode[$0] })
    for row in writer.rows.indices where !writer.rows[row].isDeleted {
      linked.formUnion(writer.rows[row].references.values.map(\.row))
    }
    let listed = Set(listed.keys.map(\.row))
    for row in superseded where writer.rows[row].isNew && !linked.contains(row) && !listed.contains(row) {
      writer.rows[row].isDeleted = true
    }
  }

  /// Returns the relation of a list. For an incomplete list, the relation's `removed` rule is changed to
  /// ``EntityRelation/Removal/keep``, so that the save removes no elements.
  private func relation(of list: List) -> EntityType.Relation {
    let relation = targets.relation(list.place)
    return list.isIncomplete ? relation.keeping : relation
  }

  private func failure(_ reason: String, node: Int, _ relation: EntityType.Relation) -> any Error {
    writer.located(EntityError(.clash, reason, path: [.key(relation.key)]), node: node)
  }

  // MARK: Changes since the fetch

  /// Throws an error with the code `conflict` if an object refers to another object whose row has been deleted since that object was
  /// fetched. References that the first object already had when it was fetched are allowed.
  private func checkDeleted(_ node: Int, _ row: Int, _ relation: Int, _ found: [Int]) throws {
    let deleted = found.compactMap { writer.deletedNodes[$0] }
    guard !deleted.isEmpty else { return }
    let known = writer.base(ofRow: row, node: node).flatMap { writer.bases.links($0, relation) } ?? []
    guard !Set(deleted).isSubset(of: known) else { return }
    let declared = catalog.types[writer.nodes.nodes[node].type].relations[relation]
    throw writer.located(
      EntityError(
        .conflict, "the row of a referenced object was deleted after the object was fetched",
        path: [.key(declared.key)]), node: node)
  }

  /// Returns whether the to-one reference of an object must be saved, because it has changed since the object was fetched.
  private func isReassigned(
    _ node: Int, _ row: Int, _ slot: Int, _ referenced: Int, _ found: [Int], _ elements: [Int],
    _ relation: EntityType.Relation
  ) throws -> Bool {
    guard let base = writer.base(ofRow: row, node: node), !writer.rows[row].isNew else { return true }
    // The referenced row has been deleted. The database has already cleared the reference or deleted the referring row, so
    // nothing is saved.
    guard elements.count == found.count else { return false }
    guard let known = base.row.values[slot] else { return true }
    let local = elements.first.map { value($0, referenced) } ?? .null
    // If the referenced row is inserted again, the reference must be set even though it has not changed.
    if known.isExactly(local), !(elements.first.map { writer.rows[$0].isNew } ?? false) { return false }
    let now = writer.rows[row].original?[slot]
    if known.isExactly(now) || local.map({ $0.isExactly(now) }) ?? false { return true }
    return try writer.countsLocal(row, relation.key, [writer.table(of: row).columns[slot].name])
  }

  /// Returns whether the save moves a row into a list. If another change has moved the row to a different list since it was fetched,
  /// the conflict handling decides which move is kept.
  private func mayMove(
    _ row: Int, _ slot: Int, to parent: DatabaseValue?, _ relation: EntityType.Relation
  ) throws -> Bool {
    guard let known = writer.base(ofRow: row)?.row.values[slot], let now = writer.rows[row].original?[slot],
      !known.isExactly(now), !now.isExactly(parent)
    else { return true }
    return try writer.countsLocal(row, relation.key, [writer.table(of: row).columns[slot].name])
  }

  /// Merges a list with the changes that were made to it in the database since its owner was fetched. Returns `nil` if the list
  /// in the database stays unchanged.
  private func merged(_ list: List) throws -> List? {
    let relation = relation(of: list)
    guard let base = writer.base(ofRow: list.row, node: list.node), !writer.rows[list.row].isNew,
      relation.removed != .keep
    else { return list }
    let rows = targets.rows(of: list.place)
    let (local, now) = (list.elements.map { writer.plainKey($0) }, rows.map { writer.plainKey($0) })
    let isOrdered =
      switch relation.cardinality {
      case .toMany(_, _, .kept?, _), .through(_, .kept?, _): true
      default: false
      }
    func isSame(_ one: [EntityWriter.PlainKey?], _ other: [EntityWriter.PlainKey?]) -> Bool {
      one == other || !isOrdered && one.count == other.count && Set(one) == Set(other)
    }
    if isSame(local, now) { return list }
    guard let known = writer.bases.links(base, list.place.relation) else {
      return try writer.countsLocal(list.row, relation.key) ? list : nil
    }
    if isSame(local, known) { return nil }
    if isSame(now, known) { return list }
    let target = catalog.types[relation.target]
    let isKeyed = catalog.tables[target.table].primaryKey.allSatisfy { slot in
      target.attributes.contains { $0.slot == slot }
    }
    guard isKeyed else { return try writer.countsLocal(list.row, relation.key) ? list : nil }
    let (before, there, here) = (Set(known), Set(now.compactMap(\.self)), Set(local.compactMap(\.self)))
    let kept = zip(list.elements, local).filter { row, key in
      guard let key, !writer.rows[row].isNew else { return true }
      return !before.contains(key) || there.contains(key)
    }.map(\.0)
    // Each element that was added in the database since the fetch is inserted after the element that precedes it in the database.
    let stays = Set(kept)
    var added: [Int?: [Int]] = [:]
    var last: Int?
    for (row, key) in zip(rows, now) {
      if stays.contains(row) {
        last = row
      } else if let key, !before.contains(key), !here.contains(key) {
        added[last, default: []].append(row)
      }
    }
    var result = (added[nil] ?? []) + kept.flatMap { [$0] + (added[$0] ?? []) }
    if relation.shape == .one, result.count > 1 {
      guard try writer.countsLocal(list.row, relation.key) else { return nil }
      result = list.elements
    }
    var list = list
    list.elements = result
    return list
  }

  // MARK: Foreign keys

  private mutating func claim(
    _ row: Int, _ slot: Int, _ referenced: Int, _ target: Int?, _ node: Int, _ relation: EntityType.Relation
  ) throws {
    let place = ForeignKeySlot(row: row, table: writer.rows[row].table, slot: slot)
    if writer.nodes.isWhole, let other = claims[place], other.target != target {
      throw failure(
        "two objects represent the same row, but their relations refer to different rows; make both "
          + "relations refer to the same row", node: node, relation)
    }
    claims[place] = (target, node)
    set(row, slot, target, referenced)
  }

  /// Sets a foreign key so that it refers to the row `target`, or to null if `target` is `nil`.
  private func set(_ row: Int, _ slot: Int, _ target: Int?, _ referenced: Int) {
    guard let target else {
      writer.rows[row].references[slot] = nil
      writer.rows[row].values[slot] = .null
      return
    }
    writer.rows[row].references[slot] = .init(row: target, slot: referenced)
  }

  /// Returns the value that a foreign key must have to refer to the given row, or `nil` if the row's key is not known yet.
  private func value(_ row: Int, _ referenced: Int) -> DatabaseValue? { writer.rows[row].values[referenced] }

  // MARK: Lists

  /// Combines the lists of several objects that represent the same row. If the relation has the rule
  /// ``EntityRelation/Removal/keep``, the combined list has the elements of all lists. Otherwise, the last list replaces the
  /// others.
  ///
  /// - Returns: the elements of the replaced lists.
  private func join(_ lists: inout [List]) throws -> Set<Int> {
    var superseded = Set<Int>()
    var places: [EntityTargets.RowRelation: Int] = [:]
    var joined: [List] = []
    for list in lists {
      guard let known = places[list.place] else {
        places[list.place] = joined.count
        joined.append(list)
        continue
      }
      joined[known].isIncomplete = joined[known].isIncomplete || list.isIncomplete
      let relation = relation(of: joined[known])
      if relation.removed == .keep {
        let there = Set(joined[known].elements)
        joined[known].elements += list.elements.filter { !there.contains($0) }
        continue
      }
      if writer.nodes.isWhole, joined[known].elements != list.elements {
        throw failure(
          "two objects represent the same row but have different lists; make both lists "
            + "equal", node: list.node, relation)
      }
      superseded.formUnion(joined[known].elements)
      joined[known].elements = list.elements
    }
    lists = joined
    for list in lists where Set(list.elements).count < list.elements.count {
      throw failure(
        "two elements of the list have the same key and represent the same row; remove one of them", node: list.node,
        targets.relation(list.place))
    }
    return superseded
  }

  private mutating func add(_ list: List) throws {
    let relation = relation(of: list)
    guard case .toMany(let slot, let referenced, _, let removed) = relation.cardinality else {
      return try addPairs(list, relation)
    }
    let table = catalog.types[relation.target].table
    if removed != .keep { wholeLists.insert(ForeignKeySlot(row: list.row, table: table, slot: slot)) }
    for element in list.elements {
      let place = ForeignKeySlot(row: element, table: table, slot: slot)
      if let claim = claims[place], let target = claim.target, target != list.row {
        throw failure(
          "an element of the list refers to a different owner; make both sides of the relation agree",
          node: list.node, relation)
      }
      if claims[place] == nil, let node = writer.rows[element].node, hasOwnValue(node, slot),
        let known = writer.rows[element].values[slot], !known.isNull, !known.isExactly(value(list.row, referenced))
      {
        throw failure(
          "the foreign key of a list element refers to a different owner; make both sides of the relation agree",
          node: list.node, relation)
      }
      guard try mayMove(element, slot, to: value(list.row, referenced), relation) else { continue }
      if let other = listed.updateValue(list.row, forKey: place), other != list.row {
        throw failure(
          "an element of the list is also in another row's list; remove it from one of the "
            + "lists", node: list.node, relation)
      }
      set(element, slot, list.row, referenced)
    }
  }

  /// Returns whether the object (node) has an attribute with a value for the column. Ignores columns that are set only by relations.
  private func hasOwnValue(_ number: Int, _ slot: Int) -> Bool {
    let node = writer.nodes.nodes[number]
    return zip(catalog.types[node.type].attributes, node.values).contains {
      $0.slot == slot && $0.isWritten && $1 != nil
    }
  }

  /// Throws an error with the code `clash` if an object refers to an owner, but the owner's saved list does not contain the
  /// object.
  private func checkClaims() throws {
    for (place, claim) in claims.sorted(by: { $0.value.node < $1.value.node }) {
      guard let target = claim.target, listed[place] == nil,
        wholeLists.contains(ForeignKeySlot(row: target, table: place.table, slot: place.slot))
      else { continue }
      let type = catalog.types[writer.nodes.nodes[claim.node].type]
      let relation = type.relations.first { if case .toOne(place.slot, _) = $0.cardinality { true } else { false } }
      throw writer.located(
        EntityError(
          .clash,
          "the object refers to an owner whose list does not contain the object; add the object to the list, or "
            + "remove the reference",
          path: relation.map { [.key($0.key)] } ?? []), node: claim.node)
    }
  }

  // MARK: List positions

  private mutating func order(_ list: List) throws {
    let relation = relation(of: list)
    guard case .toMany(let slot, let referenced, .kept(let order)?, let removed) = relation.cardinality else { return }
    let parent = value(list.row, referenced)
    setPositions(list.elements, order, existing: targets.rows(of: list.place), removed) { row in
      writer.rows[row].original?[slot].isExactly(parent) ?? false
    }
  }

  /// Sets the position column of the rows in a list to ascending numbers. A row that was already in the list keeps its position
  /// if this position is greater than the position of the preceding row.
  private func setPositions(
    _ rows: [Int], _ slot: Int, existing: [Int], _ removed: EntityRelation.Removal, _ stood: (Int) -> Bool
  ) {
    // Positions in the upper half of the integer range are ignored, because the positions after them could overflow.
    func position(_ row: Int) -> Int64? {
      guard stood(row), let original = writer.rows[row].original, let known = original[slot].integer, known < .max / 2
      else { return nil }
      return known
    }
    // With `.keep`, the list does not replace the existing one, so new elements are appended after all existing elements.
    guard removed != .keep else {
      var last = existing.compactMap { writer.rows[$0].original?[slot].integer }.filter { $0 < .max / 2 }.max() ?? -1
      for row in rows where !stood(row) {
        last += 1
        writer.rows[row].values[slot] = last.databaseValue
      }
      return
    }
    var last: Int64 = -1
    for row in rows {
      if let known = position(row), known > last {
        last = known
      } else {
        last += 1
        writer.rows[row].values[slot] = last.databaseValue
      }
    }
  }

  /// Appends rows to ordered lists if the rows were added from the other side of the relation, for example by their own reference
  /// to the list's owner. Sets the positions of these rows.
  private func placeClaimed() throws {
    var coming: [(list: ForeignKeySlot, row: Int, referenced: Int, order: Int)] = []
    for (place, claim) in claims.sorted(by: { $0.value.node < $1.value.node }) where listed[place] == nil {
      guard let (referenced, order) = orderedList(of: place) else { continue }
      let state = writer.rows[place.row]
      guard let target = claim.target else {
        if !writer.table(of: place.row).columns[order].isNotNull, !state.isNew {
          writer.rows[place.row].values[order] = .null
        }
        continue
      }
      if let parent = value(target, referenced), !parent.isNull, parent.isExactly(state.original?[place.slot]) {
        continue
      }
      writer.touched.insert(target)
      coming.append((ForeignKeySlot(row: target, table: place.table, slot: place.slot), place.row, referenced, order))
    }
    for (pair, known) in pairs.sorted(by: { $0.value.row < $1.value.row }) where writer.rows[known.row].isNew {
      guard let (owner, referenced, order) = orderedPairs(of: pair), writer.rows[known.row].values[order] == nil else {
        continue
      }
      coming.append((owner, known.row, referenced, order))
    }
    guard !coming.isEmpty else { return }
    var ends: [ForeignKeySlot: Int64] = [:]
    for (place, row) in listed {
      guard let (_, order) = orderedList(of: place), let position = writer.rows[place.row].values[order]?.integer else {
        continue
      }
      ends[ForeignKeySlot(row: row, table: place.table, slot: place.slot), default: -1].raise(to: position)
    }
    for (key, group) in Dictionary(grouping: coming, by: { [$0.list.table, $0.list.slot, $0.order] })
      .sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
    {
      let table = catalog.tables[key[0]]
      var lists: [(list: ForeignKeySlot, value: DatabaseValue)] = []
      var seen = Set<ForeignKeySlot>()
      for (list, _, referenced, _) in group where seen.insert(list).inserted {
        if let parent = value(list.row, referenced), !parent.isNull { lists.append((list, parent)) }
      }
      try table.forEachTuple(lists.map { [$0.value] }, writer.db) { values, arguments in
        let sql = """
          SELECT v.column1, max(t.\(table.quoted(key[2]))) FROM \(values) AS v \
          CROSS JOIN \(table.quotedName) AS t ON t.\(table.quoted(key[1])) = v.column2 GROUP BY v.column1
          """
        for row in try Row.fetchAll(writer.db, sql: sql, arguments: arguments) {
          if let last = (row[1] as DatabaseValue).integer {
            ends[lists[row[0] as Int].list, default: -1].raise(to: last)
          }
        }
      }
    }
    for (list, row, _, order) in coming {
      let last = ends[list] ?? -1
      // Positions in the upper half of the integer range are ignored, because the positions after them could overflow.
      ends[list] = last < .max / 2 ? last + 1 : 0
      writer.rows[row].values[order] = (ends[list] ?? 0).databaseValue
    }
  }

  /// Finds the ordered to-many relation that uses the given foreign key column.
  ///
  /// - Returns: `referenced`, the index of the referenced column in the owner's table, and `order`, the index of the position
  ///   column in the elements' table. `nil` if there is no such relation.
  private func orderedList(of place: ForeignKeySlot) -> (referenced: Int, order: Int)? {
    for type in catalog.types {
      for relation in type.relations {
        guard case .toMany(place.slot, let referenced, .kept(let order)?, _) = relation.cardinality,
          catalog.types[relation.target].table == place.table
        else { continue }
        return (referenced, order)
      }
    }
    return nil
  }

  /// Finds the side of a many-to-many relation that has an ordered list.
  ///
  /// - Returns: `owner`, the row of the list's owner, `referenced`, the index of the column that the join table references in the
  ///   owner's table, and `order`, the index of the position column in the join table. `nil` if neither side has an ordered list.
  private func orderedPairs(of pair: Pair) -> (owner: ForeignKeySlot, referenced: Int, order: Int)? {
    for relation in catalog.types.lazy.flatMap(\.relations) {
      guard case .through(let table, .kept(let order)?, _) = relation.cardinality, table.table == pair.first.table
      else {
        continue
      }
      let owner = table.from == pair.first.slot ? pair.first : pair.second
      return (owner, table.fromReferenced, order)
    }
    return nil
  }

  // MARK: Removed elements

  private mutating func removeUnlisted(_ lists: [List]) throws {
    var deleted: [Int] = []
    for list in lists {
      let relation = relation(of: list)
      guard case .toMany(let slot, _, let order, let removed) = relation.cardinality, removed != .keep else { continue }
      let table = catalog.types[relation.target].table
      let elements = Set(list.elements)
      for row in targets.rows(of: list.place)
      where !elements.contains(row) {
        writer.touched.insert(list.row)
        writer.rows[row].owner = list.row
        let place = ForeignKeySlot(row: row, table: table, slot: slot)
        guard listed[place] == nil, claims[place]?.target == nil, writer.rows[row].references[slot] == nil,
          // If this save sets the foreign key to a new value, it is not cleared.
          claims[place] != nil || writer.rows[row].values[slot]?.isExactly(writer.rows[row].original?[slot]) ?? false
        else { continue }
        if removed == .delete, writer.rows[row].node == nil {
          deleted.append(row)
        } else {
          try unlink(row, slot, order, list, relation)
        }
      }
    }
    try delete(deleted)
  }

  private func unlink(
    _ row: Int, _ slot: Int, _ order: EntityType.Relation.Order?, _ list: List, _ relation: EntityType.Relation
  ) throws {
    let table = writer.table(of: row)
    guard !table.columns[slot].isNotNull else {
      throw failure(
        "an object was removed from the list, but the save includes the object, whose foreign key must not "
          + "be null; exclude the object from the save, or add it to a list",
        node: list.node, relation)
    }
    release(row, slot, order)
  }

  /// Removes a row from a list by setting the row's foreign key to null. Also sets the row's position to null if the position
  /// column allows it.
  private func release(_ row: Int, _ slot: Int, _ order: EntityType.Relation.Order?) {
    writer.rows[row].values[slot] = .null
    if case .kept(let position)? = order, !writer.table(of: row).columns[position].isNotNull {
      writer.rows[row].values[position] = .null
    }
  }

  /// Deletes rows and applies the `removed` rule of each list that a deleted row owns.
  private func delete(_ first: [Int]) throws {
    var waiting = first
    while !waiting.isEmpty {
      let rows = waiting.filter { !writer.rows[$0].isDeleted }
      waiting = []
      for row in rows { writer.rows[row].isDeleted = true }
      var places: [EntityTargets.RowRelation] = []
      for row in rows {
        guard let type = writer.rows[row].type else { continue }
        for (relation, declared) in catalog.types[type].relations.enumerated() {
          if case .toOne = declared.cardinality { continue }
          places.append(.init(row: row, type: type, relation: relation))
        }
      }
      try targets.load(places)
      for place in places {
        let relation = targets.relation(place)
        switch relation.cardinality {
        case .toOne: break
        case .toMany(let slot, _, let order, let removed):
          let rows = targets.rows(of: place)
          writer.rowsLeavingLists[place.row, default: []] += rows.filter { writer.rows[$0].references[slot] != nil }
          for row in rows where writer.rows[row].references[slot] == nil && !writer.rows[row].isDeleted {
            switch removed {
            case .keep: break
            case .delete where writer.rows[row].node == nil:
              writer.rows[row].owner = place.row
              waiting.append(row)
            default:
              // A NOT NULL foreign key cannot be cleared. It stays unchanged, so the database may refuse to delete the owner.
              writer.rows[row].owner = place.row
              if !writer.table(of: row).columns[slot].isNotNull { release(row, slot, order) }
            }
          }
        case .through(_, _, let removed):
          for pair in targets.pairs(of: place) { writer.rows[pair].isDeleted = true }
          if removed == .delete { waiting += targets.rows(of: place).filter { writer.rows[$0].node == nil } }
        }
      }
    }
  }

  // MARK: Join tables

  private mutating func addPairs(_ list: List, _ relation: EntityType.Relation) throws {
    guard case .through(let table, let order, let removed) = relation.cardinality else { return }
    let place = list.place
    let own = ForeignKeySlot(row: list.row, table: table.table, slot: table.from)
    func pair(_ element: Int) -> Pair { Pair(own, ForeignKeySlot(row: element, table: table.table, slot: table.to)) }
    for (row, known) in zip(targets.rows(of: place), targets.pairs(of: place)) where pairs[pair(row)] == nil {
      pairs[pair(row)] = (known, list.node, relation, false)
    }
    var rows: [Int] = []
    for element in list.elements {
      var known = pairs[pair(element)]
      if known == nil {
        let row = writer.newRow(table: table.table, type: nil)
        writer.rows[row].node = list.node
        writer.rows[row].references[table.from] = .init(row: list.row, slot: table.fromReferenced)
        writer.rows[row].references[table.to] = .init(row: element, slot: table.toReferenced)
        known = (row, list.node, relation, true)
        writer.touched.insert(list.row)
      }
      known?.isListed = true
      pairs[pair(element)] = known
      if let row = known?.row { rows.append(row) }
    }
    if case .kept(let slot)? = order {
      let stood = Set(targets.pairs(of: place))
      setPositions(rows, slot, existing: targets.pairs(of: place), removed) { stood.contains($0) }
    }
    guard removed != .keep else { return }
    wholePairs[own] = Set(list.elements)
    for (row, lost) in zip(targets.rows(of: place), targets.pairs(of: place))
    where !(wholePairs[own]?.contains(row) ?? false) {
      writer.touched.insert(list.row)
      writer.rows[lost].owner = list.row
      lostPairs.append((pair(row), removed == .delete ? row : nil))
    }
  }

  /// Checks that both sides of each many-to-many relation agree. Throws `clash` if the lists of both sides are saved, but one
  /// list contains an object whose own list does not contain the owner. Also deletes the pairs that were removed from a list.
  private func checkPairs() throws {
    func lacks(_ end: ForeignKeySlot, _ other: ForeignKeySlot) -> Bool {
      wholePairs[end].map { !$0.contains(other.row) } ?? false
    }
    for (pair, known) in pairs.sorted(by: { $0.value.row < $1.value.row }) where known.isListed {
      guard !lacks(pair.first, pair.second), !lacks(pair.second, pair.first) else {
        throw failure(
          "the list contains an object, but that object's list does not contain the owner of this list; make "
            + "both sides of the relation agree", node: known.node,
          known.relation)
      }
    }
    var deleted: [Int] = []
    for (pair, element) in lostPairs {
      if let row = pairs[pair]?.row { writer.rows[row].isDeleted = true }
      if let element, writer.rows[element].node == nil { deleted.append(element) }
    }
    try delete(deleted)
  }
}

extension Int64 {
  fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}

extension DatabaseValue {
  /// The integer, or `nil` if the value is not an integer.
  fileprivate var integer: Int64? { if case .int64(let number) = storage { number } else { nil } }
}
