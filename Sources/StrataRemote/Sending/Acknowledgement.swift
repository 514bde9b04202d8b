internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Applies the server's response to a sent change, in one transaction. The values of the server become the merge base
/// of edits that the request did not contain. For a new record, the server's id replaces the local id in all places. If
/// nothing remains to be sent, the change is removed from the queue.
struct Acknowledgement {
  let catalog: RemoteCatalog
  let entity: MappedEntity
  /// The change as it was when it was sent. The record may have been edited since then.
  let sent: UnsentChange
  let db: Database

  /// - Parameters:
  ///   - answer: the record in the response, or `nil` if the response has no content.
  ///   - id: the id in the response's content or in its `Location` header.
  ///   - number: the number of the request's first attempt, because a late response may answer that attempt.
  ///   - answered: a request number that was assigned after the response arrived. Responses to requests with smaller numbers may be
  ///     outdated for this record, because the server may have created them before it applied the change.
  /// - Returns: the effects of the response, or `nil` if the change is no longer in the queue.
  func run(
    _ answer: EntityNodes?, id: DatabaseValue?, copy: HTTPCopy?, number: Int64, answered: Int64
  ) throws -> AppliedAnswer? {
    // Another process may already have applied a response to the same request.
    guard let change = try UnsentChange.fetch(sent.number, db), change.request?.key == sent.request?.key else {
      return nil
    }
    var record = change.record
    var values = try change.sent(db)
    var ignored: RemoteError?
    if let answer, sent.request?.verb != "POST" {
      let columns = try ignoredColumns(change, values, answer)
      for column in columns { values[column] = nil }
      let keys = entity.fields.filter { columns.contains($0.column) }.map(\.key)
      if !columns.isEmpty {
        ignored = RemoteError(
          .notApplied,
          "the server accepted the change but still has the old values of \(keys.joined(separator: ", ")); retry the "
            + "change, or discard it",
          entity: entity.name, status: 200)
      }
    }
    switch sent.request?.verb {
    case "DELETE": try acknowledgeDelete(change, answered)
    case "POST":
      guard let id else {
        throw RemoteError(
          .invalidBody,
          "the server created the record but did not return its id in the response's body or Location header",
          entity: entity.name)
      }
      record = try acknowledgeInsert(change, values, id)
    default: try settle(change, record, values)
    }
    try change.acknowledge(db)
    try LocalChanges(db).settle(entity, record)
    guard sent.request?.verb != "DELETE" else { return AppliedAnswer() }
    try db.execute(
      cached: """
        INSERT INTO strata_remote_records VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (entity, record) DO UPDATE SET applied = excluded.applied, etag = excluded.etag, modified = excluded.modified
        WHERE excluded.applied >= applied
        """, [entity.name, record, number, copy?.etag, copy?.strongLastModified])
    // After this change, the rows match no cached response, so all cached response headers of the entity are deleted, regardless of
    // whether they are older or newer than this response.
    try StoredCopies.forget(entity, db)
    var applied = AppliedAnswer()
    if let answer {
      var writer = try AnswerWriter(answer, catalog, account: sent.account, number: number, db)
      applied = try writer.run(entity, copy: copy, isWhole: false)
      try LocalChanges(db).settle(entity, record)
    }
    applied.notApplied = ignored
    if let ignored {
      try change.refuse(ignored, db)
    }
    try db.execute(
      cached: "UPDATE strata_remote_records SET applied = max(applied, ?) WHERE entity = ? AND record = ?",
      [answered, entity.name, record])
    try RemoteTables.noteApplied(entity, answered, db)
    return applied
  }

  /// Returns the sent columns that the server has ignored. For these columns, the response still contains the previous value instead of
  /// the sent one.
  private func ignoredColumns(
    _ change: UnsentChange, _ values: [String: DatabaseValue], _ answer: EntityNodes
  ) throws -> Set<String> {
    guard let root = answer.roots.first else { return [] }
    let bases = try LocalChanges(db).bases(entity, change.record)
    var columns: Set<String> = []
    for field in entity.fields {
      guard case .attribute(let place) = field.source, let value = values[field.column],
        let said = answer.nodes[root].values[place], let base = bases[field.column]
      else { continue }
      let stored = try entity.stored(said, place)
      if stored.isExactly(base), !stored.isExactly(value) { columns.insert(field.column) }
    }
    return columns
  }

  /// Sets the merge bases of the sent columns to the sent values. A column that still has its sent value is no longer
  /// treated as edited.
  private func settle(_ change: UnsentChange, _ record: DatabaseValue, _ values: [String: DatabaseValue]) throws {
    guard let row = try entity.row(record, db) else { return }
    try LocalChanges(db).rebase(entity, record, row, to: values)
  }

  /// Stores the fact that the server has deleted the record.
  func acknowledgeDelete(_ change: UnsentChange, _ answered: Int64) throws {
    try db.execute(
      cached: "INSERT OR REPLACE INTO strata_remote_deleted VALUES (?, ?, ?)", [entity.name, change.id, answered])
    try RemoteTables.noteApplied(entity, answered, db)
    try entity.forget(change.record, db)
    guard change.kind == .delete else {
      // The record was created again locally in the meantime, so it must be sent as a new record.
      return try change.becomeNew(db)
    }
    try change.remove(db)
  }

  /// Applies the response to a request that created a record. The record gets the server's id.
  ///
  /// - Returns: the current primary key of the record, which can be the server's id.
  private func acknowledgeInsert(_ change: UnsentChange, _ values: [String: DatabaseValue], _ id: DatabaseValue) throws
    -> DatabaseValue
  {
    guard change.kind != .delete else {
      return try acknowledgeDeletedInsert(change, values, id)
    }
    try change.becomeKnown(id: id, db)
    try settle(change, change.record, values)
    let renaming = RecordRenaming(catalog, entity, db)
    var existing = try entity.record(withID: id, db)
    if let other = existing, !other.isExactly(change.record), try LocalChanges(db).kind(entity, other) == .insert {
      // The row with this id is a different new local record. It gets another primary key, because the server has just
      // assigned this id to the sent record.
      try renaming.moveAside(other)
      existing = nil
    }
    if let existing, !existing.isExactly(change.record) {
      try join(change, existing, id, renaming)
      return existing
    }
    if entity.idIsKey {
      guard existing == nil else { return change.record }
      try renaming.rename(change.record, to: id)
      return id
    }
    try entity.set(entity.idColumn, of: change.record, to: id, db)
    return change.record
  }

  /// Applies the response to a request that created a record, if the record was deleted locally after the request was sent. The
  /// server's id is now known, so the deletion can be sent.
  private func acknowledgeDeletedInsert(
    _ change: UnsentChange, _ values: [String: DatabaseValue], _ id: DatabaseValue
  ) throws -> DatabaseValue {
    // If the server's id is the primary key, the deletion is stored under the id. The old local key is then free for
    // another record.
    let record = entity.idIsKey ? id : change.record
    let changes = try LocalChanges(db)
    let existing = try entity.record(withID: id, db)
    if let known = existing ?? (record.isExactly(change.record) ? nil : record) {
      // A refresh has already stored the record in this row. If the row has been edited since then, it is kept and the deletion is
      // discarded.
      if try changes.kind(entity, known) != nil || RowDependents(catalog, changes, db).isHeld(entity, known) {
        try change.remove(db)
        return known
      }
      try entity.delete(known, db)
      try entity.forget(known, db)
      try StoredCopies.forgetDeleted(entity, catalog, db)
    }
    try change.move(to: record, id: id, db)
    for field in entity.fields {
      if let value = values[field.column] { try changes.setBase(entity, record, field.column, value) }
    }
    return record
  }

  /// Moves the local edits of a new record to a second row of the same record. A refresh stored this row before the response to the
  /// record's creation arrived.
  private func join(
    _ change: UnsentChange, _ existing: DatabaseValue, _ id: DatabaseValue, _ renaming: RecordRenaming
  ) throws {
    let changes = try LocalChanges(db)
    let edits = try changes.bases(entity, change.record)
    let row = try entity.row(change.record, db)
    let known = try changes.bases(entity, existing)
    let other = try entity.row(existing, db)
    var both: [LocalChanges.Conflict] = []
    for (column, base) in edits {
      guard let field = entity.field(column: column), let value = row?[field.slot] else { continue }
      if let base = known[column] {
        // The column was edited in both rows. If the values differ, this is a conflict.
        guard let kept = other?[field.slot], !kept.isExactly(value) else { continue }
        both.append(.init(field: column, part: .whole, path: field.key, base: base, server: value))
        continue
      }
      try entity.set(column, of: existing, to: value, db)
      try changes.setBase(entity, existing, column, base)
    }
    let own = try ownValues(change.record)
    try renaming.replace(change.record, by: existing)
    for conflict in both {
      try changes.setConflict(entity, existing, conflict.field, conflict, account: change.account)
    }
    for (column, value) in own { try entity.set(column, of: existing, to: value, db) }
    if try changes.kind(entity, existing) == nil {
      try change.move(to: existing, id: id, db)
    } else {
      try change.remove(db)
    }
  }

  /// Returns the values of a row in the columns that no mapper sends or receives, so that they can be copied to another
  /// row.
  private func ownValues(_ record: DatabaseValue) throws -> [(column: String, value: DatabaseValue)] {
    let known = Set(([entity.keyColumn, entity.idColumn] + entity.fields.map(\.column)).map { $0.lowercased() })
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [entity.table.name]
    ).filter { !known.contains($0.lowercased()) }
    guard !names.isEmpty else { return [] }
    let row = try Row.fetchOne(
      db,
      sql: """
        SELECT \(names.map(\.quotedDatabaseIdentifier).joined(separator: ", ")) FROM \(entity.quotedTable)
        WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ?
        """, arguments: [record])
    guard let row else { return [] }
    return names.enumerated().map { ($1, row[$0] as DatabaseValue) }
  }
}
