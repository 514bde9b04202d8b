internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Changes a record's primary key in all places: in the record's row, in rows that refer to it, and in the stored
/// changes and responses.
struct RecordRenaming {
  private let catalog: RemoteCatalog
  private let entity: MappedEntity
  private let db: Database

  /// A column that contains primary keys of the entity and is updated when one of these keys changes.
  private struct Reference: Hashable {
    let table: String
    let column: String
  }

  init(_ catalog: RemoteCatalog, _ entity: MappedEntity, _ db: Database) {
    self.catalog = catalog
    self.entity = entity
    self.db = db
  }

  /// Changes the primary key of a record to a key that no other row has.
  func rename(_ old: DatabaseValue, to new: DatabaseValue) throws {
    try ChangeTriggers.withoutRecording(db) {
      // Foreign keys are checked at the end of the transaction, because they are violated between the updates.
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      let key = entity.keyColumn.quotedDatabaseIdentifier
      try db.execute(cached: "UPDATE \(entity.quotedTable) SET \(key) = ? WHERE \(key) = ?", [new, old])
      try redirect(old, to: new)
    }
    for table in ["records", "edits", "changes", "conflicts", "awaited"] {
      try db.execute(
        cached: "UPDATE OR REPLACE strata_remote_\(table) SET record = ? WHERE entity = ? AND record = ?",
        [new, entity.name, old])
    }
    try noteName(old, new)
  }

  /// Replaces outdated local keys with the current keys in objects that the app is saving. The local key of a record is outdated once
  /// the server's id has replaced it. Both primary keys and foreign keys are replaced.
  ///
  /// Numeric keys are not replaced, because the same number may now be the key of a different record.
  static func follow(_ nodes: inout EntityNodes, _ entities: [MappedEntity], _ db: Database) throws {
    guard try db.exists("SELECT 1 FROM strata_remote_ids") else { return }
    let byType = Dictionary(entities.map { ($0.number, $0) }) { first, _ in first }
    for place in nodes.nodes.indices {
      guard let entity = byType[nodes.nodes[place].type] else { continue }
      for (number, attribute) in entity.type.attributes.enumerated() where attribute.isWritten {
        let isKey = number == entity.key.attribute
        let column = entity.table.columns[attribute.slot].name
        guard let target = isKey ? entity : entity.field(column: column)?.target.flatMap({ byType[$0] }),
          let value = nodes.nodes[place].values[number], !value.isNull
        else { continue }
        let old = try entity.stored(value, number)
        if case .int64 = old.storage { continue }
        let new = try DatabaseValue.fetchOne(
          db.cachedStatement(sql: "SELECT new FROM strata_remote_ids WHERE entity = ? AND old = ?"),
          arguments: [target.name, old])
        guard let new, try target.row(old, db) == nil, try target.row(new, db) != nil else { continue }
        nodes.nodes[place].values[number] = try entity.value(new, number)
        // The app may have created the object before the server assigned an id. The object's null id must not overwrite the id in the
        // row.
        if isKey, !entity.idIsKey, nodes.nodes[place].values[entity.id.attribute]?.isNull ?? false {
          nodes.nodes[place].values[entity.id.attribute] = nil
        }
      }
    }
  }

  /// Deletes the `old` row, which contains the same record as the `new` row, and redirects all references to the `new` row.
  func replace(_ old: DatabaseValue, by new: DatabaseValue) throws {
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      try redirect(old, to: new)
      try entity.delete(old, db)
    }
    for table in ["records", "edits", "conflicts", "awaited"] {
      try db.execute(
        cached: "DELETE FROM strata_remote_\(table) WHERE entity = ? AND record = ?", [entity.name, old])
    }
    try noteName(old, new)
  }

  /// Gives a new local record a different primary key, one that a server never assigns.
  func moveAside(_ record: DatabaseValue) throws {
    let key = entity.keyColumn.quotedDatabaseIdentifier
    let new: DatabaseValue
    switch record.storage {
    case .int64:
      // Servers assign nonnegative numbers, so the new key is negative.
      let least = try Int64.fetchOne(db, sql: "SELECT min(\(key)) FROM \(entity.quotedTable)") ?? 0
      new = (min(least, 0) - 1).databaseValue
    case .blob: new = UUID().databaseValue
    default: new = UUID().uuidString.lowercased().databaseValue
    }
    try rename(record, to: new)
  }

  /// Whether any other row refers to a record.
  func isReferenced(_ record: DatabaseValue) throws -> Bool {
    for reference in try references() {
      let isOwn = reference.table.lowercased() == entity.table.name.lowercased()
      let other = isOwn ? " AND \(entity.keyColumn.quotedDatabaseIdentifier) <> ?1" : ""
      let sql = """
        SELECT 1 FROM \(reference.table.quotedDatabaseIdentifier)
        WHERE \(reference.column.quotedDatabaseIdentifier) = ?1\(other)
        """
      if try db.exists(sql, [record]) { return true }
    }
    return false
  }

  private func noteName(_ old: DatabaseValue, _ new: DatabaseValue) throws {
    try db.execute(
      cached: "UPDATE strata_remote_ids SET new = ? WHERE entity = ? AND new = ?", [new, entity.name, old])
    try db.execute(
      cached: "INSERT OR REPLACE INTO strata_remote_ids VALUES (?, ?, ?)", [entity.name, old, new])
  }

  private func redirect(_ old: DatabaseValue, to new: DatabaseValue) throws {
    for reference in try references() {
      let column = reference.column.quotedDatabaseIdentifier
      try db.execute(
        cached: "UPDATE \(reference.table.quotedDatabaseIdentifier) SET \(column) = ? WHERE \(column) = ?", [new, old])
    }
    // The merge bases, sent values and conflicts that are stored for foreign keys contain the primary key too.
    for other in catalog.entities {
      for field in other.fields where field.target == entity.number {
        try db.execute(
          cached: "UPDATE strata_remote_edits SET base = ? WHERE entity = ? AND field = ? AND base = ?",
          [new, other.name, field.column, old])
        try db.execute(
          cached: """
            UPDATE strata_remote_sent SET value = ? WHERE field = ? AND value = ?
              AND number IN (SELECT number FROM strata_remote_changes WHERE entity = ?)
            """, [new, field.column, old, other.name])
        for side in ["base", "server"] {
          try db.execute(
            cached: "UPDATE strata_remote_conflicts SET \(side) = ? WHERE entity = ? AND field = ? AND \(side) = ?",
            [new, other.name, field.column, old])
        }
      }
    }
  }

  /// Returns all columns that contain primary keys of the entity, according to the tables' foreign keys and the entities' relations.
  private func references() throws -> [Reference] {
    var found = Set<Reference>()
    let tables = try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    for table in tables {
      for key in try db.foreignKeys(on: table)
      where key.destinationTable.lowercased() == entity.table.name.lowercased() {
        for pair in key.mapping where pair.destination.lowercased() == entity.keyColumn.lowercased() {
          found.insert(.init(table: table, column: pair.origin))
        }
      }
    }
    let all = catalog.store.catalog
    func add(_ table: Int, _ slot: Int) {
      found.insert(.init(table: all.tables[table].name, column: all.tables[table].columns[slot].name))
    }
    for type in all.types {
      for relation in type.relations {
        let isTarget = all.types[relation.target].table == entity.type.table
        let isOwner = type.table == entity.type.table
        switch relation.cardinality {
        case .toOne(let slot, let referenced):
          if isTarget, referenced == entity.key.slot { add(type.table, slot) }
        case .toMany(let slot, let referenced, _, _):
          if isOwner, referenced == entity.key.slot { add(all.types[relation.target].table, slot) }
        case .through(let pairs, _, _):
          if isOwner, pairs.fromReferenced == entity.key.slot { add(pairs.table, pairs.from) }
          if isTarget, pairs.toReferenced == entity.key.slot { add(pairs.table, pairs.to) }
        }
      }
    }
    return found.sorted { ($0.table, $0.column) < ($1.table, $1.column) }
  }
}
