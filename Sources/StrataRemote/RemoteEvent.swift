/// An event of a ``RemoteStore``. Results are reported after they are committed to the database.
public struct RemoteEvent: Sendable {
  /// The kind of event.
  public enum Kind: Sendable {
    /// A request for records begins.
    case willFetch
    /// A page of the answer arrived. The numbers count the pages and records so far.
    case didReceive(pages: Int, records: Int)
    /// The answer was merged into the rows.
    case didFetch(RemoteRefresh)
    /// The records could not be fetched or merged. No row was changed.
    case fetchFailed(RemoteError)
    /// A change is about to be sent.
    case willSend(RemoteChange)
    /// The server accepted a change, and its answer was merged into the rows.
    case didSend(RemoteChange)
    /// A change could not be sent, and stays in the queue.
    case sendFailed(RemoteChange, RemoteError)
    /// The server refused a change. It stays in the queue until it is edited, retried or discarded.
    case refused(RemoteChange, RemoteError)
    /// The number of conflicts: values that both sides changed and that no merge policy resolves. See
    /// ``RemoteStore/conflicts()``.
    case conflicts(Int)
  }

  /// The kind of event.
  public let kind: Kind
  /// The name of the entity.
  public let entity: String
  /// The account of the request or the change.
  public let account: String
}
