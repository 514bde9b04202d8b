public import Foundation
public import StrataCore

/// The configuration of a ``RemoteStore``: the server, one mapper for each entity, and limits for requests.
///
///     let configuration = RemoteConfiguration(
///       baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Task.self, keys: ["desc": "description"]))
///
/// The configuration is checked when a ``RemoteStore`` is created with it. All mistakes are then reported together.
public struct RemoteConfiguration: Sendable {
  /// The URL to which all paths are relative. It may have a path and a trailing slash.
  public var baseURL: URL
  /// One mapper for each entity.
  public var mappers: [EntityMapper]
  /// Headers that are added to every request. To send a token, use ``authentication`` instead.
  public var headers: HTTPHeaders = [:]
  /// Returns how the requests of an account are authenticated. The closure is called once for each account.
  public var authentication: (@Sendable (_ account: String) -> RemoteAuthentication)?
  /// Decodes response bodies, for a server that wraps records in an unusual way or uses a format other than JSON. If the closure throws
  /// an error, this error is the cause of the resulting `invalidBody` error. If the closure is `nil`, bodies are read as JSON.
  public var decoder: (@Sendable (_ body: Data) throws -> ArchiveValue)?
  /// The number of attempts for each request, and the delays between attempts.
  public var retry = RemoteRetry()
  /// The maximum size of a response's content, in bytes.
  public var sizeLimit = 64 << 20
  /// The timeout of one attempt to send a request and receive the response.
  public var timeout: Duration = .seconds(60)
  /// The maximum number of pages of one list. A refresh of a longer list fails with `tooLarge`. Without a limit, it would never end if
  /// the server kept linking to another page.
  public var pageLimit = 10_000
  /// The maximum number of requests that ``RemoteStore/send()`` runs at the same time. If it is greater than 1, changes may be sent out
  /// of order, except for changes to records that refer to each other.
  public var requestsAtOnce = 1
  /// The transport that sends the requests.
  public var transport: any HTTPTransport
  /// The source of the current time and of random numbers, which tests can replace.
  public var clock = RemoteClock.system

  /// Creates a configuration. All other settings are properties with default values.
  ///
  /// - Parameters:
  ///   - baseURL: the URL to which all paths are relative.
  ///   - mappers: one mapper for each entity.
  ///   - headers: headers that are added to every request.
  ///   - authentication: returns how the requests of an account are authenticated. The closure is called once for each
  ///     account.
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

  /// Returns the URL of a path, relative to the base URL. This method percent-encodes each path component, including any slashes in it.
  func url(_ components: [String], query: [(String, String)] = []) -> URL {
    var base = baseURL.absoluteString
    // The query and the fragment of the base URL are removed, because the path is appended to the end of `base`.
    if let end = base.firstIndex(where: { $0 == "?" || $0 == "#" }) { base = String(base[..<end]) }
    while base.hasSuffix("/") { base.removeLast() }
    for component in components { base += "/" + Self.component(component) }
    if !query.isEmpty {
      base += "?" + query.map { "\($0.0.urlEncoded)=\($0.1.urlEncoded)" }.joined(separator: "&")
    }
    // Every added part is encoded, so the text is always a valid URL, and the fallback is never used.
    return URL(string: base) ?? baseURL
  }

  /// Encodes text as one component of a path. The dots of `.` and `..` are encoded too. Otherwise a URL parser would treat them as the
  /// current and the parent folder.
  private static func component(_ text: String) -> String {
    text == "." || text == ".." ? text.replacing(".", with: "%2E") : text.urlEncoded
  }
}
