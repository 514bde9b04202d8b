internal import GRDB
internal import StrataStore

extension MappedEntity {
  /// Sets a column of a record's row. The triggers do not record this as a change by the app.
  func set(_ column: String, of record: DatabaseValue, to value: DatabaseValue, _ db: Database) throws {
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(
        cached: """
          UPDATE \(quotedTable) SET \(column.quotedDatabaseIdentifier) = ? WHERE \(keyColumn.quotedDatabaseIdentifier) = ?
          """, [value, record])
    }
  }

  /// Deletes a record's row. The triggers do not record this as a change by the app. Returns the number of deleted
  /// rows, which is 0 or 1.
  @discardableResult
  func delete(_ record: DatabaseValue, _ db: Database) throws -> Int {
    try ChangeTriggers.withoutRecording(db) {
      try db.execute(
        cached: "DELETE FROM \(quotedTable) WHERE \(keyColumn.quotedDatabaseIdentifier) = ?", [record])
      return db.changesCount
    }
  }

  /// Deletes the stored ETag and modification time of a record, and the number of the latest request whose response was merged into it.
  func forget(_ record: DatabaseValue, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_records WHERE entity = ? AND record = ?", [name, record])
  }

  /// Returns the primary key of the record that has the given server's id, or `nil` if there is no such record.
  ///
  /// A text id also finds a number in a numeric column, because SQLite converts the text according to the affinity of
  /// the column.
  func record(withID id: DatabaseValue, _ db: Database) throws -> DatabaseValue? {
    let (key, column) = (keyColumn.quotedDatabaseIdentifier, idColumn.quotedDatabaseIdentifier)
    return try DatabaseValue.fetchOne(
      db.cachedStatement(sql: "SELECT \(key) FROM \(quotedTable) WHERE \(column) = ?"), arguments: [id])
  }

  /// Returns the server's id of a record, or `nil` if the table does not contain the record.
  func id(of record: DatabaseValue, _ db: Database) throws -> DatabaseValue? {
    let (key, column) = (keyColumn.quotedDatabaseIdentifier, idColumn.quotedDatabaseIdentifier)
    return try DatabaseValue.fetchOne(
      db.cachedStatement(sql: "SELECT \(column) FROM \(quotedTable) WHERE \(key) = ?"), arguments: [record])
  }
}

extension MappedEntity {
  /// Returns the value to which a column is reset when its edit is discarded: the given value from before the edit, or null if that
  /// value refers to a record that no longer exists.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if the value must be null but the column does not allow null.
  func holdable(_ value: DatabaseValue, in column: String, _ catalog: RemoteCatalog, _ db: Database) throws
    -> DatabaseValue
  {
    guard let field = field(column: column), !value.isNull, let target = field.target.flatMap(catalog.entity(ofType:)),
      try target.row(value, db) == nil
    else { return value }
    guard !table.columns[field.slot].isNotNull else {
      throw RemoteError(
        .store,
        "the field “\(field.key)” cannot be reset because its earlier value refers to a deleted record; set the field "
          + "to a different record, or delete this record",
        entity: name)
    }
    return .null
  }
}
