internal import Foundation
internal import StrataCore

/// Sends requests with the configured headers and authorization. It retries them if that can help, and sends equal
/// requests once.
final class HTTPClient: Sendable {
  private let transport: any HTTPTransport
  private let retry: RemoteRetry
  private let authentication: RemoteAuthentication?
  private let headers: HTTPHeaders
  private let sizeLimit: Int
  private let timeout: Duration
  private let clock: RemoteClock
  private let state = Mutex(State())

  private struct State {
    var shared: [HTTPRequestKey: SharedTask<HTTPResponse>] = [:]
    var running = 0
  }

  /// - Parameters:
  ///   - headers: fields for every request. A request's own fields replace them.
  ///   - sizeLimit: the maximum number of bytes of an answer's content.
  ///   - timeout: the timeout of each attempt.
  init(
    transport: any HTTPTransport, retry: RemoteRetry = .init(), authentication: RemoteAuthentication? = nil,
    headers: HTTPHeaders = [:], sizeLimit: Int, timeout: Duration, clock: RemoteClock = .system
  ) {
    (self.transport, self.retry, self.authentication) = (transport, retry, authentication)
    (self.headers, self.sizeLimit, self.timeout, self.clock) = (headers, sizeLimit, timeout, clock)
  }

  /// The number of requests that are in flight or wait for their next attempt, including those that no caller waits for
  /// any more.
  var inFlight: Int { state.withLock { $0.running } }

  /// The number of requests that new callers can join.
  var shared: Int { state.withLock { $0.shared.count } }

  /// Sends a request and returns its answer if the status is 200 to 299, or 304.
  ///
  /// - Throws: the errors of ``answer(to:scope:coalesces:varyingBy:)``, and ``RemoteError`` for every other status:
  ///   `redirected` (3xx), `unauthorized` (401), `forbidden` (403), `notFound` (404, 410), `conflict` (409, 412),
  ///   `refused` (another 4xx), `unavailable` (408, 425, 429, 5xx), `invalidResponse` (everything else).
  func send(
    _ request: HTTPRequest, scope: String = "", coalesces: Bool = false, varyingBy: [String] = []
  ) async throws -> HTTPResponse {
    let response = try await answer(to: request, scope: scope, coalesces: coalesces, varyingBy: varyingBy)
    if let error = RemoteError(refusing: response, to: request, retry: retry, now: clock.now()) { throw error }
    return response
  }

  /// Sends a request and returns its last answer, whatever its status, for callers that need the headers and the
  /// content of a refusal. Only a 401 after a renewal is an error.
  ///
  /// It is retried as ``RemoteRetry`` describes. With `coalesces`, a GET without content is sent once for all
  /// concurrent callers with the same scope, URL, `Accept`, fields named in `varyingBy`, conditions (RFC 9110, section
  /// 13.1) and ranges: an answer to a condition or a range is valid only for the same condition or range. The request
  /// is cancelled when the last waiting caller is cancelled.
  ///
  /// - Parameters:
  ///   - scope: requests are joined only within one scope, such as an account, so that no caller gets another account's
  ///     answer.
  ///   - varyingBy: names of fields that make requests different.
  ///   - isRepeatable: whether it may be sent twice; decided as ``RemoteRetry`` describes unless given.
  /// - Throws: ``RemoteError`` with the codes of ``HTTPTransport/send(_:sizeLimit:timeout:)``, with `unauthorized` if
  ///   the authentication fails or a renewed token is rejected too; `CancellationError`. Any other error of a transport
  ///   is the cause of `notConnected`.
  func answer(
    to request: HTTPRequest, scope: String = "", coalesces: Bool = false, varyingBy: [String] = [],
    isRepeatable: Bool? = nil
  ) async throws -> HTTPResponse {
    let complete = completed(request)
    let isRepeatable = isRepeatable ?? RemoteRetry.isRepeatable(request)
    guard coalesces, complete.method == "GET", complete.body == nil else {
      return try await counted(complete, isRepeatable)
    }
    try Task.checkCancellation()
    let key = HTTPRequestKey(complete, scope: scope, varyingBy: varyingBy)
    let new = SharedTask<HTTPResponse>(isCancelledWithTheLast: true)
    let (task, place, isNew) = state.withLock { state -> (SharedTask<HTTPResponse>, Int?, Bool) in
      if let found = state.shared[key], let place = found.reserve() { return (found, place, false) }
      state.shared[key] = new
      return (new, new.reserve(), true)
    }
    guard let place else { throw CancellationError() }
    if isNew {
      task.start {
        // Removed before the answer is returned: a later caller must get a newer answer.
        defer { self.state.withLock { if $0.shared[key] === new { $0.shared[key] = nil } } }
        return try await self.counted(complete, isRepeatable)
      }
    }
    return try await task.value(at: place)
  }

  private func completed(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    let own = request.headers
    for field in headers.fields where own[field.name] == nil { request.headers.add(field.name, field.value) }
    if request.headers["User-Agent"] == nil { request.headers["User-Agent"] = "Strata" }
    return request
  }

  private func counted(_ request: HTTPRequest, _ isRepeatable: Bool) async throws -> HTTPResponse {
    state.withLock { $0.running += 1 }
    defer { state.withLock { $0.running -= 1 } }
    do { return try await attempts(request, isRepeatable) } catch let error as RemoteError {
      throw error.located(method: request.method, url: request.url)
    }
  }

  private func attempts(_ request: HTTPRequest, _ isRepeatable: Bool) async throws -> HTTPResponse {
    var attempt = 1
    var renewed: String?
    var wasRenewed = false
    while true {
      try Task.checkCancellation()
      var authorized = request
      let credential: BearerToken.Credential?
      if let token = renewed {
        authorized.headers["Authorization"] = "Bearer \(token)"
        (credential, renewed) = (nil, nil)
      } else {
        credential = try await authentication?.authorize(&authorized)
      }
      var response: HTTPResponse?
      do {
        let answer = try await carried(authorized)
        if answer.status == 401 {
          guard !wasRenewed else {
            throw RemoteError(
              .unauthorized, "the server rejects the renewed token too; a valid one is needed", status: 401)
          }
          guard let credential, let token = try await authentication?.renew(credential) else { return answer }
          (renewed, wasRenewed) = (token, true)
          continue
        }
        // A 429 means that the server has not processed the request (RFC 6585, section 4).
        guard isRepeatable || answer.status == 429, RemoteRetry.isTransient(answer.status) else { return answer }
        response = answer
        guard let delay = delay(after: attempt, response: answer) else { return answer }
        try await clock.sleep(delay)
      } catch let error as RemoteError {
        guard response == nil, isRepeatable, RemoteRetry.isTransient(error.code),
          let delay = delay(after: attempt, response: nil)
        else { throw error }
        try await clock.sleep(delay)
      }
      attempt += 1
    }
  }

  /// Sends a request once.
  ///
  /// - Throws: ``RemoteError``; `CancellationError` only if this task is cancelled.
  private func carried(_ request: HTTPRequest) async throws -> HTTPResponse {
    do { return try await transport.send(request, sizeLimit: sizeLimit, timeout: timeout) } catch let error
      as RemoteError
    {
      throw error
    } catch {
      // If the task is cancelled, any error of a custom transport or of `URLSession` becomes `CancellationError`.
      try Task.checkCancellation()
      throw RemoteError(.notConnected, "the request could not be sent", underlying: error)
    }
  }

  private func delay(after attempt: Int, response: HTTPResponse?) -> Duration? {
    retry.delay(afterAttempt: attempt, response: response, now: clock.now(), random: clock.random())
  }
}
