/// What a ``RemoteStore/send()`` came to.
public struct RemoteSending: Sendable, Hashable {
  /// Changes that the server has now.
  public internal(set) var sent = 0
  /// Changes that it refuses, and that stay in the queue.
  public internal(set) var refused = 0
  /// Changes that still wait: for another record, for a conflict to be resolved, or for a later time.
  public internal(set) var waiting = 0
  /// Values that both sides changed and no rule decides.
  public internal(set) var conflicts = 0

  mutating func add(_ other: RemoteSending) {
    sent += other.sent
    refused += other.refused
    conflicts += other.conflicts
  }
}

extension RemoteSending: CustomStringConvertible {
  /// One line: `2 sent, 1 waiting`, or that there was nothing to send.
  public var description: String {
    let parts = [(sent, "sent"), (refused, "refused"), (waiting, "waiting"), (conflicts, "in conflict")]
      .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return parts.isEmpty ? "nothing to send" : parts.joined(separator: ", ")
  }
}
