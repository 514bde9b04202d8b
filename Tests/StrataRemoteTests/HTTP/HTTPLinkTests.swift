import Foundation
import Testing

@testable import StrataRemote

struct HTTPLinkTests {
  /// Includes the examples of RFC 8288, section 3.5.
  @Test(arguments: [
    (
      "<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"",
      ["http://example.com/TheBook/chapter2 previous"]
    ),
    ("</>; rel=\"http://example.net/foo\"", ["/ http://example.net/foo"]),
    (
      "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, </TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n",
      ["/TheBook/chapter2 previous", "/TheBook/chapter4 next"]
    ),
    (
      "<http://example.org/>; rel=\"start http://example.net/relation/other\"",
      ["http://example.org/ start http://example.net/relation/other"]
    ),
    (
      "<https://example.org/>; rel=\"start\", <https://example.org/index>; rel=\"index\"",
      ["https://example.org/ start", "https://example.org/index index"]
    ),
    ("<?page=2,3&a=;b>; REL=NEXT", ["?page=2,3&a=;b next"]), ("<a>;rel=next;rel=prev", ["a next"]),
    ("<a> ; ; rel = next ;", ["a next"]),
    ("<a>; title=\"x>; rel=prev, <b>; rel=next\"; rel=last", ["a last"]), ("<a>; title=\"\\\"\"; rel=next", ["a next"]),
    (", ,<a>; rel=next,,<b>", ["a next", "b "]), ("<a", []), ("a; rel=next", []),
    ("<a>; rel=\"next\" x <b>; rel=prev", ["a next"]),
    ("<a>; rel=\"next", ["a next"]), ("", []),
  ])
  func linksAreRead(line: String, expected: [String]) {
    let links = HTTPLink.links(in: ["Link": line])
    #expect(links.map { "\($0.target) \($0.relations.joined(separator: " "))" } == expected)
  }

  @Test func anchorsAreSeen() {
    #expect(HTTPLink.links(in: ["Link": "<a>; rel=next; anchor=\"#foo\""]).map(\.hasAnchor) == [true])
  }
}
