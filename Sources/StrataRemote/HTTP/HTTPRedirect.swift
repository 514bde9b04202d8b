internal import Foundation

/// The rules for following redirections. They are stricter than RFC 9110, section 15.4, so that a request never changes
/// its method or reaches an unintended server.
enum HTTPRedirect {
  /// The maximum number of redirections followed for one request.
  static let limit = 5

  /// Returns the request to send after a redirection. Returns `nil` if the response is not a redirection: its status is
  /// not 301, 302, 303, 307 or 308, or it has no `Location`.
  ///
  /// A GET or HEAD follows a redirection within the same scheme, or from `http` to `https`. A request with any other
  /// method follows only 307 and 308, and only within the same origin. Without these rules, the method could change, or
  /// the request could reach an unintended server. If the scheme, host or port changes, all headers are dropped except
  /// `Accept`, `Accept-Language` and `User-Agent`, which do not identify the sender.
  ///
  /// - Throws: ``RemoteError`` with the code `redirected` if the redirection must not be followed.
  static func next(after request: HTTPRequest, response: HTTPResponse) throws -> HTTPRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status),
      let location = response.headers.values(of: "Location").first
    else { return nil }
    func refusal(_ reason: String) -> RemoteError {
      RemoteError(.redirected, reason, method: request.method, url: request.url, status: response.status)
    }
    guard let target = URL(string: location.trimmingCharacters(in: .whitespaces), relativeTo: request.url)?.absoluteURL,
      let new = HTTPOrigin(target), let old = HTTPOrigin(request.url)
    else { throw refusal("the server redirects to an address that is not an http or https URL") }
    var next = request
    next.url = target
    guard request.method == "GET" || request.method == "HEAD" else {
      guard response.status == 307 || response.status == 308 else {
        throw refusal(
          "the redirect would change the method of a \(request.method) request; the server must use status 307 or 308 "
            + "instead")
      }
      guard new == old else {
        throw refusal(
          "the server redirects a \(request.method) request to a different origin, which is allowed only for GET and "
            + "HEAD")
      }
      return next
    }
    guard new.scheme == old.scheme || (old.scheme == "http" && new.scheme == "https") else {
      throw refusal(
        "the server redirects from https to http, which is not secure, so the redirect was not followed")
    }
    if new != old {
      let kept = ["accept", "accept-language", "user-agent"]
      next.headers = HTTPHeaders(
        request.headers.fields.filter { field in kept.contains { HTTPHeaders.isSame($0, field.name) } })
    }
    return next
  }
}
