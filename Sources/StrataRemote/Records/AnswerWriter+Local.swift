internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

extension AnswerWriter {
  /// Looks for a new local record with the same values in a unique key as a record in the response. If there is one, the record in the
  /// response is later merged into the local record's row. Unique keys that contain the primary key or the server's id are ignored. If
  /// the local record has already been sent, the sent values become the merge base. Otherwise every value that differs is treated as
  /// changed both locally and on the server.
  mutating func findNew(_ place: Int) throws {
    guard let entity = entity(place), !entity.idIsKey, let id = ids[place], try changes.has(entity) else { return }
    let (type, node) = (entity.type, nodes.nodes[place])
    for key in type.keys where !key.slots.contains(entity.id.slot) && !key.slots.contains(entity.key.slot) {
      let values = try key.slots.compactMap { slot -> DatabaseValue? in
        guard let attribute = type.attributes.firstIndex(where: { $0.slot == slot }),
          let value = node.values[attribute], !value.isNull
        else { return nil }
        return try entity.stored(value, attribute)
      }
      guard values.count == key.slots.count else { continue }
      var found: DatabaseValue?
      try entity.table.forEachRow(where: key.slots, in: [values], collations: key.collations, db) { _, row in
        if row[entity.id.slot].isNull { found = row[entity.key.slot] }
      }
      guard let record = found, let change = try UnsentChange.fetch(entity, record, db), change.kind == .insert else {
        continue
      }
      records[place] = record
      let sent = try SentValues(entity, record, db).values
      if !sent.isEmpty {
        guard !entity.mapper.traits.honoursIdempotencyKeys, let row = try entity.row(record, db) else { return }
        // The response to the `POST` was lost. The unique key shows that this is the record that the `POST` created.
        try change.acknowledge(db)
        try change.becomeKnown(id: id, db)
        return try changes.rebase(entity, record, row, to: sent)
      }
      try change.becomeKnown(id: id, db)
      for field in entity.fields where field.isSent { try changes.setBase(entity, record, field.column, .null) }
      return
    }
  }

  /// Merges a record in the response with the unsent local changes to this record.
  mutating func reconcile(_ place: Int) throws {
    guard let entity = entity(place), let record = records[place] else { return }
    let kind = try changes.kind(entity, record)
    guard let kind, kind != .delete, let row = try entity.row(record, db) else { return }
    let sent = try SentValues(entity, record, db)
    // For a new record that has been sent, the sent values are the merge base.
    let bases = try kind == .insert ? sent.values : changes.bases(entity, record)
    guard kind == .update || !bases.isEmpty else { return }
    try mergeAttributes(place, entity, record, row, bases, sent)
    for field in entity.fields {
      guard case .relation(let number) = field.source, let base = bases[field.column] else { continue }
      guard case .nodes(let found) = nodes.nodes[place].links[number] else { continue }
      let incoming = found.first.map { key(of: $0) } ?? .null
      if try !acceptForeignKey(incoming, entity, record, field, base, row[field.slot], sent) {
        nodes.nodes[place].links[number] = .absent
      }
    }
    try changes.settle(entity, record)
  }

  /// Returns the primary key of a node's record, or `nil` if the record is not stored yet.
  func key(of node: Int) -> DatabaseValue? { records[node] }

  /// Returns whether the value in the response replaces a foreign key that was changed locally. Also updates the merge base of the
  /// foreign key and records a conflict if both the app and the server have changed it.
  mutating func acceptForeignKey(
    _ incoming: DatabaseValue?, _ entity: MappedEntity, _ record: DatabaseValue, _ field: MappedEntity.Field,
    _ base: DatabaseValue, _ local: DatabaseValue, _ sent: SentValues
  ) throws -> Bool {
    // The record to which the response refers is not stored yet, so it cannot be compared with the local reference. The
    // local value is kept until a later response.
    guard let incoming else { return false }
    if incoming.isExactly(local) {
      try changes.setBase(entity, record, field.column, nil)
      return true
    }
    if incoming.isExactly(base) { return false }
    if incoming.isExactly(sent.values[field.column]) {
      // The server has the sent value. Only the local value has changed since then, so there is no conflict.
      try changes.setBase(entity, record, field.column, incoming)
      return false
    }
    if base.isExactly(local) {
      try changes.setBase(entity, record, field.column, nil)
      try sent.replace(field.column, by: incoming)
      return true
    }
    try note(entity, record, .init(field: field.column, part: .whole, path: field.key, base: base, server: incoming))
    try changes.setBase(entity, record, field.column, incoming)
    return false
  }

  mutating func note(_ entity: MappedEntity, _ record: DatabaseValue, _ conflict: LocalChanges.Conflict) throws {
    try changes.setConflict(entity, record, conflict.field, conflict, account: account)
    result.conflicts += 1
  }

  mutating func mergeAttributes(
    _ place: Int, _ entity: MappedEntity, _ record: DatabaseValue, _ row: [DatabaseValue],
    _ bases: [String: DatabaseValue], _ sent: SentValues
  ) throws {
    let (type, table) = (entity.type, entity.table)
    let said = nodes.nodes[place].values.indices.filter { attribute in
      nodes.nodes[place].values[attribute] != nil && type.attributes[attribute].isWritten
        && attribute != entity.id.attribute && attribute != entity.key.attribute
    }
    guard !said.isEmpty else { return }
    let shape = type.shape(of: said.map { type.attributes[$0].place })
    func fields(_ values: (Int) throws -> ArchiveValue) rethrows -> ModelRecord {
      ModelRecord(shape: shape, values: try said.map(values))
    }
    // For a column without local changes, the stored value is the merge base.
    func base(_ attribute: Int) -> DatabaseValue {
      let slot = type.attributes[attribute].slot
      return bases[table.columns[slot].name] ?? row[slot]
    }
    let server = ModelRecord(
      shape: type.shape(
        of: said.map { type.attributes[$0].place }, incomplete: nodes.nodes[place].incompleteFields),
      values: said.map { nodes.nodes[place].values[$0] ?? .null })
    let local = try fields { try entity.value(row[type.attributes[$0].slot], $0) }
    // If the server already has a sent value, this value is the merge base, even if the response to the request that sent it has not
    // arrived yet.
    let known = try fields {
      let (attribute, incoming) = (type.attributes[$0], nodes.nodes[place].values[$0] ?? .null)
      let before = try entity.value(base($0), $0)
      guard let value = sent.values[table.columns[attribute.slot].name] else { return before }
      return try SentValues.shared(before, entity.value(value, $0), incoming)
    }
    let merging = type.merging(isWhole: false)
    let merged = try merging.merged(server, into: local, base: known)
    // The server's complete values: its last known values, updated with the values in the response. As in the merge
    // above, keys that are missing from the response are removed.
    let completed = try merging.merged(server, into: known, base: known).record
    for attribute in said {
      let declared = type.attributes[attribute]
      let column = table.columns[declared.slot].name
      let key = type.schema.fields[declared.place].key
      let value = merged.record[key] ?? .null
      nodes.nodes[place].values[attribute] = value
      guard let old = bases[column], let field = entity.field(column: column) else { continue }
      let stored = try entity.stored(value, attribute)
      let whole = (declared.isPlain ? server : completed)[key] ?? .null
      let incoming = try entity.stored(whole, attribute)
      if type.schema.fields[declared.place].merge.isSum, let value = sent.values[column], !incoming.isExactly(value),
        !incoming.isExactly(old)
      {
        // The field is merged by adding up changes. It is unknown whether the server's value already includes the sent change, so the
        // local value is kept and a conflict is recorded.
        nodes.nodes[place].values[attribute] = local[key] ?? .null
        try note(entity, record, .init(field: column, part: .whole, path: key, base: old, server: incoming))
        try changes.setBase(entity, record, column, incoming)
        continue
      }
      if stored.isExactly(incoming) {
        try changes.setBase(entity, record, column, nil)
        try sent.replace(column, by: incoming)
        continue
      }
      try changes.setBase(entity, record, column, incoming)
      try changes.updateConflicts(entity, record, field, server: incoming, local: stored)
      for conflict in merged.conflicts where conflict.path.components.first == .key(key) {
        let part = ValuePart(conflict.path)
        try note(
          entity, record,
          .init(field: column, part: part, path: conflict.path.description, base: old, server: incoming))
      }
    }
    nodes.nodes[place].isMerged = true
  }

  /// Keeps each record in the list to which the app has moved it, although the move has not been sent and the server's list does not
  /// show it yet.
  mutating func keepLists() throws {
    for place in nodes.nodes.indices {
      guard let entity = entity(place), let owner = records[place] else { continue }
      for (number, relation) in entity.type.relations.enumerated() {
        guard case .toMany(let slot, _, _, let removed) = relation.cardinality,
          case .nodes(let children) = nodes.nodes[place].links[number],
          let target = catalog.entity(ofType: relation.target), try removed == .delete || changes.has(target),
          let field = target.fields.first(where: { $0.slot == slot })
        else { continue }
        var kept: [Int] = []
        for child in children {
          guard let record = records[child], try changes.kind(target, record) == .update,
            let base = try changes.bases(target, record)[field.column], let row = try target.row(record, db)
          else {
            kept.append(child)
            continue
          }
          let sent = try SentValues(target, record, db)
          if try acceptForeignKey(owner, target, record, field, base, row[field.slot], sent) { kept.append(child) }
          try changes.settle(target, record)
        }
        var here = try recordsWithUnsentMembership(target, field, to: owner)
        if removed == .delete { here += try undeletableRecords(target, field, in: owner, except: kept) }
        for record in here {
          if kept.contains(where: { records[$0]?.isExactly(record) ?? false }) { continue }
          var values = [ArchiveValue?](repeating: nil, count: target.type.attributes.count)
          values[target.key.attribute] = try target.value(record, target.key.attribute)
          kept.append(nodes.nodes.count)
          nodes.nodes.append(
            .init(
              type: relation.target, values: values, links: target.type.relations.map { _ in .absent }, parent: place,
              steps: [.key(relation.key)]))
          ids.append(nil)
          records.append(record)
        }
        nodes.nodes[place].links[number] = .nodes(kept)
      }
    }
  }

  /// Returns the records whose membership in an owner's list has not been sent yet: new records, and records whose
  /// foreign key has an unsent change.
  func recordsWithUnsentMembership(_ target: MappedEntity, _ field: MappedEntity.Field, to owner: DatabaseValue) throws
    -> [DatabaseValue]
  {
    let key = target.keyColumn.quotedDatabaseIdentifier
    return try DatabaseValue.fetchAll(
      db,
      sql: """
        SELECT t.\(key) FROM strata_remote_changes AS c JOIN \(target.quotedTable) AS t ON t.\(key) = c.record
        WHERE c.entity = ?1 AND t.\(field.column.quotedDatabaseIdentifier) = ?2 AND (c.kind = 'insert' OR EXISTS
          (SELECT 1 FROM strata_remote_edits AS e WHERE e.entity = ?1 AND e.record = c.record AND e.field = ?3))
        ORDER BY c.number
        """, arguments: [target.name, owner, field.column])
  }

  /// Returns the records in an owner's list that must be kept although the response does not list them. These records have unsent
  /// changes, or the database would refuse to delete them, or deleting them would affect unsent changes to other records. They are
  /// counted in `result.kept`.
  mutating func undeletableRecords(
    _ target: MappedEntity, _ field: MappedEntity.Field, in owner: DatabaseValue, except listed: [Int]
  ) throws -> [DatabaseValue] {
    let column = field.column.quotedDatabaseIdentifier
    let here = try DatabaseValue.fetchAll(
      db,
      sql: "SELECT \(target.keyColumn.quotedDatabaseIdentifier) FROM \(target.quotedTable) WHERE \(column) = ?",
      arguments: [owner])
    let known = Set(listed.compactMap { records[$0].map { ExactValue($0) } })
    let dependents = try RowDependents(catalog, changes, db)
    let found = try here.filter {
      try !known.contains(ExactValue($0)) && (changes.kind(target, $0) != nil || dependents.isHeld(target, $0))
    }
    result.kept += found.count
    return found
  }
}
