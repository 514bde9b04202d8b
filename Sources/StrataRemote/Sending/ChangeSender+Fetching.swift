internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Fetches the server's version of a changed record: before a change is sent without a known ETag or modification time,
/// after a conflict, and when the outcome of a request is unknown.
extension ChangeSender {
  /// Fetches and merges the record of a change whose outcome is unknown. After that, the stored request is discarded,
  /// so that the next attempt creates a new one from the remaining edits.
  ///
  /// - Returns: the server's record, or `nil` if the change must wait or nothing more can be sent for it.
  func settled(
    _ number: Int64, _ entity: MappedEntity, _ sending: inout RemoteSending
  ) async throws -> ArchiveValue? {
    guard let record = try await fetch(number, entity, &sending) else { return nil }
    // The request is discarded only after the merge, because the merge needs the values that were sent.
    try await session.write { db in try UnsentChange.fetch(number, db)?.discardRequest(db) }
    return record
  }

  /// Looks up a new record on the server if the app assigned its id and the outcome of its `POST` is unknown.
  ///
  /// - Returns: `false` if the server does not have the record. Otherwise the change has been acknowledged, or
  ///   postponed if the response could not be read.
  func lookUp(_ change: UnsentChange, _ entity: MappedEntity, _ sending: inout RemoteSending) async throws
    -> Bool
  {
    guard let id = try entity.idText(change.record) else { return false }
    let shown = try await shown(change)
    let number = session.nextNumber()
    let asked = session.clock.now()
    let url = session.configuration.url(entity.paths.record.filled { _ in id })
    let request = HTTPRequest("GET", url, headers: ["Accept": "application/json", "Cache-Control": "no-cache"])
    let response: HTTPResponse
    do { response = try await session.client(account).send(request) } catch let error as RemoteError {
      guard error.code != .notFound else { return false }
      try await postpone(change.number, attempts: change.attempts + 1, because: error.located(entity: entity.name))
      throw error.located(entity: entity.name, method: "GET", url: url)
    }
    var post = request
    post.method = "POST"
    do {
      let applied = try await acknowledge(change, entity, post, response, number, asked)
      note(applied, of: shown, &sending)
    } catch let error as RemoteError where error.code == .invalidBody {
      // A response that cannot be read does not show whether the server has the record, so the change is postponed.
      try await postpone(change.number, attempts: change.attempts + 1, because: error.located(entity: entity.name))
    }
    return true
  }

  /// Fetches the record of a change and merges it into the row.
  ///
  /// - Returns: the server's record if the change can be sent, or `nil` if the change was postponed or refused, or
  ///   needs no request.
  func fetch(
    _ number: Int64, _ entity: MappedEntity, _ sending: inout RemoteSending
  ) async throws -> ArchiveValue? {
    let change = try await session.read { db in try UnsentChange.fetch(number, db) }
    guard let change, let id = try await serverID(of: change, entity) else { return nil }
    let shown = try await shown(change)
    let refreshing = Refreshing(
      session: session, entity: entity, request: .one(id).with(.reload), account: account)
    do {
      if change.kind == .delete {
        // The row was deleted locally, so nothing can be merged. The fetched record only shows whether another client
        // has changed it since its values were last received.
        let changed = try await fetchDeleted(change, entity, refreshing.url)
        guard changed.isEmpty else {
          let error = RemoteError(
            .conflict,
            "the record was deleted locally, but the server's values of \(changed.joined(separator: ", ")) "
              + "have changed since; retry the change to delete the record anyway, or discard the change to keep "
              + "the record",
            entity: entity.name)
          try await refuse(change, error, shown, &sending)
          return nil
        }
        return .null
      } else {
        let (refresh, record) = try await refreshing.fetch()
        sending.conflicts += refresh.conflicts
        // The server no longer has the record, although the record still has unsent local changes.
        if refresh.ids.isEmpty {
          throw RemoteError(.notFound, "the server no longer has the record", status: 404)
        }
        return record ?? .null
      }
    } catch let error as RemoteError where error.code == .notFound && change.kind == .delete {
      let (catalog, number) = (session.catalog, session.nextNumber())
      try await session.write { db in
        // If the stored request has changed, the record may have been created again in the meantime. The error then does not apply to
        // the new record.
        guard let known = try UnsentChange.fetch(change.number, db), known.request?.key == change.request?.key else {
          return
        }
        try Acknowledgement(catalog: catalog, entity: entity, sent: known, db: db).acknowledgeDelete(known, number)
      }
      return nil
    } catch let error as RemoteError {
      switch error.code {
      case .invalidBody, .tooLarge:
        // A response that cannot be read does not show the server's version of the record, so the change is postponed.
        try await postpone(number, attempts: change.attempts + 1, because: error)
        post(.sendFailed(shown, error), shown)
        return nil
      case .notFound, .forbidden, .refused, .store:
        try await refuse(change, error.located(entity: entity.name), shown, &sending)
        return nil
      default:
        try await postpone(number, attempts: change.attempts + 1, because: error)
        post(.sendFailed(shown, error), shown)
        throw error
      }
    }
  }

  /// Fetches a record that was deleted locally. Stores its ETag and modification time for the deletion request.
  ///
  /// - Returns: the keys of the fields that other clients have changed on the server since their values were last
  ///   received.
  func fetchDeleted(_ change: UnsentChange, _ entity: MappedEntity, _ url: URL) async throws -> [String] {
    let asked = session.clock.now()
    let request = HTTPRequest("GET", url, headers: ["Accept": "application/json", "Cache-Control": "no-cache"])
    let response = try await session.client(account).send(request)
    let copy = HTTPCopy(request: request, response: response, requestedAt: asked, receivedAt: session.clock.now())
    let number = session.nextNumber()
    let (catalog, account) = (session.catalog, account)
    let body = try RemoteBody(response.body, of: entity, isOne: true)
    let nodes = try entity.nodes(of: Array(body.records.prefix(1)), catalog)
    return try await session.write { db in
      guard try ChangeTriggers.account(catalog.entities, db) == account else {
        throw RemoteError(
          .accountChanged, "the account changed while a change was being sent; the change will be sent again")
      }
      // The ETag and modification time are stored only for a deletion. If the row has been created again in the meantime, storing them
      // would hide server changes that were never merged.
      guard let known = try UnsentChange.fetch(change.number, db), known.kind == .delete, let root = nodes.roots.first
      else { return [] }
      try db.execute(
        cached: """
          INSERT INTO strata_remote_records VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (entity, record) DO UPDATE SET etag = excluded.etag, modified = excluded.modified
          """, [entity.name, change.record, number, copy?.etag, copy?.strongLastModified])
      let changes = try LocalChanges(db)
      let (bases, sent) = (try changes.bases(entity, change.record), try known.sent(db))
      var changed: [String] = []
      for field in entity.fields {
        guard case .attribute(let place) = field.source, let base = bases[field.column],
          let value = nodes.nodes[root].values[place]
        else { continue }
        let stored = try entity.stored(value, place)
        guard !stored.isExactly(base), !stored.isExactly(sent[field.column]) else { continue }
        changed.append(field.key)
        try changes.setBase(entity, change.record, field.column, stored)
      }
      return changed
    }
  }

  /// Returns the path of the request for a change, or `nil` if the path needs the server's id but the server does not
  /// have the record.
  ///
  /// - Throws: ``RemoteError`` with the code `refused` if a placeholder in the path names a property that has no
  ///   value.
  func path(of change: UnsentChange, _ verb: String, _ entity: MappedEntity) async throws -> [String]? {
    try await session.read { [catalog = session.catalog] db in
      let row = try entity.row(change.record, db)
      let id = try entity.serverID(of: change, row)
      guard id != nil || verb == "POST" else { return nil }
      let known = try verb == "POST" ? change.sent(db) : LocalChanges(db).bases(entity, change.record)
      return try entity.paths.template(verb).filled { key in
        if key == "id", let id = try id ?? entity.idText(change.record) { return id }
        guard let field = entity.fields.first(where: { $0.key == key }),
          let stored = known[field.column] ?? row?[field.slot],
          let text = try entity.text(of: field, stored, catalog, db)
        else {
          throw RemoteError(
            .refused,
            "the path for \(verb) requests uses the key “\(key)”, which has no value in the record; set the "
              + "value, then retry the change",
            entity: entity.name)
        }
        return text
      }
    }
  }

  func serverID(of change: UnsentChange, _ entity: MappedEntity) async throws -> String? {
    try await session.read { db in try entity.serverID(of: change, entity.row(change.record, db)) }
  }
}

extension MappedEntity {
  /// Returns the server's id of a changed record as text, or `nil` if the record has none.
  fileprivate func serverID(of change: UnsentChange, _ row: [DatabaseValue]?) throws -> String? {
    try row.flatMap { try idText($0[id.slot]) } ?? idText(change.id)
  }
}
