public import Foundation

/// How the pages of a list follow each other.
public struct RemotePagination: Sendable {
  enum Kind: Sendable {
    case none
    case linkHeader
    case page(name: String, size: String?, count: Int, first: Int)
    case offset(name: String, limit: String, count: Int)
    case cursor(@Sendable (HTTPResponse) throws -> URL?)
  }

  let kind: Kind

  /// The list is one answer.
  public static let none = RemotePagination(kind: .none)

  /// The answer names the next page in `Link` with the relation `next` (RFC 8288); one without such a link is the last.
  ///
  /// A relative URL is one relative to the answer's. A link of another context (`anchor`) is not the list's, and is ignored. One to another
  /// origin than the request's is refused with `invalidResponse`, because the request would carry the token there.
  public static let linkHeader = RemotePagination(kind: .linkHeader)

  /// Pages with numbers. A page with fewer than `count` elements is the last.
  ///
  /// - Parameters:
  ///   - name: the name of the query item with the number.
  ///   - size: the name of the one with the number of elements; `nil` where the server does not take it.
  ///   - count: how many elements a whole page has, at least 1; the server must not have a lower limit of its own.
  ///   - first: the number of the first page.
  public static func page(_ name: String = "page", size: String? = "per_page", of count: Int = 100, first: Int = 1)
    -> RemotePagination
  { RemotePagination(kind: .page(name: name, size: size, count: max(1, count), first: first)) }

  /// Pages by the number of elements before them. A page with fewer than `count` elements is the last.
  ///
  /// - Parameters:
  ///   - name: the name of the query item with the number of elements before; 0 is not sent.
  ///   - limit: the name of the one with the number of elements.
  ///   - count: how many elements a whole page has, at least 1; the server must not have a lower limit of its own.
  public static func offset(_ name: String = "offset", limit: String = "limit", of count: Int = 100) -> RemotePagination
  {
    RemotePagination(kind: .offset(name: name, limit: limit, count: max(1, count)))
  }

  /// The next page's URL as a closure reads it from the answer; `nil` after the last page.
  ///
  /// A URL without a scheme is relative to the answer's. One to another origin than the request's is refused with `invalidResponse`, as
  /// with ``linkHeader``. What the closure throws goes on to the caller.
  public static func cursor(_ next: @Sendable @escaping (HTTPResponse) throws -> URL?) -> RemotePagination {
    RemotePagination(kind: .cursor(next))
  }

  /// The URL of the first page: its query stays, but for the items of the pagination, which are put in or replaced.
  func first(_ url: URL) -> URL {
    switch kind {
    case .none, .linkHeader, .cursor: url
    case .page(let name, let size, let count, let first):
      url.settingQuery([(name, String(first))] + (size.map { [($0, String(count))] } ?? []))
    case .offset(let name, let limit, let count): url.settingQuery([(name, nil), (limit, String(count))])
    }
  }

  /// The URL of the page after another; `nil` where that was the last.
  ///
  /// It may be one of a page that was fetched before: a server can lead in a cycle, which is the caller's to detect.
  ///
  /// - Parameters:
  ///   - url: what was asked for.
  ///   - response: the answer to it.
  ///   - elements: how many elements the answer had.
  ///   - total: how many all answers had together.
  /// - Throws: ``RemoteError`` with the code `invalidResponse` for a link that is no URL of HTTP, or one to another origin; what the closure of
  ///   ``cursor(_:)`` throws.
  func next(after url: URL, response: HTTPResponse, count elements: Int, received total: Int) throws -> URL? {
    switch kind {
    case .none: return nil
    case .linkHeader:
      guard let link = Self.nextLink(response) else { return nil }
      guard let next = URL(string: link.target, relativeTo: response.url)?.absoluteURL else {
        throw Self.refusal("the link to the next page is no URL; a URL is needed", url)
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
        throw Self.refusal("the URL of the next page is no URL of HTTP; an absolute or relative one is needed", url)
      }
      return try sameOrigin(absolute, as: url)
    }
  }

  /// Whether an answer names a next page in `Link`, wherever that is.
  static func hasNext(_ response: HTTPResponse) -> Bool { nextLink(response) != nil }

  private static func nextLink(_ response: HTTPResponse) -> HTTPLink? {
    HTTPLink.links(in: response.headers).first { $0.relations.contains("next") && !$0.hasAnchor }
  }

  private func sameOrigin(_ next: URL, as url: URL) throws -> URL {
    guard let origin = HTTPOrigin(next) else {
      throw Self.refusal("the URL of the next page is no URL of HTTP; an absolute or relative one is needed", url)
    }
    guard origin == HTTPOrigin(url) else {
      throw Self.refusal(
        "the next page is at another origin, which must not get the token; scheme, host and port must be the same", url)
    }
    return next
  }

  private static func refusal(_ reason: String, _ url: URL) -> RemoteError {
    RemoteError(.invalidResponse, reason, url: url)
  }
}

extension URL {
  /// The same URL with query items put in the place of those of the same name, or at the end; `nil` removes. The rest of the query stays
  /// as it is written.
  func settingQuery(_ items: [(name: String, value: String?)]) -> URL {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    var query = (parts.percentEncodedQuery ?? "").split(separator: "&", omittingEmptySubsequences: true).map(
      String.init)
    for item in items {
      let place = query.firstIndex { Self.name(of: $0) == item.name } ?? query.count
      query.removeAll { Self.name(of: $0) == item.name }
      if let value = item.value {
        query.insert("\(Self.encoded(item.name))=\(Self.encoded(value))", at: min(place, query.count))
      }
    }
    parts.percentEncodedQuery = query.isEmpty ? nil : query.joined(separator: "&")
    return parts.url ?? self
  }

  /// The value of the first query item of a name.
  func queryValue(_ name: String) -> String? {
    guard let query = URLComponents(url: self, resolvingAgainstBaseURL: true)?.percentEncodedQuery else { return nil }
    guard let item = query.split(separator: "&").first(where: { Self.name(of: String($0)) == name }) else { return nil }
    return item.firstIndex(of: "=").map { Self.decoded(String(item[item.index(after: $0)...])) }
  }

  private static func name(of item: String) -> String { decoded(String(item.prefix { $0 != "=" })) }

  /// As forms write it (WHATWG URL, section 5.1), where a plus is a space.
  private static func decoded(_ text: String) -> String {
    let spaced = text.replacingOccurrences(of: "+", with: " ")
    return spaced.removingPercentEncoding ?? spaced
  }

  /// Only what is unreserved stays (RFC 3986, section 2.3): a plus or an ampersand in a value would be read as something else.
  private static func encoded(_ text: String) -> String {
    text.utf8.map { byte -> String in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: return String(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }.joined()
  }
}
