/// The directives of `Cache-Control`, as a private cache interprets them (RFC 9111, section 5.2).
///
/// Names are case-insensitive. An argument can be a token or a quoted string. The directives of several lines are
/// combined. Malformed parts are skipped up to the next comma.
///
/// `private` and `private="field"` have no effect, because the cache belongs to a single user (section 5.2.2.7).
/// `s-maxage` and `proxy-revalidate` have no effect either, because they apply to shared caches. `no-cache="field"` is
/// treated like `no-cache`. The RFC restricts only the named fields, but revalidating is always allowed (section
/// 5.2.2.4).
struct CacheControl: Sendable, Hashable {
  /// The arguments of each directive, by the lowercase name of the directive. A directive without an argument has the
  /// argument `nil`.
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

  /// The value of `max-age` in seconds, or `nil` if the directive is absent.
  ///
  /// If the argument is missing or is not a number, or if two arguments differ, the value is 0, which makes the
  /// response stale (section 4.2.1). A number greater than `Int.max` becomes `Int.max`.
  var maxAge: Int? {
    guard let arguments = directives["max-age"] else { return nil }
    let seconds = Set(arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? 0 })
    return seconds.count == 1 ? seconds.first : 0
  }

  /// The value of `min-fresh` in seconds. It is 0 if the directive is absent, and `Int.max` if its argument is not a
  /// number.
  var minFresh: Int {
    guard let arguments = directives["min-fresh"] else { return 0 }
    return arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? .max }.max() ?? 0
  }
}
