public import Foundation

/// A request to a server.
public struct HTTPRequest: Sendable, Hashable {
  /// The method, in capitals: `GET`, `POST`, `PATCH`, `PUT`, `DELETE`.
  public var method: String
  /// Where it goes.
  public var url: URL
  /// Its header.
  public var headers: HTTPHeaders
  /// `nil` for a request without content.
  public var body: Data?

  /// A request; a GET without content unless said.
  public init(_ method: String = "GET", _ url: URL, headers: HTTPHeaders = [:], body: Data? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// What a server answered, whole.
public struct HTTPResponse: Sendable, Hashable {
  /// The status code, 100 to 599.
  public var status: Int
  /// Its header.
  public var headers: HTTPHeaders
  /// The content, decoded from its transfer coding and content coding.
  public var body: Data
  /// Where it came from, after redirects.
  public var url: URL

  /// An answer, for transports and tests.
  public init(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
    self.status = status
    self.headers = headers
    self.body = body
    self.url = url
  }
}

/// What carries requests to a server: ``URLSessionTransport``, or whatever a test needs.
public protocol HTTPTransport: Sendable {
  /// Sends one request, once, and returns the whole answer, whatever its status.
  ///
  /// It keeps no cache, and asks nobody who it is. Cancellation of the task ends the request at once.
  ///
  /// - Parameters:
  ///   - request: the request, with all its headers.
  ///   - sizeLimit: the greatest number of bytes that the decoded content may have; what is beyond is not read.
  ///   - timeout: how long the whole may take.
  /// - Throws: ``RemoteError`` with the codes `notConnected`, `timedOut`, `cutOff`, `tooLarge`, `invalidResponse`, `redirected`;
  ///   `CancellationError`.
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse
}
