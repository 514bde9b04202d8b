/// What a ``RemoteStore`` did, told after it is in the database.
public struct RemoteEvent: Sendable {
  /// What may happen.
  public enum Kind: Sendable {
    /// A request for records begins.
    case willFetch
    /// A page of the answer arrived. The numbers count the pages and records so far.
    case didReceive(pages: Int, records: Int)
    /// The answer is in the rows.
    case didFetch(RemoteRefresh)
    /// The records could not be fetched, or not be merged. Nothing of the answer is in the rows.
    case fetchFailed(RemoteError)
    /// A change is about to be sent.
    case willSend(RemoteChange)
    /// The server has a change, and its answer is in the rows.
    case didSend(RemoteChange)
    /// A change could not be sent now, and stays in the queue.
    case sendFailed(RemoteChange, RemoteError)
    /// The server refuses a change. It stays in the queue until it is changed, sent again or discarded.
    case refused(RemoteChange, RemoteError)
    /// Both sides changed values and no rule decides; see ``RemoteStore/conflicts()``.
    case conflicts(Int)
  }

  /// What happened.
  public let kind: Kind
  /// The name of the entity.
  public let entity: String
  /// The account that it was for.
  public let account: String
}
