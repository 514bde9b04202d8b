public import Foundation
public import StrataCore

/// The server's configuration for a ``RemoteStore``.
///
///     let configuration = RemoteConfiguration(
///       baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Task.self, keys: ["desc": "description"]))
///
/// The value is not checked. ``RemoteStore`` checks it when it is created, and reports every mistake.
public struct RemoteConfiguration: Sendable {
  /// The URL that all paths are relative to, with or without its own path, and with or without a trailing slash.
  public var baseURL: URL
  /// One mapper for each entity.
  public var mappers: [EntityMapper]
  /// Headers of every request. Set a token with ``authentication`` instead.
  public var headers: HTTPHeaders = [:]
  /// Returns the authentication of an account. Called once for each account.
  public var authentication: (@Sendable (_ account: String) -> RemoteAuthentication)?
  /// Reads the body of an answer, for servers that wrap records in another way, or use another format than JSON. An
  /// error that it throws becomes the cause of `invalidBody`. If it is `nil`, bodies are JSON and `JSONReader` reads
  /// them.
  public var decoder: (@Sendable (_ body: Data) throws -> ArchiveValue)?
  /// How often a request is attempted, and how long the waits in between are.
  public var retry = RemoteRetry()
  /// The maximum number of bytes of an answer's content.
  public var sizeLimit = 64 << 20
  /// The timeout of one attempt.
  public var timeout: Duration = .seconds(60)
  /// The maximum number of pages of one list.
  public var pageLimit = 10_000
  /// The maximum number of concurrent requests of ``RemoteStore/send()``. If it is more than one, the order of changes
  /// is kept only between records that refer to each other.
  public var requestsAtOnce = 1
  /// The transport that sends the requests.
  public var transport: any HTTPTransport
  /// The source of time and randomness.
  public var clock = RemoteClock.system

  /// Creates a configuration. Every other setting is a property with a default.
  ///
  /// - Parameters:
  ///   - baseURL: the URL that all paths are relative to.
  ///   - mappers: one mapper for each entity.
  ///   - headers: headers of every request.
  ///   - authentication: returns the authentication of an account. Called once for each account.
  ///   - transport: the transport that sends the requests.
  public init(
    baseURL: URL, mappers: EntityMapper..., headers: HTTPHeaders = [:],
    authentication: (@Sendable (_ account: String) -> RemoteAuthentication)? = nil,
    transport: any HTTPTransport = URLSessionTransport()
  ) {
    self.baseURL = baseURL
    self.mappers = mappers
    self.headers = headers
    self.authentication = authentication
    self.transport = transport
  }

  /// Returns the URL of a path. Its components are encoded, so a component is never split.
  func url(_ components: [String], query: [(String, String)] = []) -> URL {
    var base = baseURL.absoluteString
    // The base's query and fragment are removed, because they cannot precede a path.
    if let end = base.firstIndex(where: { $0 == "?" || $0 == "#" }) { base = String(base[..<end]) }
    while base.hasSuffix("/") { base.removeLast() }
    for component in components { base += "/" + Self.component(component) }
    if !query.isEmpty {
      base += "?" + query.map { "\($0.0.urlEncoded)=\($0.1.urlEncoded)" }.joined(separator: "&")
    }
    // Every added part is encoded, so the URL is valid.
    return URL(string: base) ?? baseURL
  }

  /// Encodes a text as one component of a path. `.` and `..` would refer to other folders, so their dots are encoded.
  private static func component(_ text: String) -> String {
    text == "." || text == ".." ? text.replacing(".", with: "%2E") : text.urlEncoded
  }
}
