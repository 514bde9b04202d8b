import StrataRemote
import Testing

struct HTTPHeadersTests {
  @Test func namesAreComparedWithoutRegardToCase() {
    var headers: HTTPHeaders = ["ETag": "\"a\"", "Link": "<a>; rel=next"]
    headers.add("link", "<b>; rel=last")
    #expect(headers["etag"] == "\"a\"")
    #expect(headers["LINK"] == "<a>; rel=next, <b>; rel=last")
    #expect(headers.values(of: "Link") == ["<a>; rel=next", "<b>; rel=last"])
    headers["Etag"] = nil
    #expect(headers["ETag"] == nil)
  }
}
