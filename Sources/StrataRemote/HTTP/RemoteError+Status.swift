internal import Foundation

extension RemoteError {
  /// Creates the error for the final response to a request, after any retries. Returns `nil` for the statuses 200 to
  /// 299 and for 304.
  init?(refusing response: HTTPResponse, to request: HTTPRequest, retry: RemoteRetry, now: Date) {
    let (code, reason): (Code, String)
    switch response.status {
    case 200...299, 304: return nil
    case 300...399:
      (code, reason) = (.redirected, "the server responded with a redirect that cannot be followed; use the final URL")
    case 401: (code, reason) = (.unauthorized, "the server requires authentication; provide valid credentials")
    case 403:
      (code, reason) = (.forbidden, "the server forbids the request; use an account with the required permission")
    case 404, 410: (code, reason) = (.notFound, "the resource does not exist; check the URL")
    case 409, 412:
      (code, reason) = (
        .conflict, "the record has changed on the server; fetch the current record, and apply the change to it"
      )
    // The server did not process the request, so the same request may succeed later (RFC 9110, section 15.5.9; RFC
    // 8470, section 5.2).
    case 408, 425:
      (code, reason) = (.unavailable, "the server did not process the request; " + Self.later(response, retry, now))
    case 429:
      (code, reason) = (.unavailable, "the server received too many requests; " + Self.later(response, retry, now))
    case 400...499: (code, reason) = (.refused, "the server rejected the request; correct the request")
    case 500...599:
      (code, reason) = (.unavailable, "the server failed to process the request; " + Self.later(response, retry, now))
    default: (code, reason) = (.invalidResponse, "the status of the response is not between 200 and 599")
    }
    self.init(code, reason, method: request.method, url: request.url, status: response.status)
    body = response.body.isEmpty ? nil : response.body.prefix(64 << 10)
    retryAfter = RemoteRetry.retryAfter(response.headers, now: now)
  }

  private static func later(_ response: HTTPResponse, _ retry: RemoteRetry, _ now: Date) -> String {
    guard let wait = RemoteRetry.retryAfter(response.headers, now: now) else { return "try again later" }
    let cap = max(.zero, retry.maximumDelay)
    let beyond = wait > cap ? " (more than the maximum delay of \(cap.components.seconds) s)" : ""
    return "try again after \(wait.components.seconds) s, as requested by the server\(beyond)"
  }
}
