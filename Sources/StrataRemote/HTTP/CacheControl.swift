/// The directives of `Cache-Control`, as a private cache reads them (RFC 9111, section 5.2).
///
/// Names are compared without regard to case; an argument may be a token or a quoted string, and the directives of several lines
/// count as those of one. What cannot be read is skipped up to the next comma.
///
/// `private` and `private="field"` change nothing, since the cache here is one of a single user (section 5.2.2.7). `s-maxage` and
/// `proxy-revalidate` are for shared caches and change nothing either. `no-cache="field"` counts as `no-cache`: the RFC would only
/// forbid the use of those fields, and to ask again is allowed and always right (section 5.2.2.4).
struct CacheControl: Sendable, Hashable {
  /// The arguments of each directive, in their order; `nil` for one without.
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
          if parser.take("=") {
            parser.skipSpace()
            argument = parser.quoted() ?? parser.upTo(",")
          }
          found[name.lowercased(), default: []].append(argument)
        }
        _ = parser.upTo(",")
        _ = parser.take(",")
      }
    }
    directives = found
  }

  func contains(_ name: String) -> Bool { directives[name] != nil }

  var isNoStore: Bool { contains("no-store") }
  var isNoCache: Bool { contains("no-cache") }
  var isMustRevalidate: Bool { contains("must-revalidate") }

  /// The seconds of `max-age`; `nil` where there is none.
  ///
  /// 0, which is stale, where the argument is missing or no number, and where two of them differ (section 4.2.1). A number beyond
  /// `Int` is the greatest one.
  var maxAge: Int? {
    guard let arguments = directives["max-age"] else { return nil }
    let seconds = Set(arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? 0 })
    return seconds.count == 1 ? seconds.first : 0
  }

  /// The seconds of `min-fresh`; 0 where there is none, and the greatest number where it is none.
  var minFresh: Int {
    guard let arguments = directives["min-fresh"] else { return 0 }
    return arguments.map { $0.flatMap(HTTPFieldParser.seconds) ?? .max }.max() ?? 0
  }
}
