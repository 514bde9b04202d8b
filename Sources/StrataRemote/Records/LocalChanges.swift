internal import GRDB
internal import StrataStore

/// Reads and updates the unsent changes of records while a response is merged.
struct LocalChanges {
  let db: Database
  /// Whether no record has unsent changes. In that case, the methods that look up which records have unsent changes return without
  /// querying the database.
  let isEmpty: Bool

  init(_ db: Database) throws {
    self.db = db
    isEmpty = try !db.exists("SELECT 1 FROM strata_remote_changes")
  }

  func kind(_ entity: MappedEntity, _ record: DatabaseValue) throws -> RemoteChange.Kind? {
    guard !isEmpty else { return nil }
    return try String.fetchOne(
      db.cachedStatement(sql: "SELECT kind FROM strata_remote_changes WHERE entity = ? AND record = ?"),
      arguments: [entity.name, record]
    ).flatMap(RemoteChange.Kind.init)
  }

  /// Whether any record of an entity has unsent changes.
  func has(_ entity: MappedEntity) throws -> Bool {
    guard !isEmpty else { return false }
    return try db.exists("SELECT 1 FROM strata_remote_changes WHERE entity = ?", [entity.name])
  }

  /// Returns the primary keys of all records of an entity that have unsent changes. One such query is enough for a
  /// whole response.
  func records(_ entity: MappedEntity) throws -> Set<ExactValue> {
    guard !isEmpty else { return [] }
    let records = try DatabaseValue.fetchAll(
      db, sql: "SELECT record FROM strata_remote_changes WHERE entity = ?", arguments: [entity.name])
    return Set(records.map { ExactValue($0) })
  }

  /// Returns the server's ids of records that were deleted locally and whose deletion has not been sent.
  func deleted(_ entity: MappedEntity) throws -> Set<ExactValue> {
    guard !isEmpty else { return [] }
    let ids = try DatabaseValue.fetchAll(
      db, sql: "SELECT id FROM strata_remote_changes WHERE entity = ? AND kind = 'delete'", arguments: [entity.name])
    return Set(ids.map { ExactValue($0) })
  }

  /// Returns the merge base of each edited column of a record, by column name. The base is the last known value of the
  /// server, which at first is the value before the first unsent edit.
  func bases(_ entity: MappedEntity, _ record: DatabaseValue) throws -> [String: DatabaseValue] {
    try db.pairs("SELECT field, base FROM strata_remote_edits WHERE entity = ? AND record = ?", [entity.name, record])
  }

  /// Sets the merge base of an edited column, which is the last known value of the server. If `base` is `nil`, the
  /// column is no longer treated as edited, and its conflicts are deleted.
  func setBase(_ entity: MappedEntity, _ record: DatabaseValue, _ field: String, _ base: DatabaseValue?) throws {
    guard let base else {
      try db.execute(
        cached: "DELETE FROM strata_remote_edits WHERE entity = ? AND record = ? AND field = ?",
        [entity.name, record, field])
      return try setConflict(entity, record, field, nil, account: "")
    }
    try db.execute(
      cached: """
        INSERT INTO strata_remote_edits VALUES (?, ?, ?, ?)
        ON CONFLICT (entity, record, field) DO UPDATE SET base = excluded.base
        """, [entity.name, record, field, base])
  }

  /// Sets the merge bases of the sent columns to the sent values, because the server now has these values. A column
  /// that still has its sent value is no longer treated as edited.
  func rebase(
    _ entity: MappedEntity, _ record: DatabaseValue, _ row: [DatabaseValue], to sent: [String: DatabaseValue]
  ) throws {
    for field in entity.fields {
      guard let value = sent[field.column] else { continue }
      try setBase(entity, record, field.column, value.isExactly(row[field.slot]) ? nil : value)
    }
  }

  struct Conflict {
    /// The name of the column that has the conflict.
    let field: String
    /// The part of the column's value that both the app and the server have changed.
    let part: ValuePart
    /// The path of the value in the record, for display.
    let path: String
    /// The merge base of the column's whole value, not only of `part`.
    let base: DatabaseValue
    let server: DatabaseValue
  }

  func conflicts(_ entity: MappedEntity, _ record: DatabaseValue) throws -> [Conflict] {
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: "SELECT field, part, path, base, server FROM strata_remote_conflicts WHERE entity = ? AND record = ?"),
      arguments: [entity.name, record])
    return try rows.map {
      Conflict(field: $0[0], part: try ValuePart(text: $0[1]), path: $0[2], base: $0[3], server: $0[4])
    }
  }

  /// Stores the server's current value in the conflicts of a column. A conflict is deleted if the local value is now the same as the
  /// server's value.
  func updateConflicts(
    _ entity: MappedEntity, _ record: DatabaseValue, _ field: MappedEntity.Field, server: DatabaseValue,
    local: DatabaseValue
  ) throws {
    for conflict in try conflicts(entity, record) where conflict.field == field.column {
      let agreed = try entity.replacing(conflict.part, of: local, in: field, by: server).isExactly(local)
      let condition = "WHERE entity = ? AND record = ? AND field = ? AND part = ?"
      try db.execute(
        cached: agreed
          ? "DELETE FROM strata_remote_conflicts \(condition)"
          : "UPDATE strata_remote_conflicts SET server = ? \(condition)",
        (agreed ? [] : [server]) + [entity.name, record, field.column, conflict.part.text])
    }
  }

  /// Stores a conflict of a column, or deletes all conflicts of the column if `conflict` is `nil`.
  func setConflict(
    _ entity: MappedEntity, _ record: DatabaseValue, _ field: String, _ conflict: Conflict?, account: String
  ) throws {
    guard let conflict else {
      return try db.execute(
        cached: "DELETE FROM strata_remote_conflicts WHERE entity = ? AND record = ? AND field = ?",
        [entity.name, record, field])
    }
    // A conflict that is already stored keeps its base, which is the last value that the app and the server had in
    // common.
    try db.execute(
      cached: """
        INSERT INTO strata_remote_conflicts (account, entity, record, field, part, path, base, server)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (entity, record, field, part) DO UPDATE SET path = excluded.path, server = excluded.server
        """,
      [account, entity.name, record, field, conflict.part.text, conflict.path, conflict.base, conflict.server])
  }

  /// Removes a record's update from the queue if it has no unsent edits and no stored request left.
  func settle(_ entity: MappedEntity, _ record: DatabaseValue) throws {
    try UnsentChange.settle(entity, record, db)
  }
}

extension Database {
  /// Whether a query returns any rows. The statement is kept in the connection's statement cache.
  func exists(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
    try Bool.fetchOne(cachedStatement(sql: "SELECT EXISTS (\(sql))"), arguments: arguments) ?? false
  }

  /// Runs a query with two columns and returns a dictionary. The first column contains the keys and the second the values. The
  /// statement is kept in the connection's statement cache.
  func pairs(_ sql: String, _ arguments: StatementArguments) throws -> [String: DatabaseValue] {
    let rows = try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    return Dictionary(rows.map { ($0[0] as String, $0[1] as DatabaseValue) }) { first, _ in first }
  }

  /// Runs a statement that is kept in the connection's statement cache.
  func execute(cached sql: String, _ arguments: [(any DatabaseValueConvertible)?]) throws {
    try cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
  }
}
