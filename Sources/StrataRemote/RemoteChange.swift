internal import GRDB
internal import StrataCore

/// A record with changes that have not been sent to the server.
public struct RemoteChange: Sendable, Hashable {
  /// Whether the local record was created, changed or deleted.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The record was created.
    case insert
    /// Properties of the record were changed.
    case update
    /// The record was deleted.
    case delete
  }

  /// The state of a change in the queue.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// The change will be sent by the next ``RemoteStore/send()``, unless it must wait for another record or for the
    /// resolution of a conflict.
    case waiting
    /// The change was sent, but its outcome is unknown. The next ``RemoteStore/send()`` determines the outcome.
    case sending
    /// A new record was sent, but it is unknown whether the server has created it. The server cannot be asked, because
    /// it ignores `Idempotency-Key` and assigns the ids itself (``ServerTraits``).
    ///
    /// If you know that the server has the record, call ``RemoteStore/confirm(_:id:)`` with the server's id. Otherwise
    /// ``RemoteStore/retry(_:asNew:)`` sends the record again, or ``RemoteStore/discard(_:)`` deletes it locally.
    case uncertain
    /// The server refused the change. It stays in the queue until the record is edited, or the change is retried or
    /// discarded.
    case refused
  }

  /// The position of the change in the queue, which also identifies the change until it has been sent.
  public let number: Int64
  /// The account under which the change was made, and with whose token it is sent.
  public let account: String
  /// The name of the record's entity.
  public let entity: String
  /// The primary key of the local record, as text.
  public let record: String
  /// The server's id of the record, or `nil` if the server does not have the record yet.
  public let id: String?
  /// Whether the local record was created, changed or deleted.
  public let kind: Kind
  /// The state of the change in the queue.
  public let state: State
  /// The names of the changed columns, for an update; otherwise empty.
  public let columns: [String]
  /// The number of attempts to send the change.
  public let attempts: Int
  /// The code of the ``RemoteError`` of the last attempt, or of the server's refusal. `nil` if there was no error, for
  /// example because the change waits for another change.
  public let code: RemoteError.Code?
  /// The reason of the error with this ``code``, or the condition for which the change waits.
  public let reason: String?
  /// The HTTP status of the response with the error, or `nil` if there was no response.
  public let status: Int?

  init(_ change: UnsentChange, columns: [String]) {
    number = change.number
    account = change.account
    entity = change.entity
    record = change.record.text ?? ""
    id = change.id.text
    kind = change.kind
    state = change.state
    self.columns = columns
    attempts = change.attempts
    code = change.code.flatMap(RemoteError.Code.init)
    reason = change.reason
    status = change.status
  }
}

extension RemoteChange: CustomStringConvertible {
  /// One line: the number, the kind of change, the record, and the sending state, without values.
  public var description: String {
    let columns = columns.isEmpty ? "" : " (\(columns.joined(separator: ", ")))"
    let tries = attempts > 0 ? ", \(attempts.counting("attempt"))" : ""
    let why = reason.map { ": \($0)" } ?? ""
    return "change \(number): \(kind.rawValue) of \(entity) \(record)\(columns), \(state.rawValue)\(tries)\(why)"
      .onOneLine
  }
}

extension DatabaseValue {
  /// The value as text, or `nil` for null. The bytes of a blob are written as hexadecimal digits.
  var text: String? {
    switch storage {
    case .null: nil
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .string(let text): text
    case .blob(let data): data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}
