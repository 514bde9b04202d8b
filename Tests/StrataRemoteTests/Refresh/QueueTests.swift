import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

/// A record that may refer to another one of its type.
struct Person: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var bossID: String?

  static let fields = Fields(
    Person.self, version: 1, Field("id", \.id), Field("name", \.name), Field("bossID", \.bossID),
    make: { Person(id: $0, name: $1, bossID: $2) })
  static let entityMapping = EntityMapping(table: "person")
}

/// A record that must refer to another one of its type.
struct Node: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var next: String

  static let fields = Fields(
    Node.self, version: 1, Field("id", \.id), Field("name", \.name), Field("next", \.next),
    make: { Node(id: $0, name: $1, next: $2) })
  static let entityMapping = EntityMapping(table: "node")
}

@Suite("Change queue")
struct QueueTests {
  private static func office() async throws -> Office {
    let office = try await Office(
      ModelServer([
        "projects": #"[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]"#,
        "todos":
          #"[{"id": "1", "title": "Paint", "project_id": "a"}, {"id": "2", "title": "Sand", "project_id": "a"}]"#,
      ]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    return office
  }

  @Test("A record is deleted after all references to it are gone, whatever was changed first")
  func deletions() async throws {
    let office = try await Self.office()
    try await office.entities.save(Project(myId: "a", name: "A2"), overwriting: true)
    try await office.edit("1") { $0.projectID = "b" }
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM project WHERE myId = 'a'") }
    office.server.forget()
    #expect(try await office.remote.send().sent == 3)
    #expect(
      office.server.lines.filter { !$0.hasPrefix("GET") } == [
        "PATCH /todos/1", "DELETE /todos/2", "DELETE /projects/a",
      ])
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("A record is not deleted on the server while the move of a dependent record is refused")
  func refusedMoves() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.projectID = "b" }
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM project WHERE myId = 'a'") }
    office.server.state.withLock { $0.refuses = { $0.method == "PATCH" ? 422 : nil } }
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (1, 1, 1))
    #expect(office.server.json("projects", "a") != nil)
    office.server.state.withLock { $0.refuses = nil }
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    #expect(try await office.remote.send().sent == 2)
    #expect(office.server.json("todos", "1")?["project_id"] == "b")
    #expect(office.server.json("projects", "a") == nil)
  }

  @Test("A moved record that no longer exists does not delay the deletion of its former target")
  func movedAndGone() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.projectID = "b" }
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM project WHERE myId = 'a'") }
    office.server.delete("todos", "1")
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (2, 1, 0))
    #expect(office.server.json("projects", "a") == nil)
    #expect(try await office.remote.changes().map(\.status) == [404])
  }

  private static func people(_ json: String = "[]") async throws
    -> (ModelServer, DatabaseQueue, EntityStore, RemoteStore)
  {
    let (server, queue) = (ModelServer(["persons": json]), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(
        sql: "CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT NOT NULL, bossID TEXT REFERENCES person)")
    }
    let entities = try EntityStore(queue, Person.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Person.self, keys: ["bossID": "boss_id"]), transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Person.self)
    return (server, queue, entities, remote)
  }

  @Test(
    "New records with cyclic references are sent without one reference, which is sent afterwards",
    arguments: [1, 2, 3])
  func cycles(_ count: Int) async throws {
    let (server, queue, entities, remote) = try await Self.people()
    for number in 0..<count { try await entities.save(Person(id: "l\(number)", name: "\(number)")) }
    // This record refers to a record of the cycle, but is created before the cycle is complete.
    try await entities.save(Person(id: "other", name: "other", bossID: "l0"))
    for number in 0..<count {
      try await queue.write { db in
        try db.execute(
          sql: "UPDATE person SET bossID = ? WHERE id = ?", arguments: ["l\((number + 1) % count)", "l\(number)"])
      }
    }
    let sending = try await remote.send()
    #expect((sending.refused, sending.waiting) == (0, 0))
    #expect(try await remote.changes().isEmpty)
    #expect(server.count("persons") == count + 1)
    let people = try await entities.fetchAll(Person.order(Column("name")))
    for (number, person) in people.enumerated() {
      #expect(person.bossID == people[person.name == "other" ? 0 : (number + 1) % count].id)
      #expect(server.json("persons", person.id)?["boss_id"]?.stringValue == person.bossID)
    }
  }

  @Test("New records in an unbreakable cycle are refused with a reason and sent once the cycle is broken")
  func stuckCycles() async throws {
    let (server, queue) = (ModelServer(["nodes": "[]"]), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE node (id TEXT PRIMARY KEY, name TEXT NOT NULL,
            next TEXT NOT NULL REFERENCES node DEFERRABLE INITIALLY DEFERRED)
          """)
    }
    let entities = try EntityStore(queue, Node.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Node.self), transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await queue.write { db in
      try db.execute(
        sql: "INSERT INTO node VALUES ('a', 'A', 'b'), ('b', 'B', 'a'), ('c', 'C', 'a')")
    }
    var sending = try await remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (0, 2, 1))
    let refused = try await remote.changes().filter { $0.state == .refused }
    #expect(refused.map(\.record) == ["a", "b"])
    #expect(refused.allSatisfy { $0.code == .store && $0.reason?.contains("in a cycle") == true })
    for change in refused { try await remote.retry(change) }
    #expect(try await remote.send().refused == 2)

    // The server already has a record, which refers to itself.
    server.state.withLock {
      $0.lists["nodes"]?.append(("r", .init(json: ["id": "r", "name": "R", "next": "r"], version: 1)))
    }
    try await remote.refresh(Node.self)
    try await queue.write { db in try db.execute(sql: "UPDATE node SET next = 'r' WHERE id = 'b'") }
    for change in try await remote.changes() where change.state == .refused { try await remote.retry(change) }
    sending = try await remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (3, 0, 0))
    #expect(server.count("nodes") == 4)
  }

  @Test("Records that refer to each other can be deleted")
  func deletedCycles() async throws {
    let (server, queue, _, remote) = try await Self.people(
      #"[{"id": "1", "name": "A", "boss_id": "2"}, {"id": "2", "name": "B", "boss_id": "1"}, {"id": "3", "name": "C", "boss_id": "3"}]"#
    )
    try await queue.write { db in try db.execute(sql: "DELETE FROM person") }
    #expect(try await remote.send().sent == 3)
    #expect(server.count("persons") == 0)
  }

  @Test("A change that the server keeps reporting as a conflict is refused with a reason")
  func repeatedConflicts() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.title = "Sand" }
    office.server.state.withLock { $0.refuses = { $0.method == "PATCH" ? 409 : nil } }
    let sending = try await office.remote.send()
    #expect((sending.refused, sending.waiting) == (1, 0))
    let change = try #require(try await office.remote.changes().first)
    #expect((change.state, change.status) == (.refused, 409))
    #expect(try await office.todo("1")?.title == "Sand")
  }

  @Test("Changes of an entity without a mapper wait and block no other changes")
  func otherMappers() async throws {
    let office = try await Self.office()
    try await office.entities.save(Project(myId: "a", name: "A2"), overwriting: true)
    try await office.edit("1") { $0.title = "Mine" }
    var configuration = RemoteConfiguration(baseURL: office.server.base, transport: office.server)
    configuration.mappers = [Office.mappers[1]]
    configuration.retry = .none
    let remote = try await RemoteStore(office.entities, configuration)
    let sending = try await remote.send()
    #expect((sending.sent, sending.waiting) == (1, 1))
    #expect(office.server.json("todos", "1")?["title"] == "Mine")
    #expect(try await remote.changes().map(\.entity) == ["Project"])
  }
}
