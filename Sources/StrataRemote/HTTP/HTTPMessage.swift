public import Foundation

/// A request to a server.
public struct HTTPRequest: Sendable, Hashable {
  /// The method, in capitals: `GET`, `POST`, `PATCH`, `PUT`, `DELETE`.
  public var method: String
  /// The target URL.
  public var url: URL
  /// The header fields.
  public var headers: HTTPHeaders
  /// The content; `nil` for a request without content.
  public var body: Data?

  /// Creates a request; by default a GET without content.
  public init(_ method: String = "GET", _ url: URL, headers: HTTPHeaders = [:], body: Data? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// Returns the request with further fields. Its own fields replace those of the same name.
  func adding(_ others: HTTPHeaders) -> HTTPRequest {
    var request = self
    for field in others.fields where headers[field.name] == nil { request.headers.add(field.name, field.value) }
    return request
  }
}

/// A complete answer of a server.
public struct HTTPResponse: Sendable, Hashable {
  /// The status code, 100 to 599.
  public var status: Int
  /// The header fields.
  public var headers: HTTPHeaders
  /// The content after decoding its transfer coding and content coding.
  public var body: Data
  /// The URL that sent it, after redirects.
  public var url: URL

  /// Creates an answer, for transports and tests.
  public init(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
    self.status = status
    self.headers = headers
    self.body = body
    self.url = url
  }
}

/// Sends requests to a server: ``URLSessionTransport``, or a transport for tests.
public protocol HTTPTransport: Sendable {
  /// Sends one request, once, and returns the complete answer, whatever its status.
  ///
  /// It keeps no cache, and never asks for credentials. Cancellation of the task ends the request at once.
  ///
  /// - Parameters:
  ///   - request: the request, with all its headers.
  ///   - sizeLimit: the maximum number of bytes of the decoded content. Bytes beyond it are not read.
  ///   - timeout: the timeout of the whole exchange.
  /// - Throws: ``RemoteError`` with the codes `notConnected`, `timedOut`, `cutOff`, `tooLarge`, `invalidResponse`, `redirected`;
  ///   `CancellationError`.
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse
}
