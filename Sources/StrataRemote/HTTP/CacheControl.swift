/// The directives of `Cache-Control`, as a private cache reads them (RFC 9111, section 5.2).
///
/// Names are case-insensitive. An argument may be a token or a quoted string. Directives of several lines are combined.
/// Malformed parts are skipped up to the next comma.
///
/// `private` and `private="field"` have no effect, because the cache belongs to a single user (section 5.2.2.7).
/// `s-maxage` and `proxy-revalidate` are for shared caches and have no effect either. `no-cache="field"` is treated as
/// `no-cache`: the RFC restricts only those fields, but revalidating is always allowed (section 5.2.2.4).
struct CacheControl: Sendable, Hashable {
  /// The arguments of each directive, in their order; `nil` for a directive without an argument.
  let directives: [String: [String?]]

  init(_ headers: HTTPHeaders) {
    var found: [String: [String?]] = [:]
    for line in headers.values(of: "Cache-Control") {
      var parser = HTTPFieldParser(line)
      while !parser.isAtEnd {
        parser.skipSpace()
        if let name = parser.token() {
          parser.skipSpace()
          var argument: String?
          if parser.consume("=") {
            parser.skipSpace()
            argument = parser.quoted() ?? parser.upTo(",")
          }
          found[name.lowercased(), default: []].append(argument)
        }
        _ = parser.upTo(",")
        _ = parser.consume(",")
      }
    }
    directives = found
  }

  func contains(_ name: String) -> Bool { directives[name] != nil }

  var isNoStore: Bool { contains("no-store") }
  var isNoCache: Bool { contains("no-cache") }
  var isMustRevalidate: Bool { contains("must-revalidate") }

  /// The seconds of `max-age`; `nil` if it is absent.
  ///
  /// The value is 0, which is stale, if the argument is missing or not a number, and if two arguments differ (section
  /// 4.2.1). A number beyond `Int` becomes `Int.max`.
  var maxAge: Int? {
    guard let arguments = directives["max-age"] else { return nil }
    let seconds = Set(arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? 0 })
    return seconds.count == 1 ? seconds.first : 0
  }

  /// The seconds of `min-fresh`: 0 if it is absent, and `Int.max` if it is not a number.
  var minFresh: Int {
    guard let arguments = directives["min-fresh"] else { return 0 }
    return arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? .max }.max() ?? 0
  }
}
