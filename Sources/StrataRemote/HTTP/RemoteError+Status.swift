internal import Foundation

extension RemoteError {
  /// Creates the error for a response that is not retried any more. Returns `nil` for the statuses 200 to 299 and for
  /// 304.
  init?(refusing response: HTTPResponse, to request: HTTPRequest, retry: RemoteRetry, now: Date) {
    let (code, reason): (Code, String)
    switch response.status {
    case 200...299, 304: return nil
    case 300...399:
      (code, reason) = (.redirected, "the server redirects to where no request follows; the right URL is needed")
    case 401: (code, reason) = (.unauthorized, "the server asks who it is; a valid authentication is needed")
    case 403: (code, reason) = (.forbidden, "the server forbids it; the account needs the right to do it")
    case 404, 410: (code, reason) = (.notFound, "there is no such resource; the URL of one that exists is needed")
    case 409, 412:
      (code, reason) = (.conflict, "the record has changed at the server; the change must be made to its present state")
    // The server did not process the request, so the same request may succeed later (RFC 9110, section 15.5.9; RFC
    // 8470, section 5.2).
    case 408, 425:
      (code, reason) = (.unavailable, "the server did not wait for the request; " + Self.later(response, retry, now))
    case 429: (code, reason) = (.unavailable, "the server gets too many requests; " + Self.later(response, retry, now))
    case 400...499: (code, reason) = (.refused, "the server refuses the request; one that it accepts is needed")
    case 500...599: (code, reason) = (.unavailable, "the server failed; " + Self.later(response, retry, now))
    default: (code, reason) = (.invalidResponse, "the status is none of a final answer; one of 200 to 599 is needed")
    }
    self.init(code, reason, method: request.method, url: request.url, status: response.status)
    body = response.body.isEmpty ? nil : response.body.prefix(64 << 10)
    retryAfter = RemoteRetry.retryAfter(response.headers, now: now)
  }

  private static func later(_ response: HTTPResponse, _ retry: RemoteRetry, _ now: Date) -> String {
    guard let wait = RemoteRetry.retryAfter(response.headers, now: now) else { return "try again later" }
    let cap = max(.zero, retry.maximumDelay)
    let beyond = wait > cap ? ", which is more than the \(cap.components.seconds) s that are waited at most" : ""
    return "it asks to wait \(wait.components.seconds) s\(beyond); try again after that"
  }
}
