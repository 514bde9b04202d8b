/// What a ``RemoteStore/sync()`` came to.
public struct RemoteSync: Sendable, Hashable {
  /// What was sent.
  public internal(set) var sending = RemoteSending()
  /// What the refresh of each entity came to, by its name.
  public internal(set) var refreshes: [String: RemoteRefresh] = [:]
}
