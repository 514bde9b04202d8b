import GRDB

extension MappedEntity {
  /// Gives a column of a row a value, and no one takes it for a change made here.
  func set(_ column: String, of record: DatabaseValue, to value: DatabaseValue, _ db: Database) throws {
    try ChangeTriggers.passed(db) {
      try db.execute(
        cached: """
          UPDATE \(quotedTable) SET \(column.quotedDatabaseIdentifier) = ? WHERE \(keyColumn.quotedDatabaseIdentifier) = ?
          """, [value, record])
    }
  }
}
