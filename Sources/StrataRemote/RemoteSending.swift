/// The result of ``RemoteStore/send()``.
public struct RemoteSending: Sendable, Hashable {
  /// The number of changes that the server accepted.
  public internal(set) var sent = 0
  /// The number of changes that the server refused. These changes stay in the queue.
  public internal(set) var refused = 0
  /// The number of unsent changes that were not refused. These changes wait for a different record, for the resolution
  /// of a conflict, for an uncertain outcome to be settled, or for a later time.
  public internal(set) var waiting = 0
  /// The number of conflicts, which are values that both sides changed and that no merge policy resolves.
  public internal(set) var conflicts = 0

  mutating func add(_ other: RemoteSending) {
    sent += other.sent
    refused += other.refused
    conflicts += other.conflicts
  }
}

extension RemoteSending: CustomStringConvertible {
  /// One line, such as `2 sent, 1 waiting` or `nothing to send`.
  public var description: String {
    let parts = [(sent, "sent"), (refused, "refused"), (waiting, "waiting"), (conflicts, "in conflict")]
      .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return parts.isEmpty ? "nothing to send" : parts.joined(separator: ", ")
  }
}
