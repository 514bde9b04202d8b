internal import GRDB
internal import StrataCore

// Three-way merges of complete objects with rows that have changed since the objects were fetched.
extension EntityWriter {
  /// Returns the fetched state of a row's object, or `nil` if the state is unknown. The fetched state is the base of a merge.
  func base(ofRow row: Int, node: Int? = nil) -> FetchedRows.RowReference? {
    guard !nodes.merges, !bases.isEmpty else { return nil }
    return bases.base(ofNode: node ?? rows[row].node, plainKey(row))
  }

  /// Returns the primary key of a row, or `nil` if the key is not known yet.
  func plainKey(_ row: Int) -> PlainKey? {
    PlainKey(
      table: rows[row].table, table(of: row).primaryKey.map { (rows[row].original?[$0]) ?? rows[row].values[$0] })
  }

  /// Resolves a conflict in which a value has changed both in the row and in the object. Returns whether the object's value is
  /// saved.
  ///
  /// - Throws: ``EntityError`` with the code `conflict` if the conflict handling is `.fail`.
  func countsLocal(_ row: Int, _ key: String?, _ columns: [String] = []) throws -> Bool {
    switch bases.conflicts {
    case .keepLocal: return true
    case .takeServer: return false
    case .fail:
      throw located(
        EntityError(
          .conflict,
          "the row and the object have both changed since the object was fetched; fetch the row again, and repeat the "
            + "change", columns: columns), row,
        key: key)
    }
  }

  // MARK: Deleted rows

  /// Handles objects whose rows were deleted after the objects were fetched. For a root object or a changed object, the conflict
  /// handling decides whether the row is inserted again, the object is skipped, or `conflict` is thrown. All other objects are
  /// skipped.
  func dropDeleted() throws {
    guard !nodes.merges, !bases.isEmpty else { return }
    for number in nodes.nodes.indices {
      guard let row = rowOfNode[number], rows[row].isNew else { continue }
      let (node, type) = (nodes.nodes[number], catalog.types[nodes.nodes[number].type])
      let key = try EntityBases.plainKey(of: node, catalog)
      guard let base = bases.base(ofNode: number, key) else { continue }
      let isChanged = try zip(type.attributes, node.values).contains { attribute, value in
        guard attribute.isWritten, let value, let known = base.row.values[attribute.slot] else { return false }
        if type.isReplacedCase(known, value, attribute) { return false }
        return try !attribute.isSame(type.stored(value, attribute, in: table(of: row)), known)
      }
      if node.parent == nil || isChanged {
        switch bases.conflicts {
        case .keepLocal: continue
        case .takeServer: break
        case .fail:
          throw located(
            EntityError(
              .conflict,
              "the row was deleted after the object was fetched; to create the row again, save the object with "
                + "overwriting: true"),
            node: number)
        }
      }
      rowOfNode[number] = nil
      rows[row].isDeleted = true
      deletedNodes[number] = key
    }
  }

  // MARK: Columns

  /// Merges an object's values with the values of its row. The fetched values are the base of the three-way merge.
  func merge(
    _ stated: [(attribute: EntityType.Attribute, value: ArchiveValue)], _ base: FetchedRows.RowReference,
    _ type: EntityType,
    _ row: Int, _ isFirst: Bool
  ) throws {
    let table = table(of: row)
    var both: [(attribute: EntityType.Attribute, local: DatabaseValue, base: DatabaseValue)] = []
    for (attribute, value) in stated {
      let local = try type.stored(value, attribute, in: table)
      guard let known = base.row.values[attribute.slot], !table.primaryKey.contains(attribute.slot) else {
        try set(local, attribute, type, row, isFirst)
        continue
      }
      if try attribute.isSame(local, known) || type.isReplacedCase(known, value, attribute) { continue }
      let now = rows[row].original?[attribute.slot]
      // The columns are decoded only if the stored values differ.
      func hasReplacedCase() throws -> Bool {
        try base.rows.isOfObject
          && type.isReplacedCase(now, type.fetchedValue(of: attribute, known, in: table), attribute)
      }
      if try attribute.isSame(known, now) || attribute.isSame(local, now) || hasReplacedCase() {
        // If the column still has its original value, no other object for the same row has changed it, so the new value does not
        // contradict another object.
        let isUnchanged = now.map { $0.isExactly(rows[row].values[attribute.slot]) } ?? false
        try set(local, attribute, type, row, isFirst || isUnchanged)
      } else {
        both.append((attribute, local, known))
      }
    }
    guard !both.isEmpty else { return }
    let shape = type.shape(of: both.map(\.attribute.place))
    func record(_ value: (Int) -> DatabaseValue) throws -> ModelRecord {
      ModelRecord(
        shape: shape, values: try both.indices.map { try type.value(of: both[$0].attribute, value($0), in: table) })
    }
    let merged = try type.merging(isWhole: true).merged(
      record { rows[row].original?[both[$0].attribute.slot] ?? .null }, into: record { both[$0].local },
      base: record { both[$0].base })
    for (attribute, _, _) in both {
      let key = type.schema.fields[attribute.place].key
      if merged.conflicts.contains(where: { $0.path.components.first == .key(key) }),
        try !countsLocal(row, key, [table.columns[attribute.slot].name])
      {
        continue
      }
      try set(type.stored(merged.record[key] ?? .null, attribute, in: table), attribute, type, row, isFirst)
    }
  }

  // MARK: Stale objects

  /// Throws `staleSave` if an object without a base would overwrite a row that is synchronized with a server. Throws `conflict`
  /// if a row to delete has changed.
  func checkBases() throws {
    guard !nodes.merges, !bases.overwrites else { return }
    for row in rows.indices where !rows[row].isNew {
      // A row that is not deleted and has neither an object nor an owner is not checked, because only its position in a list changes.
      guard rows[row].isDeleted || rows[row].node != nil || rows[row].owner != nil else { continue }
      // A row of a join table has no entity. It is treated as a row of the table that contains the list's owner.
      let table = rows[row].type == nil ? rows[row].owner.map { rows[$0].table } : rows[row].table
      let isGuarded = table.map { bases.isGuarded($0) } ?? false
      guard isGuarded || !bases.isEmpty else { continue }
      let slots = rows[row].isDeleted ? [] : changedSlots(row)
      guard rows[row].isDeleted || !slots.isEmpty else { continue }
      if let base = base(ofRow: row) {
        guard rows[row].isDeleted, bases.conflicts != .keepLocal else { continue }
        let isSame = try catalog.types[base.row.type].attributes.allSatisfy { attribute in
          guard attribute.isWritten, let known = base.row.values[attribute.slot] else { return true }
          return try attribute.isSame(known, rows[row].original?[attribute.slot])
        }
        guard isSame else {
          throw located(
            EntityError(
              .conflict,
              "the row to delete has changed since the object was fetched; fetch the object again before you delete "
                + "it"), row)
        }
        continue
      }
      if let owner = rows[row].owner, base(ofRow: owner) != nil { continue }
      guard isGuarded else { continue }
      throw located(
        EntityError(
          .staleSave,
          "the object may be older than its row; pass a base, declare a property of the type RowBase, or pass "
            + "overwriting: true",
          columns: slots.map { self.table(of: row).columns[$0].name }), row)
    }
  }

  // MARK: After the commit

  /// Makes the saved values the new base of the saved class instances once the transaction has been committed.
  func moveBases() throws {
    guard !nodes.merges,
      zip(nodes.nodes, rowOfNode).contains(where: {
        $0.rowBase != nil && $1 != nil && catalog.types[$0.type].schema.isObject
      })
    else { return }
    var known = try FetchedRows(nodes, catalog).rows
    var boxes: [Int: [(box: RowBase.Box, number: Int, row: [DatabaseValue])]] = [:]
    for (number, node) in nodes.nodes.enumerated() {
      guard let row = rowOfNode[number], !rows[row].isDeleted else { continue }
      for slot in table(of: row).primaryKey { known[number].values[slot] = rows[row].values[slot] }
      guard let box = node.rowBase, catalog.types[node.type].schema.isObject else { continue }
      boxes[rows[row].table, default: []].append((box, number, rows[row].values.map { $0 ?? .null }))
    }
    let fetched = FetchedRows(known)
    db.afterNextTransaction { [catalog, boxes, fetched] db in
      for (number, boxes) in boxes.sorted(by: { $0.key < $1.key }) {
        let table = catalog.tables[number]
        let keys = boxes.map { box in table.primaryKey.map { box.row[$0] } }
        // Reads the rows again, because the app may have rolled back an outer savepoint. If the query fails, the objects keep
        // their older base, which at worst causes avoidable conflicts.
        try? table.forEachRow(where: table.primaryKey, in: keys, db) { index, values in
          guard zip(values, boxes[index].row).allSatisfy({ $0.isExactly($1) }) else { return }
          boxes[index].box.move(to: .init(rows: fetched, number: boxes[index].number))
        }
      }
    }
  }
}
