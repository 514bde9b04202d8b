/// A single link of a `Link` header (RFC 8288, section 3).
struct HTTPLink: Sendable, Hashable {
  /// The text between the angle brackets.
  let target: String
  /// The relations of the first `rel` parameter, in lowercase. Further `rel` parameters are ignored (section 3.3).
  let relations: [String]
  /// Whether the link applies to a resource other than the resource in the response (section 3.2).
  let hasAnchor: Bool

  /// Returns the links of all lines (appendix B.2). A malformed part ends the parsing of its line.
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
        // Two consecutive semicolons enclose an empty parameter.
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
