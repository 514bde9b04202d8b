internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// What an answer did to the rows.
struct AppliedAnswer: Sendable {
  /// The ids of the records that the answer is about, in its order, without those in them.
  var ids: [String] = []
  var report = EntityReport()
  /// How many records were left alone because a newer answer, or a deletion here, counts.
  var passedOver = 0
  /// How many values were noted as conflicts.
  var conflicts = 0
  /// Records that the server no longer has and that stay, since something of them has not been sent, or other rows lead to them.
  var kept = 0
  /// Elements of lists by id that have not come yet, and are left out until they have.
  var awaited = 0
}

/// Folds what a server says into the rows, within one transaction.
///
///     nodes → records here → what is older or deleted here left out → what was changed here merged three ways → rows
///
/// A record without changes goes straight to its row: the row is its own base.
struct AnswerWriter {
  let catalog: RemoteCatalog
  let db: Database
  let account: String
  /// The number of the request; an answer to an older one changes nothing that this one says.
  let number: Int64
  let changes: LocalChanges
  private(set) var result = AppliedAnswer()
  private var nodes: EntityNodes
  /// The ids of the server, by node.
  private var ids: [DatabaseValue?] = []
  /// The primary keys of records that are here, by node.
  private var records: [DatabaseValue?] = []
  /// References to records that have not come yet.
  private var awaited: [(node: Int, field: MappedEntity.Field, target: Int, id: DatabaseValue)] = []

  /// - Throws: ``RemoteError`` with the code `accountChanged` where the answer is another account's.
  init(_ nodes: EntityNodes, _ catalog: RemoteCatalog, account: String, number: Int64, _ db: Database) throws {
    guard try ChangeTriggers.account(catalog.entities, db) == account else {
      throw RemoteError(.accountChanged, "the account was changed while the request ran; its answer was dropped")
    }
    self.nodes = nodes
    self.catalog = catalog
    self.db = db
    self.account = account
    self.number = number
    changes = try LocalChanges(db)
  }

  /// - Parameters:
  ///   - entity: the entity of the roots.
  ///   - copy: the validators of the one record that the answer is.
  ///   - isWhole: whether what is not in the answer is no longer at the server, for records that the condition names.
  mutating func run(
    _ entity: MappedEntity, copy: HTTPCopy? = nil, isWhole: Bool, among condition: Set<ExactValue>? = nil
  )
    throws -> AppliedAnswer
  {
    try findRecords()
    for root in nodes.roots {
      // The path of an empty one would be that of the list.
      guard let id = ids[root], let text = try entity.idText(id), !text.isEmpty else {
        throw RemoteError(
          .invalidBody, "a record has no id under \(idPlace(entity)); name the property with id: in the mapper",
          entity: entity.name)
      }
      result.ids.append(text)
    }
    try makeWay()
    try dropOutdated()
    if !changes.isEmpty {
      for number in nodes.nodes.indices where records[number] == nil { try findNew(number) }
      for number in nodes.nodes.indices { try reconcile(number) }
      try keepLists()
    }
    try resolveReferences()
    // A document is what the server sent.
    for place in nodes.nodes.indices where self.entity(place)?.mapper.isOfDocuments ?? false {
      nodes.nodes[place].isMerged = true
    }
    // Of records that lead to each other by their columns, one has to come first.
    let types = Set(nodes.nodes.map(\.type))
    let leads = types.contains { type in
      catalog.entity(ofType: type)?.fields.contains { $0.target.map(types.contains) ?? false } ?? false
    }
    if leads { try db.execute(sql: "PRAGMA defer_foreign_keys = ON") }
    let writer = EntityWriter(nodes, catalog.store.catalog, matching: nil, db)
    result.report = try ChangeTriggers.passed(db) { try writer.run() }
    for place in nodes.nodes.indices { records[place] = writer.primaryKey(ofNode: place)?.first }
    try noteRecords(copy, entity)
    try noteAwaited()
    if isWhole { try deleteMissing(entity, among: condition) }
    return result
  }

  private func idPlace(_ entity: MappedEntity) -> String {
    let key = entity.type.schema.fields[entity.type.attributes[entity.id.attribute].place].key
    return entity.adapter.places(ofField: key)?.read.map(\.description).joined(separator: ", ") ?? key
  }

  private func entity(_ node: Int) -> MappedEntity? { catalog.entity(ofType: nodes.nodes[node].type) }

  // MARK: Which records

  private mutating func findRecords() throws {
    ids = try nodes.nodes.map { node in
      guard let entity = catalog.entity(ofType: node.type), let value = node.values[entity.id.attribute], !value.isNull
      else { return nil }
      return try entity.type.stored(value, entity.type.attributes[entity.id.attribute], in: entity.table)
    }
    records = [DatabaseValue?](repeating: nil, count: ids.count)
    for (type, numbers) in Dictionary(grouping: ids.indices.filter { ids[$0] != nil }, by: { nodes.nodes[$0].type })
      .sorted(by: { $0.key < $1.key })
    {
      guard let entity = catalog.entity(ofType: type) else { continue }
      // Also where it is the key, the column may take another spelling for the same.
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

  /// Whether a node says nothing but which record it is.
  private func isReference(_ number: Int) -> Bool {
    let node = nodes.nodes[number]
    guard node.parent != nil, let entity = catalog.entity(ofType: node.type) else { return false }
    return node.values.indices.allSatisfy { $0 == entity.id.attribute || node.values[$0] == nil }
      && node.links.allSatisfy { if case .absent = $0 { true } else { false } }
  }

  /// Gives records that were made here another key where the server uses theirs for another record.
  private func makeWay() throws {
    guard !changes.isEmpty else { return }
    for number in nodes.nodes.indices {
      guard let entity = entity(number) else { continue }
      if entity.idIsKey, let record = records[number] { try makeWay(entity, record) }
      for field in entity.fields {
        guard case .attribute(let attribute) = field.source, let type = field.target,
          let target = catalog.entity(ofType: type), try changes.has(target),
          let value = nodes.nodes[number].values[attribute], !value.isNull
        else { continue }
        try makeWay(target, entity.type.stored(value, entity.type.attributes[attribute], in: entity.table))
      }
    }
  }

  /// Gives a record another key where it was made here: the server uses this one.
  private func makeWay(_ entity: MappedEntity, _ record: DatabaseValue) throws {
    guard try changes.kind(entity, record) == .insert, !(try isAwaited(entity, record)) else { return }
    try RecordRenaming(catalog, entity, db).moveAside(record)
  }

  /// Whether a record that was made here may be what the server has under its key: its own id was sent along.
  private func isAwaited(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    guard entity.mapper.ids == .client else { return false }
    return try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM strata_remote_changes WHERE entity = ? AND record = ? AND idempotency_key IS NOT NULL)
        """, arguments: [entity.name, record]) ?? false
  }

  /// Leaves out what a newer answer has said more about, and what was deleted here.
  private mutating func dropOutdated() throws {
    var dropped = Set<Int>()
    for type in Set(nodes.nodes.map(\.type)).sorted() {
      guard let entity = catalog.entity(ofType: type) else { continue }
      let newer = try newest(entity) > number
      let hasChanges = try changes.has(entity)
      guard newer || hasChanges else { continue }
      for place in nodes.nodes.indices where nodes.nodes[place].type == type {
        guard let id = ids[place] else { continue }
        if newer, try isOutdated(entity, id, records[place]) { dropped.insert(place) }
        if hasChanges, try changes.deleted(entity, id: id) != nil { dropped.insert(place) }
      }
    }
    guard !dropped.isEmpty else { return }
    result.passedOver += dropped.count
    let kept = nodes.nodes.indices.filter { !dropped.contains($0) }
    nodes = nodes.reduced { !dropped.contains($0) }
    // Nodes keep their order; some were reached only through one that is gone.
    if nodes.nodes.count == kept.count {
      (ids, records) = (kept.map { ids[$0] }, kept.map { records[$0] })
    } else {
      try findRecords()
    }
  }

  /// The number of the last request that said anything about an entity.
  private func newest(_ entity: MappedEntity) throws -> Int64 {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM strata_remote_meta WHERE name = ?"),
      arguments: ["applied/" + entity.name]) ?? 0
  }

  private func isOutdated(_ entity: MappedEntity, _ id: DatabaseValue, _ record: DatabaseValue?) throws -> Bool {
    let deleted = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT applied FROM strata_remote_deleted WHERE entity = ? AND id = ?"),
      arguments: [entity.name, id])
    if let deleted, deleted > number { return true }
    let key: DatabaseValue? =
      try record
      ?? DatabaseValue.fetchOne(
        db.cachedStatement(
          sql:
            "SELECT \(entity.keyColumn.quotedDatabaseIdentifier) FROM \(entity.quotedTable) WHERE \(entity.idColumn.quotedDatabaseIdentifier) = ?"
        ), arguments: [id])
    guard let key else { return false }
    let applied = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT applied FROM strata_remote_records WHERE entity = ? AND record = ?"),
      arguments: [entity.name, key])
    return applied.map { $0 > number } ?? false
  }

  // MARK: What was changed here

  /// Finds the record that was made here and that the server has as well, by another key of the entity than the server's id: one row is
  /// both. What of it was sent is known then; where nothing was, all that differs was said by both sides.
  private mutating func findNew(_ place: Int) throws {
    guard let entity = entity(place), !entity.idIsKey, let id = ids[place], try changes.has(entity) else { return }
    let (type, node) = (entity.type, nodes.nodes[place])
    for key in type.keys where !key.slots.contains(entity.id.slot) && !key.slots.contains(entity.key.slot) {
      let values = try key.slots.compactMap { slot -> DatabaseValue? in
        guard let attribute = type.attributes.firstIndex(where: { $0.slot == slot }),
          let value = node.values[attribute], !value.isNull
        else { return nil }
        return try type.stored(value, type.attributes[attribute], in: entity.table)
      }
      guard values.count == key.slots.count else { continue }
      var found: DatabaseValue?
      try entity.table.forEachRow(where: key.slots, in: [values], collations: key.collations, db) { _, row in
        if row[entity.id.slot].isNull { found = row[entity.key.slot] }
      }
      guard let record = found, try changes.kind(entity, record) == .insert else { continue }
      records[place] = record
      guard try SentValues(entity, record, db).values.isEmpty else { return }
      try db.execute(
        cached: "UPDATE strata_remote_changes SET kind = 'update', id = ? WHERE entity = ? AND record = ?",
        [id, entity.name, record])
      for field in entity.fields where field.isSent { try changes.setBase(entity, record, field.column, .null) }
      return
    }
  }

  /// Merges what came in for a record with what was changed of it here.
  private mutating func reconcile(_ place: Int) throws {
    guard let entity = entity(place), let record = records[place] else { return }
    let kind = try changes.kind(entity, record)
    guard let kind, kind != .delete, let row = try entity.row(record, db) else { return }
    let sent = try SentValues(entity, record, db)
    // Of a record that was made here and sent, the server has what was sent.
    let bases = try kind == .insert ? sent.values : changes.bases(entity, record)
    guard kind == .update || !bases.isEmpty else { return }
    try mergeAttributes(place, entity, record, row, bases, sent)
    for field in entity.fields {
      guard case .relation(let number) = field.source, let base = bases[field.column] else { continue }
      guard case .nodes(let found) = nodes.nodes[place].links[number] else { continue }
      let incoming = found.first.map { key(of: $0) } ?? .null
      if try !takes(incoming, entity, record, field, base, row[field.slot], sent) {
        nodes.nodes[place].links[number] = .absent
      }
    }
    try changes.settle(entity, record)
  }

  /// The primary key of the record that a node is; `nil` where it is not here yet.
  private func key(of node: Int) -> DatabaseValue? { records[node] }

  /// Whether a foreign key that was changed here becomes what the server says.
  private mutating func takes(
    _ incoming: DatabaseValue?, _ entity: MappedEntity, _ record: DatabaseValue, _ field: MappedEntity.Field,
    _ base: DatabaseValue, _ local: DatabaseValue, _ sent: SentValues
  ) throws -> Bool {
    // Of a record that is new nobody can say yet whether it is the same; the next answer can.
    guard let incoming else { return false }
    if incoming.isExactly(local) {
      try changes.setBase(entity, record, field.column, nil)
      return true
    }
    if incoming.isExactly(base) { return false }
    if incoming.isExactly(sent.values[field.column]) {
      // What was sent arrived, and what is here was set after that.
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

  private mutating func note(_ entity: MappedEntity, _ record: DatabaseValue, _ conflict: LocalChanges.Conflict) throws
  {
    try changes.setConflict(entity, record, conflict.field, conflict, account: account)
    result.conflicts += 1
  }

  private mutating func mergeAttributes(
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
    // What has not been changed here is its own base.
    func base(_ attribute: Int) -> DatabaseValue {
      let slot = type.attributes[attribute].slot
      return bases[table.columns[slot].name] ?? row[slot]
    }
    let server = fields { nodes.nodes[place].values[$0] ?? .null }
    let local = try fields { try type.value(of: type.attributes[$0], row[type.attributes[$0].slot], in: table) }
    // What was sent and arrived is what both sides have had, though its answer has not come.
    let known = try fields {
      let (attribute, incoming) = (type.attributes[$0], nodes.nodes[place].values[$0] ?? .null)
      let before = try type.value(of: attribute, base($0), in: table)
      guard let value = sent.values[table.columns[attribute.slot].name] else { return before }
      return try SentValues.shared(before, type.value(of: attribute, value, in: table), incoming)
    }
    let merging = type.merging(isWhole: false)
    let merged = try merging.merged(server, into: local, base: known)
    let completed = try merging.merged(server, into: known)
    for attribute in said {
      let declared = type.attributes[attribute]
      let column = table.columns[declared.slot].name
      let key = type.schema.fields[declared.place].key
      let value = merged.record[key] ?? .null
      nodes.nodes[place].values[attribute] = value
      guard let old = bases[column], let field = entity.field(column: column) else { continue }
      let stored = try type.stored(value, declared, in: table)
      let whole = (declared.isPlain || entity.mapper.isOfDocuments ? server : completed)[key] ?? .null
      let incoming = try type.stored(whole, declared, in: table)
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

  /// Keeps what was moved into a list here, or out of it, though the server's list does not say so.
  private mutating func keepLists() throws {
    for place in nodes.nodes.indices {
      guard let entity = entity(place), let owner = records[place] else { continue }
      for (number, relation) in entity.type.relations.enumerated() {
        guard case .toMany(let slot, _, _, let removed) = relation.kind,
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
          if try takes(owner, target, record, field, base, row[field.slot], sent) { kept.append(child) }
          try changes.settle(target, record)
        }
        var here = try movedHere(target, field, to: owner)
        if removed == .delete { here += try unsent(target, field, in: owner, except: kept) }
        for record in here {
          if kept.contains(where: { records[$0]?.isExactly(record) ?? false }) { continue }
          var values = [ArchiveValue?](repeating: nil, count: target.type.attributes.count)
          values[target.key.attribute] = try target.type.value(
            of: target.type.attributes[target.key.attribute], record, in: target.table)
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

  /// The records in a list of which that has not been sent.
  private func movedHere(_ target: MappedEntity, _ field: MappedEntity.Field, to owner: DatabaseValue) throws
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

  /// The records in a list with whose rows something would be deleted that has not been sent.
  private mutating func unsent(
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

  // MARK: References

  /// Takes out references to records that have not come yet, and remembers them.
  private mutating func resolveReferences() throws {
    try resolveForeignKeys()
    var unknown = Set<Int>()
    for place in nodes.nodes.indices where records[place] == nil && ids[place] != nil && isReference(place) {
      unknown.insert(place)
    }
    // What the same answer has in full is no longer unknown.
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
        // A reference that leads nowhere yet is null for now.
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
    let kept = nodes.nodes.indices.filter { !unknown.contains($0) }
    let places = Dictionary(uniqueKeysWithValues: zip(kept, kept.indices))
    nodes = nodes.reduced { !unknown.contains($0) }
    if nodes.nodes.count == kept.count {
      (ids, records) = (kept.map { ids[$0] }, kept.map { records[$0] })
    } else {
      try findRecords()
    }
    awaited = (awaited + waiting).compactMap { entry in
      places[entry.node].map { ($0, entry.field, entry.target, entry.id) }
    }
  }

  /// Takes out foreign keys of records that have not come yet, where the column may be null.
  private mutating func resolveForeignKeys() throws {
    for type in Set(nodes.nodes.map(\.type)).sorted() {
      guard let entity = catalog.entity(ofType: type) else { continue }
      for field in entity.fields {
        guard case .attribute(let attribute) = field.source, let number = field.target,
          let target = catalog.entity(ofType: number), !entity.table.columns[field.slot].isNotNull
        else { continue }
        var places: [ExactValue: [Int]] = [:]
        for place in nodes.nodes.indices where nodes.nodes[place].type == type {
          guard let value = nodes.nodes[place].values[attribute], !value.isNull else { continue }
          let stored = try entity.type.stored(value, entity.type.attributes[attribute], in: entity.table)
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

  private func noteAwaited() throws {
    var isWaiting: Bool {
      get throws { try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM strata_remote_awaited)") ?? false }
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

  /// Forgets what references waited for of which the answer says something else.
  private func forgetAwaited() throws {
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

  private func setReference(_ row: Row, to target: DatabaseValue) throws {
    guard let entity = catalog[row[0]], let field = entity.field(column: row[2]) else { return }
    let record: DatabaseValue = row[1]
    // What was set here meanwhile counts.
    guard try changes.bases(entity, record)[field.column] == nil else { return }
    try ChangeTriggers.passed(db) {
      try db.execute(
        cached: """
          UPDATE \(entity.quotedTable) SET \(field.column.quotedDatabaseIdentifier) = ?
          WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ? AND \(field.column.quotedDatabaseIdentifier) IS NULL
          """, [target, record])
    }
  }

  // MARK: Account

  private func noteRecords(_ copy: HTTPCopy?, _ entity: MappedEntity) throws {
    let root = nodes.roots.count == 1 ? nodes.roots.first : nil
    var seen: [Int: [DatabaseValue]] = [:]
    for place in nodes.nodes.indices {
      guard let entity = self.entity(place), ids[place] != nil, let record = records[place], !isReference(place) else {
        continue
      }
      guard place == root, let copy else {
        seen[nodes.nodes[place].type, default: []].append(record)
        continue
      }
      seen[nodes.nodes[place].type, default: []] += []
      try noteRecords([record], of: entity, copy)
    }
    for (type, records) in seen.sorted(by: { $0.key < $1.key }) {
      guard let entity = catalog.entity(ofType: type) else { continue }
      try noteRecords(records, of: entity, nil)
      try RemoteTables.noteApplied(entity, number, db)
    }
  }

  /// Notes that the server has sent records, a hundred with one statement: one for each would take a fifth of the time of an answer.
  private func noteRecords(_ records: [DatabaseValue], of entity: MappedEntity, _ copy: HTTPCopy?) throws {
    var rest = records[...]
    while !rest.isEmpty {
      let count = rest.count < 100 ? 1 : 100
      let values = [String](repeating: "(?)", count: count).joined(separator: ", ")
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO strata_remote_records SELECT ?, column1, ?, ?, ? FROM (VALUES \(values)) WHERE true
          ON CONFLICT (entity, record) DO UPDATE
          SET applied = excluded.applied, etag = excluded.etag, modified = excluded.modified WHERE excluded.applied >= applied
          """)
      let shared: StatementArguments = [entity.name, number, copy?.etag, copy?.lastModified]
      try statement.execute(arguments: shared + StatementArguments(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
  }

  /// Deletes what the server has sent once and no longer has.
  private mutating func deleteMissing(_ entity: MappedEntity, among condition: Set<ExactValue>?) throws {
    let missing = try DatabaseValue.fetchAll(
      db, sql: "SELECT record FROM strata_remote_records WHERE entity = ? AND applied < ? ORDER BY record",
      arguments: [entity.name, number])
    guard !missing.isEmpty else { return }
    let dependents = try RowDependents(catalog, changes, db)
    for record in missing where condition?.contains(ExactValue(record)) ?? true {
      if try changes.kind(entity, record) != nil || isNeeded(entity, record) || dependents.isHeld(entity, record) {
        result.kept += 1
        continue
      }
      try delete(entity, record)
    }
  }

  private mutating func delete(_ entity: MappedEntity, _ record: DatabaseValue) throws {
    let key = entity.keyColumn.quotedDatabaseIdentifier
    do {
      var count = 0
      let id = try DatabaseValue.fetchOne(
        db.cachedStatement(
          sql: "SELECT \(entity.idColumn.quotedDatabaseIdentifier) FROM \(entity.quotedTable) WHERE \(key) = ?"),
        arguments: [record])
      try db.inSavepoint {
        try ChangeTriggers.passed(db) {
          try db.execute(cached: "DELETE FROM \(entity.quotedTable) WHERE \(key) = ?", [record])
          count = db.changesCount
        }
        return .commit
      }
      try db.execute(
        cached: "DELETE FROM strata_remote_records WHERE entity = ? AND record = ?", [entity.name, record])
      if count > 0 { result.report[entity.table.name].deleted += 1 }
      if let id, !id.isNull {
        // An answer from before must not bring it back.
        try db.execute(
          cached: "INSERT OR REPLACE INTO strata_remote_deleted VALUES (?, ?, ?)", [entity.name, id, number])
        try RemoteTables.noteApplied(entity, number, db)
      }
      // Other answers may have had it, and what the table deleted or changed along with it is no longer what the server has said of these.
      try StoredCopies.forget(entity, db)
      for other in catalog.entities where other.fields.contains(where: { $0.target == entity.number }) {
        try StoredCopies.forget(other, db)
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // Other rows lead to it.
      result.kept += 1
    }
  }

  /// Whether a record that has not been sent leads to one that the server no longer has: deleting that could take it along.
  private func isNeeded(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    guard !changes.isEmpty else { return false }
    for other in catalog.entities {
      for field in other.fields where field.target == entity.number {
        let sql = """
          SELECT EXISTS (SELECT 1 FROM strata_remote_changes AS c JOIN \(other.quotedTable) AS t
            ON t.\(other.keyColumn.quotedDatabaseIdentifier) = c.record
          WHERE c.entity = ? AND t.\(field.column.quotedDatabaseIdentifier) = ?)
          """
        if try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [other.name, record]) ?? false { return true }
      }
    }
    return false
  }
}
