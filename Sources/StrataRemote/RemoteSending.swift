/// The result of ``RemoteStore/send()``.
public struct RemoteSending: Sendable, Hashable {
  /// The number of changes that the server accepted.
  public internal(set) var sent = 0
  /// The number of changes that the server refused. They stay in the queue.
  public internal(set) var refused = 0
  /// The number of changes that are still unsent but were not refused. They wait until another record is sent, a
  /// conflict is resolved, the outcome of an earlier request is known, or a delay ends.
  public internal(set) var waiting = 0
  /// The number of conflicts: values that were changed both locally and on the server and that no merge policy of the
  /// model can merge.
  public internal(set) var conflicts = 0

  mutating func add(_ other: RemoteSending) {
    sent += other.sent
    refused += other.refused
    conflicts += other.conflicts
  }
}

extension RemoteSending: CustomStringConvertible {
  /// One line with the numbers of changes, such as `2 sent, 1 waiting`, or `nothing to send`.
  public var description: String {
    let parts = [(sent, "sent"), (refused, "refused"), (waiting, "waiting"), (conflicts, "in conflict")]
      .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return parts.isEmpty ? "nothing to send" : parts.joined(separator: ", ")
  }
}
