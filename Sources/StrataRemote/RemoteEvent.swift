/// An event of a ``RemoteStore``. Events that report a result are posted after the result is committed to the database.
public struct RemoteEvent: Sendable {
  /// The kind of event.
  public enum Kind: Sendable {
    /// A request for records is about to be sent.
    case willFetch
    /// A page of the response arrived. The associated values are the numbers of pages and records received so far.
    case didReceive(pages: Int, records: Int)
    /// The response was merged into the rows.
    case didFetch(RemoteRefresh)
    /// The records could not be fetched or merged. No row was changed.
    case fetchFailed(RemoteError)
    /// A change is about to be sent.
    case willSend(RemoteChange)
    /// The server accepted a change, and the response was merged into the rows.
    case didSend(RemoteChange)
    /// A change could not be sent. It stays in the queue.
    case sendFailed(RemoteChange, RemoteError)
    /// The server refused a change. It stays in the queue until it is edited, retried or discarded.
    case refused(RemoteChange, RemoteError)
    /// A response caused conflicts, which are values that both sides changed and that no merge policy resolves. The
    /// associated value is the number of conflicts. See ``RemoteStore/conflicts()``.
    case conflicts(Int)
  }

  /// The kind of event.
  public let kind: Kind
  /// The name of the entity.
  public let entity: String
  /// The account under which the request was made, or to which the change belongs.
  public let account: String
}
