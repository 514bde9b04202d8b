internal import Foundation

/// The scheme, host and port of a URL (RFC 9110, section 4.3.1). A token must be sent only to the origin for which it
/// was issued.
struct HTTPOrigin: Sendable, Hashable {
  let scheme: String
  let host: String
  let port: Int

  /// Creates the origin of a URL. Returns `nil` unless the URL is an absolute `http` or `https` URL with a host.
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
