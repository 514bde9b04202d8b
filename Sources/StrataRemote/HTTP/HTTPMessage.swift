public import Foundation

/// A request to a server.
public struct HTTPRequest: Sendable, Hashable {
  /// The method in uppercase: `GET`, `POST`, `PATCH`, `PUT` or `DELETE`.
  public var method: String
  /// The target URL.
  public var url: URL
  /// The header fields.
  public var headers: HTTPHeaders
  /// The content, or `nil` for a request without content.
  public var body: Data?

  /// Creates a request, by default a GET without content.
  public init(_ method: String = "GET", _ url: URL, headers: HTTPHeaders = [:], body: Data? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// Returns the request with additional header fields. A field of the request takes precedence over an additional
  /// field of the same name.
  func adding(_ others: HTTPHeaders) -> HTTPRequest {
    var request = self
    for field in others.fields where headers[field.name] == nil { request.headers.add(field.name, field.value) }
    return request
  }
}

/// A complete response from a server.
public struct HTTPResponse: Sendable, Hashable {
  /// The status code, 100 to 599.
  public var status: Int
  /// The header fields.
  public var headers: HTTPHeaders
  /// The content, after its transfer coding and content coding have been decoded.
  public var body: Data
  /// The URL from which the response was received, after any redirections.
  public var url: URL

  /// Creates a response, for transports and tests.
  public init(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
    self.status = status
    self.headers = headers
    self.body = body
    self.url = url
  }
}

/// Sends HTTP requests to a server. The library provides ``URLSessionTransport``. Tests can provide a different
/// transport.
public protocol HTTPTransport: Sendable {
  /// Sends a request once and returns the complete response, whatever its status.
  ///
  /// The transport keeps no cache and never asks for credentials. Cancelling the task ends the request at once.
  ///
  /// - Parameters:
  ///   - request: the request, with all its headers.
  ///   - sizeLimit: the maximum number of bytes of the decoded content. If the response has more bytes, the transport
  ///     ends the exchange and throws `tooLarge`. URLSession can receive more bytes until it has closed the connection.
  ///   - timeout: the timeout of the whole exchange.
  /// - Throws: ``RemoteError`` with the code `notConnected`, `timedOut`, `cutOff`, `tooLarge`, `invalidResponse` or
  ///   `redirected`; `CancellationError`.
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse
}
