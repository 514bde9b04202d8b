import Foundation
import StrataCore
import StrataRemote
import StrataTestSupport
import Testing

@Suite("strata-serve in its own process")
struct ServeProcessTests {
  @Test(
    "strata-serve prints its address, responds, logs and exits cleanly after a signal", arguments: [SIGINT, SIGTERM])
  func serving(signal: Int32) async throws {
    let server = try ServeProcess()
    #expect(server.line.hasPrefix("serving projects (2), tasks (5) at http://127.0.0.1:"))
    #expect(server.line.hasSuffix("/api\n"))
    let list = try await server.send("GET", "/tasks?done=false&per_page=2")
    #expect(list.status == 200 && list.headers["Link"]?.contains("rel=\"next\"") ?? false)
    #expect(try list.json.arrayValue?.count == 2)
    let record = try await server.send("GET", "/tasks/t1")
    let same = try await server.send("GET", "/tasks/t1", nil, ["If-None-Match": record.etag])
    #expect(same.status == 304 && same.body.isEmpty && same.etag == record.etag)
    let made = try await server.send("POST", "/tasks", #"{"title": "Ünïcode", "n": 9007199254740993}"#)
    let location = try #require(made.headers["Location"])
    #expect(made.status == 201 && location.hasPrefix(server.base + "/tasks/"))
    #expect(try await server.send("GET", String(location.dropFirst(server.base.count))).body == made.body)
    let patched = try await server.send("PATCH", "/tasks/t1", #"{"title":"x"}"#, ["If-Match": record.etag])
    #expect(patched.status == 200)
    let outdated = try await server.send("PATCH", "/tasks/t1", #"{"title":"y"}"#, ["If-Match": record.etag])
    try outdated.expectProblem(412)
    let deleted = try await server.send("DELETE", "/tasks/t2")
    #expect(deleted.status == 204 && deleted.body.isEmpty && deleted.headers["Content-Length"] == nil)
    let head = try await server.send("HEAD", "/tasks/t1")
    #expect(head.status == 200 && head.body.isEmpty && head.headers["Content-Length"] == String(patched.body.count))
    let large = try await server.send("POST", "/tasks", #"{"a":""# + String(repeating: "x", count: 16 << 20) + #""}"#)
    try large.expectProblem(413)
    #expect(server.stop(signal) == 0)
    #expect(
      try server.log == [
        "GET /api/tasks?done=false&per_page=2 → 200", "GET /api/tasks/t1 → 200", "GET /api/tasks/t1 → 304",
        "POST /api/tasks → 201", "GET " + location.dropFirst(server.base.count - 4) + " → 200",
        "PATCH /api/tasks/t1 → 200", "PATCH /api/tasks/t1 → 412", "DELETE /api/tasks/t2 → 204",
        "HEAD /api/tasks/t1 → 200", "POST /api/tasks → 413",
      ])
  }

  @Test("strata-serve accepts content of 16 MiB")
  func largeContent() async throws {
    let server = try ServeProcess("-q")
    let body = #"{"id":"x","a":""# + String(repeating: "x", count: (16 << 20) - 17) + #""}"#
    #expect(body.utf8.count == 16 << 20)
    #expect(try await server.send("PUT", "/tasks/x", body).status == 201)
    #expect(try await server.send("GET", "/tasks/x").body == Data(body.utf8))
    #expect(server.stop() == 0)
    #expect(try server.log.isEmpty)
  }

  @Test("Written changes and ETags persist when a folder is served again")
  func folders() async throws {
    let scratch = try Scratch()
    _ = try scratch.file("notes.json", #"[{"id":1,"text":"a"}]"#)
    let first = try ServeProcess(
      "--write", "--token", "secret", "--page-size", "1", "--max-age", "9", folder: scratch.url.path)
    #expect(try await first.send("GET", "/notes").status == 401)
    let token: HTTPHeaders = ["Authorization": "Bearer secret"]
    #expect(try await first.send("POST", "/notes", #"{"text":"b"}"#, token).status == 201)
    let page = try await first.send("GET", "/notes", nil, token)
    #expect(page.headers["Cache-Control"] == "max-age=9" && page.headers["Link"]?.contains("page=2") ?? false)
    #expect(try scratch.data("notes.json") == Data("[{\"id\":1,\"text\":\"a\"},{\"id\":2,\"text\":\"b\"}]\n".utf8))
    let tag = try await first.send("GET", "/notes/2", nil, token).etag
    #expect(first.stop() == 0)
    let second = try ServeProcess(folder: scratch.url.path)
    #expect(second.line.hasPrefix("serving notes (2) at "))
    #expect(try await second.send("GET", "/notes/2", nil, ["If-None-Match": tag]).status == 304)
    #expect(second.stop() == 0)
  }

  @Test("Concurrent requests apply each change exactly once")
  func concurrency() async throws {
    let server = try ServeProcess("-q")
    let site = server.site
    try await withThrowingTaskGroup(of: Int.self) { group in
      for place in 0..<40 {
        group.addTask {
          try await site.send("POST", "/tasks", "{}", ["Idempotency-Key": "k\(place / 2)"]).status
        }
      }
      for try await status in group { #expect(status == 201) }
    }
    #expect(try await server.send("GET", "/tasks").json.arrayValue?.count == 25)
    #expect(server.stop() == 0)
  }

  @Test(
    "After a signal, strata-serve waits a limited time for pending responses and exits cleanly",
    arguments: [(1500, 200), (300_000, 503)])
  func stoppingWhileAnswering(latency: Int, status: Int) async throws {
    // On a slow machine, the request or its response may come too late, so the test makes several attempts.
    var answers: [Int] = []
    for _ in 0..<5 where !answers.contains(status) {
      let server = try ServeProcess("--latency", String(latency))
      let site = server.site
      let waiting = Task { try await site.send("GET", "/tasks") }
      // After one second, the server should have received the request but not answered it.
      try await Task.sleep(for: .seconds(1))
      #expect(server.stop() == 0)
      if case .success(let response) = await waiting.result { answers.append(response.status) }
    }
    #expect(answers.last == status, "\(answers)")
  }

  @Test("Listening on a port fails while it is in use and works after it is released")
  func ports() throws {
    let first = try ServeProcess()
    let port = try #require(first.base.split(separator: ":").last?.split(separator: "/").first).description
    #expect(throws: ServeProcess.NotListening.self) { try ServeProcess("--port", port) }
    #expect(first.stop() == 0)
    #expect(try ServeProcess("--port", port).base == first.base)
  }

  @Test("strata-serve rejects requests whose Host is not localhost")
  func hosts() async throws {
    let server = try ServeProcess("-q")
    try await server.send("GET", "/tasks", nil, ["Host": "example.com"]).expectProblem(421)
    try await server.send("GET", "/tasks", nil, ["Host": "localhost@example.com"]).expectProblem(421)
    #expect(try await server.send("GET", "/tasks", nil, ["Host": "LOCALHOST:1"]).status == 200)
    #expect(server.stop() == 0)
  }
}
