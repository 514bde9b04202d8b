internal import GRDB
internal import StrataCore
internal import StrataStore

/// Finds out which changes must wait until other changes have been sent.
struct SendingOrder {
  private let catalog: RemoteCatalog
  private let db: Database

  /// A record with an unsent change.
  private struct QueuedRecord: Hashable {
    let entity: Int
    let record: ExactValue
  }

  init(_ catalog: RemoteCatalog, _ db: Database) { (self.catalog, self.db) = (catalog, db) }

  /// Whether a record's deletion must wait, because another record may refer to it on the server until that other record's unsent
  /// change has been sent. Updates that were refused with `notFound` are ignored, because the server no longer has their records.
  func isBehind(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    let own = QueuedRecord(entity: entity.number, record: ExactValue(record))
    var found: Set<QueuedRecord> = []
    for other in catalog.entities {
      for field in other.fields where field.target == entity.number {
        let records = try DatabaseValue.fetchAll(
          db.cachedStatement(
            sql: """
              SELECT c.record FROM strata_remote_changes AS c WHERE c.entity = ?1 AND (
                (c.state = 'waiting' OR c.kind = 'update' AND c.code IS NOT 'notFound') AND EXISTS (SELECT 1
                  FROM strata_remote_edits AS e WHERE e.entity = ?1 AND e.record = c.record AND e.field = ?2 AND e.base = ?3)
                OR EXISTS (SELECT 1 FROM strata_remote_sent AS s WHERE s.number = c.number AND s.field = ?2 AND s.value = ?3))
              """), arguments: [other.name, field.column, record])
        found.formUnion(records.map { QueuedRecord(entity: other.number, record: ExactValue($0)) })
      }
    }
    found.remove(own)
    guard !found.isEmpty else { return false }
    // If deleted records refer to each other in a cycle, their deletions do not wait for each other.
    return try !found.isSubset(of: reached(from: own) { try deleted($0, $1) })
  }

  /// Returns the nullable fields of a new record that refer to other new records which directly or indirectly refer
  /// back to it. The record can be sent without these references.
  func circular(_ entity: MappedEntity, _ record: DatabaseValue, _ row: [DatabaseValue]) throws -> [MappedEntity.Field]
  {
    let own = QueuedRecord(entity: entity.number, record: ExactValue(record))
    return try entity.fields.filter { field in
      guard field.isSent, isOptional(field, entity), let target = field.target, !row[field.slot].isNull else {
        return false
      }
      let next = QueuedRecord(entity: target, record: ExactValue(row[field.slot]))
      return try next == own || isNew(next) && reached(from: next) { try inserted($0, $1) }.contains(own)
    }
  }

  /// Whether a new record is part of a cycle of new records that refer to each other through columns that must not be
  /// null. None of these records can be sent first.
  func isStuck(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    let own = QueuedRecord(entity: entity.number, record: ExactValue(record))
    return try reached(from: own) { entity, record in
      try inserted(entity, record).filter { !isOptional($0.0, entity) }
    }.contains(own)
  }

  private func isOptional(_ field: MappedEntity.Field, _ entity: MappedEntity) -> Bool {
    guard !entity.table.columns[field.slot].isNotNull else { return false }
    switch field.source {
    case .attribute(let place): return entity.type.schema.fields[entity.type.attributes[place].place].isOptional
    case .relation(let place): return entity.type.relations[place].isOptional
    }
  }

  private func kind(_ queued: QueuedRecord) throws -> RemoteChange.Kind? {
    guard let entity = catalog.entity(ofType: queued.entity) else { return nil }
    return try LocalChanges(db).kind(entity, queued.record.value)
  }

  private func isNew(_ queued: QueuedRecord) throws -> Bool { try kind(queued) == .insert }

  /// Returns all records that can be reached from a record through references.
  ///
  /// - Parameter values: returns the references of a record, as fields with their values.
  private func reached(
    from first: QueuedRecord, _ values: (MappedEntity, DatabaseValue) throws -> [(MappedEntity.Field, DatabaseValue)]
  ) throws -> Set<QueuedRecord> {
    var found: Set<QueuedRecord> = []
    var waiting = [first]
    while let queued = waiting.popLast() {
      guard let entity = catalog.entity(ofType: queued.entity) else { continue }
      for (field, value) in try values(entity, queued.record.value) {
        guard let target = field.target, !value.isNull else { continue }
        let next = QueuedRecord(entity: target, record: ExactValue(value))
        if found.insert(next).inserted { waiting.append(next) }
      }
    }
    return found
  }

  /// Returns the references that a deleted record had, as fields with their values.
  private func deleted(_ entity: MappedEntity, _ record: DatabaseValue) throws -> [(MappedEntity.Field, DatabaseValue)]
  {
    let changes = try LocalChanges(db)
    guard try changes.kind(entity, record) == .delete else { return [] }
    let bases = try changes.bases(entity, record)
    return entity.fields.compactMap { field in bases[field.column].map { (field, $0) } }
  }

  /// Returns the references of a new record, as fields with their values. Returns no references for any other record.
  private func inserted(_ entity: MappedEntity, _ record: DatabaseValue) throws -> [(MappedEntity.Field, DatabaseValue)]
  {
    guard try LocalChanges(db).kind(entity, record) == .insert, let row = try entity.row(record, db) else { return [] }
    return entity.fields.filter(\.isSent).map { ($0, row[$0.slot]) }
  }
}
