/// An event of a ``RemoteStore``. Events that report a result are posted after the result is committed to the database.
public struct RemoteEvent: Sendable {
  /// The kind of an event, with the result or the error of the operation.
  public enum Kind: Sendable {
    /// A request for records is about to be sent.
    case willFetch
    /// A page of a list has arrived. The values are the numbers of pages and records received so far.
    case didReceive(pages: Int, records: Int)
    /// The response was merged into the rows of the database.
    case didFetch(RemoteRefresh)
    /// The records could not be fetched or merged. No row of the database was changed.
    case fetchFailed(RemoteError)
    /// A change is about to be sent.
    case willSend(RemoteChange)
    /// The server accepted a change, and its response was merged into the rows of the database.
    case didSend(RemoteChange)
    /// A change could not be sent. It stays in the queue and is sent again later.
    case sendFailed(RemoteChange, RemoteError)
    /// The server refused a change. It stays in the queue until it is edited, retried or discarded.
    case refused(RemoteChange, RemoteError)
    /// A response caused conflicts, which ``RemoteStore/conflicts()`` returns. The value is the number of conflicts. A
    /// conflict is a value that was changed both locally and on the server and that no merge policy of the model can
    /// merge.
    case conflicts(Int)
  }

  /// The kind of the event, with the result or the error of the operation.
  public let kind: Kind
  /// The name of the entity whose records are fetched or sent.
  public let entity: String
  /// The account under which the request or the change was made.
  public let account: String
}
