import Foundation
import StrataCore
import StrataRemote
import Testing

@testable import StrataServer

@Suite("Retried changes and random failures")
struct RepeatedRequestsTests {
  let server: Served

  init() throws { server = try Served() }

  @Test(
    "A retry with the same idempotency key returns the first response and changes nothing",
    arguments: [
      ("POST", "/tasks", #"{"title":"New"}"#, 201), ("PATCH", "/tasks/t1", #"{"title":"New"}"#, 200),
      ("PUT", "/tasks/t1", "{}", 200), ("PUT", "/tasks/t9", "{}", 201), ("DELETE", "/tasks/t1", nil, 204),
    ] as [(String, String, String?, Int)])
  func repeating(method: String, path: String, body: String?, status: Int) throws {
    var headers: HTTPHeaders = ["Idempotency-Key": "\"k\""]
    // The retry sends the same ETag, so its precondition no longer holds after the first request has changed the record.
    if method == "PATCH" { headers["If-Match"] = try server.get(path).etag }
    let first = try server.send(method, path, body, headers)
    #expect(first.status == status)
    let all = try server.get("/tasks").body
    server.pass(60)
    var again = try server.send(method, path, body, headers)
    #expect(again.headers["Date"] == "Fri, 15 Jan 2027 08:01:00 GMT")
    again.headers["Date"] = first.headers["Date"]
    #expect(again == first)
    #expect(try server.get("/tasks").body == all)
  }

  @Test(
    "Reusing an idempotency key for a different request is rejected",
    arguments: [
      ("POST", "/tasks", #"{"title":"Other"}"#), ("POST", "/projects", #"{"title":"New"}"#),
      ("PATCH", "/tasks/t1", #"{"title":"New"}"#), ("DELETE", "/tasks/t1", nil),
    ] as [(String, String, String?)])
  func others(method: String, path: String, body: String?) throws {
    #expect(try server.send("POST", "/tasks", #"{"title":"New"}"#, ["Idempotency-Key": "k"]).status == 201)
    let all = try server.get("/tasks").body
    try server.send(method, path, body, ["Idempotency-Key": "k"]).expectProblem(422, "Idempotency-Key")
    #expect(try server.get("/tasks").body == all)
    #expect(try server.send("POST", "/tasks", #"{"title":"New"}"#, ["Idempotency-Key": "j"]).status == 201)
    #expect(try server.ids("/tasks").count == 7)
    // A request that only reads ignores the key.
    #expect(try server.get("/tasks", ["Idempotency-Key": "k"]).status == 200)
  }

  @Test("A failed request can be retried with the same idempotency key")
  func failures() throws {
    let headers: HTTPHeaders = ["Idempotency-Key": "k"]
    try server.send("POST", "/tasks", #"{"id":"t1"}"#, headers).expectProblem(409)
    #expect(try server.send("DELETE", "/tasks/t1").status == 204)
    #expect(try server.send("POST", "/tasks", #"{"id":"t1"}"#, headers).status == 201)
  }

  @Test("The oldest idempotency keys are removed")
  func forgetting() throws {
    var requests = RepeatedRequests()
    let url = try #require(URL(string: "http://127.0.0.1/api/tasks"))
    func request(_ key: Int) -> HTTPRequest { HTTPRequest("POST", url, headers: ["Idempotency-Key": "\(key)"]) }
    for key in 0...10_000 { requests.note(HTTPResponse(201, url: url), to: request(key)) }
    #expect(try requests.answer(to: request(0)) == nil)
    #expect(try requests.answer(to: request(1))?.status == 201)
    #expect(try requests.answer(to: request(10_000))?.status == 201)
  }

  @Test("The configured share of requests fails without effect, reproducibly for a seed")
  func faults() throws {
    func statuses(_ share: Double, _ seed: UInt64) throws -> [Int] {
      let server = try Served(faults: ServeFaults(share: share, seed: seed))
      let statuses = try (0..<200).map { _ in
        let response = try server.send("POST", "/tasks", "{}")
        if response.status == 503 {
          try response.expectProblem(503)
          #expect(response.headers["Retry-After"] == "0")
        }
        return response.status
      }
      return statuses
    }
    #expect(try statuses(0, 1).allSatisfy { $0 == 201 })
    #expect(try statuses(1, 1).allSatisfy { $0 == 503 })
    let some = try statuses(0.2, 1)
    #expect(10...80 ~= some.count { $0 == 503 } && some.allSatisfy { [201, 503].contains($0) })
    #expect(try statuses(0.2, 1) == some && statuses(0.2, 2) != some)
    let server = try Served(faults: ServeFaults(share: 0.5, seed: 7))
    let made = try (0..<100).count { _ in try server.send("POST", "/tasks", "{}").status == 201 }
    var response = try server.get("/tasks")
    while response.status == 503 { response = try server.get("/tasks") }
    #expect(try response.json.arrayValue?.count == 5 + made)
  }
}
