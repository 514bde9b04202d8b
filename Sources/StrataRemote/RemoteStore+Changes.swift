internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Methods that list, retry, confirm and discard unsent changes.
extension RemoteStore {
  /// Returns a stream of the unsent changes of all accounts, in queue order. The stream yields the changes once at the
  /// start, and again after each modification of the queue.
  public func observeChanges() -> AsyncThrowingStream<[RemoteChange], any Error> {
    ValueObservation.tracking { db in try Self.changes(db) }.removeDuplicates()
      .newest(in: session.writer) { RemoteSession.located($0) }
  }

  private static func changes(_ db: Database) throws -> [RemoteChange] {
    try UnsentChange.fetchAll(account: nil, db).map { try RemoteChange($0, columns: $0.columns(db)) }
  }

  /// The unsent changes of all accounts, in queue order.
  public func changes() async throws -> [RemoteChange] {
    try await session.read { db in try Self.changes(db) }
  }

  /// Lets the next ``send()`` send a change that was refused or is delayed.
  ///
  /// - Parameters:
  ///   - change: a change from ``changes()``. If the change has been sent in the meantime, nothing happens. If its
  ///     state is ``RemoteChange/State/uncertain``, it is sent again, which creates a duplicate record if the server
  ///     has already created the record.
  ///   - asNew: whether an update is sent as a new record. Use this if the server no longer has the record.
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

  /// Resolves an ``RemoteChange/State/uncertain`` change, if the app or the user knows that the server has created the
  /// new record.
  ///
  /// The local record gets the given id. Edits that were made after the record was sent are sent by the next
  /// ``send()``.
  ///
  /// - Parameters:
  ///   - change: a change from ``changes()``. If the change is no longer uncertain, nothing happens.
  ///   - id: the server's id of the record, as it appears in a URL path.
  /// - Throws: ``RemoteError`` with the code `invalidBody` if the property for the server's id cannot store the given
  ///   id.
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

  /// Discards a change. Edited columns are reset to the server's last known values. A record that was created locally
  /// is deleted. A record that was deleted locally is restored by the next refresh.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if a record that was created locally cannot be deleted, because
  ///   other rows refer to it.
  public func discard(_ change: RemoteChange) async throws {
    let catalog = session.catalog
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db) else { return }
      let entity = try catalog.known(known.entity)
      if known.kind == .insert, try RecordRenaming(catalog, entity, db).isReferenced(known.record) {
        throw RemoteError(
          .store,
          "the new record cannot be discarded because other rows refer to it; change the references in these "
            + "rows, or delete the rows first",
          entity: entity.name)
      }
      if known.state == .uncertain {
        try entity.delete(known.record, db)
        try StoredCopies.forget(entity, db)
        return try known.remove(db)
      }
      if known.kind == .insert, known.request != nil {
        // The server may already have created the record. The row is therefore deleted like any row that the app
        // deletes, so that the record is also deleted on the server as soon as its id is known.
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
      // The cached response headers are deleted, so that the next refresh fetches the server's values again.
      try StoredCopies.forget(entity, db)
      try known.remove(db)
    }
  }
}
