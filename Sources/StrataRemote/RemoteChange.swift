internal import GRDB
internal import StrataCore

/// A record with changes that have not been sent.
public struct RemoteChange: Sendable, Hashable {
  /// The kind of change to the local record.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The record was created.
    case insert
    /// Properties of the record were changed.
    case update
    /// The record was deleted.
    case delete
  }

  /// The sending state of a change.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// The next ``RemoteStore/send()`` sends the change, unless the change waits for a different record or for the
    /// resolution of a conflict.
    case waiting
    /// The change was sent, and its outcome is unknown. The next ``RemoteStore/send()`` determines the outcome.
    case sending
    /// A new record was sent, and its outcome is unknown. The outcome cannot be determined, because the server ignores
    /// `Idempotency-Key` and assigns the ids itself (``ServerTraits``).
    ///
    /// If the server has the record, ``RemoteStore/confirm(_:id:)`` sets its id. Otherwise
    /// ``RemoteStore/retry(_:asNew:)`` sends the record again, or ``RemoteStore/discard(_:)`` deletes it locally.
    case uncertain
    /// The server refused the change.
    case refused
  }

  /// The position in the queue, which stays the same until the change has been sent.
  public let number: Int64
  /// The account under which the change was made.
  public let account: String
  /// The name of the entity.
  public let entity: String
  /// The primary key of the local record.
  public let record: String
  /// The server's id, or `nil` if the server does not have the record yet.
  public let id: String?
  /// The kind of change.
  public let kind: Kind
  /// The sending state.
  public let state: State
  /// The changed columns of an update.
  public let columns: [String]
  /// The number of times that the change was sent.
  public let attempts: Int
  /// The code of the ``RemoteError`` with which the server refused the change or the last attempt failed. `nil` if
  /// there was no error, for example because the change waits for other changes.
  public let code: RemoteError.Code?
  /// The reason of the error with this ``code``, or a description of the condition that the change waits for.
  public let reason: String?
  /// The status of the response, or `nil` if there was no response.
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
  /// The value as text, or `nil` for null.
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
