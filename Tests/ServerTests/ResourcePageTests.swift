import Foundation
import StrataCore
import StrataRemote
import Testing

@testable import StrataServer

@Suite("Pages of lists")
struct ResourcePageTests {
  /// Returns the queries of the links in a response, keyed by relation.
  private func links(_ response: HTTPResponse) throws -> [String: String] {
    var links: [String: String] = [:]
    for link in (response.headers["Link"] ?? "").components(separatedBy: ", ") where !link.isEmpty {
      let parts = link.components(separatedBy: "; rel=")
      let target = try #require(parts.first)
      #expect(target.hasPrefix("<http://127.0.0.1:8080/api/tasks?") && target.hasSuffix(">"))
      let relation = try #require(parts.last).trimmingCharacters(in: ["\""])
      links[relation] = target.components(separatedBy: "?").last.map { String($0.dropLast()) }
    }
    return links
  }

  @Test(
    "A page links to the other pages and keeps the other query parameters",
    arguments: [
      (
        "page=1&per_page=2", ["t1", "t2"],
        ["next": "page=2&per_page=2", "first": "page=1&per_page=2", "last": "page=3&per_page=2"]
      ),
      (
        "per_page=2&done=false&page=2", ["t4"],
        [
          "prev": "per_page=2&done=false&page=1", "first": "per_page=2&done=false&page=1",
          "last": "per_page=2&done=false&page=2",
        ]
      ),
      (
        "page=3&per_page=2", ["t5"],
        ["prev": "page=2&per_page=2", "first": "page=1&per_page=2", "last": "page=3&per_page=2"]
      ),
      (
        "page=9&per_page=2", [],
        ["prev": "page=3&per_page=2", "first": "page=1&per_page=2", "last": "page=3&per_page=2"]
      ),
      ("page=1", ["t1", "t2", "t3", "t4", "t5"], ["first": "page=1&per_page=20", "last": "page=1&per_page=20"]),
      ("per_page=5&none=1", [], ["first": "per_page=5&none=1&page=1", "last": "per_page=5&none=1&page=1"]),
      (
        "offset=1&limit=2", ["t2", "t3"],
        [
          "next": "offset=3&limit=2", "prev": "offset=0&limit=2", "first": "offset=0&limit=2",
          "last": "offset=4&limit=2",
        ]
      ),
      ("limit=5", ["t1", "t2", "t3", "t4", "t5"], ["first": "limit=5&offset=0", "last": "limit=5&offset=0"]),
      ("offset=3", ["t4", "t5"], [:]), ("limit=0", [], [:]),
      ("offset=99&limit=2", [], ["prev": "offset=3&limit=2", "first": "offset=0&limit=2", "last": "offset=4&limit=2"]),
      (
        "page=9223372036854775807&per_page=9223372036854775807", [],
        [
          "prev": "page=1&per_page=9223372036854775807", "first": "page=1&per_page=9223372036854775807",
          "last": "page=1&per_page=9223372036854775807",
        ]
      ),
    ])
  func windows(query: String, ids: [String], links: [String: String]) throws {
    let server = try Served()
    #expect(try server.ids("/tasks?" + query) == ids)
    #expect(try self.links(server.get("/tasks?" + query)) == links)
  }

  @Test(
    "Following the links returns each record once", arguments: [1, 2, 3, 5, 7], ["page=1&per_page=", "offset=0&limit="])
  func following(size: Int, query: String) throws {
    let server = try Served()
    var (path, ids): (String?, [String]) = ("/tasks?\(query)\(size)", [])
    while let known = path {
      ids += try server.ids(known)
      path = try links(server.get(known))["next"].map { "/tasks?" + $0 }
    }
    #expect(ids == ["t1", "t2", "t3", "t4", "t5"])
  }

  @Test("A configured page size applies to requests without paging parameters")
  func sizes() throws {
    var options = ResourceOptions()
    options.pageSize = 2
    let server = try Served(options: options)
    #expect(try server.ids("/tasks") == ["t1", "t2"])
    #expect(try links(server.get("/tasks"))["next"] == "page=2&per_page=2")
    #expect(try server.ids("/tasks?per_page=3") == ["t1", "t2", "t3"])
    #expect(try server.ids("/tasks?offset=2") == ["t3", "t4"])
    #expect(try server.ids("/tasks?done=true") == ["t1", "t5"])
  }

  @Test("The ETag of an unchanged first page changes if a next page is added")
  func growing() throws {
    var options = ResourceOptions()
    options.pageSize = 5
    let server = try Served(options: options)
    let before = try server.get("/tasks")
    #expect(try server.send("POST", "/tasks", "{}").status == 201)
    let after = try server.get("/tasks", ["If-None-Match": before.etag])
    #expect(after.status == 200 && after.body == before.body)
    #expect(try links(after)["next"] == "page=2&per_page=5")
  }

  @Test(
    "Invalid paging parameters are rejected",
    arguments: [
      "page=0", "page=-1", "page=x", "page=", "per_page=0", "per_page=1.5", "offset=-1", "limit=x", "limit=-1",
      "page=1&offset=0", "per_page=1&limit=2", "page=99999999999999999999",
    ])
  func refusals(query: String) throws { try Served().get("/tasks?" + query).expectProblem(400) }
}
