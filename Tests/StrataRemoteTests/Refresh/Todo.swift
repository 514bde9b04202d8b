import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore

/// The task and the project from the gist (G-1). They are written without the macro, which this module's tests don't use.
struct Todo: DescribedModel, Entity, Equatable {
  var myId: String
  var title: String
  var desc: String?
  var done = false
  var projectID: String?
  var fetched = RowBase()

  static let fields = Fields(
    Todo.self, version: 1, Field("myId", \.myId), Field("title", \.title), Field("desc", \.desc),
    Field("done", \.done, default: false), Field("projectID", \.projectID),
    Field("fetched", \.fetched, default: RowBase()),
    make: { Todo(myId: $0, title: $1, desc: $2, done: $3, projectID: $4, fetched: $5) })
  static let entityMapping = EntityMapping(table: "todo")
}

struct Project: DescribedModel, Entity, Equatable {
  var myId: String
  var name: String

  static let fields = Fields(
    Project.self, version: 1, Field("myId", \.myId), Field("name", \.name), make: { Project(myId: $0, name: $1) })
  static let entityMapping = EntityMapping(table: "project")
}

/// A store with tasks and projects, and its server.
struct Office {
  let server: ModelServer
  let writer: any DatabaseWriter
  let entities: EntityStore
  let remote: RemoteStore

  static let mappers = [
    EntityMapper(
      Project.self, keys: ["myId": "id"], missing: .delete, traits: ServerTraits(honoursIdempotencyKeys: true)),
    EntityMapper(
      Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], missing: .delete,
      traits: ServerTraits(honoursIdempotencyKeys: true)),
  ]

  static func makeTables(_ db: GRDB.Database) throws {
    try db.create(table: "project") { table in
      table.primaryKey("myId", .text)
      table.column("name", .text).notNull()
    }
    try db.create(table: "todo") { table in
      table.primaryKey("myId", .text)
      table.column("title", .text).notNull()
      table.column("desc", .text)
      table.column("done", .boolean).notNull()
      table.column("projectID", .text).references("project", onDelete: .cascade)
    }
  }

  init(
    _ server: ModelServer, writer: (any DatabaseWriter)? = nil, account: String = "",
    _ configure: (inout RemoteConfiguration) -> Void = { _ in }
  ) async throws {
    self.server = server
    self.writer = try writer ?? DatabaseQueue()
    try await self.writer.write { db in if try !db.tableExists("todo") { try Self.makeTables(db) } }
    entities = try EntityStore(self.writer, Project.self, Todo.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = Self.mappers
    configuration.retry = .none
    configure(&configuration)
    remote = try await RemoteStore(entities, configuration, account: account)
  }

  func todos() async throws -> [Todo] { try await entities.fetchAll(Todo.order(Column("myId"))) }
  func todo(_ id: String) async throws -> Todo? { try await entities.fetchOne(Todo.filter(Column("myId") == id)) }
  func edit(_ id: String, _ change: @Sendable @escaping (inout Todo) -> Void) async throws {
    guard var todo = try await todo(id) else { return }
    change(&todo)
    try await entities.save(todo)
  }
}
