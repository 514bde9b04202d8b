internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

extension AnswerWriter {
  /// Removes from the nodes all references to records that are not stored yet, except foreign key attributes that cannot be null. A
  /// removed to-one reference is kept as a pending reference, which is set when the referenced record arrives.
  mutating func resolveReferences() throws {
    try resolveForeignKeys()
    var unknown = Set<Int>()
    for place in nodes.nodes.indices where records[place] == nil && ids[place] != nil && isReference(place) {
      unknown.insert(place)
    }
    // A referenced record is not missing if the same response also contains the complete record.
    guard !unknown.isEmpty else { return }
    var known = Set<[ExactValue]>()
    for place in nodes.nodes.indices where !unknown.contains(place) {
      guard let id = ids[place] else { continue }
      known.insert([ExactValue(nodes.nodes[place].type.databaseValue), ExactValue(id)])
    }
    unknown = unknown.filter { place in
      guard let id = ids[place] else { return false }
      return !known.contains([ExactValue(nodes.nodes[place].type.databaseValue), ExactValue(id)])
    }
    guard !unknown.isEmpty else { return }
    var waiting: [(node: Int, field: MappedEntity.Field, target: Int, id: DatabaseValue)] = []
    for place in nodes.nodes.indices where !unknown.contains(place) {
      guard let entity = entity(place) else { continue }
      for (number, relation) in entity.type.relations.enumerated() {
        guard case .nodes(let found) = nodes.nodes[place].links[number] else { continue }
        let left = found.filter { !unknown.contains($0) }
        guard left.count < found.count else { continue }
        // A reference to a record that is not stored yet is null until that record arrives. If the relation cannot be null, it is left
        // unchanged.
        nodes.nodes[place].links[number] = relation.isOptional || relation.shape != .one ? .nodes(left) : .absent
        guard relation.shape == .one else {
          result.awaited += found.count - left.count
          continue
        }
        let field = entity.fields.first { $0.source == .relation(number) }
        if let field, let target = found.first, let id = ids[target] {
          waiting.append((place, field, relation.target, id))
        }
      }
    }
    let kept = try drop(unknown)
    let places = Dictionary(uniqueKeysWithValues: zip(kept, kept.indices))
    awaited = (awaited + waiting).compactMap { entry in
      places[entry.node].map { ($0, entry.field, entry.target, entry.id) }
    }
  }

  /// Sets nullable foreign keys to null if they refer to records that are not stored yet, and keeps them as pending references.
  mutating func resolveForeignKeys() throws {
    for type in Set(nodes.nodes.map(\.type)).sorted() {
      guard let entity = catalog.entity(ofType: type) else { continue }
      for field in entity.fields {
        guard case .attribute(let attribute) = field.source, let number = field.target,
          let target = catalog.entity(ofType: number), !entity.table.columns[field.slot].isNotNull
        else { continue }
        var places: [ExactValue: [Int]] = [:]
        for place in nodes.nodes.indices where nodes.nodes[place].type == type {
          guard let value = nodes.nodes[place].values[attribute], !value.isNull else { continue }
          let stored = try entity.stored(value, attribute)
          places[ExactValue(stored), default: []].append(place)
        }
        for place in nodes.nodes.indices where nodes.nodes[place].type == number {
          if let record = records[place] ?? ids[place] { places[ExactValue(record)] = nil }
        }
        let keys = Array(places.keys)
        try target.table.forEachRow(where: [target.key.slot], in: keys.map { [$0.value] }, db) { place, _ in
          places[keys[place]] = nil
        }
        for (id, owners) in places {
          for place in owners {
            nodes.nodes[place].values[attribute] = .null
            awaited.append((place, field, number, id.value))
          }
        }
      }
    }
  }

  func noteAwaited() throws {
    var isWaiting: Bool {
      get throws { try db.exists("SELECT 1 FROM strata_remote_awaited") }
    }
    if try isWaiting { try forgetAwaited() }
    for entry in awaited {
      guard let entity = entity(entry.node), let record = records[entry.node],
        let target = catalog.entity(ofType: entry.target)
      else { continue }
      try db.execute(
        cached: "INSERT OR REPLACE INTO strata_remote_awaited VALUES (?, ?, ?, ?, ?)",
        [entity.name, record, entry.field.column, target.name, entry.id])
    }
    guard try isWaiting else { return }
    for place in nodes.nodes.indices {
      guard let target = entity(place), let id = ids[place], let record = records[place] else { continue }
      let found = try Row.fetchAll(
        db.cachedStatement(sql: "SELECT entity, record, field FROM strata_remote_awaited WHERE target = ? AND id = ?"),
        arguments: [target.name, id])
      for row in found {
        try setReference(row, to: record)
        try db.execute(
          cached: "DELETE FROM strata_remote_awaited WHERE entity = ? AND record = ? AND field = ?",
          [row[0] as String, row[1] as DatabaseValue, row[2] as String])
      }
    }
  }

  /// Deletes older pending references of all fields for which this response has a value.
  func forgetAwaited() throws {
    for place in nodes.nodes.indices {
      guard let entity = entity(place), let record = records[place] else { continue }
      for field in entity.fields where field.target != nil {
        let isSaid =
          switch field.source {
          case .attribute(let attribute): nodes.nodes[place].values[attribute] != nil
          case .relation(let relation):
            if case .nodes = nodes.nodes[place].links[relation] { true } else { false }
          }
        guard isSaid else { continue }
        try db.execute(
          cached: "DELETE FROM strata_remote_awaited WHERE entity = ? AND record = ? AND field = ?",
          [entity.name, record, field.column])
      }
    }
  }

  func setReference(_ row: Row, to target: DatabaseValue) throws {
    guard let entity = catalog[row[0]], let field = entity.field(column: row[2]) else { return }
    let record: DatabaseValue = row[1]
    // A field with an unsent local change is left alone, because the local change takes precedence.
    guard try changes.bases(entity, record)[field.column] == nil else { return }
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(
        cached: """
          UPDATE \(entity.quotedTable) SET \(field.column.quotedDatabaseIdentifier) = ?
          WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ? AND \(field.column.quotedDatabaseIdentifier) IS NULL
          """, [target, record])
    }
  }
}
