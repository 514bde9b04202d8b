import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@testable import StrataTool

/// Carries requests to a server in memory, as a network would.
extension Served: HTTPTransport {
  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse { answer(request) }
}

@Suite("Refreshing from the records that are served")
struct ServeRefreshTests {
  /// A client with a database of its own.
  private struct Client {
    let queue: DatabaseQueue
    let remote: RemoteStore

    init(
      _ transport: any HTTPTransport, base: String = "http://127.0.0.1:8080/api",
      pagination: RemotePagination = .linkHeader
    ) async throws {
      queue = try DatabaseQueue()
      try await queue.write { db in try EntityDocument.makeTable("task", in: db) }
      let url = try #require(URL(string: base))
      var configuration = RemoteConfiguration(
        baseURL: url, mappers: EntityMapper(named: "task", pagination: pagination), transport: transport)
      configuration.retry = RemoteRetry(attempts: 20, baseDelay: .zero)
      remote = try await RemoteStore(EntityStore(queue, documents: ["task"]), configuration)
    }

    func value(_ id: String) async throws -> ArchiveValue? {
      try await remote.cached("task").first { $0.id == id }?.value
    }

    /// Changes a member of a record here.
    func set(_ member: String, _ value: ArchiveValue, of id: String) async throws {
      var document = try #require(try await remote.cached("task").first { $0.id == id })
      document.value[member] = value
      let changed = document
      try await queue.write { db in try changed.save(in: "task", db) }
    }
  }

  private static func made(_ options: ResourceOptions = ResourceOptions(), fail: Double = 0) throws -> Served {
    try Served(
      ServeFixtures.lists.map { ($0.name, Data($0.text.utf8)) }, options: options,
      faults: ServeFaults(share: fail, seed: 3))
  }

  @Test("Two clients come to the same records, in pages and with failures", arguments: [nil, 1, 2, 5], [0, 0.3])
  func twoClients(pageSize: Int?, fail: Double) async throws {
    var options = ResourceOptions()
    options.pageSize = pageSize
    let server = try Self.made(options, fail: fail)
    let (one, other) = try await (Client(server), Client(server))
    #expect(try await one.remote.refresh("task").inserted == 5)
    #expect(try await other.remote.refresh("task").inserted == 5)
    // What both changed of one record, at different members.
    try await one.set("title", "Measure twice", of: "t1")
    try await other.set("done", false, of: "t1")
    #expect(try await one.remote.send().sent == 1)
    #expect(try await other.remote.send().sent == 1)
    // What was made, and what was deleted.
    try await one.queue.write { db in
      try EntityDocument(id: "here", value: ["title": "New"]).save(in: "task", db)
      try db.execute(sql: "DELETE FROM task WHERE id = 't5'")
    }
    let sending = try await one.remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (2, 0, 0))
    server.pass(1)
    for client in [one, other] { try await client.remote.refresh("task") }
    let documents = try await one.remote.cached("task")
    #expect(try await other.remote.cached("task") == documents)
    #expect(documents.map(\.id) == ["new1", "t1", "t2", "t3", "t4"])
    #expect(try await other.value("t1")?["title"] == "Measure twice")
    #expect(try await one.value("t1")?["done"] == false)
  }

  @Test("What has not changed is not sent again, until it changes")
  func notModified() async throws {
    let server = try Self.made()
    let client = try await Client(server)
    try await client.remote.refresh("task")
    #expect(try await client.remote.refresh("task").outcome == .notModified)
    #expect(try server.send("POST", "/tasks", #"{"title":"New"}"#).status == 201)
    let refresh = try await client.remote.refresh("task")
    #expect((refresh.inserted, refresh.unchanged) == (1, 5))
  }

  @Test("What becomes null here is gone there, and at others")
  func nulls() async throws {
    let server = try Self.made()
    let (one, other) = try await (Client(server), Client(server))
    for client in [one, other] { try await client.remote.refresh("task") }
    try await one.set("notes", .null, of: "t1")
    #expect(try await one.remote.send().sent == 1)
    #expect(try server.get("/tasks/t1").json.objectValue?.keys.contains("notes") == false)
    for client in [one, other] {
      try await client.remote.refresh("task")
      let value = try #require(try await client.value("t1"))
      #expect(value["title"] == "Measure the walls" && value["notes"] == nil)
    }
  }

  @Test("What both changed is a conflict, which a condition finds")
  func conflicts() async throws {
    let server = try Self.made()
    let client = try await Client(server)
    try await client.remote.refresh("task", .one("t1"))
    try await client.set("title", "Mine", of: "t1")
    #expect(try server.send("PATCH", "/tasks/t1", #"{"title":"Theirs","done":false}"#).status == 200)
    _ = try await client.remote.send()
    let conflict = try #require(try await client.remote.conflicts().first)
    #expect(conflict.server == "Theirs" && conflict.local == "Mine")
    try await client.remote.resolve(conflict, .local)
    #expect(try await client.remote.send().sent == 1)
    let record = try server.get("/tasks/t1").json
    #expect(record["title"] == "Mine" && record["done"] == false)
  }

  @Test("A process serves the client as well as a value does")
  func process() async throws {
    let server = try ServeProcess("-q", "--fail", "0.2", "--seed", "5", "--page-size", "2")
    let client = try await Client(URLSessionTransport(), base: server.base)
    #expect(try await client.remote.refresh("task").inserted == 5)
    try await client.set("title", "Changed", of: "t3")
    #expect(try await client.remote.send().sent == 1)
    let other = try await Client(URLSessionTransport(), base: server.base)
    try await other.remote.refresh("task")
    #expect(try await other.value("t3")?["title"] == "Changed")
    #expect(server.stop() == 0)
  }
}
