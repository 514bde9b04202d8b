/// The result of ``RemoteStore/sync()``.
public struct RemoteSync: Sendable, Hashable {
  /// The result of sending the unsent changes.
  public internal(set) var sending = RemoteSending()
  /// The results of the refreshes, by entity name. An entity whose refresh failed has no result.
  public internal(set) var refreshes: [String: RemoteRefresh] = [:]
}
