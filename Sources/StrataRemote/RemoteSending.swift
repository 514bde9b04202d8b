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
}
