package import GRDB
internal import StrataCore

/// Saves the objects of an `EntityNodes` graph as rows, in one transaction. The steps are:
///
///     nodes → rows found by key → attributes merged → relations linked → rows written → rules of models
///
/// The new state of every row is computed before the first write.
package final class EntityWriter {
  let db: Database
  let catalog: EntityCatalog
  private(set) var nodes: EntityNodes
  /// The names of the keys that may be used to find existing rows, or `nil` for all keys.
  let matching: Set<String>?
  /// The fetched states of complete objects. They are the bases for merging the objects with their rows.
  let bases: EntityBases
  var rows: [EntityRowState] = []
  /// The index in `rows` of each node's row, or `nil` for a node without a row.
  var rowOfNode: [Int?]
  var report = EntityReport()
  /// The nodes whose rows were deleted after the objects were fetched, with the primary keys of the rows.
  var deletedNodes: [Int: PlainKey] = [:]
  /// The indices in `rows` of the rows that own a changed list.
  var touched = Set<Int>()
  /// For each row to delete, the rows that must first be removed from the lists of that row.
  var rowsLeavingLists: [Int: [Int]] = [:]
  private var rowsByKey: [PlainKey: Int] = [:]

  struct PlainKey: Hashable {
    let table: Int
    let values: [ExactValue]

    /// Creates a primary key, or returns `nil` if a value of the key is null or unknown.
    init?(table: Int, _ key: [DatabaseValue?]) {
      self.table = table
      values = key.compactMap { value in value.flatMap { $0.isNull ? nil : ExactValue($0) } }
      if values.count < key.count { return nil }
    }

    init(_ values: [DatabaseValue], _ table: EntityTable, _ number: Int) throws {
      guard let key = Self(table: number, table.primaryKey.map { values[$0] }) else {
        let columns = table.primaryKey.filter { values[$0].isNull }.map { table.columns[$0].name }
        throw EntityError(
          .notReadable, "the row has no value for its primary key; set the primary key",
          table: table.name, columns: columns)
      }
      self = key
    }
  }

  package init(
    _ nodes: EntityNodes, _ catalog: EntityCatalog, matching: Set<String>?, bases: EntityBases = .init(), _ db: Database
  ) {
    self.db = db
    self.bases = bases
    self.catalog = catalog
    self.nodes = nodes
    self.matching = matching
    rowOfNode = [Int?](repeating: nil, count: nodes.nodes.count)
  }

  /// Runs all steps and returns a report of the changes.
  ///
  /// - Throws: ``EntityError``, in which case the caller must roll back the transaction.
  package func run() throws -> EntityReport {
    try catalog.versions.run(db)
    let targets = try match()
    dropUnlinked()
    try dropDeleted()
    try mergeAttributes()
    var linker = EntityLinker(self, targets)
    try linker.run()
    try completeNewRows()
    try checkBases()
    var changes = EntityChanges(self)
    try changes.run()
    try finishModels()
    try moveBases()
    for root in nodes.roots {
      report.roots.append(
        rowOfNode[root].map { primaryKey($0) }
          ?? catalog.table(of: nodes.nodes[root].type).primaryKey.map { _ in .null })
    }
    return report
  }

  /// Finds the row of each node. This is a separate method because returning from it releases the matcher's lookup tables
  /// early.
  private func match() throws -> EntityTargets {
    var matcher = EntityMatcher(self)
    try matcher.run()
    for (number, row) in rowOfNode.enumerated() {
      guard let type = row.flatMap({ rows[$0].type }), type != nodes.nodes[number].type else { continue }
      try nodes.refine(number, to: type)
    }
    return matcher.targets
  }

  func table(of row: Int) -> EntityTable { catalog.tables[rows[row].table] }

  /// Returns the primary key of a node's row, or `nil` if the node has no row.
  package func primaryKey(ofNode node: Int) -> [DatabaseValue]? { rowOfNode[node].map(primaryKey) }

  func primaryKey(_ row: Int) -> [DatabaseValue] {
    table(of: row).primaryKey.map { rows[row].values[$0] ?? .null }
  }

  /// Returns the index in `rows` of an existing row with the given column values. Adds the row if its primary key is not in
  /// `rows` yet.
  func row(_ values: [DatabaseValue], table: Int, type declared: Int?) throws -> Int {
    let key = try PlainKey(values, catalog.tables[table], table)
    let type = try declared.map { try catalog.type(of: values, $0) }
    if let known = rowsByKey[key] {
      if rows[known].type == nil { rows[known].type = type }
      return known
    }
    rowsByKey[key] = rows.count
    rows.append(EntityRowState(table: table, type: type, values))
    return rows.count - 1
  }

  /// Returns the new value of a column. Returns `nil` if the column is not set, or if it refers to a row that has not been
  /// written yet.
  func resolved(_ row: Int, _ slot: Int) -> DatabaseValue? {
    guard let reference = rows[row].references[slot] else { return rows[row].values[slot] }
    let target = rows[reference.row]
    return target.isWritten || reference.row == row ? target.values[reference.slot] : nil
  }

  /// Returns the slots of the columns that must be updated in an existing row.
  func changedSlots(_ row: Int) -> [Int] {
    table(of: row).columns.indices.filter { slot in
      guard let value = resolved(row, slot) else { return rows[row].references[slot] != nil }
      return !value.isExactly(rows[row].original?[slot])
    }
  }

  func newRow(table: Int, type: Int?) -> Int {
    rows.append(EntityRowState(table: table, type: type, new: catalog.tables[table].columns.count))
    return rows.count - 1
  }

  func located(_ error: EntityError, _ row: Int, key: String? = nil) -> EntityError {
    let path = (rows[row].node.map { nodes.path(of: $0) } ?? []) + (key.map { [.key($0)] } ?? [])
    return error.located(
      entity: rows[row].type.map { catalog.types[$0].name }, path: path, table: table(of: row).name)
  }

  func located(_ error: any Error, node: Int) -> any Error {
    let (path, name) = (nodes.path(of: node), catalog.types[nodes.nodes[node].type].name)
    if let error = error as? EntityError { return error.located(entity: name, path: path) }
    return EntityError.of(error, .invalid, "the local and incoming values cannot be merged", entity: name, path: path)
  }

  /// Excludes objects from the save if they can be reached only through relations that the merge leaves unchanged.
  private func dropUnlinked() {
    let all = nodes.nodes
    guard nodes.merges, catalog.types.contains(where: { $0.relations.contains(where: \.keepsLocal) }) else { return }
    var reached = Set<Int>()
    var waiting = nodes.roots
    while let number = waiting.popLast() {
      guard reached.insert(number).inserted, let row = rowOfNode[number] else { continue }
      for (relation, link) in zip(catalog.types[all[number].type].relations, all[number].links) {
        guard case .nodes(let found) = link, !relation.keepsLocal || rows[row].isNew else { continue }
        waiting += found
      }
    }
    var first: [Int: Int] = [:]
    for number in reached.sorted().reversed() {
      if let row = rowOfNode[number] { first[row] = number }
    }
    for number in all.indices where !reached.contains(number) {
      guard let row = rowOfNode[number] else { continue }
      rowOfNode[number] = nil
      rows[row].node = first[row]
      if first[row] == nil, rows[row].isNew { rows[row].isDeleted = true }
    }
  }

  // MARK: Attributes

  private func mergeAttributes() throws {
    for number in nodes.nodes.indices {
      guard let row = rowOfNode[number] else { continue }
      do { try mergeAttributes(number, row) } catch { throw located(error, node: number) }
    }
  }

  private func mergeAttributes(_ number: Int, _ row: Int) throws {
    let node = nodes.nodes[number]
    let (type, table) = (catalog.types[node.type], table(of: row))
    let isFirst = rows[row].node == number
    let merging = type.merging(isWhole: nodes.isWhole)
    var stated = zip(type.attributes, node.values).compactMap { attribute, value in
      attribute.isWritten ? value.map { (attribute: attribute, value: $0) } : nil
    }
    // If the object is not the first one of its row, records the columns that it sets, so that contradictory values can be
    // reported.
    defer { if !isFirst { for (attribute, _) in stated { rows[row].slotsOfLaterNodes.insert(attribute.slot) } } }
    if rows[row].isNew {
      // In a new row, each column that no earlier node has set gets the incoming value.
      for (attribute, value) in stated where rows[row].values[attribute.slot] == nil {
        // A nil primary key is left unset, so that the database generates the key.
        if value.isNull, table.primaryKey.contains(attribute.slot) { continue }
        let whole = attribute.isPlain ? value : try merging.completed(value)
        rows[row].values[attribute.slot] = try type.stored(whole, attribute, in: table)
      }
      if isFirst { return }
      stated.removeAll { $0.value.isNull && rows[row].values[$0.attribute.slot] == nil }
    }
    if let base = base(ofRow: row, node: number) { return try merge(stated, base, type, row, isFirst) }
    guard nodes.merges, !node.isMerged, merging.hasHooks || stated.contains(where: { !$0.attribute.isPlain }) else {
      for (attribute, value) in stated {
        let stored = try type.stored(value, attribute, in: table), original = rows[row].original?[attribute.slot]
        // The column is decoded only if it would change.
        if !nodes.merges, stored != original, type.isReplacedCase(original, value, attribute) { continue }
        try set(stored, attribute, type, row, isFirst)
      }
      return
    }
    let known = type.attributes.filter { rows[row].values[$0.slot] != nil }
    let statedSlots = Set(stated.map(\.attribute.slot))
    // Unknown enum cases are replaced only in fields that the source lacks. The columns of these fields stay unchanged unless a
    // hook sets them.
    let local = ModelRecord(
      shape: type.shape(of: known.map(\.place)),
      values: try known.map {
        let stored = rows[row].values[$0.slot] ?? .null
        return statedSlots.contains($0.slot)
          ? try type.value(of: $0, stored, in: table) : try type.fetchedValue(of: $0, stored, in: table)
      })
    let server = ModelRecord(
      shape: type.shape(of: stated.map(\.attribute.place), incomplete: node.incompleteFields),
      values: stated.map(\.value))
    let merged = try merging.merged(server, into: local).record
    for attribute in type.attributes where attribute.isWritten {
      let key = type.schema.fields[attribute.place].key
      guard let value = merged[key], local[key] != value else { continue }
      try set(type.stored(value, attribute, in: table), attribute, type, row, isFirst)
    }
  }

  func set(
    _ value: DatabaseValue, _ attribute: EntityType.Attribute, _ type: EntityType, _ row: Int, _ isFirst: Bool
  ) throws {
    let known = rows[row].values[attribute.slot]
    guard !value.isExactly(known) else { return }
    let table = table(of: row)
    // The object has no value for a primary key that the database generated, so the existing key is kept.
    if value.isNull, table.primaryKey.contains(attribute.slot) { return }
    if try attribute.isSame(value, known) { return }
    let key = type.schema.fields[attribute.place].key
    func clash(_ reason: String) -> EntityError {
      EntityError(
        .clash, reason, entity: type.name, path: [.key(key)], table: table.name,
        columns: [table.columns[attribute.slot].name])
    }
    if nodes.isWhole, !isFirst, known != nil {
      throw clash(
        "two objects represent the same row but have different values; save only one of the objects, or make "
          + "their values equal")
    }
    if !rows[row].isNew, table.primaryKey.contains(attribute.slot) {
      // A value that is equal to the existing one under the collation of a unique index counts as the same key, so the existing
      // value is kept.
      for key in type.keys {
        guard let place = key.slots.firstIndex(of: attribute.slot), let known else { continue }
        let collation = key.collations[place]
        if EntityTable.folded(known, collation).isExactly(EntityTable.folded(value, collation)) { return }
      }
      throw clash(
        "one of the object's keys identifies a row with a different primary key, and the primary key of a row "
          + "cannot change; use the primary key of that row")
    }
    if !isFirst, !nodes.isWhole,
      rows[row].slotsOfLaterNodes.contains(attribute.slot) || firstNodeHasValue(for: attribute, row)
    {
      report.contradictions.append(
        .init(
          table: table.name, entity: type.name, primaryKey: primaryKey(row), kind: .updated,
          columns: [table.columns[attribute.slot].name]))
    }
    rows[row].values[attribute.slot] = value
  }

  /// Returns whether the first object (node) of a row has a value for the attribute's column.
  private func firstNodeHasValue(for attribute: EntityType.Attribute, _ row: Int) -> Bool {
    guard let node = rows[row].node.map({ nodes.nodes[$0] }) else { return false }
    let place = catalog.types[node.type].attributes.firstIndex { $0.slot == attribute.slot }
    return place.map { node.values[$0] != nil } ?? false
  }

  // MARK: New rows

  /// Sets absent values of new rows to their defaults. Throws `missingValue` if a required value is absent and has no default.
  private func completeNewRows() throws {
    for row in rows.indices where rows[row].isNew && !rows[row].isDeleted {
      if let number = rows[row].type { try supplyDefaults(row, number) }
      for relation in rows[row].type.map({ catalog.types[$0].relations }) ?? [] where !relation.isOptional {
        guard case .toOne(let slot, _) = relation.cardinality, rows[row].references[slot] == nil else { continue }
        guard rows[row].values[slot] == nil, table(of: row).suppliesValue(of: slot) else {
          throw located(
            EntityError(
              .missingValue,
              "a required relation of a new row is not set; set the relation, or make it optional",
              columns: [table(of: row).columns[slot].name]), row, key: relation.key)
        }
      }
      let table = table(of: row)
      for slot in table.primaryKey
      where rows[row].values[slot] == nil && rows[row].references[slot] == nil && !table.suppliesValue(of: slot) {
        throw located(
          EntityError(
            .missingValue, "the primary key of a new row has no value; set the primary key",
            columns: [table.columns[slot].name]),
          row, key: key(of: slot, row))
      }
      for (slot, column) in table.columns.enumerated()
      where column.isNotNull && rows[row].references[slot] == nil && rows[row].values[slot]?.isNull ?? true {
        guard rows[row].values[slot] != nil || !table.suppliesValue(of: slot) else { continue }
        if slot == table.rowID { continue }
        throw located(
          EntityError(
            .missingValue,
            "the saved object has no value for the NOT NULL column; set the value before you save the object",
            columns: [column.name]),
          row, key: key(of: slot, row))
      }
    }
  }

  private func supplyDefaults(_ row: Int, _ number: Int) throws {
    let (type, table) = (catalog.types[number], table(of: row))
    for (place, attribute) in type.attributes.enumerated()
    where attribute.isWritten && rows[row].values[attribute.slot] == nil && rows[row].references[attribute.slot] == nil
    {
      let field = type.schema.fields[attribute.place]
      do {
        let isUnknown = rows[row].node.map { nodes.nodes[$0].unknownCases.contains(place) } ?? false
        let supplied = try (isUnknown ? nil : nodes.defaults[number]?[place]) ?? field.makeDefault?()
        if let value = supplied, !(value.isNull && table.primaryKey.contains(attribute.slot)) {
          rows[row].values[attribute.slot] = try type.stored(value, attribute, in: table)
        } else if !field.isOptional, !table.suppliesValue(of: attribute.slot) {
          throw EntityError(
            .missingValue,
            "the incoming data would create a new row but has no value for the property; give the property a "
              + "default, or use the key of an existing row",
            columns: [table.columns[attribute.slot].name])
        }
      } catch {
        guard let error = error as? EntityError else { throw error }
        throw located(error, row, key: error.path.isEmpty ? field.key : nil)
      }
    }
  }

  /// Returns the key of the property that is stored in the column of a row, or `nil` if there is none.
  func key(of slot: Int, _ row: Int) -> String? {
    guard let type = rows[row].type.map({ catalog.types[$0] }) else { return nil }
    if let attribute = type.attribute(of: slot) { return type.schema.fields[attribute.place].key }
    return type.relations.first { if case .toOne(slot, _) = $0.cardinality { true } else { false } }?.key
  }

  // MARK: Rules and hooks

  /// Runs the rules and hooks of the models whose rows, or related rows, were written. Saves values that the hooks have
  /// changed.
  private func finishModels() throws {
    guard catalog.types.contains(where: \.finishes) else { return }
    var numbers: [Int: [Int]] = [:]
    for row in changedRows().sorted() {
      guard let type = rows[row].type, catalog.types[type].finishes else { continue }
      numbers[type, default: []].append(row)
    }
    guard !numbers.isEmpty else { return }
    for (number, changed) in numbers.sorted(by: { $0.key < $1.key }) {
      let type = catalog.types[number]
      let reader = try EntityReader(catalog, db)
      let found = try reader.read(type: number, primaryKeys: changed.map { primaryKey($0) })
      if let lost = found.firstIndex(of: nil) {
        throw located(
          EntityError(.constraint, "a database trigger deleted the saved row"), changed[lost])
      }
      let graph = try reader.graph(roots: found.compactMap(\.self))
      try graph.finishRoots { place, result in
        let row = changed[place]
        let record: ModelRecord
        do { record = try result.get() } catch {
          throw located(
            EntityError(
              .invalid, "a validation rule or hook of the model rejected the resulting row, so nothing was saved",
              underlying: error), row)
        }
        for attribute in type.attributes where attribute.isWritten {
          guard let value = record[type.schema.fields[attribute.place].key] else { continue }
          try set(type.stored(value, attribute, in: table(of: row)), attribute, type, row, true)
        }
      }
    }
    var changes = EntityChanges(self)
    try changes.run()
  }

  /// Returns the written rows, and the rows of this save that refer to a written row directly or indirectly.
  private func changedRows() -> Set<Int> {
    var owners: [Int: [Int]] = [:]
    for (number, node) in nodes.nodes.enumerated() {
      guard let owner = rowOfNode[number] else { continue }
      for case .nodes(let found) in node.links {
        for row in found.compactMap({ rowOfNode[$0] }) { owners[row, default: []].append(owner) }
      }
    }
    var found = Set<Int>()
    var waiting = rows.indices.filter { rows[$0].isChanged } + touched
    while let row = waiting.popLast() {
      guard found.insert(row).inserted else { continue }
      waiting += owners[row] ?? []
    }
    return found.filter { !rows[$0].isDeleted }
  }
}
