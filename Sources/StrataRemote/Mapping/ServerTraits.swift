/// The abilities of a server, declared for each entity. They decide whether a change with an unknown outcome is repeated, and which
/// guarantees hold (``RemoteStore/guarantees``).
public struct ServerTraits: Sendable, Hashable {
  /// The media type of the body of a `PATCH`. The body is a merge patch in both cases (RFC 7396).
  public enum PatchType: String, Sendable, Hashable, CaseIterable {
    /// `application/merge-patch+json`.
    case mergePatch = "application/merge-patch+json"
    /// `application/json`, for servers that take no other.
    case json = "application/json"
  }

  /// Whether each answer with one record has a strong `ETag`. If the server breaks this promise, changes of the record are refused.
  public var sendsStrongETags: Bool
  /// Whether the server executes requests with the same `Idempotency-Key` once, and repeats its answer.
  public var honoursIdempotencyKeys: Bool
  /// The media type of the body of a `PATCH`.
  public var patchType: PatchType

  /// Creates traits; by default those of a server with unknown abilities. Validators are then used unchanged, and a request that
  /// could be executed twice is not repeated.
  public init(
    sendsStrongETags: Bool = false, honoursIdempotencyKeys: Bool = false, patchType: PatchType = .mergePatch
  ) {
    self.sendsStrongETags = sendsStrongETags
    self.honoursIdempotencyKeys = honoursIdempotencyKeys
    self.patchType = patchType
  }
}

/// A guarantee for the records of an entity. It follows from the traits of the server and the mapper.
public enum RemoteGuarantee: String, Sendable, Hashable, CaseIterable {
  /// A change never overwrites a change of another client that was not fetched. Without this guarantee, it overwrites changes
  /// between the last `GET` and the request.
  case seesEveryEdit
  /// A lost answer to a new record is resolved automatically. Without this guarantee, the change waits as ``RemoteChange/State/uncertain``.
  case settlesNewRecords
  /// A refresh of the whole list deletes local records that were deleted at the server.
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
