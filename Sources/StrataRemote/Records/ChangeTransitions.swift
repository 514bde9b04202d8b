internal import Foundation
internal import GRDB
internal import StrataStore

/// The transitions of an unsent change from one ``RemoteChange/State`` to the next. Each transition is one method,
/// which runs in the caller's transaction. Docs/Refresh.md lists the transitions.
///
/// Changes are inserted by the triggers (``ChangeTriggers``), which also return a refused change to the queue when its
/// record is edited again. In every state, a lease (``SendingLease``) prevents two senders from sending the same
/// change.
extension UnsentChange {
  // MARK: waiting → sending

  /// The content of a request that sends the change.
  struct Content {
    let verb: String
    let body: Data?
    let headers: HTTPHeaders
    /// The values in the body, by column name. They are stored as sent values, which later serve as a merge base.
    let values: [String: DatabaseValue]
  }

  /// Stores the request for sending the change, with a new idempotency key, so that the same request can be repeated
  /// after a crash or a lost response.
  ///
  /// - Parameter request: the number of the request.
  func storeRequest(_ content: Content, number request: Int64, _ db: Database) throws -> UnsentChange {
    let lines = content.headers.fields.map { "\($0.name):\($0.value)" }.joined(separator: "\n")
    try db.execute(
      cached: """
        UPDATE strata_remote_changes SET verb = ?, body = ?, headers = ?, idempotency_key = ?, request = ?,
          code = NULL, reason = NULL, status = NULL WHERE number = ?
        """, [content.verb, content.body, lines, UUID().uuidString, request, number])
    // If the request is a deletion, the previously sent values are kept, because the server may have received them.
    if content.verb != "DELETE" {
      try db.execute(cached: "DELETE FROM strata_remote_sent WHERE number = ?", [number])
    }
    for (field, value) in content.values {
      try db.execute(cached: "INSERT OR REPLACE INTO strata_remote_sent VALUES (?, ?, ?)", [number, field, value])
    }
    guard let stored = try UnsentChange.fetch(number, db) else {
      throw RemoteError(.store, "a change was removed while it was being prepared for sending", entity: entity)
    }
    return stored
  }

  /// Stores the reason why the change has not been sent yet, for display. If the change has an error, the error's reason is kept.
  func setReason(_ reason: String, _ db: Database) throws {
    guard state == .waiting, reason != self.reason, code == nil else { return }
    try db.execute(cached: "UPDATE strata_remote_changes SET reason = ? WHERE number = ?", [reason, number])
  }

  // MARK: sending → waiting

  /// Discards the stored request, so that the next attempt creates a new one.
  ///
  /// - Parameter keepsSent: whether the sent values are kept, because the server may have received them.
  func discardRequest(_ db: Database, keepsSent: Bool = false) throws {
    try db.execute(
      cached: """
        UPDATE strata_remote_changes
        SET verb = NULL, url = NULL, body = NULL, headers = NULL, idempotency_key = NULL, request = NULL WHERE number = ?
        """, [number])
    if !keepsSent { try db.execute(cached: "DELETE FROM strata_remote_sent WHERE number = ?", [number]) }
  }

  // MARK: sending → sending

  /// Records that an attempt has failed. The request is kept for the next attempt, because the server may have received it.
  ///
  /// - Parameter time: the earliest time of the next attempt, in seconds since 1970, or `nil` for no delay.
  func postpone(attempts: Int, until time: Double?, _ error: RemoteError?, _ db: Database) throws {
    try db.execute(
      cached: """
        UPDATE strata_remote_changes SET attempts = ?, not_before = ?, code = ?, reason = ?, status = ? WHERE number = ?
        """, [attempts, time, error?.code.rawValue, error?.reason, error?.status, number])
  }

  /// Delays all changes of an account, because a server's rate limit applies to all requests of the account together.
  static func postponeAll(of account: String, until time: Double, _ db: Database) throws {
    try db.execute(
      cached: """
        UPDATE strata_remote_changes SET not_before = ?1
        WHERE account = ?2 AND state = 'waiting' AND coalesce(not_before, 0) < ?1
        """, [time, account])
  }

  // MARK: sending → uncertain

  /// Marks the creation of a record as uncertain, because it is unknown whether the server has created the record.
  func becomeUncertain(_ error: RemoteError, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET code = ?, reason = ?, status = ?, not_before = NULL WHERE number = ?",
      [error.code.rawValue, error.reason, error.status, number])
  }

  // MARK: → refused

  /// Marks the change as refused.
  ///
  /// - Parameter keepsRequest: whether the request is kept, so that a retry repeats the same request. This is necessary
  ///   if the server may have received it.
  func refuse(_ error: RemoteError, keepsRequest: Bool = false, _ db: Database) throws {
    if !keepsRequest { try discardRequest(db) }
    try db.execute(
      cached: """
        UPDATE strata_remote_changes
        SET state = 'refused', attempts = attempts + 1, code = ?, reason = ?, status = ? WHERE number = ?
        """, [error.code.rawValue, error.reason, error.status, number])
  }

  // MARK: refused, uncertain → waiting

  /// Sets the change back to `waiting`, so that it is sent again. An uncertain change is sent with a new request.
  func retry(_ db: Database) throws {
    if state == .uncertain { try discardRequest(db) }
    try db.execute(
      cached: """
        UPDATE strata_remote_changes
        SET state = 'waiting', attempts = 0, not_before = NULL, code = NULL, reason = NULL, status = NULL WHERE number = ?
        """, [number])
  }

  /// Removes the delay from the change of a record, so that the change can be sent at once.
  static func clearDelay(_ entity: MappedEntity, _ record: DatabaseValue, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET not_before = NULL WHERE entity = ? AND record = ?",
      [entity.name, record])
  }

  // MARK: Kind and record

  /// Turns the change into an insertion, so that the record is sent as a new record. This is needed if the server does
  /// not have the record.
  func becomeNew(_ db: Database) throws {
    try discardRequest(db)
    try db.execute(cached: "UPDATE strata_remote_changes SET kind = 'insert', id = NULL WHERE number = ?", [number])
    for table in ["edits", "records", "conflicts"] {
      try db.execute(cached: "DELETE FROM strata_remote_\(table) WHERE entity = ? AND record = ?", [entity, record])
    }
  }

  /// Turns the insertion into an update, because the server now has the record.
  func becomeKnown(id: DatabaseValue, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET kind = 'update', id = ? WHERE number = ?", [id, number])
  }

  /// Assigns the change to a different row, which now contains the record.
  func move(to record: DatabaseValue, id: DatabaseValue, _ db: Database) throws {
    try db.execute(
      cached: "UPDATE strata_remote_changes SET id = ?, record = ? WHERE number = ?", [id, record, number])
  }

  // MARK: → gone

  /// Discards the request after the server has executed it. Also resets the number of attempts and the error. Edits that the request
  /// did not contain stay in the queue.
  func acknowledge(_ db: Database) throws {
    try discardRequest(db)
    try db.execute(
      cached: """
        UPDATE strata_remote_changes SET attempts = 0, not_before = NULL, code = NULL, reason = NULL, status = NULL
        WHERE number = ?
        """, [number])
  }

  /// Removes a record's update from the queue if it has no unsent edits and no stored request left.
  static func settle(_ entity: MappedEntity, _ record: DatabaseValue, _ db: Database) throws {
    try db.execute(
      cached: """
        DELETE FROM strata_remote_changes WHERE entity = ?1 AND record = ?2 AND kind = 'update' AND idempotency_key IS NULL
          AND NOT EXISTS (SELECT 1 FROM strata_remote_edits AS e WHERE e.entity = ?1 AND e.record = ?2)
        """, [entity.name, record])
  }

  /// Deletes the change together with its sent values, edits and conflicts.
  func remove(_ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_sent WHERE number = ?", [number])
    try db.execute(cached: "DELETE FROM strata_remote_changes WHERE number = ?", [number])
    try db.execute(cached: "DELETE FROM strata_remote_edits WHERE entity = ? AND record = ?", [entity, record])
    try db.execute(cached: "DELETE FROM strata_remote_conflicts WHERE entity = ? AND record = ?", [entity, record])
  }
}
