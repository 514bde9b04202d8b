import Foundation
import StrataCore
import StrataRemote
import Testing

@testable import StrataServer

@Suite("Requests that read records")
struct ResourceReadingTests {
  let server: Served

  init() throws { server = try Served() }

  @Test func lists() throws {
    let response = try server.get("/projects")
    #expect(response.status == 200)
    #expect(response.text == #"[{"id":"p1","name":"First"},{"id":"p2","name":"Second"}]"#)
    #expect(response.headers["Content-Type"] == "application/json")
    #expect(response.headers["Cache-Control"] == "no-cache")
    #expect(response.headers["Date"] == "Fri, 15 Jan 2027 08:00:00 GMT")
    #expect(response.headers["Last-Modified"] == nil && response.headers["Link"] == nil)
    #expect(try server.get("/projects/").body == response.body)
  }

  @Test func records() throws {
    let response = try server.get("/tasks/t2")
    #expect(response.status == 200)
    #expect(
      response.text == #"{"id":"t2","title":"Two","done":false,"project_id":"p1","tags":[],"notes":null}"#)
    #expect(response.headers["Last-Modified"] == "Tue, 14 Nov 2023 22:13:20 GMT")
    #expect(response.headers["Content-Type"] == "application/json")
  }

  @Test("ETags are strong, stable across runs and unique for different content")
  func tags() throws {
    let tag = try server.get("/projects/p1").etag
    // The first half of the sha256sum output for {"id":"p1","name":"First"}.
    #expect(tag == "\"3ccf4f0f65527479e51c193f27ee5ca0\"")
    #expect(try Served().get("/projects/p1").etag == tag)
    let all = try [
      "/projects", "/projects/p1", "/projects/p2", "/tasks", "/tasks?done=true", "/tasks?page=1&per_page=2",
    ]
    .map { try server.get($0).etag }
    #expect(Set(all).count == all.count)
    #expect(all.allSatisfy { $0.hasPrefix("\"") })
  }

  @Test(
    "HEAD returns the same status and headers as GET, without content",
    arguments: ["/tasks", "/tasks/t1", "/tasks?page=2", "/none", "/tasks/x"])
  func heads(path: String) throws {
    let get = try server.get(path)
    let head = try server.send("HEAD", path)
    #expect(head.status == get.status && head.body.isEmpty)
    var headers = head.headers
    #expect(headers["Content-Length"] == String(get.body.count))
    headers["Content-Length"] = nil
    #expect(Set(headers.fields) == Set(get.headers.fields))
  }

  @Test("Numbers and keys are returned exactly as written")
  func values() throws {
    let text =
      #"{"id":9007199254740993,"z":1,"a":123456789012345678901234567890.5,"b":1e400,"c":-0.0,"#
      + #""d":18446744073709551616,"é":{"y":0.1,"x":[]}}"#
    let server = try Served(["things": "[\(text)]"])
    #expect(try server.get("/things/9007199254740993").text == text)
    #expect(try server.get("/things").text == "[\(text)]")
    #expect(try server.send("PATCH", "/things/9007199254740993", #"{"n":1}"#).text == text.dropLast() + #","n":1}"#)
  }

  @Test(
    "Query parameters filter records by their members",
    arguments: [
      ("done=true", ["t1", "t5"]), ("done=false&project_id=p1", ["t2"]), ("title=Three+%26+more", ["t3"]),
      ("title=Three%20%26%20more", ["t3"]), ("id=t1&id=t4", ["t1", "t4"]), ("tags=b", ["t1", "t3"]),
      ("notes=null", ["t2"]), ("notes=", []), ("project_id=1", ["t4"]), ("owner.name=Ada", ["t1"]), ("none=1", []),
      ("done=TRUE", []), ("", ["t1", "t2", "t3", "t4", "t5"]), ("&&done=true&", ["t1", "t5"]), ("owner=Ada", []),
    ])
  func filters(query: String, ids: [String]) throws {
    #expect(try server.ids("/tasks?" + query) == ids)
  }

  @Test(
    "A record's path lists the records that refer to it",
    arguments: [
      ("/projects/p1/tasks", ["t1", "t2"]), ("/projects/p2/tasks?done=false", ["t3"]),
      ("/projects/p2/tasks?done=true", []), ("/projects/p1/projects", []), ("/tasks/t1/projects", []),
    ])
  func nested(path: String, ids: [String]) throws {
    #expect(try server.ids(path) == ids)
  }

  @Test(
    "Foreign key names are derived from the singular of a list name",
    arguments: [
      ("projects", ["project_id"]), ("categories", ["categorie_id", "category_id"]),
      ("movies", ["movie_id", "movy_id"]),
      ("boxes", ["boxe_id", "box_id"]), ("classes", ["classe_id", "class_id"]), ("houses", ["house_id", "hous_id"]),
      ("branches", ["branche_id", "branch_id"]), ("glass", ["glass_id"]), ("staff", ["staff_id"]),
    ])
  func singulars(list: String, members: [String]) { #expect(ResourceRoute.references(to: list) == members) }

  @Test func freshness() throws {
    var options = ResourceOptions()
    options.maxAge = 30
    let server = try Served(options: options)
    #expect(try server.get("/tasks").headers["Cache-Control"] == "max-age=30")
    let tag = try server.get("/tasks/t1").etag
    #expect(try server.get("/tasks/t1", ["If-None-Match": tag]).headers["Cache-Control"] == "max-age=30")
    #expect(try server.send("PATCH", "/tasks/t1", "{}").headers["Cache-Control"] == nil)
  }

  @Test("Percent-encoded ids are decoded, and different Unicode spellings are different ids")
  func paths() throws {
    let server = try Served(
      ["a b": "[{\"id\":\"x/y\"},{\"id\":\"..\"},{\"id\":\"\u{E9}\"},{\"id\":\"e\u{301}\"},{\"id\":\"50%\"}]"])
    for (path, id) in [
      ("x%2Fy", "x/y"), ("%2E%2E", ".."), ("%C3%A9", "\u{E9}"), ("e%CC%81", "e\u{301}"), ("50%25", "50%"),
    ] {
      let response = try server.get("/a%20b/" + path)
      #expect(response.status == 200 && response.body == Data(#"{"id":"\#(id)"}"#.utf8), "\(path)")
    }
    try server.get("/a%20b/%FF").expectProblem(404)
  }
}
