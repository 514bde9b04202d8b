import Foundation
import Testing

@testable import StrataRemote

struct HTTPRedirectTests {
  private static let headers: HTTPHeaders = [
    "Authorization": "Bearer t", "X-Key": "k", "Accept": "a/b", "user-agent": "s",
  ]

  private func next(_ method: String, _ from: String, _ status: Int, _ location: String?) throws -> HTTPRequest? {
    let url = try #require(URL(string: from))
    let request = HTTPRequest(method, url, headers: Self.headers, body: method == "GET" ? nil : Data("x".utf8))
    return try HTTPRedirect.next(
      after: request, response: HTTPResponse(status, headers: location.map { ["location": $0] } ?? [:], url: url))
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["GET", "HEAD"])
  func safeMethodsAreFollowed(status: Int, method: String) throws {
    let same = try #require(try next(method, "http://a.example/x/y?q", status, "../z?w#f"))
    #expect(same.url.absoluteString == "http://a.example/z?w#f")
    #expect(same.headers == Self.headers && same.method == method)
  }

  @Test(arguments: ["http://b.example/", "http://a.example:81/", "https://a.example/", "//b.example/x"])
  func otherOriginsGetNoSecrets(location: String) throws {
    let other = try #require(try next("GET", "http://a.example/", 302, location))
    #expect(other.headers == ["Accept": "a/b", "user-agent": "s"])
  }

  @Test func samePortsAreOneOrigin() throws {
    #expect(try next("GET", "http://a.example/", 302, "HTTP://A.example:80/q")?.headers == Self.headers)
  }

  @Test(arguments: [
    ("GET", "https://a.example/", 302, "http://a.example/"), ("GET", "https://a.example/", 302, "ftp://a.example/"),
    ("GET", "https://a.example/", 302, "file:///etc/passwd"), ("GET", "http://a.example/", 302, "http:///x"),
    ("POST", "http://a.example/", 301, "/b"), ("POST", "http://a.example/", 302, "/b"),
    ("POST", "http://a.example/", 303, "/b"),
    ("PUT", "http://a.example/", 307, "http://b.example/"), ("DELETE", "http://a.example/", 308, "https://a.example/"),
  ])
  func othersAreRefused(method: String, from: String, status: Int, location: String) throws {
    let error = #expect(throws: RemoteError.self) { try self.next(method, from, status, location) }
    #expect(error?.code == .redirected && error?.status == status)
  }

  @Test(arguments: [307, 308])
  func otherMethodsStayWhatTheyAre(status: Int) throws {
    let next = try #require(try next("PATCH", "http://a.example/a", status, "/b"))
    #expect(next.method == "PATCH" && next.body == Data("x".utf8) && next.url.path == "/b")
  }

  @Test(arguments: [200, 201, 300, 304, 305, 400])
  func otherStatusesAreNoRedirections(status: Int) throws {
    #expect(try next("GET", "http://a.example/", status, "/b") == nil)
  }

  @Test func withoutALocationThereIsNone() throws { #expect(try next("GET", "http://a.example/", 302, nil) == nil) }
}
