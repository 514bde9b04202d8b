import Foundation
import Testing

@testable import StrataRemote

struct RemotePaginationTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private func next(_ pagination: RemotePagination, _ text: String, link: String...) throws -> String? {
    let url = try url(text)
    let headers = HTTPHeaders(link.map { HTTPHeaders.Field("Link", $0) })
    return try pagination.next(
      after: url, response: HTTPResponse(200, headers: headers, url: url), count: 2, received: 4)?.absoluteString
  }

  @Test(arguments: [
    ("https://a.example/t", "https://a.example/t?page=1&per_page=2"),
    ("https://a.example/t?q=a%2Bb%26c+d&x", "https://a.example/t?q=a%2Bb%26c+d&x&page=1&per_page=2"),
    ("https://a.example/t?page=9&z=1&page=8", "https://a.example/t?page=1&z=1&per_page=2"),
    ("https://a.example/t?p%61ge=9#part", "https://a.example/t?page=1&per_page=2#part"),
  ])
  func pagesBegin(text: String, expected: String) throws {
    #expect(RemotePagination.page(of: 2).first(try url(text)).absoluteString == expected)
  }

  @Test func namesAreEncoded() throws {
    let first = RemotePagination.page("p+&=", size: "größe[]", of: 2).first(try url("https://a.example/t"))
    #expect(first.absoluteString == "https://a.example/t?p%2B%26%3D=1&gr%C3%B6%C3%9Fe%5B%5D=2")
    #expect(first.queryValue("p+&=") == "1")
    let set = try url("https://a.example/t?a=1").settingQuery([("b", "x+y&z=ä %")])
    #expect(set.absoluteString == "https://a.example/t?a=1&b=x%2By%26z%3D%C3%A4%20%25")
    #expect(set.queryValue("b") == "x+y&z=ä %")
  }

  @Test("F-14: numbered pages are requested until one is short")
  func pagesFollowUntilOneIsShort() throws {
    #expect(
      try next(.page(of: 2), "https://a.example/t?page=3&per_page=2&q=1") == "https://a.example/t?page=4&per_page=2&q=1"
    )
    #expect(try next(.page(of: 2, first: 0), "https://a.example/t") == "https://a.example/t?page=1")
    #expect(try next(.page(of: 3), "https://a.example/t?page=3") == nil)
    #expect(try next(.page(of: 2), "https://a.example/t?page=\(Int.max)") == nil)
    #expect(RemotePagination.page(size: nil, of: 0, first: 0).first(try url("https://a.example/t")).query() == "page=0")
  }

  @Test func offsetsFollowUntilOneIsShort() throws {
    #expect(RemotePagination.offset(of: 2).first(try url("https://a.example/t?offset=5&a=b")).query() == "a=b&limit=2")
    #expect(try next(.offset(of: 2), "https://a.example/t?limit=2&offset=2") == "https://a.example/t?limit=2&offset=4")
    #expect(try next(.offset(of: 2), "https://a.example/t?limit=2") == "https://a.example/t?limit=2&offset=4")
    #expect(try next(.offset(of: 3), "https://a.example/t?limit=3") == nil)
  }

  @Test func linksAreResolvedAgainstTheAnswer() throws {
    let at = "https://a.example/list/t?page=1"
    #expect(try next(.linkHeader, at, link: "<?page=2>; rel=next") == "https://a.example/list/t?page=2")
    #expect(try next(.linkHeader, at, link: "<u>; rel=\"last next\"") == "https://a.example/list/u")
    #expect(try next(.linkHeader, at, link: "</v>; rel=prev", "</w>; rel=next") == "https://a.example/w")
    #expect(try next(.linkHeader, at, link: "<//A.EXAMPLE:443/w>; rel=next") == "https://A.EXAMPLE:443/w")
    #expect(try next(.linkHeader, at, link: "</v>; rel=prev") == nil)
    #expect(try next(.linkHeader, at, link: "</v>; rel=next; anchor=\"/x\"") == nil)
    #expect(try next(.linkHeader, at) == nil)
    #expect(try next(.none, at, link: "</v>; rel=next") == nil)
  }

  @Test(arguments: [
    "https://b.example/t", "http://a.example/t", "https://a.example:444/t", "//b.example/t", "ftp://a.example/t",
    "file:///etc",
  ])
  func otherOriginsAreRefused(target: String) throws {
    for pagination in [RemotePagination.linkHeader, .cursor { _ in URL(string: target) }] {
      let error = #expect(throws: RemoteError.self) {
        try self.next(pagination, "https://a.example/t", link: "<\(target)>; rel=next")
      }
      #expect(error?.code == .invalidResponse)
    }
  }

  @Test func cursorsMayBeRelative() throws {
    #expect(try next(.cursor { _ in URL(string: "?c=1") }, "https://a.example/l/t") == "https://a.example/l/t?c=1")
    #expect(
      try next(.cursor { _ in URL(string: "https://a.example/n") }, "https://a.example/l/t") == "https://a.example/n")
    #expect(try next(.cursor { _ in nil }, "https://a.example/l/t") == nil)
  }
}
