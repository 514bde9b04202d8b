internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Lists, retries, confirms and discards unsent changes.
extension RemoteStore {
  /// Returns a stream of the unsent changes of all accounts, in queue order. It yields them once at the start, and
  /// again after each change of the queue.
  public func observeChanges() -> AsyncThrowingStream<[RemoteChange], any Error> {
    ValueObservation.tracking { db in try Self.changes(db) }.removeDuplicates()
      .newest(in: entities.writer) { RemoteSession.located($0) }
  }

  private static func changes(_ db: Database) throws -> [RemoteChange] {
    try UnsentChange.fetchAll(account: nil, db).map { try RemoteChange($0, columns: $0.columns(db)) }
  }

  /// The unsent changes of all accounts, in queue order.
  public func changes() async throws -> [RemoteChange] {
    try await session.read { db in try Self.changes(db) }
  }

  /// Makes the next ``send()`` send a change that was refused or that is delayed.
  ///
  /// - Parameters:
  ///   - change: one of ``changes()``. If the change has been sent in the meantime, nothing happens. If the change is
  ///     uncertain, it is sent again, which can create a duplicate record.
  ///   - asNew: whether an update is sent as a new record, because the server no longer has the record.
  public func retry(_ change: RemoteChange, asNew: Bool = false) async throws {
    let catalog = session.catalog
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db) else { return }
      try known.retry(db)
      if asNew, known.kind == .update {
        try known.becomeNew(db)
        let entity = try catalog.known(known.entity)
        if !entity.idIsKey {
          try entity.set(entity.idColumn, of: known.record, to: .null, db)
        }
      }
    }
  }

  /// Resolves an ``RemoteChange/State/uncertain`` change if the server has the new record, whose id the caller
  /// provides.
  ///
  /// The local record gets this id. The next ``send()`` sends later edits of the record.
  ///
  /// - Parameters:
  ///   - change: one of ``changes()``. If the change is no longer uncertain, nothing happens.
  ///   - id: the server's id, as it appears in a URL path.
  /// - Throws: ``RemoteError`` with the code `invalidBody` if the property cannot hold the id.
  public func confirm(_ change: RemoteChange, id: String) async throws {
    let (catalog, answered) = (session.catalog, session.nextNumber())
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db), known.state == .uncertain,
        let request = known.request
      else {
        return
      }
      let entity = try catalog.known(known.entity)
      _ = try Acknowledgement(catalog: catalog, entity: entity, sent: known, db: db).run(
        nil, id: entity.stored(idText: id), copy: nil, number: request.number, answered: answered)
    }
  }

  /// Reverts a change. Edited columns are reset to the server's last known values, a record that was created locally is
  /// deleted, and a record that was deleted locally is restored by the next refresh.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if other rows refer to the new record that would be deleted.
  public func discard(_ change: RemoteChange) async throws {
    let catalog = session.catalog
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db) else { return }
      let entity = try catalog.known(known.entity)
      if known.kind == .insert, try RecordRenaming(catalog, entity, db).isReferenced(known.record) {
        throw RemoteError(
          .store,
          "other rows refer to the new record; change the references, or delete the rows together with the record",
          entity: entity.name)
      }
      if known.state == .uncertain {
        try entity.delete(known.record, db)
        try StoredCopies.forget(entity, db)
        return try known.remove(db)
      }
      if known.kind == .insert, known.request != nil {
        // The server may have the record. The triggers record the deletion, and the record is deleted on the server as
        // soon as its id is known.
        return try db.execute(
          sql: "DELETE FROM \(entity.quotedTable) WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ?",
          arguments: [known.record])
      }
      switch known.kind {
      case .insert: try entity.delete(known.record, db)
      case .update:
        for (column, base) in try LocalChanges(db).bases(entity, known.record) {
          try entity.set(column, of: known.record, to: entity.holdable(base, in: column, catalog, db), db)
        }
      case .delete: try entity.forget(known.record, db)
      }
      // The next refresh must fetch the server's values again.
      try StoredCopies.forget(entity, db)
      try known.remove(db)
    }
  }
}
