import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import StrataTestSupport
import Testing

private struct Project: DescribedModel, Entity, Equatable {
  var myId: String
  var name: String
  var color: String?

  static let fields = Fields(
    Project.self, version: 1, Field("myId", \.myId), Field("name", \.name), Field("color", \.color),
    make: { Project(myId: $0, name: $1, color: $2) })
  static let entityMapping = EntityMapping(table: "project")
}

private struct Task: DescribedModel, Entity, Equatable {
  var myId: String
  var title: String
  var desc: String?
  var done: Bool
  var project: Project?

  static let fields = Fields(
    Task.self, version: 1, Field("myId", \.myId), Field("title", \.title), Field("desc", \.desc), Field("done", \.done),
    Field("project", \.project),
    make: { Task(myId: $0, title: $1, desc: $2, done: $3, project: $4) })
  static let entityMapping = EntityMapping(table: "task", relations: ["project": .toOne("projectID")])
}

/// Runs the gist's example with its original names. The client uses URLSession, and the server runs in a separate process.
@Suite("The tasks and projects of the gist with strata-serve")
struct GistServerTests {
  @Test("G-1, G-2, G-3, G-4: two mappers fetch cached and refreshed tasks and send changes")
  func gist() async throws {
    let server = try ServeProcess("-q")
    let queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE project (myId TEXT PRIMARY KEY, name TEXT NOT NULL, color TEXT);
          CREATE TABLE task (
            myId TEXT PRIMARY KEY, title TEXT NOT NULL, "desc" TEXT, done BOOLEAN NOT NULL,
            projectID TEXT REFERENCES project(myId));
          """)
    }
    let entities = try EntityStore(queue, Task.self)
    let remote = try await RemoteStore(
      entities,
      RemoteConfiguration(
        baseURL: try #require(URL(string: server.base)),
        mappers: EntityMapper(
          Task.self, keys: ["desc": "notes", "myId": "id"], references: ["project": "project_id"]),
        EntityMapper(Project.self, keys: ["myId": "id"])))
    let events = remote.events()
    try await remote.refresh(Project.self)
    var seen: [Int] = []
    var tasks: [Task] = []
    for try await found in remote.fetch(Task.order(Column("title"))) {
      seen.append(found.count)
      tasks = found
    }
    #expect(seen == [0, 5])
    let walls = try #require(tasks.first { $0.myId == "t1" })
    #expect((walls.title, walls.desc) == ("Measure the walls", "Twice, before anything is ordered."))
    #expect(walls.project == Project(myId: "p1", name: "Kitchen", color: "orange"))
    var fetched: [[String]] = []
    for await event in events {
      if case .didFetch(let refresh) = event.kind { fetched.append(refresh.ids) }
      if fetched.count == 2 { break }
    }
    #expect(fetched == [["p1", "p2"], ["t1", "t2", "t3", "t4", "t5"]])

    try await entities.save(Project(myId: "new", name: "Cellar", color: nil))
    var moved = walls
    moved.desc = "Once."
    moved.project = Project(myId: "new", name: "Cellar", color: nil)
    try await entities.save(moved, base: walls)
    #expect(try await remote.send().sent == 2)
    let record = try JSONReader().read(try await server.send("GET", "/tasks/t1").body)
    let project = try await remote.currentKey(of: "new", Project.self)
    #expect(record["notes"] == "Once.")
    #expect(record["project_id"]?.stringValue == String.fromDatabaseValue(project))
    #expect(record["tags"] == ["planning"])
    #expect(try await remote.refresh(Task.self).unchanged == 5 + 3)
    #expect(try await remote.refresh(Task.self).outcome == .notModified)
    #expect(try await remote.changes().isEmpty)
  }
}
