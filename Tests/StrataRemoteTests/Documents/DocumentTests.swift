import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Synchronization
import Testing

@Suite("Documents without a model")
struct DocumentTests {
  private let server: ModelServer
  private let queue: DatabaseQueue
  private let remote: RemoteStore

  init() async throws {
    server = ModelServer([
      "tasks":
        #"[{"id": 1, "title": "Milk", "meta": {"by": "ann", "size": 2}, "note": null}, {"id": "b", "title": "Tea", "tags": ["x"]}]"#
    ])
    queue = try DatabaseQueue()
    try await queue.write { db in try EntityDocument.makeTable("task", in: db) }
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(named: "task", missing: .delete), transport: server)
    configuration.retry = .none
    remote = try await RemoteStore(EntityStore(queue, documents: ["task"]), configuration)
  }

  private func json(_ id: String) async throws -> ArchiveValue? {
    let text = try await queue.read { db in
      try String.fetchOne(db, sql: "SELECT value FROM task WHERE id = ?", arguments: [id])
    }
    return try text.map { try JSONReader().read(Data($0.utf8)) }
  }

  private func set(_ id: String, _ change: @escaping @Sendable (inout ArchiveValue) throws -> Void) async throws {
    try await queue.write { db in
      var document = try EntityDocument.all(in: "task").filter(Column("id") == id).fetchOne(db)
      try #require(document != nil)
      if var value = document?.value {
        try change(&value)
        document?.value = value
      }
      try document?.save(in: "task", db)
    }
  }

  @Test("They are what the server sent, with ids of any kind as text, and refreshed without a model")
  func refreshing() async throws {
    let first = try await remote.refresh("task")
    #expect(first.ids == ["1", "b"])
    #expect(first.inserted == 2)
    #expect(try await json("1") == ["id": 1, "title": "Milk", "meta": ["by": "ann", "size": 2], "note": .null])
    #expect(try await remote.cached("task").map(\.value["title"]) == ["Milk", "Tea"])
    #expect(try await remote.refresh("task").outcome == .notModified)
    // A key that the server no longer sends is gone.
    server.set("tasks", #"[{"id": 1, "title": "Milk", "meta": {"size": 3}}]"#)
    let second = try await remote.refresh("task")
    #expect((second.updated, second.deleted) == (1, 1))
    #expect(try await json("1") == ["id": 1, "title": "Milk", "meta": ["size": 3]])
    #expect(try await remote.apply(Data(#"{"id": 9}"#.utf8), to: "task").ids == ["9"])
  }

  @Test("What was changed is sent as a merge patch of the document, at any depth, and comes back merged")
  func sending() async throws {
    try await remote.refresh("task")
    try await set("1") { value in
      try value.set(5, at: "meta.size")
      value["note"] = nil
    }
    server.edit("tasks", "1", #"{"meta": {"by": "bob"}}"#)
    let sending = try await remote.send()
    #expect(sending.sent == 1)
    let patch = server.requests.last { $0.method == "PATCH" }
    #expect(patch?.body.map { String(decoding: $0, as: UTF8.self) } == #"{"meta":{"size":5},"note":null}"#)
    #expect(server.json("tasks", "1")?["meta"] == ["by": "bob", "size": 5])
    #expect(try await remote.cached("task").first?.value["meta"] == ["by": "bob", "size": 5])
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A conflict is about a key; the others are sent meanwhile, and each is resolved by itself")
  func conflicts() async throws {
    try await remote.refresh("task")
    try await set("1") { value in
      value["title"] = "Oat milk"
      try value.set(5, at: "meta.size")
      try value.set("cy", at: "meta.by")
    }
    server.edit("tasks", "1", #"{"title": "Soy milk", "meta": {"size": 7}}"#)
    try await remote.send()
    #expect(server.json("tasks", "1")?["meta"] == ["by": "cy", "size": 7])
    let conflicts = try await remote.conflicts()
    #expect(Set(conflicts.map(\.path)) == ["value.title", "value.meta.size"])
    let title = try #require(conflicts.first { $0.path == "value.title" })
    #expect((title.base, title.local, title.server) == ("Milk", "Oat milk", "Soy milk"))
    try await remote.resolve(title, .server)
    #expect(try await remote.cached("task").first?.value["title"] == "Soy milk")
    let size = try #require(try await remote.conflicts().first)
    #expect(size.path == "value.meta.size")
    try await remote.resolve(size, .value(6))
    try await remote.send()
    #expect(server.json("tasks", "1")?["meta"] == ["by": "cy", "size": 6])
    #expect(server.json("tasks", "1")?["title"] == "Soy milk")
    #expect(try await remote.changes().isEmpty)
    #expect(try await remote.conflicts().isEmpty)
  }

  @Test("A document that was made here takes the server's id, and one that was deleted is deleted there")
  func insertsAndDeletes() async throws {
    try await remote.refresh("task")
    try await queue.write { db in
      try EntityDocument(id: "mine", value: ["title": "Bread", "big": .uint(.max)]).save(in: "task", db)
      try EntityDocument(id: "b", value: .null).delete(from: "task", db)
    }
    let sending = try await remote.send()
    #expect(sending.sent == 2)
    #expect(server.json("tasks", "b") == nil)
    let id = try await remote.currentKey(of: "mine", "task")
    #expect(id == "s1")
    #expect(try await json(id) == ["title": "Bread", "big": .uint(.max), "id": "s1"])
    let body = try #require(server.requests.first { $0.method == "POST" }?.body)
    #expect(try JSONReader().read(body) == ["title": "Bread", "big": .uint(.max)])
  }

  @Test(
    "What has no id, another kind of id, or is no object merges nothing",
    arguments: [#"[{"id": 1}, {"title": "x"}]"#, #"[{"id": 1.5}]"#, #"[{"id": true}]"#, "[1]", #"[{"id": [1]}]"#])
  func mistakes(_ body: String) async throws {
    try await remote.refresh("task")
    server.state.withLock { $0.fault = { _ in .body(body) } }
    let error = await #expect(throws: RemoteError.self) { try await remote.refresh("task", .all.with(.reload)) }
    #expect(error?.code == .invalidBody)
    #expect(try await remote.cached("task").count == 2)
  }

  @Test("Names are told apart, and what is wrong with them is said")
  func names() async throws {
    await #expect(throws: RemoteError.self) { try await remote.refresh("project") }
    #expect(throws: EntityError.self) { try EntityStore(queue, documents: ["none"]) }
    let configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(named: "task"), EntityMapper(named: "note"), transport: server)
    let error = await #expect(throws: RemoteError.self) {
      try await RemoteStore(EntityStore(queue, documents: ["task"]), configuration)
    }
    #expect(error?.entity == "note")
    try await queue.write { db in try EntityDocument.makeTable("note", in: db) }
    server.set("notes", #"[{"id": 1, "text": "a"}]"#)
    let both = try await RemoteStore(EntityStore(queue, documents: ["task", "note"]), configuration)
    try await both.refresh("task")
    try await both.refresh("note")
    #expect(try await both.cached("note").map(\.id) == ["1"])
    #expect(try await both.cached("task").count == 2)
  }
}
