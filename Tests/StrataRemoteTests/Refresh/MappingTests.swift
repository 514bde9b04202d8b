import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

struct Country: DescribedModel, Entity, Equatable {
  var id: String
  var code: String

  static let fields = Fields(
    Country.self, version: 1, Field("id", \.id), Field("code", \.code), make: { Country(id: $0, code: $1) })
  static let entityMapping = EntityMapping(table: "country")
}

struct City: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var country: String?

  static let fields = Fields(
    City.self, version: 1, Field("id", \.id), Field("name", \.name), Field("country", \.country),
    make: { City(id: $0, name: $1, country: $2) })
  static let entityMapping = EntityMapping(table: "city")
}

@Suite("Validation of mappers against tables")
struct MappingTests {
  @Test("A foreign key to a column other than the primary key is stored as received and keeps its target")
  func foreignKeyToAnotherColumn() async throws {
    let (server, queue) = (
      ModelServer([
        "countrys": #"[{"id": "1", "code": "de"}]"#, "citys": #"[{"id": "1", "name": "Ulm", "country": "de"}]"#,
      ]), try DatabaseQueue()
    )
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE country (id TEXT PRIMARY KEY, code TEXT NOT NULL UNIQUE);
          CREATE TABLE city (id TEXT PRIMARY KEY, name TEXT NOT NULL, country TEXT REFERENCES country(code));
          """)
    }
    let entities = try EntityStore(queue, Country.self, City.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Country.self, missing: .delete), EntityMapper(City.self),
      transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Country.self)
    try await remote.refresh(City.self)
    #expect(try await entities.fetchAll(City.all()).map(\.country) == ["de"])
    server.set("countrys", "[]")
    #expect(try await remote.refresh(Country.self).kept == 1)
  }

  @Test("An id that the column's collation considers equal updates the same record and keeps its edits")
  func otherCase() async throws {
    let queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE project (myId TEXT PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE todo (myId TEXT PRIMARY KEY COLLATE NOCASE, title TEXT NOT NULL, "desc" TEXT,
            done BOOLEAN NOT NULL, projectID TEXT);
          """)
    }
    let office = try await Office(ModelServer(["todos": #"[{"id": "abc", "title": "Paint"}]"#]), writer: queue)
    try await office.remote.refresh(Todo.self)
    try await office.edit("abc") { $0.title = "Mine" }
    office.server.set("todos", #"[{"id": "ABC", "title": "Paint", "description": "x"}]"#)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == ["Mine"])
    #expect(try await office.todos().map(\.desc) == ["x"])
  }

  @Test("Two mappers of one table throw invalidConfiguration")
  func twoMappersOfOneTable() async throws {
    let queue = try DatabaseQueue()
    try await queue.write { db in try Office.makeTables(db) }
    let entities = try EntityStore(queue, Todo.self, Heading.self)
    let error = await #expect(throws: RemoteError.self) {
      _ = try await RemoteStore(
        entities,
        RemoteConfiguration(
          baseURL: ModelServer().base, mappers: EntityMapper(Todo.self, id: "myId"),
          EntityMapper(Heading.self, id: "myId"), transport: ModelServer()))
    }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test("A deleted path that is a wildcard throws invalidConfiguration")
  func deletedPattern() async throws {
    let entities = try await Office(ModelServer([:])).entities
    let error = await #expect(throws: RemoteError.self) {
      _ = try await RemoteStore(
        entities,
        RemoteConfiguration(
          baseURL: ModelServer().base, mappers: EntityMapper(Todo.self, id: "myId", deleted: "*"),
          EntityMapper(Project.self, id: "myId"), transport: ModelServer()))
    }
    #expect(
      error?.code == .invalidConfiguration && error?.reason.contains("write \\* for a key") ?? false,
      "\(error?.reason ?? String())")
  }

  struct Heading: DescribedModel, Entity {
    var myId: String
    var title: String
    static let fields = Fields(
      Heading.self, version: 1, Field("myId", \.myId), Field("title", \.title), make: { Heading(myId: $0, title: $1) })
    static let entityMapping = EntityMapping(table: "todo")
  }
}
