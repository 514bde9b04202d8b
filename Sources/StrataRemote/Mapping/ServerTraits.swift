/// The capabilities of a server, as the app declares them for each entity. The traits decide whether a change is sent again if its
/// outcome is unknown, and which guarantees hold (``RemoteStore/guarantees``).
public struct ServerTraits: Sendable, Hashable {
  /// The media type of a `PATCH` request's body. The body is a merge patch (RFC 7396) with either type.
  public enum PatchType: String, Sendable, Hashable, CaseIterable {
    /// `application/merge-patch+json`, the registered type of merge patches.
    case mergePatch = "application/merge-patch+json"
    /// `application/json`, for servers that accept no other type.
    case json = "application/json"
  }

  /// Whether every response with a single record has a strong `ETag`. If this is `true`, but the response for a record has no strong
  /// `ETag`, changes to that record are refused instead of being sent without an `ETag`. This applies only with the precondition
  /// ``EntityMapper/Precondition/fetchFirst``.
  public var sendsStrongETags: Bool
  /// Whether the server executes only the first of several requests with the same `Idempotency-Key` and answers the others with the
  /// same response.
  public var honoursIdempotencyKeys: Bool
  /// The media type of the body of a `PATCH` request.
  public var patchType: PatchType

  /// Creates traits. The defaults suit a server with unknown capabilities: ETags are used if the server sends them, and a request that
  /// the server could execute twice is not repeated.
  public init(
    sendsStrongETags: Bool = false, honoursIdempotencyKeys: Bool = false, patchType: PatchType = .mergePatch
  ) {
    self.sendsStrongETags = sendsStrongETags
    self.honoursIdempotencyKeys = honoursIdempotencyKeys
    self.patchType = patchType
  }
}

/// A guarantee for the records of an entity. Whether it holds depends on the traits of the server and on the mapper.
public enum RemoteGuarantee: String, Sendable, Hashable, CaseIterable {
  /// A change never overwrites another client's change that has not been fetched yet. Without this guarantee, a change
  /// can overwrite changes that other clients have made since the last `GET` of the record.
  case seesEveryEdit
  /// If the response to the creation of a record is lost, the client finds out automatically whether the record was
  /// created. Without this guarantee, the change stays ``RemoteChange/State/uncertain``.
  case settlesNewRecords
  /// A refresh of the whole list also deletes local records that have been deleted on the server.
  case seesDeletions
}

extension EntityMapper {
  var guarantees: Set<RemoteGuarantee> {
    var found: Set<RemoteGuarantee> = []
    if traits.sendsStrongETags, precondition == .fetchFirst { found.insert(.seesEveryEdit) }
    if traits.honoursIdempotencyKeys || ids == .client { found.insert(.settlesNewRecords) }
    if missing == .delete { found.insert(.seesDeletions) }
    return found
  }
}
