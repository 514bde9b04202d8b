internal import GRDB
internal import StrataCore

/// A record with changes that have not been sent.
public struct RemoteChange: Sendable, Hashable {
  /// What was done to a record here.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// It was made.
    case insert
    /// Properties of it were changed.
    case update
    /// It was deleted.
    case delete
  }

  /// Where a change is on its way.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// It goes out with the next ``RemoteStore/send()``, unless it waits for another record or for a conflict to be resolved.
    case waiting
    /// It was sent, and its outcome is unknown. The next ``RemoteStore/send()`` asks the server.
    case sending
    /// It is a new record that was sent with an unknown outcome, and the server cannot be asked: it ignores `Idempotency-Key` and chooses
    /// the ids (``ServerTraits``). ``RemoteStore/confirm(_:id:)`` tells the id of the record if the server has it,
    /// ``RemoteStore/retry(_:asNew:)`` sends it again, and ``RemoteStore/discard(_:)`` removes it here.
    case uncertain
    /// The server refuses it.
    case refused
  }

  /// Its place in the queue. It stays the same until the change has been sent.
  public let number: Int64
  /// The account that it is for.
  public let account: String
  /// The name of the entity.
  public let entity: String
  /// The primary key of the record here.
  public let record: String
  /// The server's id; `nil` for a record that it does not have yet.
  public let id: String?
  /// What was done to the record.
  public let kind: Kind
  /// Where it is on its way.
  public let state: State
  /// The columns that were changed, for an update.
  public let columns: [String]
  /// How often it was sent.
  public let attempts: Int
  /// Why the server refuses it, or why the last try failed: the code of a ``RemoteError``; `nil` for one that waits for others.
  public let code: RemoteError.Code?
  /// The reason of that error, or what a change waits for, in words.
  public let reason: String?
  /// The status of the answer; `nil` where there was none.
  public let status: Int?

  init(_ change: UnsentChange, columns: [String]) {
    number = change.number
    account = change.account
    entity = change.entity
    record = change.record.text ?? ""
    id = change.id.text
    kind = Kind(rawValue: change.kind.rawValue) ?? .update
    state = change.state
    self.columns = columns
    attempts = change.attempts
    code = change.code.flatMap(RemoteError.Code.init)
    reason = change.reason
    status = change.status
  }
}

extension RemoteChange: CustomStringConvertible {
  /// One line: the number, what was done to which record, and where it is on its way, without the values.
  public var description: String {
    let columns = columns.isEmpty ? "" : " (\(columns.joined(separator: ", ")))"
    let tries = attempts > 0 ? ", \(attempts.counting("attempt"))" : ""
    let why = reason.map { ": \($0)" } ?? ""
    return "change \(number): \(kind.rawValue) of \(entity) \(record)\(columns), \(state.rawValue)\(tries)\(why)"
      .onOneLine
  }
}

extension DatabaseValue {
  /// The value as text; `nil` for null.
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
