public import Foundation

/// How to find the next page of a list that a server sends in pages.
public struct RemotePagination: Sendable {
  enum Strategy: Sendable {
    case none
    case linkHeader
    case page(name: String, size: String?, count: Int, first: Int)
    case offset(name: String, limit: String, count: Int)
    case cursor(@Sendable (HTTPResponse) throws -> URL?)
  }

  let strategy: Strategy

  /// The server sends the whole list as one page.
  public static let none = RemotePagination(strategy: .none)

  /// The response links to the next page in its `Link` header, with the relation `next` (RFC 8288). A page without such
  /// a link is the last page.
  ///
  /// A relative URL is resolved against the URL of the response. A link with a different context (`anchor`) is ignored.
  /// A link to an origin other than the request's is refused with `invalidResponse`, because following it would send
  /// the token to that origin.
  public static let linkHeader = RemotePagination(strategy: .linkHeader)

  /// Numbered pages. A page with fewer than `count` elements is the last page.
  ///
  /// - Parameters:
  ///   - name: the query item that holds the page number.
  ///   - size: the query item that holds the number of elements in a page, or `nil` if the server does not accept it.
  ///   - count: the number of elements in a full page, at least 1. It must not exceed the server's limit.
  ///   - first: the number of the first page.
  public static func page(_ name: String = "page", size: String? = "per_page", of count: Int = 100, first: Int = 1)
    -> RemotePagination
  { RemotePagination(strategy: .page(name: name, size: size, count: max(1, count), first: first)) }

  /// Pages identified by an offset, the number of elements before the page. A page with fewer than `count` elements is
  /// the last page.
  ///
  /// - Parameters:
  ///   - name: the query item that holds the offset. An offset of 0 is not sent.
  ///   - limit: the query item that holds the number of elements in a page.
  ///   - count: the number of elements in a full page, at least 1. It must not exceed the server's limit.
  public static func offset(_ name: String = "offset", limit: String = "limit", of count: Int = 100) -> RemotePagination
  {
    RemotePagination(strategy: .offset(name: name, limit: limit, count: max(1, count)))
  }

  /// Asks a closure for the URL of the next page. The closure gets the response with the current page. It returns the
  /// URL, or `nil` after the last page.
  ///
  /// A URL without a scheme is resolved against the URL of the response. A URL with an origin other than the request's
  /// is refused with `invalidResponse`, as with ``linkHeader``. Errors that the closure throws are rethrown.
  public static func cursor(_ next: @Sendable @escaping (HTTPResponse) throws -> URL?) -> RemotePagination {
    RemotePagination(strategy: .cursor(next))
  }

  /// Returns the URL of the first page: the given URL with the query items that the pagination needs.
  func first(_ url: URL) -> URL {
    switch strategy {
    case .none, .linkHeader, .cursor: url
    case .page(let name, let size, let count, let first):
      url.settingQuery([(name, String(first))] + (size.map { [($0, String(count))] } ?? []))
    case .offset(let name, let limit, let count): url.settingQuery([(name, nil), (limit, String(count))])
    }
  }

  /// Returns the URL of the next page, or `nil` after the last page.
  ///
  /// The returned URL may be the URL of an earlier page, because a server's links can form a cycle. The caller must
  /// detect cycles, or it would load pages forever.
  ///
  /// - Parameters:
  ///   - url: the URL that the current page was requested from.
  ///   - response: the response with the current page.
  ///   - elements: the number of elements in the response.
  ///   - total: the number of elements in all responses so far, including this one.
  /// - Throws: ``RemoteError`` with the code `invalidResponse` if a link is not an HTTP URL or has a different origin;
  ///   any error that the closure passed to ``cursor(_:)`` throws.
  func next(after url: URL, response: HTTPResponse, count elements: Int, received total: Int) throws -> URL? {
    switch strategy {
    case .none: return nil
    case .linkHeader:
      guard let link = Self.nextLink(response) else { return nil }
      guard let next = URL(string: link.target, relativeTo: response.url)?.absoluteURL else {
        throw Self.refusal("the link to the next page is not a valid URL", url)
      }
      return try sameOrigin(next, as: url)
    case .page(let name, _, let count, let first):
      guard elements >= count else { return nil }
      let (number, isBeyond) = (url.queryValue(name).flatMap { Int($0) } ?? first).addingReportingOverflow(1)
      return isBeyond ? nil : url.settingQuery([(name, String(number))])
    case .offset(let name, _, let count):
      return elements >= count ? url.settingQuery([(name, total == 0 ? nil : String(total))]) : nil
    case .cursor(let next):
      guard let found = try next(response) else { return nil }
      let absolute =
        found.scheme == nil
        ? URL(string: found.relativeString, relativeTo: response.url)?.absoluteURL : found.absoluteURL
      guard let absolute else {
        throw Self.refusal("the URL of the next page is not an http or https URL", url)
      }
      return try sameOrigin(absolute, as: url)
    }
  }

  /// Whether the `Link` header of a response names a next page, even if that page has a different origin.
  static func hasNext(_ response: HTTPResponse) -> Bool { nextLink(response) != nil }

  private static func nextLink(_ response: HTTPResponse) -> HTTPLink? {
    HTTPLink.links(in: response.headers).first { $0.relations.contains("next") && !$0.hasAnchor }
  }

  private func sameOrigin(_ next: URL, as url: URL) throws -> URL {
    guard let origin = HTTPOrigin(next) else {
      throw Self.refusal("the URL of the next page is not an http or https URL", url)
    }
    guard origin == HTTPOrigin(url) else {
      throw Self.refusal(
        "the URL of the next page has a different origin, which must not receive the token; the server must "
          + "use the same scheme, host and port for all pages", url)
    }
    return next
  }

  private static func refusal(_ reason: String, _ url: URL) -> RemoteError {
    RemoteError(.invalidResponse, reason, url: url)
  }
}

extension URL {
  /// Returns the URL with the given query items. An item that the URL already has is replaced in place, and any other
  /// item is appended. A `nil` value removes the item. The rest of the query is not changed.
  func settingQuery(_ items: [(name: String, value: String?)]) -> URL {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    var query = (parts.percentEncodedQuery ?? "").split(separator: "&", omittingEmptySubsequences: true).map(
      String.init)
    for item in items {
      let place = query.firstIndex { Self.name(of: $0) == item.name } ?? query.count
      query.removeAll { Self.name(of: $0) == item.name }
      if let value = item.value {
        query.insert("\(item.name.urlEncoded)=\(value.urlEncoded)", at: min(place, query.count))
      }
    }
    parts.percentEncodedQuery = query.isEmpty ? nil : query.joined(separator: "&")
    return parts.url ?? self
  }

  /// Returns the value of the first query item with the given name.
  func queryValue(_ name: String) -> String? {
    guard let query = URLComponents(url: self, resolvingAgainstBaseURL: true)?.percentEncodedQuery else { return nil }
    guard let item = query.split(separator: "&").first(where: { Self.name(of: String($0)) == name }) else { return nil }
    return item.firstIndex(of: "=").map { Self.decoded(String(item[item.index(after: $0)...])) }
  }

  private static func name(of item: String) -> String { decoded(String(item.prefix { $0 != "=" })) }

  /// Decodes form-encoded text (WHATWG URL, section 5.1), in which a plus sign represents a space.
  private static func decoded(_ text: String) -> String {
    let spaced = text.replacingOccurrences(of: "+", with: " ")
    return spaced.removingPercentEncoding ?? spaced
  }
}

extension String {
  /// The text with every byte percent-encoded, except unreserved characters (RFC 3986, section 2.3), for use as a value
  /// in a query. An unencoded plus sign or ampersand would be read as query syntax.
  var urlEncoded: String {
    utf8.map { byte -> String in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: return String(UnicodeScalar(byte))
      default: return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
