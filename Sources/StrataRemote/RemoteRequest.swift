/// A request for records of an entity, with its cache policy and headers.
public struct RemoteRequest: Sendable {
  /// Whether a request is sent if an earlier response is still fresh, and whether the request is conditional.
  public enum Policy: String, Sendable, Hashable, CaseIterable {
    /// If an earlier response is still fresh, no request is sent. Otherwise a conditional request is sent, which the
    /// server can answer with 304 (Not Modified) if nothing has changed.
    case useCache
    /// A conditional request is always sent. The server can answer it with 304 (Not Modified) if nothing has changed.
    case revalidate
    /// An unconditional request is always sent, so the server sends the complete response.
    case reload
  }

  enum Target: Sendable {
    case list(path: [String]?, query: [(String, String)])
    case one(String)
  }

  let target: Target
  /// Whether the request is sent if an earlier response is still fresh, and whether the request is conditional.
  public var policy = Policy.useCache
  /// Headers of this request, which take precedence over the headers of the configuration.
  public var headers: HTTPHeaders = [:]

  /// Requests the list of all records. A local record that is missing from the list is deleted if
  /// ``EntityMapper/missing`` is ``EntityMapper/Missing/delete``.
  public static let all = RemoteRequest(target: .list(path: nil, query: []))

  /// Requests the record with the given id, for example at `/tasks/7`. If the server no longer has the record (404,
  /// 410), the local record is deleted if ``EntityMapper/missing`` is ``EntityMapper/Missing/delete``.
  public static func one(_ id: String) -> RemoteRequest { RemoteRequest(target: .one(id)) }

  /// Requests the entity's list with a query, for example `/tasks?done=false`. Such a list contains only some of the
  /// records, so no missing records are deleted.
  public static func matching(_ query: KeyValuePairs<String, String>) -> RemoteRequest {
    RemoteRequest(target: .list(path: nil, query: query.map { ($0.key, $0.value) }))
  }

  /// Requests a list at a path relative to the base URL, for example `.at("projects", "p1", "tasks")`. Such a list may
  /// contain only some of the records, so no missing records are deleted.
  public static func at(_ path: String..., query: KeyValuePairs<String, String> = [:]) -> RemoteRequest {
    RemoteRequest(target: .list(path: path, query: query.map { ($0.key, $0.value) }))
  }

  /// Returns the same request with the given policy.
  public func with(_ policy: Policy) -> RemoteRequest {
    var request = self
    request.policy = policy
    return request
  }

  /// Whether the response should contain all records of the entity. This is true only for the entity's own list without
  /// a query.
  var isWhole: Bool {
    if case .list(nil, let query) = target { query.isEmpty } else { false }
  }
}
