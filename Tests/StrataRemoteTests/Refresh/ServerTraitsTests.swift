import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Server traits")
struct ServerTraitsTests {
  private static func office(
    _ traits: ServerTraits = ServerTraits(), _ lists: [String: String] = ["projects": "[]", "todos": "[]"]
  ) async throws -> Office {
    try await Office(ModelServer(lists)) { configuration in
      configuration.mappers = [
        EntityMapper(Project.self, keys: ["myId": "id"], missing: .delete, traits: traits),
        EntityMapper(
          Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], missing: .delete,
          traits: traits),
      ]
    }
  }

  /// Inserts a record. The response is lost, and the server does not recognize a repeated request.
  private static func uncertain() async throws -> (Office, RemoteChange) {
    let office = try await office()
    office.server.state.withLock {
      ($0.honoursKeys, $0.fault) = (false, { $0.method == "POST" ? .answerLost : nil })
    }
    try await office.entities.save(Todo(myId: "mine", title: "Once"))
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    for _ in 0..<3 { #expect(try await office.remote.send().waiting == 1) }
    #expect(office.server.count("todos") == 1, "it is not sent again")
    let change = try #require(try await office.remote.changes().first)
    #expect(change.state == .uncertain && change.code == .uncertain && change.reason != nil)
    return (office, change)
  }

  @Test(
    "An insert with a lost response is not sent again without idempotency keys, and the app can confirm its id"
  )
  func confirm() async throws {
    let (office, change) = try await Self.uncertain()
    try await office.entities.save(Todo(myId: "mine", title: "Once", desc: "edited"), overwriting: true)
    #expect(try await office.remote.changes().first?.state != .refused)
    let id = try #require(office.server.state.withLock { $0.lists["todos"]?.first?.id })
    // The edit leaves the change uncertain, so nothing is sent.
    #expect(try await office.remote.send().sent == 0)
    let known = try #require(try await office.remote.changes().first)
    #expect(known.number == change.number && known.state == .uncertain)
    try await office.remote.confirm(known, id: id)
    try await office.remote.send()
    #expect(office.server.count("todos") == 1)
    #expect(office.server.json("todos", id)?["description"] == "edited")
    #expect(try await office.todos() == [Todo(myId: id, title: "Once", desc: "edited")])
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("The app can retry or discard an uncertain insert")
  func retryOrDiscard() async throws {
    let (office, change) = try await Self.uncertain()
    office.server.set("todos", "[]")
    try await office.remote.retry(change)
    #expect(try await office.remote.send().sent == 1)
    #expect(office.server.count("todos") == 1)
    let (other, lost) = try await Self.uncertain()
    try await other.remote.discard(lost)
    #expect(try await other.todos().isEmpty)
    #expect(try await other.remote.changes().isEmpty)
    try await other.remote.refresh(Todo.self)
    #expect(try await other.todos().map(\.title) == ["Once"])
  }

  @Test("A request that certainly had no effect is sent again", arguments: [nil, 429, 401])
  func withoutEffect(status: Int?) async throws {
    let isDown = Mutex(true)
    let server = ModelServer(["todos": "[]", "projects": "[]"])
    let desk = try await Desk {
      $0.mappers = [EntityMapper(Project.self, keys: ["myId": "id"]), EntityMapper(Todo.self, keys: ["myId": "id"])]
    } script: { request, _ in
      if isDown.withLock({ $0 }) {
        guard let status else { throw RemoteError(.notConnected, "no connection") }
        return request.answered("", status: status)
      }
      return try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
    }
    try await desk.office.entities.save(Todo(myId: "mine", title: "Once"))
    for _ in 0..<2 { _ = try? await desk.remote.send() }  // Each attempt fails or has to wait.
    isDown.withLock { $0 = false }
    let change = try #require(try await desk.remote.changes().first)
    #expect(change.state == .waiting)
    try await desk.remote.retry(change)
    #expect(try await desk.remote.send().sent == 1)
    #expect(server.count("todos") == 1)
  }

  @Test("A transport error at an unknown stage does not cause a new record to be sent twice")
  func unknownErrors() async throws {
    struct Odd: Error {}
    let server = ModelServer(["todos": "[]", "projects": "[]"])
    let fails = Mutex(true)
    let desk = try await Desk {
      $0.mappers = [EntityMapper(Project.self, keys: ["myId": "id"]), EntityMapper(Todo.self, keys: ["myId": "id"])]
    } script: { request, _ in
      let response = try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
      guard fails.withLock({ $0 }) else { return response }
      throw Odd()
    }
    try await desk.office.entities.save(Todo(myId: "mine", title: "Once"))
    await #expect(throws: RemoteError.self) { try await desk.remote.send() }
    fails.withLock { $0 = false }
    try await desk.remote.send()
    #expect(server.count("todos") == 1)
    #expect(try await desk.remote.changes().map(\.state) == [.uncertain])
  }

  @Test("If a server declares strong ETags and sends none, a change is refused instead of sent without a condition")
  func strongETags() async throws {
    let office = try await Self.office(
      ServerTraits(sendsStrongETags: true), ["projects": "[]", "todos": #"[{"id": "1", "title": "A"}]"#])
    office.server.state.withLock { $0.sendsETags = false }
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Mine" }
    #expect(try await office.remote.send().refused == 1)
    #expect(office.server.json("todos", "1")?["title"] == "A")
    #expect(office.remote.guarantees["Todo"] == [.seesEveryEdit, .seesDeletions])
    #expect(try await Self.office().remote.guarantees["Todo"] == [.seesDeletions])
  }

  @Test("A PATCH uses the content type of the server's traits")
  func patchType() async throws {
    let office = try await Self.office(
      ServerTraits(patchType: .json), ["projects": "[]", "todos": #"[{"id": "1", "title": "A"}]"#])
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Mine" }
    #expect(try await office.remote.send().sent == 1)
    let patch = try #require(office.server.requests.first { $0.method == "PATCH" })
    #expect(patch.headers["Content-Type"] == "application/json")
  }

  @Test("An unreadable row refuses only its own change and is named")
  func unreadable() async throws {
    let office = try await Self.office(
      ServerTraits(), ["projects": "[]", "todos": #"[{"id": "1", "title": "A"}, {"id": "2", "title": "B"}]"#])
    try await office.remote.refresh(Todo.self)
    try await office.writer.write { db in
      try db.execute(
        sql: "UPDATE todo SET title = x'ff00' WHERE myId = '1'; UPDATE todo SET title = 'Mine' WHERE myId = '2'")
    }
    let sending = try await office.remote.send()
    #expect(sending.sent == 1 && sending.refused == 1)
    let change = try #require(try await office.remote.changes().first)
    #expect(change.record == "1" && change.state == .refused && change.reason != nil)
    #expect(office.server.json("todos", "2")?["title"] == "Mine")
  }

  @Test("A waiting change names its reason")
  func reasons() async throws {
    let office = try await Self.office(
      ServerTraits(), ["projects": #"[{"id": "p", "name": "P"}]"#, "todos": #"[{"id": "1", "title": "A"}]"#])
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    try await office.entities.save(Project(myId: "new", name: "N"))
    try await office.entities.save(Todo(myId: "t", title: "T", projectID: "new"))
    try await office.edit("1") { $0.title = "Mine" }
    office.server.edit("todos", "1", #"{"title": "Theirs"}"#)
    try await office.remote.refresh(Todo.self)
    office.server.state.withLock { $0.refuses = { $0.url.path.hasSuffix("projects") ? 422 : nil } }
    let sending = try await office.remote.send()
    #expect(sending.waiting == 2 && sending.refused == 1)
    let reasons = try await office.remote.changes().filter { $0.state == .waiting }.map { $0.reason ?? "" }
    #expect(reasons.count == 2)
    #expect(reasons.contains { $0.contains("referenced record") } && reasons.contains { $0.contains("conflict") })
    office.server.state.withLock { $0.refuses = nil }
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    for conflict in try await office.remote.conflicts() { try await office.remote.resolve(conflict, .local) }
    try await office.remote.send()
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("Rows without unsent changes can be removed locally without deleting them on the server")
  func evict() async throws {
    let office = try await Self.office(
      ServerTraits(),
      ["projects": #"[{"id": "p", "name": "P"}]"#, "todos": #"[{"id": "1", "title": "A"}, {"id": "2", "title": "B"}]"#])
    try await office.remote.refresh(Todo.self)
    try await office.remote.refresh(Project.self)
    try await office.edit("2") { $0.title = "Mine" }
    #expect(try await office.remote.evict(Todo.all()) == 1)
    #expect(try await office.todos().map(\.myId) == ["2"])
    #expect(try await office.remote.changes().map(\.record) == ["2"])
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == ["A", "Mine"])
    await #expect(throws: RemoteError.self) { try await office.remote.reset() }
    #expect(try await office.todos().count == 2)
    try await office.remote.reset(discardingChanges: true)
    #expect(try await office.todos().isEmpty)
    #expect(office.server.lines.allSatisfy { $0.hasPrefix("GET") }, "the server knows nothing of it")
    try await office.remote.sync()
    #expect(try await office.todos().map(\.title) == ["A", "B"])
  }

  @Test("sync sends and refreshes in one call, and the queue can be observed")
  func sync() async throws {
    let office = try await Self.office(
      ServerTraits(), ["projects": "[]", "todos": #"[{"id": "1", "title": "A"}]"#])
    let queue = office.remote.observeChanges()
    let counts = Task {
      var counts: [Int] = []
      for try await changes in queue {
        counts.append(changes.count)
        if counts.last == 0, counts.contains(1) { break }
      }
      return counts
    }
    try await office.remote.sync()
    try await office.edit("1") { $0.title = "Mine" }
    // Gives the observation time to deliver the edit, because it may skip intermediate states.
    while try await office.remote.changes().isEmpty { await Task.yield() }
    try await Task.sleep(for: .milliseconds(200))
    let sync = try await office.remote.sync()
    #expect(sync.sending.sent == 1 && sync.refreshes["Todo"]?.ids == ["1"])
    #expect(try await counts.value.last == 0)
  }

  @Test(
    "A record that the server reports as deleted is deleted locally, unless it has unsent changes",
    arguments: ["true", "\"2026-01-01\""])
  func tombstones(_ mark: String) async throws {
    let office = try await Office(
      ModelServer(["projects": "[]", "todos": #"[{"id": "1", "title": "A"}, {"id": "2", "title": "B"}]"#])
    ) { configuration in
      configuration.mappers[1] = EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], deleted: "gone")
    }
    try await office.remote.refresh(Todo.self)
    try await office.edit("2") { $0.title = "Mine" }
    office.server.set(
      "todos",
      #"[{"id": "1", "gone": \#(mark)}, {"id": "2", "gone": \#(mark)}, {"id": "3", "title": "C", "gone": false}, {"id": "9", "gone": true}]"#
    )
    let refresh = try await office.remote.refresh(Todo.self, .matching(["since": "1"]))
    #expect(refresh.deleted == 1 && refresh.kept == 1 && refresh.inserted == 1)
    #expect(try await office.todos().map(\.title) == ["Mine", "C"])
    // An app can apply the content of a push message like this.
    try await office.remote.apply(Data(#"[{"id": "3", "gone": true}]"#.utf8), to: Todo.self)
    #expect(try await office.todos().map(\.title) == ["Mine"])
  }

  @Test("An invalid record is skipped and reported, and its list deletes nothing")
  func invalid() async throws {
    let office = try await Office(
      ModelServer(["projects": "[]", "todos": #"[{"id": "1", "title": "A"}, {"id": "2", "title": "B"}]"#])
    ) { configuration in
      configuration.mappers[1] = EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], missing: .delete,
        onInvalid: .skip)
    }
    try await office.remote.refresh(Todo.self)
    office.server.set("todos", #"[{"id": "1", "title": 7}, {"title": "no id"}, {"id": "3", "title": "C"}]"#)
    for _ in 0..<2 {
      let refresh = try await office.remote.refresh(Todo.self)
      #expect(refresh.invalid.map(\.index) == [0, 1])
      #expect(refresh.deleted == 0, "a list with invalid records is no reason to delete")
      #expect(!refresh.invalid[0].reason.contains("7"))
    }
    #expect(try await office.todos().map(\.title) == ["A", "B", "C"])
    // Without `onInvalid: .skip`, an invalid record makes the refresh fail, and nothing is merged.
    let strict = try await Office(ModelServer(["projects": "[]", "todos": #"[{"id": "1", "title": 7}]"#]))
    await #expect(throws: RemoteError.self) { try await strict.remote.refresh(Todo.self) }
  }

  @Test("A refusal contains the response body, and Retry-After also delays the next send")
  func refusals() async throws {
    let clock = ScriptedClock()
    let count = Mutex(0)
    let desk = try await Desk(clock: clock) { request, _ in
      guard request.method != "GET" else { return request.answered(Desk.list("1", "2")) }
      let number = count.withLock {
        $0 += 1
        return $0
      }
      guard number > 1 else { return request.answered("slow down", ["Retry-After": "3600"], status: 429) }
      return request.answered(#"{"title": "too long"}"#, status: 422)
    }
    try await desk.remote.refresh(Todo.self)
    try await desk.office.writer.write { db in try db.execute(sql: "UPDATE todo SET title = 'x'") }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.send() }
    #expect(error?.retryAfter == .seconds(3600) && error?.body == Data("slow down".utf8))
    #expect(try await desk.remote.send().waiting == 2)
    #expect(count.withLock { $0 } == 1, "neither change is sent before the hour is over")
    let events = desk.remote.events()
    for change in try await desk.remote.changes() { try await desk.remote.retry(change) }
    #expect(try await desk.remote.send().refused == 2)
    for await event in events {
      guard case .refused(_, let error) = event.kind else { continue }
      #expect(error.body == Data(#"{"title": "too long"}"#.utf8) && !"\(error)".contains("long"))
      break
    }
  }

  @Test("Contradictory values for one row in a document are reported, and the last one applies")
  func contradictions() async throws {
    let office = try await Self.office()
    let json =
      #"[{"myId": "1", "title": "A", "done": false}, {"myId": "1", "done": true}, {"myId": "1", "title": "B"}]"#
    let report = try await office.entities.apply(.json(Data(json.utf8)), to: Todo.self)
    #expect(report.contradictions.map(\.columns) == [["done"], ["title"]])
    #expect(try await office.todos().map(\.title) == ["B"])
    let equal = #"[{"myId": "1", "title": "C"}, {"myId": "1", "title": "C"}]"#
    #expect(try await office.entities.apply(.json(Data(equal.utf8)), to: Todo.self).contradictions.isEmpty)
  }

  @Test("Declared strong ETags are required even if a date is known, except with whenKnown")
  func declaredStrong() async throws {
    let list = ["projects": "[]", "todos": #"[{"id": "1", "title": "A"}]"#]
    for requiresETags in [true, false] {
      let office = try await Self.office(ServerTraits(sendsStrongETags: requiresETags), list)
      office.server.state.withLock {
        $0.sendsETags = false
        $0.headers = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT"]
      }
      try await office.remote.refresh(Todo.self, .one("1"))
      try await office.edit("1") { $0.title = "Mine" }
      let result = try await office.remote.send()
      #expect(result.refused == (requiresETags ? 1 : 0) && result.sent == (requiresETags ? 0 : 1))
      #expect(office.server.json("todos", "1")?["title"] == (requiresETags ? "A" : "Mine"))
    }
    let other = try await Office(ModelServer(list)) { configuration in
      configuration.mappers = [
        EntityMapper(Project.self, keys: ["myId": "id"]),
        EntityMapper(
          Todo.self, keys: ["myId": "id"], precondition: .whenKnown, traits: ServerTraits(sendsStrongETags: true)),
      ]
    }
    try await other.remote.refresh(Todo.self)
    try await other.edit("1") { $0.title = "Mine" }
    #expect(try await other.remote.send().sent == 1)
    #expect(other.remote.guarantees["Todo"] == [])
  }

  @Test(
    "Within one send, a change without If-Match is retried after a 429 but not after a 503",
    arguments: [503, 429])
  func retries(status: Int) async throws {
    let isFirst = Mutex(true)
    let server = ModelServer(["todos": #"[{"id": "1", "title": "A"}]"#, "projects": "[]"])
    server.state.withLock { $0.sendsETags = false }
    let desk = try await Desk {
      $0.mappers = [EntityMapper(Project.self, keys: ["myId": "id"]), EntityMapper(Todo.self, keys: ["myId": "id"])]
      $0.retry = RemoteRetry(attempts: 4)
    } script: { request, _ in
      if request.method == "PATCH",
        isFirst.withLock({ first in
          defer { first = false }; return first
        })
      {
        return request.answered("", status: status)
      }
      return try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
    }
    try await desk.remote.refresh(Todo.self)
    try await desk.office.writer.write { db in try db.execute(sql: "UPDATE todo SET title = 'Mine'") }
    let sending = try? await desk.remote.send()  // Throws after the 503, which the next line checks.
    #expect(desk.requests.count { $0.method == "PATCH" } == (status == 429 ? 2 : 1))
    #expect(sending?.sent == (status == 429 ? 1 : nil))
  }

  @Test("Confirming a change again with another id has no effect")
  func confirmations() async throws {
    let (office, change) = try await Self.uncertain()
    let id = try #require(office.server.state.withLock { $0.lists["todos"]?.first?.id })
    try await office.remote.confirm(change, id: id)
    try await office.remote.confirm(change, id: "other")
    #expect(try await office.todos().map(\.myId) == [id])
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("A reset removes rows despite references and drops pending responses")
  func resetInFull() async throws {
    let server = ModelServer([
      "projects": #"[{"id": "p", "name": "P"}]"#, "todos": #"[{"id": "1", "title": "A", "project_id": "p"}]"#,
    ])
    let isSlow = Mutex(false)
    let (hasBegun, goesOn) = (Gate(), Gate())
    let queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE project (myId TEXT PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE todo (myId TEXT PRIMARY KEY, title TEXT NOT NULL, desc TEXT, done BOOLEAN NOT NULL,
            projectID TEXT REFERENCES project(myId) ON DELETE RESTRICT);
          """)
    }
    let desk = try await Desk(writer: queue) { request, _ in
      let response = try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
      if isSlow.withLock({ $0 }) {
        hasBegun.open()
        try await goesOn.wait()
      }
      return response
    }
    try await desk.remote.refresh(Project.self)
    try await desk.remote.refresh(Todo.self)
    // A todo refers to the project, and its foreign key prevents the deletion.
    #expect(try await desk.remote.evict(Project.all()) == 0)
    isSlow.withLock { $0 = true }
    let slow = Task { try await desk.remote.refresh(Todo.self, .all.with(.reload)) }
    try await hasBegun.wait()
    try await desk.remote.reset()
    goesOn.open()
    await #expect(throws: RemoteError.self) { try await slow.value }
    let count = try await queue.read { db in
      try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM todo) + (SELECT count(*) FROM project)")
    }
    #expect(count == 0)
    isSlow.withLock { $0 = false }
    try await desk.remote.sync()
    #expect(try await desk.titles() == ["A"])
  }

  @Test("Without a connection, sync makes one request")
  func syncOffline() async throws {
    let desk = try await Desk { _, _ in throw RemoteError(.notConnected, "no connection") }
    try await desk.office.entities.save(Todo(myId: "mine", title: "Once"))
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.sync() }
    #expect(error?.code == .notConnected)
    #expect(desk.requests.count == 1)
  }

  @Test("The stored body of a refusal is limited")
  func longRefusal() async throws {
    let desk = try await Desk { request, _ in
      request.answered(String(repeating: "x", count: 100_000), status: 422)
    }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.body?.count == 64 << 10)
  }

  /// A record with a unique name in addition to the server's id.
  struct Named: DescribedModel, Entity, Equatable {
    var key: String
    var id: String?
    var name: String
    var note: String?

    static let fields = Fields(
      Named.self, version: 1, Field("key", \.key, default: UUID().uuidString), Field("id", \.id), Field("name", \.name),
      Field("note", \.note), make: { Named(key: $0, id: $1, name: $2, note: $3) })
    static let entityMapping = EntityMapping(table: "named", keys: ["id": ["id"], "name": ["name"]])
  }

  @Test("A refresh resolves an uncertain record by another unique key and keeps later edits")
  func naturalKey() async throws {
    let server = ModelServer(["nameds": "[]"])
    server.state.withLock { ($0.honoursKeys, $0.fault) = (false, { $0.method == "POST" ? .answerLost : nil }) }
    let writer = try DatabaseQueue()
    try await writer.write {
      try $0.execute(
        sql: "CREATE TABLE named (key TEXT PRIMARY KEY, id TEXT UNIQUE, name TEXT NOT NULL UNIQUE, note TEXT)")
    }
    let entities = try EntityStore(writer, Named.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Named.self, keys: ["key": .none]), transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await entities.save(Named(key: "k", id: nil, name: "A", note: "first"))
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    try await remote.send()
    #expect(try await remote.changes().map(\.state) == [.uncertain])
    try await entities.save(Named(key: "k", id: nil, name: "A", note: "second"), overwriting: true)
    try await remote.refresh(Named.self)
    #expect(try await remote.changes().map(\.columns) == [["note"]])
    try await remote.send()
    #expect(server.count("nameds") == 1)
    let row = try #require(try await entities.fetchAll(Named.all()).first)
    #expect(row.key == "k" && row.note == "second" && server.json("nameds", row.id ?? "")?["note"] == "second")
    #expect(try await remote.changes().isEmpty)
  }
}
