public import GRDB
internal import StrataCore
public import StrataStore

/// Methods that remove local rows without deleting the records on the server.
extension RemoteStore {
  /// Removes local rows without deleting the records on the server. The next refresh restores the rows for which the
  /// server still has records.
  ///
  /// A row is kept if it has unsent changes, if a record with unsent changes refers to it, or if a foreign key prevents
  /// its deletion.
  ///
  /// - Returns: the number of rows that were removed.
  /// - Throws: ``RemoteError`` with the code `store` if the database fails.
  @discardableResult
  public func evict<E: Entity>(_ request: QueryInterfaceRequest<E>) async throws -> Int {
    let entity = try session.catalog.known(E.self)
    let keys = request.select(Column(entity.keyColumn))
    return try await session.write { [session] db in
      let dependents = try RowDependents(session.catalog, LocalChanges(db), db)
      var count = 0
      for record in try Row.fetchAll(db, keys).map({ $0[0] as DatabaseValue })
      where try !dependents.keeps(entity, record) {
        count += try entity.delete(record, db)
        try entity.forget(record, db)
      }
      try StoredCopies.forgetDeleted(entity, session.catalog, db)
      return count
    }
  }

  /// Removes all rows of the entities without deleting the records on the server, for example when a user logs out.
  /// Responses to running requests are dropped.
  ///
  /// - Parameter discardingChanges: whether unsent changes are also removed. If it is `false`, unsent changes cause an
  ///   error.
  /// - Throws: ``RemoteError`` with the code `store` if there are unsent changes, or if a row in a different table
  ///   refers to one of the rows. In both cases, nothing is removed.
  public func reset(discardingChanges: Bool = false) async throws {
    let number = session.nextNumber()
    try await session.write { [session] db in
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM strata_remote_changes") ?? 0
      guard count == 0 || discardingChanges else {
        throw RemoteError(
          .store,
          "the store has unsent changes to \(count.counting("record")); send the changes first, or pass "
            + "discardingChanges: true")
      }
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      try ChangeTriggers.withoutRecording(db) {
        for entity in session.catalog.entities { try db.execute(sql: "DELETE FROM \(entity.quotedTable)") }
      }
      for entity in session.catalog.entities { try StoredCopies.forget(entity, db) }
      for table in ["changes", "sent", "edits", "conflicts", "records", "deleted", "ids", "awaited"] {
        try db.execute(sql: "DELETE FROM strata_remote_\(table)")
      }
      try RemoteTables.noteReset(number, db)
    }
  }
}
