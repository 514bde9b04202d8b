/// The abilities of a server, which the app declares for each entity. The traits determine whether a change with an
/// unknown outcome is sent again, and which guarantees hold (``RemoteStore/guarantees``).
public struct ServerTraits: Sendable, Hashable {
  /// The media type of the body of a `PATCH`. With either type, the body is a merge patch (RFC 7396).
  public enum PatchType: String, Sendable, Hashable, CaseIterable {
    /// `application/merge-patch+json`, the registered type of merge patches.
    case mergePatch = "application/merge-patch+json"
    /// `application/json`, for servers that accept no other type.
    case json = "application/json"
  }

  /// Whether every response with a single record has a strong `ETag`. If a response lacks the `ETag`, changes of the
  /// record are refused.
  public var sendsStrongETags: Bool
  /// Whether the server executes requests with the same `Idempotency-Key` only once, and repeats the first response.
  public var honoursIdempotencyKeys: Bool
  /// The media type of the body of a `PATCH`.
  public var patchType: PatchType

  /// Creates traits. The defaults are for a server whose abilities are unknown. With the defaults, validators are used
  /// as received, and a request that the server could execute twice is not repeated.
  public init(
    sendsStrongETags: Bool = false, honoursIdempotencyKeys: Bool = false, patchType: PatchType = .mergePatch
  ) {
    self.sendsStrongETags = sendsStrongETags
    self.honoursIdempotencyKeys = honoursIdempotencyKeys
    self.patchType = patchType
  }
}

/// A guarantee for the records of an entity, which follows from the traits of the server and from the mapper.
public enum RemoteGuarantee: String, Sendable, Hashable, CaseIterable {
  /// A change never overwrites an unfetched change by another client. Without this guarantee, a change can overwrite
  /// changes that were made between the last `GET` and the request.
  case seesEveryEdit
  /// If the response to a new record is lost, the change is resolved automatically. Without this guarantee, the change
  /// stays ``RemoteChange/State/uncertain``.
  case settlesNewRecords
  /// A refresh of the whole list deletes local records that were deleted on the server.
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
