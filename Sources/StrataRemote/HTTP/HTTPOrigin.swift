internal import Foundation

/// Scheme, host and port of a URL: what a token is for (RFC 9110, section 4.3.1).
struct HTTPOrigin: Sendable, Hashable {
  let scheme: String
  let host: String
  let port: Int

  /// `nil` where the URL is not an absolute one of `http` or `https` with a host.
  init?(_ url: URL) {
    let absolute = url.absoluteURL
    guard let scheme = absolute.scheme?.lowercased(), let host = absolute.host(percentEncoded: true), !host.isEmpty
    else { return nil }
    switch scheme {
    case "http": port = absolute.port ?? 80
    case "https": port = absolute.port ?? 443
    default: return nil
    }
    (self.scheme, self.host) = (scheme, host.lowercased())
  }
}
