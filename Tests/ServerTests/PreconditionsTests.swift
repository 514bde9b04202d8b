import Foundation
import StrataCore
import StrataRemote
import Testing

@testable import StrataServer

@Suite("Conditional requests (RFC 9110, section 13)")
struct PreconditionsTests {
  static let before = "Tue, 14 Nov 2023 22:13:19 GMT"
  /// The time at which the records were changed, truncated to seconds.
  static let then = "Tue, 14 Nov 2023 22:13:20 GMT"
  static let after = "Tue, 14 Nov 2023 22:13:21 GMT"

  /// A request and the expected status. `@` in a header is replaced with the resource's tag.
  struct Case: CustomTestStringConvertible, Sendable {
    let method: String
    let headers: HTTPHeaders
    let status: Int
    var path = "/tasks/t1"

    var testDescription: String { "\(method) \(path) \(headers.fields.map { "\($0.name): \($0.value)" }) → \(status)" }
  }

  static let reading: [Case] = [
    Case(method: "GET", headers: ["If-None-Match": "@"], status: 304),
    Case(method: "HEAD", headers: ["If-None-Match": "@"], status: 304),
    Case(method: "GET", headers: ["If-None-Match": "W/@"], status: 304),
    Case(method: "GET", headers: ["If-None-Match": "*"], status: 304),
    Case(method: "GET", headers: ["If-None-Match": "\"x\", @"], status: 304),
    Case(method: "GET", headers: ["If-None-Match": "\"a,b\" ,,\tW/@ , \"y\""], status: 304),
    Case(method: "GET", headers: ["If-None-Match": "\"x\""], status: 200),
    Case(method: "GET", headers: ["If-None-Match": ""], status: 200),
    Case(method: "GET", headers: ["If-None-Match": "x@"], status: 200),
    Case(method: "GET", headers: ["If-None-Match": "@x"], status: 200),
    Case(method: "GET", headers: ["If-Modified-Since": then], status: 304),
    Case(method: "GET", headers: ["If-Modified-Since": after], status: 304),
    Case(method: "GET", headers: ["If-Modified-Since": before], status: 200),
    Case(method: "GET", headers: ["If-Modified-Since": "yesterday"], status: 200),
    Case(method: "GET", headers: ["If-Modified-Since": "Tuesday, 14-Nov-23 22:13:20 GMT"], status: 304),
    Case(method: "GET", headers: ["If-Modified-Since": "Tue Nov 14 22:13:20 2023"], status: 304),
    // A tag takes precedence over a date.
    Case(method: "GET", headers: ["If-None-Match": "\"x\"", "If-Modified-Since": after], status: 200),
    Case(method: "GET", headers: ["If-None-Match": "@", "If-Modified-Since": before], status: 304),
    Case(method: "GET", headers: ["If-Match": "@"], status: 200),
    Case(method: "GET", headers: ["If-Match": "\"x\""], status: 412),
    Case(method: "GET", headers: ["If-Match": "\"x\"", "If-None-Match": "@"], status: 412),
    Case(method: "GET", headers: ["If-Match": "@", "If-None-Match": "@"], status: 304),
    Case(method: "GET", headers: ["If-Unmodified-Since": before], status: 412),
    Case(method: "GET", headers: ["If-Unmodified-Since": then, "If-Modified-Since": then], status: 304),
    // A list has no modification date.
    Case(method: "GET", headers: ["If-Modified-Since": after], status: 200, path: "/tasks"),
    Case(method: "GET", headers: ["If-Unmodified-Since": before], status: 200, path: "/tasks"),
    Case(method: "GET", headers: ["If-None-Match": "@"], status: 304, path: "/tasks"),
    Case(method: "GET", headers: ["If-None-Match": "@"], status: 304, path: "/tasks?done=true&page=1&per_page=1"),
    Case(method: "GET", headers: ["If-None-Match": "@"], status: 304, path: "/projects/p1/tasks"),
    // A missing record has no state, so preconditions don't apply to it.
    Case(method: "GET", headers: ["If-None-Match": "*"], status: 404, path: "/tasks/none"),
    Case(method: "GET", headers: ["If-Match": "*"], status: 404, path: "/tasks/none"),
  ]

  static let changing: [Case] = ["PATCH", "PUT", "DELETE"].flatMap { method in
    let done = method == "DELETE" ? 204 : 200
    return [
      Case(method: method, headers: [:], status: done),
      Case(method: method, headers: ["If-Match": "@"], status: done),
      Case(method: method, headers: ["If-Match": "*"], status: done),
      Case(method: method, headers: ["If-Match": "\"x\",@"], status: done),
      Case(method: method, headers: ["If-Match": "\"x\""], status: 412),
      Case(method: method, headers: ["If-Match": "W/@"], status: 412),
      Case(method: method, headers: ["If-Match": ""], status: 412),
      Case(method: method, headers: ["If-Unmodified-Since": then], status: done),
      Case(method: method, headers: ["If-Unmodified-Since": after], status: done),
      Case(method: method, headers: ["If-Unmodified-Since": before], status: 412),
      Case(method: method, headers: ["If-Unmodified-Since": "never"], status: done),
      // A tag takes precedence over a date.
      Case(method: method, headers: ["If-Match": "@", "If-Unmodified-Since": before], status: done),
      Case(method: method, headers: ["If-Match": "\"x\"", "If-Unmodified-Since": after], status: 412),
      Case(method: method, headers: ["If-None-Match": "*"], status: 412),
      Case(method: method, headers: ["If-None-Match": "@"], status: 412),
      Case(method: method, headers: ["If-None-Match": "W/@"], status: 412),
      Case(method: method, headers: ["If-None-Match": "\"x\""], status: done),
      // `If-Modified-Since` applies only to requests that read.
      Case(method: method, headers: ["If-Modified-Since": after], status: done),
    ]
  }

  static let absent: [Case] = [
    Case(method: "PUT", headers: ["If-None-Match": "*"], status: 201, path: "/tasks/none"),
    Case(method: "PUT", headers: ["If-Match": "*"], status: 412, path: "/tasks/none"),
    Case(method: "PUT", headers: ["If-Match": "\"x\""], status: 412, path: "/tasks/none"),
    Case(method: "PUT", headers: ["If-Unmodified-Since": before], status: 201, path: "/tasks/none"),
    Case(method: "PATCH", headers: ["If-Match": "*"], status: 404, path: "/tasks/none"),
    Case(method: "DELETE", headers: ["If-Match": "\"x\""], status: 404, path: "/tasks/none"),
    Case(method: "POST", headers: ["If-Match": "@"], status: 201, path: "/tasks"),
    Case(method: "POST", headers: ["If-Match": "\"x\""], status: 412, path: "/tasks"),
    Case(method: "POST", headers: ["If-None-Match": "*"], status: 412, path: "/tasks"),
  ]

  @Test(arguments: reading + changing + absent)
  func outcomes(_ test: Case) throws {
    let server = try Served()
    let known = try server.get(test.path)
    let all = try server.get("/tasks").body
    let headers = HTTPHeaders(
      test.headers.fields.map { .init($0.name, $0.value.replacingOccurrences(of: "@", with: known.etag)) })
    let isReading = ["GET", "HEAD"].contains(test.method)
    let response = try server.send(test.method, test.path, isReading ? nil : #"{"title":"New"}"#, headers)
    #expect(response.status == test.status, "\(response.text)")
    switch response.status {
    case 304:
      #expect(response.body.isEmpty)
      #expect(response.headers.fields.map(\.name).sorted() == ["Cache-Control", "Content-Length", "Date", "ETag"])
      #expect(response.etag == known.etag && response.headers["Content-Length"] == String(known.body.count))
    case 404, 412:
      try response.expectProblem(test.status)
      #expect(try server.get("/tasks").body == all)
    default: break
    }
  }

  @Test("Entity tags from two If-None-Match lines are combined")
  func lines() throws {
    let server = try Served()
    var headers: HTTPHeaders = ["If-None-Match": "\"x\""]
    headers.add("if-none-match", try server.get("/tasks").etag)
    #expect(try server.get("/tasks", headers).status == 304)
  }

  @Test(
    "Entity tag lists are parsed, and malformed tags are skipped",
    arguments: [
      ("*", .any), (" * ", .any), ("\"\"", .tags([EntityTag(opaque: "")])),
      ("\"a\"", .tags([EntityTag(opaque: "a")])), ("W/\"a\"", .tags([EntityTag(isWeak: true, opaque: "a")])),
      (
        "\"a\",W/\"b,c\" ,\t\"d\"",
        .tags([EntityTag(opaque: "a"), EntityTag(isWeak: true, opaque: "b,c"), EntityTag(opaque: "d")])
      ),
      ("", .tags([])), (",, ,", .tags([])), ("a", .tags([])), ("\"a", .tags([])), ("w/\"a\"", .tags([])),
      ("W/", .tags([])), ("\"a\"b, \"c\"", .tags([EntityTag(opaque: "c")])),
      ("x, \"c\"", .tags([EntityTag(opaque: "c")])), ("\"a\" \"b\", \"c\"", .tags([EntityTag(opaque: "c")])),
      ("*, \"c\"", .tags([EntityTag(opaque: "c")])), ("\"\\\"", .tags([EntityTag(opaque: "\\")])),
    ] as [(String, EntityTag.Condition)])
  func tags(field: String, condition: EntityTag.Condition) { #expect(EntityTag.Condition(field) == condition) }

  @Test(
    "HTTP dates are parsed in all three formats",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
      ("Tuesday, 01-Jan-80 00:00:00 GMT", 315_532_800), ("Sunday, 01-Jan-73 00:00:00 GMT", 3_250_454_400),
      ("Wed Nov 06 08:49:37 1996", 847_270_177), ("Mon, 06 Nov 1994 08:49:37 GMT", nil), ("", nil), ("0", nil),
      ("Sun, 06 Nov 1994 08:49:37", nil),
      ("1994-11-06T08:49:37Z", nil), ("Sun, 31 Feb 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
    ] as [(String, Double?)])
  func dates(text: String, seconds: Double?) {
    let date = HTTPDate(text, now: Date(timeIntervalSince1970: 1_700_000_000))?.date
    #expect(date?.timeIntervalSince1970 == seconds)
    if let date, text.hasSuffix("1994 08:49:37 GMT") { #expect(date.httpText == text) }
  }
}
