internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

extension AnswerWriter {
  /// Deletes the records that the server sent earlier but that are missing from this response.
  mutating func deleteMissing(_ entity: MappedEntity, among condition: Set<ExactValue>?) throws {
    let missing = try DatabaseValue.fetchAll(
      db, sql: "SELECT record FROM strata_remote_records WHERE entity = ? AND applied < ? ORDER BY record",
      arguments: [entity.name, number])
    guard !missing.isEmpty else { return }
    try delete(entity, missing.filter { condition?.contains(ExactValue($0)) ?? true })
  }

  /// Deletes the records that the response marks as deleted.
  mutating func delete(_ nodes: EntityNodes, _ entity: MappedEntity) throws {
    let (key, column) = (entity.keyColumn.quotedDatabaseIdentifier, entity.idColumn.quotedDatabaseIdentifier)
    var records: [DatabaseValue] = []
    for root in nodes.roots {
      guard let id = nodes.nodes[root].values[entity.id.attribute], !id.isNull else { continue }
      let stored = try entity.stored(id, entity.id.attribute)
      // If a newer response with this record has already been merged, the record is kept.
      let record = try DatabaseValue.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT \(key) FROM \(entity.quotedTable) AS t WHERE \(column) = ?1 AND NOT EXISTS (SELECT 1
              FROM strata_remote_records AS r WHERE r.entity = ?2 AND r.record = t.\(key) AND r.applied > ?3)
            """), arguments: [stored, entity.name, number])
      if let record { records.append(record) }
    }
    try delete(entity, records)
  }

  /// Deletes the rows of the given records, except rows that ``RowDependents/keeps(_:_:)`` protects.
  private mutating func delete(_ entity: MappedEntity, _ records: [DatabaseValue]) throws {
    guard !records.isEmpty else { return }
    let dependents = try RowDependents(catalog, changes, db)
    for record in records {
      if try dependents.keeps(entity, record) {
        result.kept += 1
        continue
      }
      try delete(entity, record)
    }
  }

  mutating func delete(_ entity: MappedEntity, _ record: DatabaseValue) throws {
    do {
      var count = 0
      let id = try entity.id(of: record, db)
      try db.inSavepoint {
        count = try entity.delete(record, db)
        return .commit
      }
      try entity.forget(record, db)
      if count > 0 { result.report[entity.table.name].deleted += 1 }
      if let id, !id.isNull {
        // The deletion is recorded so that an older response that arrives late does not restore the record.
        try db.execute(
          cached: "INSERT OR REPLACE INTO strata_remote_deleted VALUES (?, ?, ?)", [entity.name, id, number])
        try RemoteTables.noteApplied(entity, number, db)
      }
      try StoredCopies.forgetDeleted(entity, catalog, db)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // The database refuses the deletion, because other rows refer to the record.
      result.kept += 1
    }
  }
}
