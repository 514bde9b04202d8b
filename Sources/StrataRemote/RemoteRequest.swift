/// A request for records of an entity.
public struct RemoteRequest: Sendable {
  /// How a stored copy of an earlier answer is used.
  public enum Policy: String, Sendable, Hashable, CaseIterable {
    /// No request is sent while the cached copy is fresh. Otherwise the request is conditional on the copy's
    /// validators.
    case useCache
    /// A request is always sent, conditional on the copy's validators.
    case revalidate
    /// A request is always sent, without conditions.
    case reload
  }

  enum Target: Sendable {
    case list(path: [String]?, query: [(String, String)])
    case one(String)
  }

  let target: Target
  /// How a stored copy of an earlier answer is used.
  public var policy = Policy.useCache
  /// Headers of this request. They replace those of the configuration.
  public var headers: HTTPHeaders = [:]

  /// The list of all records. Records missing from it are deleted locally, as ``EntityMapper/missing`` declares.
  public static let all = RemoteRequest(target: .list(path: nil, query: []))

  /// The record with an id: `/tasks/7`. If the server no longer has it (404, 410), it is deleted locally, as
  /// ``EntityMapper/missing`` declares.
  public static func one(_ id: String) -> RemoteRequest { RemoteRequest(target: .one(id)) }

  /// The list with a query: `/tasks?done=false`. It is a part of all records, so no row is deleted.
  public static func matching(_ query: KeyValuePairs<String, String>) -> RemoteRequest {
    RemoteRequest(target: .list(path: nil, query: query.map { ($0.key, $0.value) }))
  }

  /// A list at its own path, relative to the base URL: `.at("projects", "p1", "tasks")`. No row is deleted.
  public static func at(_ path: String..., query: KeyValuePairs<String, String> = [:]) -> RemoteRequest {
    RemoteRequest(target: .list(path: path, query: query.map { ($0.key, $0.value) }))
  }

  /// The same request with another policy.
  public func with(_ policy: Policy) -> RemoteRequest {
    var request = self
    request.policy = policy
    return request
  }

  /// Whether the answer contains all records of the entity: the entity's own list, without a query.
  var isWhole: Bool {
    if case .list(nil, let query) = target { query.isEmpty } else { false }
  }
}
