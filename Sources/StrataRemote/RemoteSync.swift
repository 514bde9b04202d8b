/// The result of ``RemoteStore/sync()``.
public struct RemoteSync: Sendable, Hashable {
  /// The result of sending.
  public internal(set) var sending = RemoteSending()
  /// The result of refreshing each entity, by its name.
  public internal(set) var refreshes: [String: RemoteRefresh] = [:]
}
