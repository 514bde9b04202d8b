/// What a server can do for the records of an entity. It decides how a change is sent whose outcome is unknown, and what is certain: see
/// ``RemoteStore/guarantees``.
public struct ServerTraits: Sendable, Hashable {
  /// How the body of a `PATCH` is called. Its content is a merge patch (RFC 7396).
  public enum PatchType: String, Sendable, Hashable, CaseIterable {
    /// `application/merge-patch+json`.
    case mergePatch = "application/merge-patch+json"
    /// `application/json`, for servers that take no other.
    case json = "application/json"
  }

  /// Whether each answer with one record has a strong `ETag`. A record without one is then not changed: the change is refused.
  public var sendsStrongETags: Bool
  /// Whether a request with an `Idempotency-Key` that the server knows is answered as before, and done once.
  public var honoursIdempotencyKeys: Bool
  /// How the body of a `PATCH` is called.
  public var patchType: PatchType

  /// A server of which nothing is known, unless said: what answers have is used, and no request is repeated unseen.
  public init(
    sendsStrongETags: Bool = false, honoursIdempotencyKeys: Bool = false, patchType: PatchType = .mergePatch
  ) {
    self.sendsStrongETags = sendsStrongETags
    self.honoursIdempotencyKeys = honoursIdempotencyKeys
    self.patchType = patchType
  }
}

/// What is certain about the records of an entity, by what its server can do.
public enum RemoteGuarantee: String, Sendable, Hashable, CaseIterable {
  /// A change never overwrites what somebody else has changed and nobody here has seen. Without it, a change between the last look at the
  /// record and the request is overwritten.
  case seesEveryEdit
  /// A new record whose answer was lost is settled without the app. Without it, it waits as ``RemoteChange/State/uncertain``.
  case settlesNewRecords
  /// What is deleted at the server is deleted here by the next refresh of the whole list.
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
