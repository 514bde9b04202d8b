internal import GRDB
internal import StrataCore

/// The unsent changes to one local record, as an entry in the queue that ``RemoteStore/send()`` sends.
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

  /// The state of a change in the queue of unsent changes.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// The change will be sent by the next ``RemoteStore/send()``, unless it must wait for another record or for the
    /// resolution of a conflict.
    case waiting
    /// The change was sent, but its outcome is unknown. The next ``RemoteStore/send()`` finds out the outcome.
    case sending
    /// A new record was sent, but it is unknown whether the server has created it. The library cannot ask the server
    /// about the record, because the server assigns the ids itself and ignores `Idempotency-Key` (``ServerTraits``).
    ///
    /// If you know that the server has the record, call ``RemoteStore/confirm(_:id:)`` with the server's id. Otherwise
    /// ``RemoteStore/retry(_:asNew:)`` sends the record again, or ``RemoteStore/discard(_:)`` deletes it locally.
    case uncertain
    /// The server refused the change. It stays in the queue until the record is edited, or the change is retried or
    /// discarded.
    case refused
  }

  /// A number that identifies the change while it is in the queue. The queue is ordered by this number.
  public let number: Int64
  /// The account under which the change was made. The change is sent with the token of this account.
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
  /// The names of the changed columns if the change is an update. Empty for an insertion or a deletion.
  public let columns: [String]
  /// The number of attempts to send the change.
  public let attempts: Int
  /// The code of the error in the last attempt to send the change, or `nil` if there was no error.
  public let code: RemoteError.Code?
  /// The reason for the error in ``code``, or the reason why the change cannot be sent yet. `nil` if there is neither.
  public let reason: String?
  /// The HTTP status of the response that caused the error in ``code``, or `nil` if no response caused it.
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
  /// One line with the number, the kind, the record and the state of the change. It contains no property values.
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
