public import Foundation
public import StrataCore

/// The configuration of a ``RemoteStore``: the server, the mappers and the limits.
///
///     let configuration = RemoteConfiguration(
///       baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Task.self, keys: ["desc": "description"]))
///
/// Creating a configuration does not check it. ``RemoteStore`` checks the configuration when the store is created, and
/// reports every mistake.
public struct RemoteConfiguration: Sendable {
  /// The URL that all paths are relative to. The URL may have a path and a trailing slash.
  public var baseURL: URL
  /// One mapper for each entity.
  public var mappers: [EntityMapper]
  /// Headers of every request. To send a token, use ``authentication`` instead.
  public var headers: HTTPHeaders = [:]
  /// Returns the authentication of an account. The closure is called once for each account.
  public var authentication: (@Sendable (_ account: String) -> RemoteAuthentication)?
  /// Reads the body of a response, for servers that wrap records in an unusual way or use a format other than JSON. An
  /// error that the closure throws becomes the cause of `invalidBody`. If the closure is `nil`, `JSONReader` reads the
  /// bodies as JSON.
  public var decoder: (@Sendable (_ body: Data) throws -> ArchiveValue)?
  /// The number of attempts for a request, and the delays between attempts.
  public var retry = RemoteRetry()
  /// The maximum size of a response's content, in bytes.
  public var sizeLimit = 64 << 20
  /// The timeout of one attempt.
  public var timeout: Duration = .seconds(60)
  /// The maximum number of pages that are fetched for one list.
  public var pageLimit = 10_000
  /// The maximum number of concurrent requests of ``RemoteStore/send()``. If the number is greater than one, the order
  /// of changes is kept only between records that refer to each other.
  public var requestsAtOnce = 1
  /// The transport that sends the requests.
  public var transport: any HTTPTransport
  /// The source of time and randomness.
  public var clock = RemoteClock.system

  /// Creates a configuration. All other settings are properties with default values.
  ///
  /// - Parameters:
  ///   - baseURL: the URL that all paths are relative to.
  ///   - mappers: one mapper for each entity.
  ///   - headers: headers of every request.
  ///   - authentication: returns the authentication of an account. The closure is called once for each account.
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

  /// Returns the URL of a path, given as its components. Each component is percent-encoded, including any slash in it.
  func url(_ components: [String], query: [(String, String)] = []) -> URL {
    var base = baseURL.absoluteString
    // The query and the fragment of the base URL are removed, because the path is appended to the text.
    if let end = base.firstIndex(where: { $0 == "?" || $0 == "#" }) { base = String(base[..<end]) }
    while base.hasSuffix("/") { base.removeLast() }
    for component in components { base += "/" + Self.component(component) }
    if !query.isEmpty {
      base += "?" + query.map { "\($0.0.urlEncoded)=\($0.1.urlEncoded)" }.joined(separator: "&")
    }
    // The URL is valid, because every added part is encoded.
    return URL(string: base) ?? baseURL
  }

  /// Encodes text as one path component. The components `.` and `..` would refer to other folders, so their dots are
  /// encoded.
  private static func component(_ text: String) -> String {
    text == "." || text == ".." ? text.replacing(".", with: "%2E") : text.urlEncoded
  }
}
