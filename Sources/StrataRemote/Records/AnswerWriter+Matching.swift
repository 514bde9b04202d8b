internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

extension AnswerWriter {
  mutating func findRecords() throws {
    ids = try nodes.nodes.map { node in
      guard let entity = catalog.entity(ofType: node.type), let value = node.values[entity.id.attribute], !value.isNull
      else { return nil }
      return try entity.stored(value, entity.id.attribute)
    }
    records = [DatabaseValue?](repeating: nil, count: ids.count)
    for (type, numbers) in Dictionary(grouping: ids.indices.filter { ids[$0] != nil }, by: { nodes.nodes[$0].type })
      .sorted(by: { $0.key < $1.key })
    {
      guard let entity = catalog.entity(ofType: type) else { continue }
      // The id is looked up even if it is the primary key, because the column may treat different spellings as the same key, for
      // example under the `NOCASE` collation.
      let isNeeded = try changes.has(entity)
      let references = numbers.filter { isReference($0) }
      let asking = isNeeded ? numbers : references
      let tuples = asking.map { [ids[$0] ?? .null] }
      try entity.table.forEachRow(where: [entity.id.slot], in: tuples, db) { place, values in
        records[asking[place]] = values[entity.key.slot]
      }
      guard entity.idIsKey else { continue }
      for number in numbers where !references.contains(number) && records[number] == nil {
        records[number] = ids[number]
      }
    }
  }

  /// Whether a node is only a reference to a record: it is nested in another node and has an id but no other values.
  func isReference(_ number: Int) -> Bool {
    let node = nodes.nodes[number]
    guard node.parent != nil, let entity = catalog.entity(ofType: node.type) else { return false }
    return node.values.indices.allSatisfy { $0 == entity.id.attribute || node.values[$0] == nil }
      && node.links.allSatisfy { if case .absent = $0 { true } else { false } }
  }

  /// Gives a new local record a new primary key if the server uses its current primary key for a different record.
  func rekeyNewRecords() throws {
    guard !changes.isEmpty else { return }
    let changed = try changedRecords()
    for number in nodes.nodes.indices {
      guard let entity = entity(number) else { continue }
      if entity.idIsKey, let record = records[number], changed[entity.number]?.contains(ExactValue(record)) ?? false {
        try rekeyIfNew(entity, record)
      }
      for field in entity.fields {
        guard case .attribute(let attribute) = field.source, let type = field.target,
          let target = catalog.entity(ofType: type), try changes.has(target),
          let value = nodes.nodes[number].values[attribute], !value.isNull
        else { continue }
        try rekeyIfNew(target, entity.stored(value, attribute))
      }
    }
  }

  /// Returns the primary keys of all records with unsent changes, by entity number.
  func changedRecords() throws -> [Int: Set<ExactValue>] {
    let types = Set(nodes.nodes.map(\.type)).compactMap { catalog.entity(ofType: $0) }
    return Dictionary(
      uniqueKeysWithValues: try types.map { ($0.number, try changes.records($0)) })
  }

  /// Gives a new local record a different primary key, because the server uses its current key for another record. Records that are not
  /// new, or that may be the server's record itself, are not changed.
  func rekeyIfNew(_ entity: MappedEntity, _ record: DatabaseValue) throws {
    guard try changes.kind(entity, record) == .insert, !(try isAwaited(entity, record)) else { return }
    try RecordRenaming(catalog, entity, db).moveAside(record)
  }

  /// Whether a new local record may be the server's record with the same key. This is possible if the app assigns the ids and the
  /// record has already been sent.
  func isAwaited(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    guard entity.mapper.ids == .client else { return false }
    return try db.exists(
      "SELECT 1 FROM strata_remote_changes WHERE entity = ? AND record = ? AND idempotency_key IS NOT NULL",
      [entity.name, record])
  }

  /// Drops records from the response that were deleted locally, or that the response to a later request has already updated or deleted.
  mutating func dropOutdated() throws {
    var dropped = Set<Int>()
    for type in Set(nodes.nodes.map(\.type)).sorted() {
      guard let entity = catalog.entity(ofType: type) else { continue }
      let newer = try newest(entity) > number
      let deleted = try changes.deleted(entity)
      guard newer || !deleted.isEmpty else { continue }
      for place in nodes.nodes.indices where nodes.nodes[place].type == type {
        guard let id = ids[place] else { continue }
        if newer, try isOutdated(entity, id, records[place]) { dropped.insert(place) }
        if deleted.contains(ExactValue(id)) { dropped.insert(place) }
      }
    }
    guard !dropped.isEmpty else { return }
    result.passedOver += dropped.count
    _ = try drop(dropped)
  }

  /// Removes nodes and returns the former indices of the remaining nodes.
  mutating func drop(_ dropped: Set<Int>) throws -> [Int] {
    let kept = nodes.nodes.indices.filter { !dropped.contains($0) }
    nodes = nodes.reduced { !dropped.contains($0) }
    // The remaining nodes keep their order. If nodes to which no remaining node refers were removed as well, the
    // indices no longer match, and the records of all nodes are looked up again.
    if nodes.nodes.count == kept.count {
      (ids, records) = (kept.map { ids[$0] }, kept.map { records[$0] })
    } else {
      try findRecords()
    }
    return kept
  }

  /// Returns the number of the latest request whose response has changed records of an entity.
  func newest(_ entity: MappedEntity) throws -> Int64 {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM strata_remote_meta WHERE name = ?"),
      arguments: ["applied/" + entity.name]) ?? 0
  }

  func isOutdated(_ entity: MappedEntity, _ id: DatabaseValue, _ record: DatabaseValue?) throws -> Bool {
    let deleted = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT applied FROM strata_remote_deleted WHERE entity = ? AND id = ?"),
      arguments: [entity.name, id])
    if let deleted, deleted > number { return true }
    guard let key = try record ?? entity.record(withID: id, db) else { return false }
    let applied = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT applied FROM strata_remote_records WHERE entity = ? AND record = ?"),
      arguments: [entity.name, key])
    return applied.map { $0 > number } ?? false
  }
}
