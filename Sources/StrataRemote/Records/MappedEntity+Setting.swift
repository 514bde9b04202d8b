internal import GRDB
internal import StrataStore

extension MappedEntity {
  /// Sets a column of a row without recording a local change.
  func set(_ column: String, of record: DatabaseValue, to value: DatabaseValue, _ db: Database) throws {
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(
        cached: """
          UPDATE \(quotedTable) SET \(column.quotedDatabaseIdentifier) = ? WHERE \(keyColumn.quotedDatabaseIdentifier) = ?
          """, [value, record])
    }
  }

  /// Deletes a row without recording a local change. Returns the number of deleted rows.
  @discardableResult
  func delete(_ record: DatabaseValue, _ db: Database) throws -> Int {
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(
        cached: "DELETE FROM \(quotedTable) WHERE \(keyColumn.quotedDatabaseIdentifier) = ?", [record])
      return db.changesCount
    }
  }

  /// Deletes a record's validators and the number of the last response merged into it.
  func forget(_ record: DatabaseValue, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_records WHERE entity = ? AND record = ?", [name, record])
  }

  /// Returns the primary key of the record with this server id; `nil` if there is none.
  ///
  /// A text id also matches a numeric column, because SQLite converts the id by the column's affinity.
  func record(withID id: DatabaseValue, _ db: Database) throws -> DatabaseValue? {
    let (key, column) = (keyColumn.quotedDatabaseIdentifier, idColumn.quotedDatabaseIdentifier)
    return try DatabaseValue.fetchOne(
      db.cachedStatement(sql: "SELECT \(key) FROM \(quotedTable) WHERE \(column) = ?"), arguments: [id])
  }

  /// Returns the server's id of a record; `nil` if there is no such record.
  func id(of record: DatabaseValue, _ db: Database) throws -> DatabaseValue? {
    let (key, column) = (keyColumn.quotedDatabaseIdentifier, idColumn.quotedDatabaseIdentifier)
    return try DatabaseValue.fetchOne(
      db.cachedStatement(sql: "SELECT \(column) FROM \(quotedTable) WHERE \(key) = ?"), arguments: [record])
  }
}

extension MappedEntity {
  /// Returns the value to which a column is reset when an edit is discarded: the value before the edit, or null if that
  /// value refers to a deleted record.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if the value would have to be null and the column does not allow
  ///   null.
  func holdable(_ value: DatabaseValue, in column: String, _ catalog: RemoteCatalog, _ db: Database) throws
    -> DatabaseValue
  {
    guard let field = field(column: column), !value.isNull, let target = field.target.flatMap(catalog.entity(ofType:)),
      try target.row(value, db) == nil
    else { return value }
    guard !table.columns[field.slot].isNotNull else {
      throw RemoteError(
        .store,
        "the earlier value of \(field.key) refers to a deleted record; set the field to a different record, or delete "
          + "this record",
        entity: name)
    }
    return .null
  }
}
