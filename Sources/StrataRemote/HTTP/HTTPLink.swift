/// A single link in the value of a `Link` header (RFC 8288, section 3).
struct HTTPLink: Sendable, Hashable {
  /// The target of the link as written between the angle brackets, which may be a relative URL.
  let target: String
  /// The relation types in the first `rel` parameter of the link, in lowercase. Further `rel` parameters are ignored
  /// (section 3.3).
  let relations: [String]
  /// Whether the link has an `anchor` parameter. Such a link applies to a resource other than the one in the response
  /// (section 3.2).
  let hasAnchor: Bool

  /// Returns the links in all `Link` lines (RFC 8288, appendix B.2). After a malformed part, the rest of its line is
  /// ignored.
  static func links(in headers: HTTPHeaders) -> [HTTPLink] {
    headers.values(of: "Link").flatMap(links(inLine:))
  }

  private static func links(inLine line: String) -> [HTTPLink] {
    var links: [HTTPLink] = []
    var parser = HTTPFieldParser(line)
    while true {
      parser.skipSpace()
      while parser.consume(",") { parser.skipSpace() }
      guard parser.consume("<") else { return links }
      let target = parser.upTo(">")
      guard parser.consume(">") else { return links }
      var relations: [String]?
      var hasAnchor = false
      parser.skipSpace()
      while parser.consume(";") {
        parser.skipSpace()
        // An empty parameter between two semicolons is skipped.
        guard let name = parser.token()?.lowercased() else { continue }
        parser.skipSpace()
        var value = ""
        if parser.consume("=") {
          parser.skipSpace()
          value = parser.quoted() ?? parser.upTo(";,")
        }
        if name == "rel", relations == nil {
          relations = value.lowercased().split { $0 == " " || $0 == "\t" }.map(String.init)
        }
        if name.hasPrefix("anchor") { hasAnchor = true }
        parser.skipSpace()
      }
      links.append(HTTPLink(target: target, relations: relations ?? [], hasAnchor: hasAnchor))
      parser.skipSpace()
      if !parser.isAtEnd, !parser.consume(",") { return links }
    }
  }
}
