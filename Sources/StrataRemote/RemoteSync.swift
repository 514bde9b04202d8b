/// The result of ``RemoteStore/sync()``.
public struct RemoteSync: Sendable, Hashable {
  /// The result of sending.
  public internal(set) var sending = RemoteSending()
  /// The results of refreshing the entities, by the entity's name.
  public internal(set) var refreshes: [String: RemoteRefresh] = [:]
}
