internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Fetches the server's version of a changed record: before sending a change without a validator, after a conflict, and
/// when the outcome of a request is unknown.
extension ChangeSender {
  /// Fetches and merges the record of a change whose outcome is unknown, and discards its request so that the next
  /// attempt creates a new one.
  ///
  /// - Returns: the record; `nil` if the change has to wait or has been settled.
  func settled(
    _ number: Int64, _ entity: MappedEntity, _ sending: inout RemoteSending
  ) async throws -> ArchiveValue? {
    guard let record = try await fetch(number, entity, &sending) else { return nil }
    // Merging needs the values that were sent, so the request is discarded only afterwards.
    try await session.write { db in try UnsentChange.fetch(number, db)?.discardRequest(db) }
    return record
  }

  /// Looks up a new record whose id was assigned locally and whose `POST` has an unknown outcome.
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
      // A response that cannot be read does not settle the change.
      try await postpone(change.number, attempts: change.attempts + 1, because: error.located(entity: entity.name))
    }
    return true
  }

  /// Fetches the record of a change and merges it.
  ///
  /// - Returns: the record, in which case the change can be sent; `nil` if the change was postponed, refused or
  ///   settled.
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
        // The row is deleted locally. The fetched record only shows whether the record has changed on the server since.
        let changed = try await fetchDeleted(change, entity, refreshing.url)
        guard changed.isEmpty else {
          let error = RemoteError(
            .conflict,
            "the record was deleted locally, but the server changed the values of \(changed.joined(separator: ", ")); "
              + "retry the change to delete the record anyway, or discard the change",
            entity: entity.name)
          try await refuse(change, error, shown, &sending)
          return nil
        }
        return .null
      } else {
        let (refresh, record) = try await refreshing.fetch()
        sending.conflicts += refresh.conflicts
        // The server no longer has the record, and the record has local changes that were not sent.
        if refresh.ids.isEmpty {
          throw RemoteError(.notFound, "the server no longer has the record", status: 404)
        }
        return record ?? .null
      }
    } catch let error as RemoteError where error.code == .notFound && change.kind == .delete {
      let (catalog, number) = (session.catalog, session.nextNumber())
      try await session.write { db in
        // The record may have been created again in the meantime.
        guard let known = try UnsentChange.fetch(change.number, db), known.request?.key == change.request?.key else {
          return
        }
        try Acknowledgement(catalog: catalog, entity: entity, sent: known, db: db).acknowledgeDelete(known, number)
      }
      return nil
    } catch let error as RemoteError {
      switch error.code {
      case .invalidBody, .tooLarge:
        // A response that cannot be read does not settle the change.
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

  /// Fetches a record that was deleted locally, and stores its validators.
  ///
  /// - Returns: the keys of the fields that have changed on the server since the deletion. Fields that now have a value
  ///   sent by this client are not included.
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
          .accountChanged, "the account changed during the sending of a change; the change will be sent again")
      }
      // If the row has been created again in the meantime, storing the validators would hide server changes that were
      // never merged.
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

  /// Returns the path for a change's request; `nil` if the server does not have the record.
  ///
  /// - Throws: ``RemoteError`` with the code `refused` if the path contains a property that has no value.
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
            "the path of \(verb) needs the key \(key), which has no value in the record; set the value, then retry "
              + "the change",
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
  /// Returns the server's id of a changed record; `nil` if the record has none.
  fileprivate func serverID(of change: UnsentChange, _ row: [DatabaseValue]?) throws -> String? {
    try row.flatMap { try idText($0[id.slot]) } ?? idText(change.id)
  }
}
