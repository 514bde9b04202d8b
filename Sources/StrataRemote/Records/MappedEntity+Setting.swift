internal import GRDB
internal import StrataStore

extension MappedEntity {
  /// Sets a column of a row without recording a local change.
  func set(_ column: String, of record: DatabaseValue, to value: DatabaseValue, _ db: Database) throws {
    try ChangeTriggers.passed(db) {
      try db.execute(
        cached: """
          UPDATE \(quotedTable) SET \(column.quotedDatabaseIdentifier) = ? WHERE \(keyColumn.quotedDatabaseIdentifier) = ?
          """, [value, record])
    }
  }
}

extension MappedEntity {
  /// The value that a column gets when an edit is discarded: its earlier value, or null if that references a record that is gone.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if the value cannot be set to null because the column must not be
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
        "the earlier value of \(field.key) references a record that is gone; set it to another record, or delete this one",
        entity: name)
    }
    return .null
  }
}
