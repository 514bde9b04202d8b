import Foundation
import StrataCore
import StrataRemote
import Testing

@testable import StrataServer

@Suite("Requests that change records")
struct ResourceChangingTests {
  let server: Served

  init() throws { server = try Served() }

  @Test("A created record gets an id and can be read at its location")
  func making() throws {
    let response = try server.send("POST", "/tasks", #"{"title": "New", "done": false}"#)
    #expect(response.status == 201)
    #expect(response.text == #"{"id":"new1","title":"New","done":false}"#)
    #expect(response.headers["Location"] == "http://127.0.0.1:8080/api/tasks/new1")
    #expect(response.headers["Last-Modified"] == "Fri, 15 Jan 2027 08:00:00 GMT")
    let found = try server.get("/tasks/new1")
    #expect(found.body == response.body && found.etag == response.etag)
    #expect(try server.ids("/tasks").last == "new1")
    #expect(try server.send("POST", "/tasks", #"{"title": "New", "id": null}"#).text == #"{"id":"new2","title":"New"}"#)
  }

  @Test("A record created with an id keeps it")
  func makingWithID() throws {
    let response = try server.send("POST", "/tasks", #"{"title": "New", "id": "a/b c"}"#)
    #expect(response.status == 201 && response.text == #"{"title":"New","id":"a/b c"}"#)
    #expect(response.headers["Location"] == "http://127.0.0.1:8080/api/tasks/a%2Fb%20c")
    #expect(try server.get("/tasks/a%2Fb%20c").body == response.body)
    try server.send("POST", "/tasks", #"{"id": "a/b c"}"#).expectProblem(409, "another one")
    #expect(try server.ids("/tasks").count == 6)
  }

  @Test("New ids continue a list of numbers and are never reused")
  func numbers() throws {
    let server = try Served(["notes": #"[{"id": 3}, {"id": 12}]"#, "none": "[]"])
    #expect(try server.send("POST", "/notes", "{}").text == #"{"id":13}"#)
    #expect(try server.send("DELETE", "/notes/13").status == 204)
    #expect(try server.send("POST", "/notes", "{}").text == #"{"id":14}"#)
    #expect(try server.send("PUT", "/notes/20", "{}").text == #"{"id":20}"#)
    try server.send("POST", "/notes", #"{"id": "20"}"#).expectProblem(409)
    for id in ["3", "12", "14", "20"] { #expect(try server.send("DELETE", "/notes/" + id).status == 204) }
    #expect(try server.send("POST", "/notes", "{}").text == #"{"id":21}"#)
    #expect(try server.send("POST", "/none", "{}").text == #"{"id":"new1"}"#)
    let largest = try Served(["notes": #"[{"id": 9223372036854775807}]"#])
    #expect(try largest.send("POST", "/notes", "{}").text == #"{"id":"new1"}"#)
  }

  @Test(
    "PATCH applies the content as a JSON merge patch",
    arguments: ["application/merge-patch+json", "application/json; charset=utf-8", "Application/JSON"])
  func patching(type: String) throws {
    let before = try server.get("/tasks/t1")
    server.pass(60)
    let response = try server.send(
      "PATCH", "/tasks/t1", #"{"tags":null,"owner":{"name":null,"age":3},"title":"1","new":{"a":null}}"#,
      ["Content-Type": type, "If-Match": before.etag])
    #expect(response.status == 200)
    #expect(
      response.text == #"{"id":"t1","title":"1","done":true,"project_id":"p1","owner":{"age":3},"new":{}}"#)
    #expect(response.headers["Last-Modified"] == "Fri, 15 Jan 2027 08:01:00 GMT")
    #expect(response.etag != before.etag)
    let after = try server.get("/tasks/t1")
    #expect(after.body == response.body && after.etag == response.etag)
    #expect(after.headers["Last-Modified"] == response.headers["Last-Modified"])
    #expect(try server.ids("/tasks") == ["t1", "t2", "t3", "t4", "t5"])
  }

  @Test("A patch that changes nothing keeps the ETag and the modification date")
  func patchingNothing() throws {
    let before = try server.get("/tasks/t1")
    let response = try server.send("PATCH", "/tasks/t1", #"{"title": "One", "id": "t1", "none": null}"#)
    #expect(response.status == 200 && response.body == before.body && response.etag == before.etag)
    #expect(response.headers["Last-Modified"] == before.headers["Last-Modified"])
  }

  @Test("PUT replaces the whole record or creates it with the id in the path")
  func putting() throws {
    let response = try server.send("PUT", "/tasks/t1", #"{"done": false}"#)
    #expect(response.status == 200 && response.text == #"{"id":"t1","done":false}"#)
    #expect(try server.ids("/tasks") == ["t1", "t2", "t3", "t4", "t5"])
    let made = try server.send("PUT", "/tasks/x%20y", #"{"done": true, "id": "x y"}"#)
    #expect(made.status == 201 && made.text == #"{"done":true,"id":"x y"}"#)
    #expect(made.headers["Location"] == "http://127.0.0.1:8080/api/tasks/x%20y")
    #expect(try server.send("PUT", "/tasks/x%20y", #"{"done": true, "id": "x y"}"#).status == 200)
    #expect(try server.ids("/tasks").last == "x y")
  }

  @Test func deleting() throws {
    let response = try server.send("DELETE", "/tasks/t2")
    #expect(response.status == 204 && response.body.isEmpty && response.etag.isEmpty)
    #expect(try server.ids("/tasks") == ["t1", "t3", "t4", "t5"])
    #expect(try server.get("/tasks/t5").text.contains("Five"))
    try server.get("/tasks/t2").expectProblem(404)
    try server.send("DELETE", "/tasks/t2").expectProblem(404)
  }

  @Test(
    "An invalid request is rejected and changes nothing",
    arguments: [
      ("POST", "/tasks", "{", 400), ("POST", "/tasks", "", 400), ("POST", "/tasks", #"{"a":1,"a":2}"#, 400),
      ("POST", "/tasks", "[]", 422), ("POST", "/tasks", "null", 422), ("POST", "/tasks", #"{"id": true}"#, 422),
      ("POST", "/tasks", #"{"id": ""}"#, 422), ("POST", "/tasks", #"{"id": {}}"#, 422),
      ("POST", "/tasks", #"{"id": "t1"}"#, 409), ("POST", "/none", "{}", 404), ("PATCH", "/tasks", "{}", 405),
      ("PUT", "/tasks", "{}", 405), ("DELETE", "/tasks", "", 405), ("POST", "/tasks/t1", "{}", 405),
      ("POST", "/projects/p1/tasks", "{}", 405), ("OPTIONS", "/tasks", "", 405), ("PATCH", "/tasks/t1", "[]", 422),
      ("PATCH", "/tasks/t1", "7", 422), ("PATCH", "/tasks/t1", #"{"id": "t9"}"#, 422),
      ("PATCH", "/tasks/t1", #"{"id": null}"#, 422), ("PATCH", "/tasks/none", "{}", 404),
      ("PUT", "/tasks/t1", #"{"id": "t9"}"#, 422), ("PUT", "/tasks/t1", #"{"id": null}"#, 422),
      ("PUT", "/tasks/none", #"{"id": "t9"}"#, 422), ("PUT", "/tasks/t1", "[]", 422), ("PUT", "/tasks/none", "x", 400),
      ("GET", "/none", "", 404), ("GET", "", "", 404), ("GET", "/tasks//", "", 404), ("GET", "/tasks/t1/x/y", "", 404),
      ("GET", "/projects/none/tasks", "", 404), ("GET", "/none/p1/tasks", "", 404),
      ("GET", "/projects/p1/none", "", 404),
    ])
  func refusals(method: String, path: String, body: String, status: Int) throws {
    let before = try (server.get("/tasks").body, server.get("/projects").body)
    try server.send(method, path, body).expectProblem(status)
    #expect(try server.get("/tasks").body == before.0 && server.get("/projects").body == before.1)
  }

  @Test(
    "A method that a path does not support returns 405 and the allowed methods",
    arguments: [
      ("PATCH", "/tasks", "GET, HEAD, POST"), ("POST", "/tasks/t1", "GET, HEAD, PATCH, PUT, DELETE"),
      ("PUT", "/projects/p1/tasks", "GET, HEAD"), ("BREW", "/tasks/none", "GET, HEAD, PATCH, PUT, DELETE"),
    ])
  func methods(method: String, path: String, allowed: String) throws {
    let response = try server.send(method, path, "{}")
    try response.expectProblem(405, allowed)
    #expect(response.headers["Allow"] == allowed)
  }

  @Test(
    "An unsupported content type or encoding is rejected",
    arguments: [
      ("POST", "text/plain", "Accept", "application/json"),
      ("POST", "application/merge-patch+json", "Accept", "application/json"),
      ("PUT", "application/x-www-form-urlencoded", "Accept", "application/json"),
      ("PATCH", "application/json-patch+json", "Accept-Patch", "application/merge-patch+json, application/json"),
      ("PATCH", "", "Accept-Patch", "application/merge-patch+json, application/json"),
    ])
  func types(method: String, type: String, name: String, accepted: String) throws {
    let path = method == "POST" ? "/tasks" : "/tasks/t1"
    let response = try server.send(method, path, "{}", ["Content-Type": type])
    try response.expectProblem(415, accepted)
    #expect(response.headers[name] == accepted)
    try server.send(method, path, "{}", ["Content-Encoding": "gzip"]).expectProblem(415)
    let url = try #require(URL(string: "http://127.0.0.1/api" + path))
    try server.answer(HTTPRequest(method, url, body: Data("{}".utf8))).expectProblem(415)
  }

  @Test("Content that exceeds the size limit is rejected")
  func sizes() throws {
    var options = ResourceOptions()
    options.sizeLimit = 20
    let server = try Served(options: options)
    #expect(try server.send("POST", "/tasks", #"{"a":"0123456789AB"}"#).status == 201)
    try server.send("POST", "/tasks", #"{"a":"0123456789ABC"}"#).expectProblem(413, "20")
    try server.send("DELETE", "/tasks/t1", #"{"a":"0123456789ABC"}"#).expectProblem(413)
    #expect(ResourceOptions().sizeLimit == 16 << 20)
  }

  @Test(
    "Requests without the bearer token are rejected",
    arguments: [
      nil, "", "Bearer", "Bearer other", "Basic secret", "secret", "Bearer secret x", "Bearer  secretx",
    ])
  func tokens(authorization: String?) throws {
    var options = ResourceOptions()
    options.token = "secret"
    let server = try Served(options: options)
    let headers = authorization.map { ["Authorization": $0] as HTTPHeaders } ?? [:]
    for path in ["/tasks", "/none"] {
      let response = try server.get(path, headers)
      try response.expectProblem(401)
      #expect(response.headers["WWW-Authenticate"] == "Bearer")
    }
    try server.send("DELETE", "/tasks/t1", nil, headers).expectProblem(401)
    #expect(try server.get("/tasks/t1", ["Authorization": "Bearer secret"]).status == 200)
    #expect(try server.get("/tasks/t1", ["Authorization": "bearer  secret "]).status == 200)
  }

  @Test("A change that cannot be written to storage is rolled back")
  func storage() throws {
    struct Full: ResourceStorage {
      mutating func write(_ list: ResourceList) throws { throw ServeError("the disk is full; space is needed") }
    }
    let server = try Served(storage: Full())
    let before = try server.get("/tasks").body
    try server.send("POST", "/tasks", "{}", ["Idempotency-Key": "k"]).expectProblem(500, "the disk is full")
    try server.send("PATCH", "/tasks/t1", #"{"a":1}"#).expectProblem(500)
    try server.send("PUT", "/tasks/t9", "{}").expectProblem(500)
    try server.send("DELETE", "/tasks/t1").expectProblem(500)
    #expect(try server.get("/tasks").body == before)
    // A request that changes nothing succeeds, because nothing is written.
    #expect(try server.send("PATCH", "/tasks/t1", "{}").status == 200)
  }
}
