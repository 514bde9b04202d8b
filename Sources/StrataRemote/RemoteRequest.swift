/// Which records of an entity are asked for.
public struct RemoteRequest: Sendable {
  /// How what is kept of an earlier answer counts.
  public enum Policy: String, Sendable, Hashable, CaseIterable {
    /// The server is not asked while the copy is fresh, and else with the validators of the copy.
    case useCache
    /// The server is asked in any case, with the validators of the copy.
    case revalidate
    /// The server is asked in any case, for all of it.
    case reload
  }

  enum Target: Sendable {
    case list(path: [String]?, query: [(String, String)])
    case one(String)
  }

  let target: Target
  /// How what is kept of an earlier answer counts.
  public var policy = Policy.useCache
  /// Headers of this request, which win over those of the configuration.
  public var headers: HTTPHeaders = [:]

  /// The list of all records. What it no longer has is deleted here, by ``EntityMapper/missing``.
  public static let all = RemoteRequest(target: .list(path: nil, query: []))

  /// The record with an id: `/tasks/7`. Where the server no longer has it (404, 410), it is deleted here, by ``EntityMapper/missing``.
  public static func one(_ id: String) -> RemoteRequest { RemoteRequest(target: .one(id)) }

  /// The list with a query: `/tasks?done=false`. It is a part of all records, so nothing is deleted here.
  public static func matching(_ query: KeyValuePairs<String, String>) -> RemoteRequest {
    RemoteRequest(target: .list(path: nil, query: query.map { ($0.key, $0.value) }))
  }

  /// A list at a path of its own, relative to the base URL: `.at("projects", "p1", "tasks")`. Nothing is deleted here.
  public static func at(_ path: String..., query: KeyValuePairs<String, String> = [:]) -> RemoteRequest {
    RemoteRequest(target: .list(path: path, query: query.map { ($0.key, $0.value) }))
  }

  /// The same records, asked for in another way.
  public func with(_ policy: Policy) -> RemoteRequest {
    var request = self
    request.policy = policy
    return request
  }

  /// Whether the answer has all records of the entity.
  var isWhole: Bool {
    if case .list(nil, let query) = target { query.isEmpty } else { false }
  }
}
