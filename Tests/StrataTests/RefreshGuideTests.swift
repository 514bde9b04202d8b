import Foundation
import GRDB
import Strata
import StrataRemote
import StrataStore
import StrataTestSupport
import StrataCore
import Testing

// The programs of Docs/Refresh.md. A test compares and runs them.

// Refresh:begin
@Model(version: 1)
struct Todo {
  var myId: String
  var title: String
  var desc: String?
  var projectID: String?
  var fetched = RowBase()
}

extension Todo: Entity {
  static let entityMapping = EntityMapping(table: "todo")
}
// Refresh:end

@Model(version: 1)
struct Project {
  var myId: String
  var name: String
}

extension Project: Entity {
  static let entityMapping = EntityMapping(table: "project")
}

/// A server with a list of todos that accepts changes.
private final class TodoServer: HTTPTransport {
  let requests = Mutex<[String]>([])
  private let title = Mutex("Milk")

  func change(_ title: String) { self.title.withLock { $0 = title } }

  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    requests.withLock { $0.append("\(request.method) \(request.url.path)") }
    let todo = #"{"id": "1", "title": "\#(title.withLock { $0 })", "description": "two", "project_id": null}"#
    switch request.method {
    case "GET" where request.url.path.hasSuffix("s"):
      return HTTPResponse(200, body: Data("[\(todo)]".utf8), url: request.url)
    case "GET": return HTTPResponse(200, body: Data(todo.utf8), url: request.url)
    default: return HTTPResponse(200, body: Data(#"{"id": "1", "title": "Oat milk"}"#.utf8), url: request.url)
    }
  }
}

private func show(_ todos: [Todo]) { print(todos.map(\.title)) }

private func first(_ entities: EntityStore, _ server: TodoServer, _ url: URL) async throws -> RemoteStore {
  // Refresh:begin
  var configuration = RemoteConfiguration(
    baseURL: url,  // https://example.com/api
    mappers: EntityMapper(Project.self, keys: ["myId": "id"]),
    EntityMapper(
      Todo.self,
      keys: ["desc": "description", "myId": "id", "projectID": "project_id"]))
  // Refresh:end
  configuration.transport = server
  // Refresh:begin
  // The error of the initializer lists every mistake in the configuration.
  let remote = try await RemoteStore(entities, configuration)

  for try await todos in remote.fetch(Todo.order(Column("title"))) {
    // The first array has the local todos. The second one is yielded after the
    // response to GET /api/todos is merged.
    show(todos)
  }
  // Refresh:end
  return remote
}

private func edit(_ entities: EntityStore, _ remote: RemoteStore, _ known: Todo) async throws {
  var todo = known
  todo.title = "Oat milk"
  // Refresh:begin
  // You can also call Todo.filter(…).deleteAll(db), or run SQL.
  try await entities.save(todo)
  // The result has the numbers of sent, refused and waiting changes.
  let sending = try await remote.send()
  // Refresh:end
  #expect(sending.sent == 1)
  // Refresh:begin
  for change in try await remote.changes() {
    print(
      change.kind, change.entity, change.record,
      change.state, change.reason ?? "")
  }
  // Refresh:end
}

private func save(_ edited: Todo, _ fetched: Todo, _ entities: EntityStore) async throws {
  // Refresh:begin
  try await entities.save(edited, base: fetched)
  // Refresh:end
}

private func saved(_ entities: EntityStore) async throws {
  // Refresh:begin
  var todo = try await entities.saved(
    Todo(myId: UUID().uuidString, title: "Oats"))
  todo.title = "Rye"
  todo = try await entities.saved(todo)
  // Refresh:end
  #expect(todo.title == "Rye" && todo.fetched.isKnown)
}

private func resolve(_ remote: RemoteStore) async throws {
  // Refresh:begin
  for conflict in try await remote.conflicts() {
    print(
      conflict.entity, conflict.record, conflict.path,
      conflict.base, conflict.local, conflict.server)
    try await remote.resolve(conflict, .server)  // or .local, or .value(…)
  }
  // Refresh:end
}

@Suite("The refresh guide")
struct RefreshGuideTests {
  @Test("The guide contains the code of these programs, and they run")
  func programs() async throws {
    let queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE project (myId TEXT PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE todo (myId TEXT PRIMARY KEY, title TEXT NOT NULL, "desc" TEXT, projectID TEXT REFERENCES project(myId));
          """)
    }
    let entities = try EntityStore(queue, Project.self, Todo.self)
    let server = TodoServer()
    let remote = try await first(entities, server, #require(URL(string: "https://example.com/api")))
    let todo = try #require(try await remote.cached(Todo.all()).first)
    #expect((todo.title, todo.desc) == ("Milk", "two"))
    try await edit(entities, remote, todo)
    #expect(server.requests.withLock { $0 } == ["GET /api/todos", "GET /api/todos/1", "PATCH /api/todos/1"])
    var other = try #require(try await remote.cached(Todo.all()).first)
    let fetched = other
    other.title = "Tea"
    try await save(other, fetched, entities)
    server.change("Coffee")
    try await remote.refresh(Todo.self)
    #expect(try await remote.conflicts().count == 1)
    try await resolve(remote)
    #expect(try await remote.cached(Todo.all()).first?.title == "Coffee")
    try await saved(entities)
    try compare()
  }

  private func compare() throws {
    let page = try Repository.text("Docs/Refresh.md")
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    func plain(_ text: some StringProtocol) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty && !$0.hasPrefix("//") }
    }
    let lines = plain(try Repository.examples("Refresh").joined())
    #expect(blocks.count >= 5)
    for block in blocks {
      let wanted = plain(block)
      #expect(lines.indices.contains { lines[$0...].starts(with: wanted) }, "\(block)")
    }
  }
}
