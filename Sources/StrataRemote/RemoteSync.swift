/// The result of ``RemoteStore/sync()``.
public struct RemoteSync: Sendable, Hashable {
  /// The result of sending the unsent changes.
  public internal(set) var sending = RemoteSending()
  /// The results of the refreshes, by entity name.
  public internal(set) var refreshes: [String: RemoteRefresh] = [:]
}
