import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Records with schemaless values")
struct DocumentTests {
  private let server: ModelServer
  private let entities: EntityStore
  private let remote: RemoteStore

  init() async throws {
    server = ModelServer([
      "documents":
        #"[{"id": "1", "value": {"title": "Milk", "meta": {"by": "ann", "size": 2}, "note": null}}, {"id": "b", "value": {"title": "Tea"}}]"#
    ])
    let queue = try DatabaseQueue()
    try await queue.write { db in try Document.makeTable(in: db) }
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Document.self), transport: server)
    configuration.retry = .none
    entities = try EntityStore(queue, Document.self)
    remote = try await RemoteStore(entities, configuration)
  }

  private func set(_ id: String, _ change: (inout ArchiveValue) throws -> Void) async throws {
    var document = try #require(try await entities.fetchOne(Document.filter(Column("id") == id)))
    let fetched = document
    try change(&document.value)
    try await entities.save(document, base: fetched)
  }

  @Test("Changes at any depth are sent as a merge patch, and the response is merged")
  func sending() async throws {
    try await remote.refresh(Document.self)
    try await set("1") { value in
      try value.set(5, at: "meta.size")
      value["note"] = nil
    }
    server.edit("documents", "1", #"{"value": {"meta": {"by": "bob"}}}"#)
    let sending = try await remote.send()
    #expect(sending.sent == 1)
    let patch = server.requests.last { $0.method == "PATCH" }
    #expect(patch?.body.map { String(decoding: $0, as: UTF8.self) } == #"{"value":{"meta":{"size":5},"note":null}}"#)
    #expect(server.json("documents", "1")?["value"]?["meta"] == ["by": "bob", "size": 5])
    #expect(try await remote.cached(Document.all()).first?.value["meta"] == ["by": "bob", "size": 5])
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A conflict concerns one key; other keys are sent meanwhile, and each conflict is resolved separately")
  func conflicts() async throws {
    try await remote.refresh(Document.self)
    try await set("1") { value in
      value["title"] = "Oat milk"
      try value.set(5, at: "meta.size")
      try value.set("cy", at: "meta.by")
    }
    server.edit("documents", "1", #"{"value": {"title": "Soy milk", "meta": {"size": 7}}}"#)
    try await remote.send()
    #expect(server.json("documents", "1")?["value"]?["meta"] == ["by": "cy", "size": 7])
    let conflicts = try await remote.conflicts()
    #expect(Set(conflicts.map(\.path)) == ["value.title", "value.meta.size"])
    let title = try #require(conflicts.first { $0.path == "value.title" })
    #expect((title.base, title.local, title.server) == ("Milk", "Oat milk", "Soy milk"))
    try await remote.resolve(title, .server)
    #expect(try await remote.cached(Document.all()).first?.value["title"] == "Soy milk")
    let size = try #require(try await remote.conflicts().first)
    #expect(size.path == "value.meta.size")
    try await remote.resolve(size, .value(6))
    try await remote.send()
    #expect(server.json("documents", "1")?["value"]?["meta"] == ["by": "cy", "size": 6])
    #expect(server.json("documents", "1")?["value"]?["title"] == "Soy milk")
    #expect(try await remote.changes().isEmpty)
    #expect(try await remote.conflicts().isEmpty)
  }

  @Test("An edit inside a key that the server dropped is a conflict that can be resolved and sent")
  func droppedKeys() async throws {
    try await remote.refresh(Document.self)
    try await set("1") { try $0.set(5, at: "meta.size") }
    server.set("documents", #"[{"id": "1", "value": {"title": "Milk"}}]"#)
    try await remote.refresh(Document.self)
    let conflict = try #require(try await remote.conflicts().first)
    #expect(conflict.path == "value.meta")
    #expect(
      (conflict.base, conflict.local, conflict.server) == (["by": "ann", "size": 2], ["by": "ann", "size": 5], .null))
    try await remote.resolve(conflict, .local)
    #expect(try await remote.send().sent == 1)
    #expect(server.json("documents", "1")?["value"]?["meta"] == ["by": "ann", "size": 5])
    #expect(try await remote.changes().isEmpty)
    #expect(try await remote.conflicts().isEmpty)
  }

  @Test("A key that the server drops and lists again returns, even if another key was edited")
  func returningKeys() async throws {
    try await remote.refresh(Document.self)
    try await set("1") { $0["title"] = "Oat milk" }
    let parts = [#"{"title": "Milk"}"#, #"{"title": "Milk", "meta": {"size": 3}}"#]
    for part in parts {
      server.set("documents", "[{\"id\": \"1\", \"value\": \(part)}]")
      try await remote.refresh(Document.self)
    }
    let value = try #require(try await remote.cached(Document.all()).first?.value)
    #expect(value == ["title": "Oat milk", "meta": ["size": 3]])
  }
}
