import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

/// Like many real servers, these send no strong ETags and do not recognize a repeated request by its key.
@Suite("Servers without strong ETags and without Idempotency-Key")
struct PlainServerTests {
  private static func office(
    _ mapper: EntityMapper = Office.mappers[1], _ configure: (inout RemoteConfiguration) -> Void = { _ in }
  ) async throws -> Office {
    let server = ModelServer([
      "projects": "[]",
      "todos": #"[{"id": "1", "title": "Paint", "description": "old"}, {"id": "2", "title": "Sand"}]"#,
    ])
    server.state.withLock { ($0.sendsETags, $0.honoursKeys) = (false, false) }
    let office = try await Office(server) {
      $0.mappers = [Office.mappers[0], mapper]
      configure(&$0)
    }
    try await office.remote.refresh(Todo.self)
    return office
  }

  /// Applies a fault to the next request that changes a record.
  private static func faultOnce(_ office: Office, _ fault: ModelServer.Fault) {
    let count = Mutex(0)
    let next = Once(count)
    office.server.state.withLock { $0.fault = { $0.method == "GET" ? nil : next.isFirst ? fault : nil } }
  }

  private final class Once: Sendable {
    private let count: Mutex<Int>
    init(_ count: consuming sending Mutex<Int>) { self.count = count }
    var isFirst: Bool {
      count.withLock {
        $0 += 1
        return $0 == 1
      }
    }
  }

  @Test("A retried PATCH does not overwrite a concurrent edit, and the conflict stays")
  func repeatedOverConflict() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    Self.faultOnce(office, .status(503))
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.edit("todos", "1", #"{"description": "theirs"}"#)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.remote.conflicts().count == 1)
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    let sending = try await office.remote.send()
    #expect(sending.sent == 0)
    #expect(office.server.json("todos", "1")?["description"] == "theirs")
    #expect(try await office.remote.conflicts().count == 1)
    #expect(try await office.todo("1")?.desc == "mine")
  }

  @Test("A retried PATCH does not overwrite a concurrent edit that no refresh has seen")
  func repeatedOverUnseen() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    Self.faultOnce(office, .status(503))
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.edit("todos", "1", #"{"description": "theirs"}"#)
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["description"] == "theirs")
    #expect(try await office.remote.conflicts().count == 1)
  }

  @Test("A PATCH whose response was lost is not sent again over a later edit by others")
  func arrivedAndOverwritten() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    Self.faultOnce(office, .answerLost)
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    #expect(office.server.json("todos", "1")?["description"] == "mine")
    office.server.edit("todos", "1", #"{"description": "theirs"}"#)
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["description"] == "theirs")
  }

  @Test("A PATCH whose response was lost does not conflict with itself")
  func arrived() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    Self.faultOnce(office, .answerLost)
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    try await office.edit("1") { $0.desc = "later" }
    let sending = try await office.remote.send()
    #expect(sending.conflicts == 0)
    #expect(office.server.json("todos", "1")?["description"] == "later")
    #expect(try await office.remote.conflicts().isEmpty)
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("A new record whose response was lost exists once, with all edits")
  func joined() async throws {
    let office = try await Self.office(
      EntityMapper(Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: .client))
    office.server.state.withLock { $0.acceptsIDs = true }
    try await office.entities.save(Todo(myId: "mine", title: "New", desc: "a"))
    Self.faultOnce(office, .answerLost)
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    try await office.edit("mine") { $0.desc = "b" }
    office.server.edit("todos", "mine", #"{"title": "Theirs"}"#)
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    try await office.remote.send()
    try await office.remote.send()
    #expect(office.server.count("todos") == 3)
    #expect(office.server.json("todos", "mine")?["description"] == "b")
    #expect(office.server.json("todos", "mine")?["title"] == "Theirs")
    #expect(try await office.todos().count == 3)
  }

  @Test("A deletion does not delete a record that others have edited since")
  func deletedAndEdited() async throws {
    let office = try await Self.office()
    office.server.state.withLock { $0.sendsETags = true }
    try await office.remote.refresh(Todo.self, .one("1"))
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM todo WHERE myId = '1'") }
    office.server.edit("todos", "1", #"{"description": "theirs"}"#)
    let sending = try await office.remote.send()
    #expect(office.server.json("todos", "1")?["description"] == "theirs")
    #expect(sending.sent == 0)
    let change = try #require(try await office.remote.changes().first)
    #expect(change.state == .refused)
    #expect(change.kind == .delete)
  }

  @Test("A response that leaves the value unchanged does not drop the edit")
  func ignored() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    office.server.state.withLock {
      $0.fault = { $0.method == "PATCH" ? .body(#"{"id": "1", "title": "Paint", "description": "old"}"#) : nil }
    }
    let sending = try await office.remote.send()
    #expect(sending.sent == 0)
    #expect(sending.refused == 1)
    #expect(try await office.todo("1")?.desc == "mine")
    #expect(try await office.remote.changes().first?.columns == ["desc"])
  }

  @Test("A PATCH whose response is not a record counts as sent if the server's record confirms it")
  func textAnswer() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    office.server.state.withLock { $0.fault = { $0.method == "PATCH" ? .body("OK") : nil } }
    let sending = try await office.remote.send()
    #expect(sending.sent == 1)
    #expect(try await office.remote.changes().isEmpty)
    #expect(office.server.lines.filter { $0 == "PATCH /todos/1" }.count == 1)
  }

  @Test("A value that the server trims does not conflict with the sent value")
  func trimmed() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine " }
    Self.faultOnce(office, .answerLost)
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.edit("todos", "1", #"{"description": "mine"}"#)
    try await office.remote.refresh(Todo.self)
    try await office.remote.send()
    #expect(try await office.remote.conflicts().isEmpty)
    #expect(try await office.remote.changes().isEmpty)
    #expect(try await office.todo("1")?.desc == "mine")
  }

  @Test("A DELETE answered with a proxy page counts as sent once the record is gone")
  func pageForDeletion() async throws {
    let office = try await Self.office()
    try await office.writer.write { try $0.execute(sql: "DELETE FROM todo WHERE myId = '1'") }
    office.server.state.withLock { $0.fault = { $0.method == "DELETE" ? .body("<html>") : nil } }
    try await office.remote.send()
    #expect(office.server.lines.suffix(2) == ["DELETE /todos/1", "GET /todos/1"])
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("The old value of an edit is converted by a migration")
  func convertedColumn() async throws {
    let server = ModelServer(["scales": #"[{"id": "1", "weight": "1.5"}]"#])
    server.state.withLock { ($0.sendsETags, $0.honoursKeys) = (false, false) }
    let writer = try DatabaseQueue()
    try await writer.write { try $0.execute(sql: "CREATE TABLE scale (id TEXT PRIMARY KEY, weight TEXT NOT NULL)") }
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = [EntityMapper(OldScale.self, path: "scales", name: "Scale")]
    configuration.retry = .none
    let entities = try EntityStore(writer, OldScale.self)
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(OldScale.self)
    try await entities.save(OldScale(id: "1", weight: "2.5"), overwriting: true)
    try await writer.write { db in
      try db.execute(
        sql: """
          ALTER TABLE scale RENAME TO old; CREATE TABLE scale (id TEXT PRIMARY KEY, mass DOUBLE NOT NULL);
          INSERT INTO scale SELECT id, CAST(weight AS DOUBLE) FROM old; DROP TABLE old;
          """)
    }
    server.set("scales", #"[{"id": "1", "weight": 1.5}]"#)
    configuration.mappers = [EntityMapper(NewScale.self, keys: ["mass": "weight"], path: "scales", name: "Scale")]
    let updated = try await RemoteStore(EntityStore(writer, NewScale.self), configuration)
    #expect(try await updated.changes().first?.columns == ["mass"])
    // The server's value is still the one that the app fetched, so there is no conflict.
    try await updated.refresh(NewScale.self)
    #expect(try await updated.conflicts().isEmpty)
    try await updated.send()
    #expect(server.json("scales", "1")?["weight"] == 2.5)
  }

  @Test("A record that always fails does not stop the others")
  func oneFails() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    try await office.edit("2") { $0.desc = "mine" }
    office.server.state.withLock {
      $0.fault = { $0.method == "PATCH" && $0.url.path.hasSuffix("1") ? .status(500) : nil }
    }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    #expect(office.server.json("todos", "2")?["description"] == "mine")
  }

  @Test("A waiting change is sent to the current base URL")
  func movedServer() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    Self.faultOnce(office, .lost)
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    let url = try #require(URL(string: "https://new.example.org/api"))
    let hosts = Mutex<[String]>([])
    let log = Log(hosts)
    var configuration = RemoteConfiguration(baseURL: url, transport: Redirected(server: office.server, log: log))
    configuration.mappers = Office.mappers
    configuration.retry = .none
    let remote = try await RemoteStore(office.entities, configuration)
    try await remote.send()
    #expect(log.all.allSatisfy { $0 == "new.example.org" })
    #expect(office.server.json("todos", "1")?["description"] == "mine")
  }

  private final class Log: Sendable {
    private let hosts: Mutex<[String]>
    init(_ hosts: consuming sending Mutex<[String]>) { self.hosts = hosts }
    var all: [String] { hosts.withLock { $0 } }
    func note(_ host: String) { hosts.withLock { $0.append(host) } }
  }

  /// The same server at a different address.
  private struct Redirected: HTTPTransport {
    let server: ModelServer
    let log: Log
    func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
      log.note(request.url.host ?? "")
      var request = request
      let text = request.url.absoluteString.replacing("https://new.example.org", with: "https://example.com")
      if let url = URL(string: text) { request.url = url }
      return try await server.send(request, sizeLimit: sizeLimit, timeout: timeout)
    }
  }

  @Test("An edit without a JSON difference is refused and not dropped")
  func nullsInDictionaries() async throws {
    let server = ModelServer(["notes": #"[{"id": "1", "marks": {"a": 1}}]"#])
    let writer = try DatabaseQueue()
    try await writer.write { try $0.execute(sql: "CREATE TABLE marked (id TEXT PRIMARY KEY, marks TEXT NOT NULL)") }
    let entities = try EntityStore(writer, Marked.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = [EntityMapper(Marked.self, path: "notes")]
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Marked.self)
    try await entities.save(Marked(id: "1", marks: ["a": 1, "b": nil]), overwriting: true)
    let sending = try await remote.send()
    #expect(sending.refused == 1)
    #expect(try await remote.changes().first?.columns == ["marks"])
    #expect(try await entities.fetchAll(Marked.all()) == [Marked(id: "1", marks: ["a": 1, "b": nil])])
  }

  @Test("Edits of a renamed column are sent under its new name; edits of a removed column throw by name")
  func renamedColumn() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    try await office.writer.write { try $0.execute(sql: "ALTER TABLE todo RENAME COLUMN \"desc\" TO details") }
    var configuration = RemoteConfiguration(baseURL: office.server.base, transport: office.server)
    configuration.mappers = [
      EntityMapper(NewTodo.self, keys: ["details": "description", "myId": "id"], path: "todos", name: "Todo")
    ]
    configuration.retry = .none
    let remote = try await RemoteStore(EntityStore(office.writer, NewTodo.self), configuration)
    #expect(try await remote.changes().first?.columns == ["details"])
    #expect(try await remote.send().sent == 1)
    #expect(office.server.json("todos", "1")?["description"] == "mine")
    try await office.writer.write { db in
      try db.execute(sql: "UPDATE todo SET details = 'again' WHERE myId = '1'")
      try db.execute(sql: "ALTER TABLE todo RENAME COLUMN details TO other")
    }
    configuration.mappers = [EntityMapper(LastTodo.self, keys: ["myId": "id"], path: "todos", name: "Todo")]
    let (entities, last) = (try EntityStore(office.writer, LastTodo.self), configuration)
    let error = await #expect(throws: RemoteError.self) { _ = try await RemoteStore(entities, last) }
    #expect(error?.reason.contains("details") ?? false)
  }
}

struct OldScale: DescribedModel, Entity, Equatable {
  var id: String
  var weight: String
  static let fields = Fields(
    OldScale.self, name: "Scale", version: 1, Field("id", \.id), Field("weight", \.weight),
    make: { OldScale(id: $0, weight: $1) })
  static let entityMapping = EntityMapping(table: "scale")
}

struct NewScale: DescribedModel, Entity, Equatable, Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .convert("weight", .toDouble), .rename("weight", to: "mass")))
  var id: String
  var mass: Double
  static let fields = Fields(
    NewScale.self, name: "Scale", version: 2, Field("id", \.id), Field("mass", \.mass),
    make: { NewScale(id: $0, mass: $1) })
  static let entityMapping = EntityMapping(table: "scale")
}

struct Marked: DescribedModel, Entity, Equatable {
  var id: String
  var marks: [String: Int?]
  static let fields = Fields(
    Marked.self, version: 1, Field("id", \.id), Field("marks", \.marks), make: { Marked(id: $0, marks: $1) })
  static let entityMapping = EntityMapping(table: "marked")
}

struct NewTodo: DescribedModel, Entity, Equatable {
  var myId: String
  var title: String
  var details: String?
  var done: Bool
  static let fields = Fields(
    NewTodo.self, name: "Todo", version: 2, Field("myId", \.myId), Field("title", \.title),
    Field("details", \.details, formerly: ["desc"]), Field("done", \.done, default: false),
    make: { NewTodo(myId: $0, title: $1, details: $2, done: $3) })
  static let entityMapping = EntityMapping(table: "todo")
}

struct LastTodo: DescribedModel, Entity, Equatable {
  var myId: String
  var title: String
  var done: Bool
  static let fields = Fields(
    LastTodo.self, name: "Todo", version: 3, Field("myId", \.myId), Field("title", \.title),
    Field("done", \.done, default: false), make: { LastTodo(myId: $0, title: $1, done: $2) })
  static let entityMapping = EntityMapping(table: "todo")
}
