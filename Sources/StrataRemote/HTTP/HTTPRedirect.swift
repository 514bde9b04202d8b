internal import Foundation

/// Where a redirection leads, by the rules of this package, which are narrower than those of RFC 9110, section 15.4.
enum HTTPRedirect {
  /// How many are followed for one request.
  static let limit = 5

  /// The request that follows an answer; `nil` where the answer is no redirection: another status than 301, 302, 303, 307 and 308, or no
  /// `Location`.
  ///
  /// GET and HEAD are followed within the same scheme, and from `http` to `https`. Every other method is followed only with 307 and 308 and within
  /// one origin, since it would have to change, or be sent to somebody who was not meant. Where scheme, host or port change, all
  /// headers are dropped but `Accept`, `Accept-Language` and `User-Agent`, which say nothing about who asks.
  ///
  /// - Throws: ``RemoteError`` with the code `redirected` where it must not be followed.
  static func next(after request: HTTPRequest, response: HTTPResponse) throws -> HTTPRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status),
      let location = response.headers.values(of: "Location").first
    else { return nil }
    func refusal(_ reason: String) -> RemoteError {
      RemoteError(.redirected, reason, method: request.method, url: request.url, status: response.status)
    }
    guard let target = URL(string: location.trimmingCharacters(in: .whitespaces), relativeTo: request.url)?.absoluteURL,
      let new = HTTPOrigin(target), let old = HTTPOrigin(request.url)
    else { throw refusal("the server redirects to something that is no URL of HTTP; a URL of http or https is needed") }
    var next = request
    next.url = target
    guard request.method == "GET" || request.method == "HEAD" else {
      guard response.status == 307 || response.status == 308 else {
        throw refusal("the server redirects a \(request.method) so that its method changes; only 307 and 308 keep it")
      }
      guard new == old else {
        throw refusal(
          "the server redirects a \(request.method) to another origin; it is sent again only within the same one")
      }
      return next
    }
    guard new.scheme == old.scheme || (old.scheme == "http" && new.scheme == "https") else {
      throw refusal("the server redirects from https to http; only the same scheme or https is followed")
    }
    if new != old {
      let kept = ["accept", "accept-language", "user-agent"]
      next.headers = HTTPHeaders(
        request.headers.fields.filter { field in kept.contains { HTTPHeaders.isSame($0, field.name) } })
    }
    return next
  }
}
