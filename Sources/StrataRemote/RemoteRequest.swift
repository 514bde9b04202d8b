/// A request for records of an entity, with its cache policy and headers.
public struct RemoteRequest: Sendable {
  /// How a request uses the stored copy of an earlier response.
  public enum Policy: String, Sendable, Hashable, CaseIterable {
    /// No request is sent while the stored copy is fresh. Otherwise the request is conditional on the copy's
    /// validators.
    case useCache
    /// A request is always sent, and is conditional on the copy's validators.
    case revalidate
    /// A request is always sent without conditions.
    case reload
  }

  enum Target: Sendable {
    case list(path: [String]?, query: [(String, String)])
    case one(String)
  }

  let target: Target
  /// How the request uses the stored copy of an earlier response.
  public var policy = Policy.useCache
  /// Headers of this request, which take precedence over the headers of the configuration.
  public var headers: HTTPHeaders = [:]

  /// The list of all records. Records that are missing from the list are deleted locally if ``EntityMapper/missing`` is
  /// ``EntityMapper/Missing/delete``.
  public static let all = RemoteRequest(target: .list(path: nil, query: []))

  /// The record with an id, for example at `/tasks/7`. If the server no longer has the record (404, 410), the local
  /// record is deleted if ``EntityMapper/missing`` is ``EntityMapper/Missing/delete``.
  public static func one(_ id: String) -> RemoteRequest { RemoteRequest(target: .one(id)) }

  /// The list with a query, for example `/tasks?done=false`. The list contains only some of the records, so no row is
  /// deleted.
  public static func matching(_ query: KeyValuePairs<String, String>) -> RemoteRequest {
    RemoteRequest(target: .list(path: nil, query: query.map { ($0.key, $0.value) }))
  }

  /// A list at a given path relative to the base URL, for example `.at("projects", "p1", "tasks")`. No row is deleted.
  public static func at(_ path: String..., query: KeyValuePairs<String, String> = [:]) -> RemoteRequest {
    RemoteRequest(target: .list(path: path, query: query.map { ($0.key, $0.value) }))
  }

  /// Returns the same request with the given policy.
  public func with(_ policy: Policy) -> RemoteRequest {
    var request = self
    request.policy = policy
    return request
  }

  /// Whether the response contains all records of the entity. This is the case for the entity's own list without a
  /// query.
  var isWhole: Bool {
    if case .list(nil, let query) = target { query.isEmpty } else { false }
  }
}
