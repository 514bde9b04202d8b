internal import Foundation

/// The stored header fields of a complete response. They decide whether a later request to the same URL can be omitted
/// or made conditional (RFC 9111).
///
/// Copies are kept in a private cache with one copy for each account and URL. A copy does not include the content of
/// the response.
///
/// Heuristic freshness (section 4.2.2) is not used, so a response with neither `max-age` nor `Expires` is stale
/// immediately. `stale-while-revalidate`, `stale-if-error` and `immutable` have no effect.
struct HTTPCopy: Sendable, Hashable {
  /// The entity tag as the server sent it, weak or strong; `nil` if the response has none.
  let etag: String?
  /// The text of `Last-Modified` as the server sent it; `nil` if the response has none.
  let lastModified: String?
  /// The text of `Last-Modified` if it is a strong validator, which identifies exactly one state of the record;
  /// otherwise `nil`. It is strong only if `Date` is at least one second later, because the record could otherwise have
  /// changed again within the same second (RFC 9110, section 8.8.2.2).
  var strongLastModified: String? {
    guard let lastModified,
      let date = fields["date"]?.first.flatMap({ HTTPDate(Self.trimmed($0), now: receivedAt)?.date }),
      let modified = HTTPDate(lastModified, now: receivedAt)?.date, date.timeIntervalSince(modified) >= 1
    else { return nil }
    return lastModified
  }
  /// The time at which the response, or the latest 304 that confirmed it, was received.
  let receivedAt: Date
  /// The age of the response at receipt, in seconds. This is the greater of its apparent age and the sum of `Age` and
  /// the response delay (section 4.2.3).
  let ageAtReceipt: Double
  /// The freshness lifetime in seconds, counted from the creation of the response on the origin server (section 4.2.1).
  /// The lifetime is `max-age`, otherwise `Expires` minus `Date`. It is 0 with `no-cache`, and `nil` if the server
  /// specifies no lifetime.
  let freshFor: Double?
  /// Whether a stale copy must not be used without asking the server. This is true if the response has
  /// `must-revalidate`, `no-cache`, or `Pragma: no-cache` without `Cache-Control` (section 5.4).
  let mustRevalidate: Bool
  /// The header fields of the request that `Vary` names, by lowercase name. The copy can be used only for requests with
  /// the same values. The value is `nil` for a field that the request did not have.
  ///
  /// `Authorization`, `Proxy-Authorization` and `Cookie` are omitted even if `Vary` names them. They are secrets that
  /// must not be stored in a database, and copies are kept separately for each account anyway.
  let vary: [String: String?]
  /// The URL from which the response came, if the request was redirected; otherwise `nil`. The copy is not valid for a
  /// response from another URL, because the redirection may later have a different target.
  let redirectedTo: String?
  /// The response header fields that the other properties are computed from, by lowercase name, with one value for each
  /// header line.
  private let fields: [String: [String]]
  private let requestedAt: Date

  /// Creates a copy of a response.
  ///
  /// Returns `nil` if the response must not be stored: its status is not 200, the method is not GET, the request or the
  /// response has `no-store` (section 5.2), or the response has `Vary: *`, which no request matches (section 4.1).
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
    // If `Age` has several values, the first one is used. A value that is not a number is ignored (section 5.1).
    let first = headers["age"].flatMap { $0.split(separator: ",").first }.map { Self.trimmed(String($0)) }
    let delay = max(0, receivedAt.timeIntervalSince(requestedAt))
    ageAtReceipt = max(apparent, Double(first.flatMap(HTTPFieldParser.seconds) ?? 0) + delay)
    if isNoCache {
      freshFor = 0
    } else if let maxAge = control.maxAge {
      freshFor = Double(maxAge)
    } else if let expires = headers["expires"] {
      // An invalid date in `Expires`, such as `0`, is treated as a date in the past (section 5.3).
      let end = HTTPDate(Self.trimmed(expires), now: receivedAt)?.date
      freshFor = end.map { max(0, $0.timeIntervalSince(date ?? receivedAt)) } ?? 0
    } else {
      freshFor = nil
    }
  }

  /// Whether the copy is fresh at the given time, in which case no request is needed (section 4.2).
  ///
  /// A copy is never fresh if it has `no-cache` or no freshness lifetime. It is not fresh at a time before its receipt
  /// either, because a clock that was set back could otherwise keep it fresh for a very long time.
  func isFresh(at time: Date) -> Bool {
    let resident = time.timeIntervalSince(receivedAt)
    guard let freshFor, resident >= 0 else { return false }
    return freshFor > ageAtReceipt + resident
  }

  /// Whether a request can be omitted at the given time, considering the request's own `no-cache`, `max-age` and
  /// `min-fresh` (RFC 9111, section 5.2.1).
  ///
  /// Always `false` if the response was redirected, because the redirection itself would also have to be fresh, and its
  /// response is not stored.
  func isFresh(at time: Date, for request: HTTPRequest) -> Bool {
    guard isFresh(at: time), redirectedTo == nil, let freshFor else { return false }
    let control = CacheControl(request.headers)
    let isPragma = control.directives.isEmpty && request.headers["Pragma"]?.lowercased().contains("no-cache") ?? false
    guard !control.isNoCache, !isPragma else { return false }
    let age = ageAtReceipt + time.timeIntervalSince(receivedAt)
    if let greatest = control.maxAge, age > Double(greatest) { return false }
    return freshFor - age >= Double(control.minFresh)
  }

  /// Whether a 304 response confirms that this copy is still valid. A 304 for a different response must not update the
  /// copy (section 4.3.4). Therefore the 304 must come from the same URL. If the 304 and the copy both have entity
  /// tags, the tags must be equal by weak comparison.
  func isConfirmed(by notModified: HTTPResponse, to request: HTTPRequest) -> Bool {
    let tag = notModified.headers.values(of: "ETag").first.map(Self.trimmed)
    let isSame = tag == nil || etag == nil || tag.map(Self.opaque) == etag.map(Self.opaque)
    return isSame && Self.place(of: notModified, to: request) == redirectedTo
  }

  /// Returns the URL of a response, or `nil` if it is the request's URL.
  private static func place(of response: HTTPResponse, to request: HTTPRequest) -> String? {
    func text(_ url: URL) -> String {
      let text = url.absoluteString.prefix { $0 != "#" }
      return url.path.isEmpty ? text + "/" : String(text)
    }
    return text(response.url) == text(request.url) ? nil : text(response.url)
  }

  /// Whether the request has the same values as the original request in the header fields that `Vary` names (section
  /// 4.1). The method and the URL are not compared, because the caller has already used them to find the copy.
  func matches(_ request: HTTPRequest) -> Bool {
    vary.allSatisfy { name, value in request.headers[name].map(Self.trimmed) == value }
  }

  /// The header fields that make a request conditional (RFC 9110, section 13.1), or no fields if the copy has no
  /// validator. The field is `If-None-Match` with the entity tag, or else `If-Modified-Since` with the date exactly as
  /// the server sent it.
  ///
  /// Only one field is sent. A server must ignore the date if there is a tag (section 13.1.3). A server that ignores
  /// tags would decide by the date alone, which has a resolution of one second.
  var conditions: HTTPHeaders {
    if let etag { return ["If-None-Match": etag] }
    if let lastModified { return ["If-Modified-Since": lastModified] }
    return [:]
  }

  /// Returns the copy updated by a 304. The fields of the 304 replace the fields of the copy, and the age is computed
  /// again (section 4.3.4).
  ///
  /// `ETag` and `Last-Modified` are replaced only if the tags are equal by weak comparison (RFC 9110, section 8.8.3.2),
  /// or if the 304 has no tag. Otherwise the copy would get the tag of different content, and a later 304 would wrongly
  /// confirm the old content. ``vary`` is kept. If the 304 has `no-store`, the copy is never fresh again.
  func updated(by notModified: HTTPResponse, requestedAt: Date, receivedAt: Date) -> HTTPCopy {
    var fields = fields
    let newTag = notModified.headers.values(of: "etag").first.map(Self.trimmed)
    let isSame = newTag.map(Self.opaque) == etag.map(Self.opaque) || newTag == nil
    // The old `Age` and `Date` are removed even if the 304 has no such fields, because they describe only the old
    // response.
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

  /// Decodes a copy from the database.
  ///
  /// - Throws: `DecodingError` if a stored value is missing or has an unexpected type.
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
