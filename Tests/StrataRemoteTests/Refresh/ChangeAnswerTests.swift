import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Requests for changes and their responses")
struct ChangeAnswerTests {
  @Test(
    "The response to a change may contain part of the record and no id",
    arguments: ["{}", #"{"title": "Mine"}"#, #"{"description": "theirs"}"#, #"{"todo": {"description": "theirs"}}"#],
    [EntityMapper.Update.patch, .put])
  func partialAnswers(_ body: String, _ update: EntityMapper.Update) async throws {
    let office = try await Office(ModelServer(["todos": #"[{"id": "1", "title": "Paint"}]"#])) { configuration in
      configuration.mappers[1] = EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], update: update)
    }
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Mine" }
    office.server.state.withLock { $0.fault = { ["PATCH", "PUT"].contains($0.method) ? .body(body) : nil } }
    #expect(try await office.remote.send().sent == 1)
    #expect(try await office.remote.changes().isEmpty)
    let desc = body.contains("theirs") ? "theirs" : nil
    #expect(try await office.todos() == [Todo(myId: "1", title: "Mine", desc: desc)])
  }

  @Test(
    "The id of a new record is read from Location if the body has none, with any characters",
    arguments: [
      ("/api/todos/a%2Fb", "a/b"), ("https://example.com/api/todos/7?x=1#y", "7"), ("7", "7"), ("/api/todos/7/", "7"),
      ("/api/todos/%25", "%"),
    ])
  func locations(_ location: String, _ id: String) async throws {
    for body in ["", #"{"description": "theirs"}"#] {
      let desk = try await Desk { request, _ in request.answered(body, ["Location": location], status: 201) }
      try await desk.office.entities.save(Todo(myId: "n", title: "New"))
      #expect(try await desk.remote.send().sent == 1)
      #expect(
        try await desk.office.todos() == [Todo(myId: id, title: "New", desc: body.isEmpty ? nil : "theirs")])
    }
  }

  @Test("A PUT includes references to records that have not arrived yet", arguments: [true, false])
  func awaitedReferences(byID: Bool) async throws {
    if byID {
      let club = try await Club(
        ["teams": #"[{"id": "t", "name": "T", "lead_id": "m", "member_ids": []}]"#, "members": "[]"], byID: true
      ) { configuration in
        configuration.mappers[0] = EntityMapper(
          Team.self, references: ["lead": "lead_id", "members": "member_ids"], update: .put)
      }
      try await club.remote.refresh(Team.self)
      try await club.queue.write { db in try db.execute(sql: "UPDATE team SET name = 'Mine'") }
      try await club.remote.send()
      #expect(club.server.json("teams", "t")?["name"] == "Mine")
      #expect(club.server.json("teams", "t")?["lead_id"] == "m")
      return
    }
    let todos = #"[{"id": "1", "title": "Paint", "project_id": "p"}]"#
    let office = try await Office(ModelServer(["todos": todos, "projects": "[]"])) { configuration in
      configuration.mappers[1] = EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], update: .put)
    }
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Mine" }
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["title"] == "Mine")
    #expect(office.server.json("todos", "1")?["project_id"] == "p")
    office.server.set("projects", #"[{"id": "p", "name": "P"}]"#)
    try await office.remote.refresh(Project.self)
    #expect(try await office.todo("1")?.projectID == "p")
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("Discarding a new record that may have reached the server deletes it there")
  func discardedOnItsWay() async throws {
    let office = try await Office(
      ModelServer(["projects": "[]", "todos": #"[{"id": "1", "title": "Paint"}, {"id": "2", "title": "Sand"}]"#]))
    try await office.remote.refresh(Todo.self)
    try await office.entities.save(Todo(myId: "n", title: "New"))
    office.server.state.withLock { $0.fault = { $0.method == "POST" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    let change = try #require(try await office.remote.changes().first)
    #expect(change.state == .sending)
    try await office.remote.discard(change)
    #expect(try await office.todos().count == 2)
    try await office.remote.send()
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == ["Paint", "Sand"])
    #expect(office.server.count("todos") == 2)
    #expect(try await office.remote.changes().isEmpty)
  }
}
