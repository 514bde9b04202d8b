internal import StrataCore

#if canImport(FoundationNetworking)
  internal import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Sends requests through its own `URLSession`, which is closed when this object is released.
///
/// The session has no cache, no cookies and no stored credentials. ``send(_:sizeLimit:timeout:)`` describes which
/// redirections are followed.
public final class URLSessionTransport: HTTPTransport {
  private let delegate = SessionDelegate()
  let session: URLSession
  /// Whether the session has been invalidated. The lock is also held while a task is created, because creating a task
  /// in an invalidated session crashes the process.
  private let isInvalid = Mutex(false)

  /// - Parameter configuration: the session's configuration, for example with a proxy or a connection limit. The
  ///   configuration is copied. The copy gets no cache, no cookies and no credentials, and each request sets its own
  ///   timeout. Pass `nil` for the system's ephemeral configuration, which stores nothing on disk.
  public init(configuration: URLSessionConfiguration? = nil) {
    let copy = configuration.flatMap { $0.copy() as? URLSessionConfiguration } ?? URLSessionConfiguration.ephemeral
    copy.urlCache = nil
    copy.requestCachePolicy = .reloadIgnoringLocalCacheData
    copy.httpShouldSetCookies = false
    copy.httpCookieAcceptPolicy = .never
    copy.httpCookieStorage = nil
    copy.urlCredentialStorage = nil
    session = URLSession(configuration: copy, delegate: delegate, delegateQueue: SessionQueue())
  }

  deinit { invalidate() }

  /// Ends all running requests with the code `notConnected` and closes all connections. Every later request fails with
  /// the same code.
  public func invalidate() {
    let isFirst = isInvalid.withLock { isInvalid in
      defer { isInvalid = true }
      return !isInvalid
    }
    guard isFirst else { return }
    // The exchanges are ended with an error here, because the delegate may receive no callbacks after the session is
    // invalidated.
    delegate.failAll(Self.invalidated)
    delegate.worker.async { [session] in session.invalidateAndCancel() }
  }

  /// The number of tasks that have started but not ended.
  var inFlight: Int { delegate.count }

  /// Sends one request and follows its redirections.
  ///
  /// GET and HEAD requests follow at most 5 redirections, within the same scheme or from `http` to `https`. If the
  /// scheme, host or port changes, all headers of the request are dropped except `Accept`, `Accept-Language` and
  /// `User-Agent`. A request with any other method follows only 307 and 308, and only within the same origin. The
  /// timeout covers all redirections. A response that is shorter than its `Content-Length` is an error with the code
  /// `cutOff`. The length is not checked if the response has a `Content-Encoding`, because the length then applies to
  /// the encoded content, which is not visible here.
  ///
  /// - Throws: ``RemoteError`` with the code `notConnected` (also after ``invalidate()``), `timedOut`, `cutOff`,
  ///   `tooLarge`, `invalidResponse` or `redirected`; with the code `invalidConfiguration` if the URL is not an HTTP
  ///   URL with a host, or if a header or the method contains characters that RFC 9110, sections 5.5 and 5.6.2,
  ///   forbids; `CancellationError`.
  public func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    let end = ContinuousClock.now.advanced(by: min(timeout, Self.greatestTimeout))
    var next = request
    do {
      for _ in 0...HTTPRedirect.limit {
        let response = try await sendOnce(next, sizeLimit: sizeLimit, timeout: ContinuousClock.now.duration(to: end))
        guard let redirected = try HTTPRedirect.next(after: next, response: response) else { return response }
        next = redirected
      }
    } catch let error as RemoteError {
      throw error.located(method: next.method, url: next.url)
    }
    throw RemoteError(
      .redirected, "the server redirected the request more than \(HTTPRedirect.limit) times",
      method: request.method,
      url: request.url)
  }

  private func sendOnce(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    let prepared = try Self.prepared(request, timeout: timeout)
    let exchange = HTTPExchange(request, sizeLimit: sizeLimit, worker: delegate.worker)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        exchange.start(continuation, timeout: timeout) { try self.task(prepared, for: exchange) }
      }
    } onCancel: {
      exchange.finish(.failure(CancellationError()))
    }
  }

  private func task(_ request: URLRequest, for exchange: HTTPExchange) throws -> URLSessionDataTask {
    try isInvalid.withLock {
      if $0 { throw Self.invalidated }
      let task = session.dataTask(with: request)
      delegate.add(exchange, for: task)
      return task
    }
  }

  /// A year, which is longer than any useful timeout and does not overflow the clock.
  private static let greatestTimeout = Duration.seconds(365 * 86_400)

  private static let invalidated = RemoteError(.notConnected, "the transport was invalidated; create a new transport")

  private static func prepared(_ request: HTTPRequest, timeout: Duration) throws -> URLRequest {
    guard HTTPOrigin(request.url) != nil else {
      throw RemoteError(.invalidConfiguration, "the URL is not an HTTP URL; use an http or https URL with a host")
    }
    guard isToken(request.method) else {
      throw RemoteError(.invalidConfiguration, "the HTTP method is not valid; use only letters")
    }
    var prepared = URLRequest(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData)
    prepared.httpMethod = request.method
    prepared.httpBody = request.body
    prepared.httpShouldHandleCookies = false
    // `timeoutInterval` limits the time without new data. It must be longer than the timeout of the whole exchange,
    // which ``HTTPExchange`` enforces.
    prepared.timeoutInterval = max(60, min(Double(timeout.components.seconds) + 30, 1e6))
    for field in request.headers.fields {
      // Line breaks and other control characters are refused, because a line break in a value would start another
      // header or another request.
      guard isToken(field.name), field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw RemoteError(
          .invalidConfiguration,
          "a header is not valid; its name must be an HTTP token, and its value must not contain control characters")
      }
      prepared.addValue(field.value, forHTTPHeaderField: field.name)
    }
    return prepared
  }

  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(HTTPFieldParser.isTokenByte)
  }
}
