import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@testable import StrataRemote

/// Tests changes whose paths differ from the list's path, and concurrent requests.
@Suite("Endpoints", .timeLimit(.minutes(20)))
struct EndpointTests {
  private static func mappers(_ endpoints: EntityEndpoints, ids: EntityMapper.IDs = .server) -> [EntityMapper] {
    [
      Office.mappers[0],
      EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: ids,
        precondition: .none, endpoints: endpoints),
    ]
  }

  private static let nested = EntityEndpoints(
    record: "item/{id}", create: "projects/{projectID}/todos", update: "projects/{projectID}/todos/{id}",
    delete: "todos/{id}/trash-{title}")

  /// A server that accepts every request and assigns ids to new records.
  private static func desk(_ endpoints: EntityEndpoints, ids: EntityMapper.IDs = .server) async throws -> Desk {
    try await Desk {
      $0.mappers = mappers(endpoints, ids: ids)
    } script: { request, number in
      var json = request.body.flatMap { try? JSONReader().read($0) } ?? [:]
      if case .object(var object) = json {
        let last = request.url.lastPathComponent
        object["id"] = object["id"] ?? .string(request.method == "POST" ? "s\(number)" : last)
        json = .object(object)
      }
      return request.answered(
        request.method == "DELETE" ? "" : String(decoding: try JSONWriter().write(json), as: UTF8.self),
        status: request.method == "POST" ? 201 : request.method == "DELETE" ? 204 : 200)
    }
  }

  private static func lines(_ desk: Desk) -> [String] {
    desk.requests.map { "\($0.method) \($0.url.path.dropFirst("/api/".count))" }
  }

  @Test("Nested paths are filled after the parent is sent, and changes use the values known to the server")
  func nestedPaths() async throws {
    let desk = try await Self.desk(Self.nested)
    try await desk.office.entities.save(Project(myId: "l-p", name: "house"))
    try await desk.office.entities.save(Project(myId: "l-q", name: "garden"))
    try await desk.office.entities.save(Todo(myId: "l-1", title: "paint it", projectID: "l-p"))
    #expect(try await desk.remote.send().sent == 3)
    #expect(Self.lines(desk) == ["POST projects", "POST projects", "POST projects/s1/todos"])
    // On the server, the record is still in the first project when the change is sent.
    try await desk.office.edit("s3") { $0.projectID = "s2" }
    #expect(try await desk.remote.send().sent == 1)
    #expect(Self.lines(desk).last == "PATCH projects/s1/todos/s3")
    try await desk.office.edit("s3") { $0.title = "a/b" }
    #expect(try await desk.remote.send().sent == 1)
    #expect(Self.lines(desk).last == "PATCH projects/s2/todos/s3")
    try await desk.office.writer.write { _ = try Todo.filter(Column("myId") == "s3").deleteAll($0) }
    #expect(try await desk.remote.send().sent == 1)
    #expect(desk.requests.last?.url.absoluteString == "https://example.com/api/todos/s3/trash-a%2Fb")
    _ = try? await desk.remote.refresh(Todo.self, .one("s9"))  // The response isn't a record. Only the request matters.
    #expect(Self.lines(desk).last == "GET item/s9")
  }

  @Test("A change that lacks a property of its path is refused alone until the property is set")
  func missingValue() async throws {
    let desk = try await Self.desk(Self.nested)
    try await desk.office.entities.save(Todo(myId: "l-1", title: "nowhere"))
    try await desk.office.entities.save(Project(myId: "l-p", name: "house"))
    let sending = try await desk.remote.send()
    #expect((sending.sent, sending.refused) == (1, 1))
    let change = try #require(try await desk.remote.changes().first)
    #expect(change.state == .refused && change.reason?.contains("projectID") ?? false, "\(change)")
    try await desk.office.edit("l-1") { $0.projectID = "s1" }
    #expect(try await desk.remote.send().sent == 1)
    #expect(Self.lines(desk).last == "POST projects/s1/todos")
  }

  @Test(
    "Creating a store names endpoint paths that cannot be filled",
    arguments: [
      (EntityEndpoints(record: "item"), "{id}"), (EntityEndpoints(record: "item/{title}"), "title"),
      (EntityEndpoints(create: "a/{id}"), "id"), (EntityEndpoints(create: "a/{nothing}"), "nothing"),
      (EntityEndpoints(update: "a"), "{id}"), (EntityEndpoints(delete: "a/{id"), "{"),
      (EntityEndpoints(delete: "a/{}/{id}"), "{"), (EntityEndpoints(create: "/"), "empty"),
      (EntityEndpoints(update: "a/{id}/b}"), "}"),
    ])
  func mistakes(endpoints: EntityEndpoints, name: String) async throws {
    let error = await #expect(throws: RemoteError.self) { _ = try await Self.desk(endpoints) }
    #expect(error?.code == .invalidConfiguration && error?.reason.contains(name) ?? false, "\(error?.reason ?? "")")
  }

  @Test("A create path may contain an id chosen by the client")
  func ownIDs() async throws {
    let desk = try await Self.desk(EntityEndpoints(create: "todos/new/{id}"), ids: .client)
    try await desk.office.entities.save(Todo(myId: "mine", title: "a"))
    #expect(try await desk.remote.send().sent == 1)
    #expect(Self.lines(desk) == ["POST todos/new/mine"])
  }

  /// Counts the requests in flight, and delays each.
  private actor Gate {
    var now = 0, most = 0, all = 0
    func begin() {
      (now, all) = (now + 1, all + 1)
      most = max(most, now)
    }
    func end() { now -= 1 }
  }

  private struct SlowServer: HTTPTransport {
    let server: ModelServer
    let gate = Gate()
    func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
      await gate.begin()
      try await Task.sleep(for: .milliseconds(100))
      let response = try await server.send(request, sizeLimit: sizeLimit, timeout: timeout)
      await gate.end()
      return response
    }
  }

  @Test("The configuration limits the requests in flight, and parents precede children", arguments: [1, 3])
  func atOnce(limit: Int) async throws {
    let server = ModelServer(["projects": "[]", "todos": "[]"])
    let slow = SlowServer(server: server)
    let office = try await Office(server) {
      $0.transport = slow
      $0.requestsAtOnce = limit
    }
    for number in 1...6 {
      try await office.entities.save(Project(myId: "p\(number)x", name: "project \(number)"))
      try await office.entities.save(Todo(myId: "t\(number)x", title: "\(number)", projectID: "p\(number)x"))
    }
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.waiting) == (12, 0))
    let most = await slow.gate.most
    #expect(most <= limit && (most > 1) == (limit > 1))
    for todo in try await office.todos() {
      let id = try #require(server.json("todos", todo.myId)?["project_id"]?.stringValue)
      #expect(server.json("projects", id)?["name"] == .string("project \(todo.title)"))
    }
  }

  @Test("After a failure, requests in flight are completed")
  func failure() async throws {
    let server = ModelServer(["projects": "[]", "todos": "[]"])
    server.state.withLock {
      $0.fault = { $0.method == "POST" && $0.url.path.hasSuffix("projects") ? .status(429) : nil }
    }
    let office = try await Office(server) {
      $0.transport = SlowServer(server: server)
      $0.requestsAtOnce = 4
    }
    try await office.entities.save(Project(myId: "p", name: "p"))
    for number in 1...3 { try await office.entities.save(Todo(myId: "t\(number)x", title: "\(number)")) }
    let error = await #expect(throws: RemoteError.self) { try await office.remote.send() }
    #expect(error?.status == 429)
    #expect(server.count("todos") == 3)
    #expect(try await office.remote.changes().map(\.entity) == ["Project"])
  }

  @Test("Each received page emits an event")
  func progress() async throws {
    let desk = try await Desk {
      $0.mappers = Desk.mappers(.page(of: 2))
    } script: { request, number in
      request.answered(number < 3 ? Desk.list("\(number)a", "\(number)b") : "[]")
    }
    let events = desk.remote.events()
    try await desk.remote.refresh(Todo.self)
    var seen: [String] = []
    for await event in events {
      if case .didReceive(let pages, let records) = event.kind { seen.append("\(pages) \(records)") }
      if case .didFetch = event.kind { break }
    }
    #expect(seen == ["1 2", "2 4", "3 4"])
  }
}
