internal import Foundation

/// The query of a URL, whose items can be changed without re-encoding the others.
struct URLQueryText {
  private let url: URL
  private var parts: [String]

  init(_ url: URL) {
    self.url = url
    let query = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQuery ?? ""
    parts = query.split(separator: "&").map(String.init)
  }

  /// The names and values, decoded from form encoding, which uses a plus for a space (WHATWG URL, section 5.1).
  var items: [(name: String, value: String)] {
    parts.map { part in
      let name = part.prefix { $0 != "=" }
      return (Self.decoded(name), Self.decoded(part.dropFirst(name.count + 1)))
    }
  }

  /// Returns the URL with query items for the given numbers. A number replaces the items with its name or, if there are none, is
  /// appended.
  func url(with numbers: [(name: String, value: Int)]) -> URL {
    var parts = parts
    for (name, value) in numbers {
      let place = parts.firstIndex { Self.decoded($0.prefix { $0 != "=" }) == name } ?? parts.count
      parts.removeAll { Self.decoded($0.prefix { $0 != "=" }) == name }
      parts.insert("\(name)=\(value)", at: min(place, parts.count))
    }
    var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
    components?.percentEncodedQuery = parts.joined(separator: "&")
    return components?.url ?? url
  }

  private static func decoded(_ text: Substring) -> String {
    let spaced = text.replacing("+", with: " ")
    return spaced.removingPercentEncoding ?? String(spaced)
  }
}

extension URL {
  /// Returns the URL with a path that consists of the unencoded components, and without a query.
  func replacingPath(_ components: [String]) -> URL {
    var parts = URLComponents()
    parts.scheme = scheme
    parts.host = host(percentEncoded: true)
    parts.port = port
    parts.percentEncodedPath = ResourceRoute.root + components.map { "/" + Self.encoded($0) }.joined()
    return parts.url ?? self
  }

  /// Percent-encodes all characters except unreserved ones (RFC 3986, section 2.3). If a component consists only of dots, they are
  /// encoded too, because it could refer to a parent folder.
  private static func encoded(_ component: String) -> String {
    let isDots = component.allSatisfy { $0 == "." }
    return component.utf8.map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F, 0x7E: return String(UnicodeScalar(byte))
      case 0x2E where !isDots: return "."
      default: return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
