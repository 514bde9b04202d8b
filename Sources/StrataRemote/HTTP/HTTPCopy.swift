internal import Foundation

/// What is remembered of a complete answer so that a later request can be left out or made conditional (RFC 9111).
///
/// It is the memory of a private cache, kept for each account and URL by its owner. It holds the fields that decide, not the content.
///
/// Freshness is what the server says and never guessed: there is no heuristic freshness (section 4.2.2), so an answer without
/// `max-age` and `Expires` is stale at once. `stale-while-revalidate`, `stale-if-error` and `immutable` change nothing.
struct HTTPCopy: Sendable, Hashable {
  /// The entity tag as it was sent, weak or strong; `nil` where there was none.
  let etag: String?
  /// The text of `Last-Modified` as it was sent; `nil` where there was none.
  let lastModified: String?
  /// `Last-Modified` where nothing can have been changed at the server later in the same second: `Date` has to be at least one second
  /// after it (RFC 9110, section 8.8.2.2).
  var strongLastModified: String? {
    guard let lastModified,
      let date = fields["date"]?.first.flatMap({ HTTPDate(Self.trimmed($0), now: receivedAt)?.date }),
      let modified = HTTPDate(lastModified, now: receivedAt)?.date, date.timeIntervalSince(modified) >= 1
    else { return nil }
    return lastModified
  }
  /// When the answer was there, or the one that confirmed it.
  let receivedAt: Date
  /// The seconds that the answer was old when it came: the greater of the apparent age and of `Age` with the delay of the answer
  /// (section 4.2.3).
  let ageAtReceipt: Double
  /// The seconds that it is fresh for, from its origin on: `max-age`, else `Expires` minus `Date` (section 4.2.1), 0 with `no-cache`;
  /// `nil` where the server says nothing.
  let freshFor: Double?
  /// Whether it must not be used once it is stale: `must-revalidate`, `no-cache`, or `Pragma: no-cache` without `Cache-Control`
  /// (section 5.4).
  let mustRevalidate: Bool
  /// The values that the request had for the fields of `Vary`, by their names in lower case; `nil` for one that it did not have.
  ///
  /// `Authorization`, `Proxy-Authorization` and `Cookie` are left out, although servers name them: they are secrets that do not
  /// belong into a database, and copies are kept for each account anyway.
  let vary: [String: String?]
  /// Where the answer came from, where that is another place than was asked: by a redirection, which may lead elsewhere tomorrow.
  let redirectedTo: String?
  /// The fields that the rest was read from, by their names in lower case, a line each: a 304 replaces some of them.
  private let fields: [String: [String]]
  private let requestedAt: Date

  /// Remembers an answer.
  ///
  /// `nil` where the answer is none with status 200 to a GET, where one of the two says `no-store` (section 5.2), and with
  /// `Vary: *`, which nothing matches (section 4.1).
  init?(request: HTTPRequest, response: HTTPResponse, requestedAt: Date, receivedAt: Date) {
    guard request.method == "GET", response.status == 200, !CacheControl(request.headers).isNoStore,
      !CacheControl(response.headers).isNoStore
    else { return nil }
    let names = response.headers.values(of: "Vary").flatMap { $0.split(separator: ",") }
      .map { HTTPCopy.trimmed(String($0)).lowercased() }.filter { !$0.isEmpty }
    if names.contains("*") { return nil }
    var vary: [String: String?] = [:]
    for name in names where !Self.secret.contains(name) {
      vary.updateValue(request.headers[name].map(Self.trimmed), forKey: name)
    }
    var fields: [String: [String]] = [:]
    for name in Self.remembered {
      let values = response.headers.values(of: name)
      if !values.isEmpty { fields[name] = values }
    }
    self.init(
      fields: fields, vary: vary, redirectedTo: Self.place(of: response, to: request), requestedAt: requestedAt,
      receivedAt: receivedAt)
  }

  private init(
    fields: [String: [String]], vary: [String: String?], redirectedTo: String?, requestedAt: Date, receivedAt: Date
  ) {
    (self.fields, self.vary, self.requestedAt, self.receivedAt) = (fields, vary, requestedAt, receivedAt)
    self.redirectedTo = redirectedTo
    let headers = HTTPHeaders(fields.flatMap { field in field.value.map { HTTPHeaders.Field(field.key, $0) } })
    etag = fields["etag"]?.first.map(Self.trimmed)
    lastModified = fields["last-modified"]?.first.map(Self.trimmed)
    let control = CacheControl(headers)
    let isPragma =
      fields["cache-control"] == nil
      && (fields["pragma"] ?? []).contains {
        $0.lowercased().split(separator: ",").contains { Self.trimmed(String($0)) == "no-cache" }
      }
    let isNoCache = control.isNoCache || control.isNoStore || isPragma
    mustRevalidate = isNoCache || control.isMustRevalidate
    let date = headers["date"].flatMap { HTTPDate(Self.trimmed($0), now: receivedAt)?.date }
    let apparent = date.map { max(0, receivedAt.timeIntervalSince($0)) } ?? 0
    // Of several ages the first one counts, and one that is no number does not (section 5.1).
    let first = headers["age"].flatMap { $0.split(separator: ",").first }.map { Self.trimmed(String($0)) }
    let delay = max(0, receivedAt.timeIntervalSince(requestedAt))
    ageAtReceipt = max(apparent, Double(first.flatMap(HTTPFieldParser.seconds) ?? 0) + delay)
    if isNoCache {
      freshFor = 0
    } else if let maxAge = control.maxAge {
      freshFor = Double(maxAge)
    } else if let expires = headers["expires"] {
      // A date that cannot be read, `0` above all, is one of the past (section 5.3).
      let end = HTTPDate(Self.trimmed(expires), now: receivedAt)?.date
      freshFor = end.map { max(0, $0.timeIntervalSince(date ?? receivedAt)) } ?? 0
    } else {
      freshFor = nil
    }
  }

  /// Whether a request can be left out at a time (section 4.2).
  ///
  /// Never with `no-cache`, never where the server gave no time, and never before the answer was received: a clock that went
  /// backwards must not make a copy fresh for ever.
  func isFresh(at time: Date) -> Bool {
    let resident = time.timeIntervalSince(receivedAt)
    guard let freshFor, resident >= 0 else { return false }
    return freshFor > ageAtReceipt + resident
  }

  /// Whether a request can be left out at a time, by what it says itself (RFC 9111, section 5.2.1): `no-cache`, `max-age`, `min-fresh`.
  ///
  /// Never where a redirection led to the answer: that one would have to be fresh as well.
  func isFresh(at time: Date, for request: HTTPRequest) -> Bool {
    guard isFresh(at: time), redirectedTo == nil, let freshFor else { return false }
    let control = CacheControl(request.headers)
    let isPragma = control.directives.isEmpty && request.headers["Pragma"]?.lowercased().contains("no-cache") ?? false
    guard !control.isNoCache, !isPragma else { return false }
    let age = ageAtReceipt + time.timeIntervalSince(receivedAt)
    if let greatest = control.maxAge, age > Double(greatest) { return false }
    return freshFor - age >= Double(control.minFresh)
  }

  /// Whether a 304 is about this answer: it names no other entity tag, by weak comparison, and comes from the same place. Of another one
  /// nothing may be updated (section 4.3.4).
  func isConfirmed(by notModified: HTTPResponse, to request: HTTPRequest) -> Bool {
    let tag = notModified.headers.values(of: "ETag").first.map(Self.trimmed)
    let isSame = tag == nil || etag == nil || tag.map(Self.opaque) == etag.map(Self.opaque)
    return isSame && Self.place(of: notModified, to: request) == redirectedTo
  }

  /// The URL of an answer; `nil` where it is the one of the request.
  private static func place(of response: HTTPResponse, to request: HTTPRequest) -> String? {
    func text(_ url: URL) -> String {
      let text = url.absoluteString.prefix { $0 != "#" }
      return url.path.isEmpty ? text + "/" : String(text)
    }
    return text(response.url) == text(request.url) ? nil : text(response.url)
  }

  /// Whether the answer is one to this request too, by the fields that `Vary` named (section 4.1). Method and URL are the owner's to
  /// compare.
  func matches(_ request: HTTPRequest) -> Bool {
    vary.allSatisfy { name, value in request.headers[name].map(Self.trimmed) == value }
  }

  /// What makes a request conditional (RFC 9110, section 13.1): `If-None-Match` with the entity tag, else `If-Modified-Since` with
  /// the date as the server wrote it; empty where there is neither.
  ///
  /// Only one: a server must ignore the date where there is a tag (section 13.1.3), and the date, which is exact to a second only, would
  /// decide alone at a server that knows no tags, though it sent one.
  var conditions: HTTPHeaders {
    if let etag { return ["If-None-Match": etag] }
    if let lastModified { return ["If-Modified-Since": lastModified] }
    return [:]
  }

  /// Whether the entity tag is a strong one, which `If-Match` needs (RFC 9110, section 8.8.1).
  var isStrong: Bool { etag.map { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count >= 2 } ?? false }

  /// The copy after a 304, with the fields that it brought in place of the old ones, and the age reckoned anew (section 4.3.4).
  ///
  /// `ETag` and `Last-Modified` are replaced only where the tag is the same by weak comparison (RFC 9110, section 8.8.3.2), or where
  /// neither has one: a tag of other content would confirm the old content from then on. `Vary` stays, as the values of the request do. With `no-store` the copy is never fresh again.
  func updated(by notModified: HTTPResponse, requestedAt: Date, receivedAt: Date) -> HTTPCopy {
    var fields = fields
    let newTag = notModified.headers.values(of: "etag").first.map(Self.trimmed)
    let isSame = newTag.map(Self.opaque) == etag.map(Self.opaque) || newTag == nil
    // An age and a date are of the answer that they came with.
    fields["age"] = nil
    fields["date"] = nil
    for name in Self.remembered where isSame || (name != "etag" && name != "last-modified") {
      let values = notModified.headers.values(of: name)
      if !values.isEmpty { fields[name] = values }
    }
    return HTTPCopy(
      fields: fields, vary: vary, redirectedTo: redirectedTo, requestedAt: requestedAt, receivedAt: receivedAt)
  }

  private static let remembered = ["etag", "last-modified", "date", "age", "expires", "cache-control", "pragma"]
  private static let secret: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  private static func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }

  private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespaces) }
}

extension HTTPCopy: Codable {
  private enum Key: String, CodingKey { case fields, vary, redirectedTo, requestedAt, receivedAt }

  /// Throws `DecodingError` where a part is missing or of another type.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    self.init(
      fields: try values.decode([String: [String]].self, forKey: .fields),
      vary: try values.decode([String: String?].self, forKey: .vary),
      redirectedTo: try values.decodeIfPresent(String.self, forKey: .redirectedTo),
      requestedAt: try values.decode(Date.self, forKey: .requestedAt),
      receivedAt: try values.decode(Date.self, forKey: .receivedAt))
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(fields, forKey: .fields)
    try values.encode(vary, forKey: .vary)
    try values.encodeIfPresent(redirectedTo, forKey: .redirectedTo)
    try values.encode(requestedAt, forKey: .requestedAt)
    try values.encode(receivedAt, forKey: .receivedAt)
  }
}
