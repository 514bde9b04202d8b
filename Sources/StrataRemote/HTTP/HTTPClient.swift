internal import Foundation

/// Sends requests with the configured headers and authentication, and retries a request if another attempt may succeed.
final class HTTPClient: Sendable {
  private let transport: any HTTPTransport
  private let retry: RemoteRetry
  private let authentication: RemoteAuthentication?
  private let headers: HTTPHeaders
  private let sizeLimit: Int
  private let timeout: Duration
  private let clock: RemoteClock

  /// - Parameters:
  ///   - headers: header fields that are added to every request. If the request itself has a field of the same name,
  ///     that field is kept instead.
  ///   - sizeLimit: the maximum size of a response's content, in bytes.
  ///   - timeout: the timeout of each attempt.
  init(
    transport: any HTTPTransport, retry: RemoteRetry = .init(), authentication: RemoteAuthentication? = nil,
    headers: HTTPHeaders = [:], sizeLimit: Int, timeout: Duration, clock: RemoteClock = .system
  ) {
    (self.transport, self.retry, self.authentication) = (transport, retry, authentication)
    (self.headers, self.sizeLimit, self.timeout, self.clock) = (headers, sizeLimit, timeout, clock)
  }

  /// Sends a request and returns the response if its status is 200 to 299, or 304.
  ///
  /// - Throws: the errors of ``answer(to:isRepeatable:)``, and ``RemoteError`` for every other status: `redirected`
  ///   (3xx), `unauthorized` (401), `forbidden` (403), `notFound` (404, 410), `conflict` (409, 412), `refused` (any
  ///   other 4xx), `unavailable` (408, 425, 429, 5xx), or `invalidResponse` (any other status).
  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let response = try await answer(to: request)
    if let error = RemoteError(refusing: response, to: request, retry: retry, now: clock.now()) { throw error }
    return response
  }

  /// Sends a request and returns the final response, whatever its status. The only exception is a 401 response to a
  /// renewed token, which is thrown as an error.
  ///
  /// Callers use this method to read the headers and the content of an error response. The request is retried as
  /// ``RemoteRetry`` describes.
  ///
  /// - Parameter isRepeatable: whether the request may be sent twice. If it is `nil`, ``RemoteRetry`` decides.
  /// - Throws: ``RemoteError`` with the codes of ``HTTPTransport/send(_:sizeLimit:timeout:)``, or with `unauthorized`
  ///   if the authentication fails or a renewed token is rejected too; `CancellationError`. Any other error of a
  ///   transport becomes the cause of `notConnected`.
  func answer(to request: HTTPRequest, isRepeatable: Bool? = nil) async throws -> HTTPResponse {
    var complete = request.adding(headers)
    if complete.headers["User-Agent"] == nil { complete.headers["User-Agent"] = "Strata" }
    do {
      return try await attempts(complete, isRepeatable ?? RemoteRetry.isRepeatable(request))
    } catch let error as RemoteError {
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
        let answer = try await perform(authorized)
        if answer.status == 401 {
          guard !wasRenewed else {
            throw RemoteError(
              .unauthorized, "the server rejected the renewed token; provide a valid token", status: 401)
          }
          guard let credential, let token = try await authentication?.renew(credential) else { return answer }
          (renewed, wasRenewed) = (token, true)
          continue
        }
        // After a 429, even a request that must not be sent twice is retried, because the server has not processed it
        // (RFC 6585, section 4).
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

  /// Sends a request once, without retrying it.
  ///
  /// - Throws: ``RemoteError``; `CancellationError` only if this task is cancelled.
  private func perform(_ request: HTTPRequest) async throws -> HTTPResponse {
    do { return try await transport.send(request, sizeLimit: sizeLimit, timeout: timeout) } catch let error
      as RemoteError
    {
      throw error
    } catch {
      // A cancelled task throws `CancellationError`, whatever error the transport has thrown.
      try Task.checkCancellation()
      throw RemoteError(.notConnected, "the request could not be sent", underlying: error)
    }
  }

  private func delay(after attempt: Int, response: HTTPResponse?) -> Duration? {
    retry.delay(afterAttempt: attempt, response: response, now: clock.now(), random: clock.random())
  }
}
