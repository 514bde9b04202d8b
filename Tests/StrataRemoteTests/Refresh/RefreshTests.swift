import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Refreshing")
struct RefreshTests {
  static let tasks = """
    [{"id": "1", "title": "Paint", "description": "the door", "project_id": null},
     {"id": "123ABC", "title": "Sand", "description": null, "done": true}]
    """

  @Test("G-4: a fetch yields cached rows, then refreshed rows, with title and desc filled")
  func fetch() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks]))
    var seen: [[String]] = []
    for try await todos in office.remote.fetch(Todo.order(Column("myId"))) { seen.append(todos.map(\.title)) }
    #expect(seen == [[], ["Paint", "Sand"]])
    #expect(try await office.todo("1")?.desc == "the door")
    #expect(try await office.todo("123ABC")?.done == true)
    #expect(office.server.lines == ["GET /todos"])
  }

  @Test("F-9: a 304 keeps the rows and is reported as notModified")
  func notModified() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks]))
    #expect(try await office.remote.refresh(Todo.self).inserted == 2)
    let again = try await office.remote.refresh(Todo.self)
    #expect(again.outcome == .notModified)
    office.server.edit("todos", "1", #"{"title": "Paint it black"}"#)
    let third = try await office.remote.refresh(Todo.self)
    #expect((third.outcome, third.updated, third.unchanged) == (.merged, 1, 1))
  }

  @Test("Local edits send only the changed keys, and the response is merged")
  func sending() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks, "projects": "[]"]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Paint the wall" }
    #expect(try await office.remote.changes().map(\.columns) == [["title"]])
    office.server.edit("todos", "1", #"{"description": "of the house"}"#)
    office.server.forget()
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.waiting) == (1, 0))
    #expect(office.server.lines == ["GET /todos/1", "PATCH /todos/1"])
    #expect(
      office.server.requests.last?.body.map { String(decoding: $0, as: UTF8.self) } == #"{"title":"Paint the wall"}"#)
    #expect(try await office.todo("1")?.desc == "of the house")
    #expect(try await office.remote.changes().isEmpty)
    #expect(office.server.json("todos", "1")?["title"] == "Paint the wall")
  }

  @Test("F-11: a new record gets the server's id in all references and is sent before its dependents")
  func inserting() async throws {
    let office = try await Office(ModelServer(["todos": "[]", "projects": "[]"]))
    try await office.entities.save(Project(myId: "local", name: "House"))
    try await office.entities.save(Todo(myId: "t", title: "Paint", projectID: "local"))
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.waiting, sending.refused) == (2, 0, 0))
    #expect(office.server.lines == ["POST /projects", "POST /todos"])
    #expect(try await office.todos() == [Todo(myId: "s2", title: "Paint", projectID: "s1")])
    #expect(office.server.json("todos", "s2")?["project_id"] == "s1")
    let key = try await office.remote.currentKey(of: "local", Project.self)
    #expect(key == "s1".databaseValue)
  }

  @Test("A locally deleted row is not restored by a refresh and is deleted on the server")
  func deleting() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks]))
    try await office.remote.refresh(Todo.self)
    try await office.writer.write { db in _ = try Todo.filter(Column("myId") == "1").deleteAll(db) }
    let refresh = try await office.remote.refresh(Todo.self, .all.with(.reload))
    #expect(refresh.passedOver == 1)
    #expect(try await office.todos().map(\.myId) == ["123ABC"])
    try await office.remote.send()
    #expect(office.server.count("todos") == 1)
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("F-15: refreshing a whole list deletes missing rows, except those with unsent changes")
  func missing() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.desc = "mine" }
    try await office.entities.save(Todo(myId: "new", title: "New"))
    office.server.delete("todos", "1")
    office.server.delete("todos", "123ABC")
    let refresh = try await office.remote.refresh(Todo.self)
    #expect((refresh.deleted, refresh.kept) == (1, 1))
    #expect(try await office.todos().map(\.myId) == ["1", "new"])
  }

  @Test(
    "Accepting a reference to a locally deleted record throws until the deletion is discarded"
  )
  func conflictAboutDeletedRecord() async throws {
    let office = try await Office(
      ModelServer([
        "projects": #"[{"id": "p", "name": "P"}, {"id": "q", "name": "Q"}]"#, "todos": #"[{"id": "1", "title": "a"}]"#,
      ]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    try await office.writer.write { db in _ = try Project.filter(Column("myId") == "p").deleteAll(db) }
    try await office.edit("1") { $0.projectID = "q" }
    office.server.edit("todos", "1", #"{"project_id": "p"}"#)
    try await office.remote.refresh(Todo.self)
    let conflict = try #require(try await office.remote.conflicts().first)
    let error = await #expect(throws: RemoteError.self) { try await office.remote.resolve(conflict, .server) }
    #expect(
      error?.code == .store && error?.reason.contains("discard the deletion of that record") ?? false)
    #expect(try await office.todo("1")?.projectID == "q")
    let deletion = try #require(try await office.remote.changes().first { $0.kind == .delete })
    try await office.remote.discard(deletion)
    try await office.remote.refresh(Project.self)
    try await office.remote.resolve(conflict, .server)
    #expect(try await office.todo("1")?.projectID == "p")
  }

  @Test("A change on both sides is a conflict, which is not sent until it is resolved")
  func conflicts() async throws {
    let office = try await Office(ModelServer(["todos": Self.tasks]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { todo in
      todo.title = "Mine"
      todo.done = true
    }
    office.server.edit("todos", "1", #"{"title": "Theirs"}"#)
    try await office.remote.refresh(Todo.self)
    let conflicts = try await office.remote.conflicts()
    #expect(conflicts.map(\.key) == ["title"])
    #expect(conflicts.first.map { [$0.base, $0.local, $0.server] } == ["Paint", "Mine", "Theirs"])
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["title"] == "Theirs")
    #expect(office.server.json("todos", "1")?["done"] == true)
    try await office.remote.resolve(conflicts[0], .local)
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["title"] == "Mine")
    #expect(try await office.remote.changes().isEmpty)
    #expect(try await office.remote.conflicts().isEmpty)
  }
}
