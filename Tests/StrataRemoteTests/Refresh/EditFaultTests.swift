import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

struct Tally: DescribedModel, Entity, Equatable {
  var id: String
  var count: Int
  var name: String

  static let fields = Fields(
    Tally.self, version: 1, Field("id", \.id), Field("count", \.count, merge: .sumOfDeltas),
    Field("name", \.name, default: ""), make: { Tally(id: $0, count: $1, name: $2) })
  static let entityMapping = EntityMapping(table: "tally")
}

@Suite("Edits during server faults and concurrent changes")
struct EditFaultTests {
  private static func office(_ server: ModelServer? = nil, _ mapper: EntityMapper? = nil) async throws -> Office {
    let office = try await Office(
      server
        ?? ModelServer([
          "projects": #"[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]"#,
          "todos":
            #"[{"id": "1", "title": "Paint", "project_id": "a"}, {"id": "2", "title": "Sand", "project_id": "a"}]"#,
        ])
    ) { if let mapper { $0.mappers = [Office.mappers[0], mapper] } }
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    return office
  }

  private static func tallies(_ server: ModelServer) async throws -> (EntityStore, RemoteStore) {
    let writer = try DatabaseQueue()
    try await writer.write {
      try $0.execute(sql: "CREATE TABLE tally (id TEXT PRIMARY KEY, count INTEGER NOT NULL, name TEXT NOT NULL)")
    }
    let entities = try EntityStore(writer, Tally.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = [EntityMapper(Tally.self, path: "tallies")]
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Tally.self)
    return (entities, remote)
  }

  @Test("A sum whose response was lost is not counted twice", arguments: [true, false], [true, false])
  func sums(sendsETags: Bool, honoursKeys: Bool) async throws {
    let server = ModelServer(["tallies": #"[{"id": "1", "count": 10, "name": ""}]"#])
    server.state.withLock { ($0.sendsETags, $0.honoursKeys) = (sendsETags, honoursKeys) }
    let (entities, remote) = try await Self.tallies(server)
    try await remote.refresh(Tally.self, .one("1"))
    try await entities.save(Tally(id: "1", count: 15, name: ""), overwriting: true)
    server.state.withLock { $0.fault = { $0.method == "PATCH" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    try await remote.refresh(Tally.self)
    #expect(try await entities.fetchAll(Tally.all()).first?.count == 15)
    try await remote.send()
    #expect(server.json("tallies", "1")?["count"] == 15)
    #expect(try await entities.fetchAll(Tally.all()).first?.count == 15)
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A sum changed by another client is a conflict if it is unknown whether the local change arrived")
  func ambiguousSums() async throws {
    let server = ModelServer(["tallies": #"[{"id": "1", "count": 10, "name": ""}]"#])
    server.state.withLock { ($0.sendsETags, $0.honoursKeys) = (false, false) }
    let (entities, remote) = try await Self.tallies(server)
    try await entities.save(Tally(id: "1", count: 15, name: ""), overwriting: true)
    server.state.withLock { $0.fault = { $0.method == "PATCH" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    server.edit("tallies", "1", #"{"count": 18}"#)
    try await remote.send()
    #expect(server.json("tallies", "1")?["count"] == 18)
    #expect(try await remote.conflicts().count == 1)
  }

  @Test("With a strong ETag and no idempotency key, an edit after a lost response does not conflict with itself")
  func withoutKeys() async throws {
    let office = try await Self.office()
    office.server.state.withLock { $0.honoursKeys = false }
    try await office.remote.refresh(Todo.self, .one("1"))
    try await office.edit("1") { $0.desc = "mine" }
    office.server.state.withLock { $0.fault = { $0.method == "PATCH" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    try await office.edit("1") { $0.desc = "later" }
    let sending = try await office.remote.send()
    #expect(sending.conflicts == 0)
    #expect(office.server.json("todos", "1")?["description"] == "later")
  }

  @Test("A 304 does not confirm a row whose values came from a later response")
  func notModified() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    try await office.remote.send()
    // The server returns to an earlier state, as if restored from a backup. The list has its old ETag again.
    let list = #"[{"id": "1", "title": "Paint", "description": null, "project_id": "a"}, {"id": "2", "title": "Sand"}]"#
    office.server.set("todos", list)
    office.server.state.withLock { state in
      state.version = 2
      for place in state.lists["todos", default: []].indices { state.lists["todos"]?[place].record.version = 2 }
    }
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todo("1")?.desc == nil)
  }

  @Test("Last-Modified is not used as a condition within the second of its response")
  func sameSecond() async throws {
    let office = try await Self.office()
    let time = "Wed, 25 Nov 2026 10:00:00 GMT"
    for (date, isKnown) in [(time, false), ("Wed, 25 Nov 2026 10:00:01 GMT", true)] {
      office.server.state.withLock {
        $0.sendsETags = false
        $0.headers = ["Last-Modified": time, "Date": date]
      }
      try await office.remote.refresh(Todo.self, .one("1").with(.reload))
      try await office.edit("1") { $0.desc = "mine \(date)" }
      office.server.forget()
      try await office.remote.send()
      let patch = try #require(office.server.requests.first { $0.method == "PATCH" })
      #expect((patch.headers["If-Unmodified-Since"] != nil) == isKnown)
    }
  }

  @Test("A refused edit whose old value refers to a deleted record can be discarded")
  func discardOfMoved() async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.projectID = "b" }
    office.server.state.withLock { $0.refuses = { $0.method == "PATCH" ? 422 : nil } }
    try await office.remote.send()
    office.server.state.withLock { $0.refuses = nil }
    try await office.writer.write { db in
      try db.execute(sql: "UPDATE todo SET projectID = 'b'; DELETE FROM project WHERE myId = 'a'")
    }
    let change = try #require(try await office.remote.changes().first { $0.record == "1" })
    try await office.remote.discard(change)
    #expect(try await office.todo("1")?.projectID == nil)
    #expect(try await !office.remote.changes().contains { $0.record == "1" })
  }

  @Test("Two stores on one database send a change once, however slow the server is")
  func twoSenders() async throws {
    let office = try await Self.office()
    let (arrived, gate) = (Gate(), Gate())
    let server = office.server
    let slow = ScriptedTransport { request, _ in
      arrived.open()
      try await gate.wait()
      return try await server.send(request, sizeLimit: 1 << 20, timeout: .seconds(1))
    }
    func store(_ transport: any HTTPTransport) async throws -> RemoteStore {
      var configuration = RemoteConfiguration(baseURL: server.base, transport: transport)
      configuration.mappers = Office.mappers
      configuration.retry = .none
      return try await RemoteStore(office.entities, configuration)
    }
    let (one, two) = (try await store(slow), try await store(server))
    try await office.entities.save(Todo(myId: "new", title: "Once"))
    server.state.withLock { $0.honoursKeys = false }
    let sending = Task { try await one.send() }
    try await arrived.wait()
    let other = try await two.send()
    #expect(other.sent == 0)
    #expect(other.waiting == 1)
    gate.open()
    #expect(try await sending.value.sent == 1)
    #expect(server.lines.filter { $0 == "POST /todos" }.count == 1)
    #expect(server.count("todos") == 3)
  }

  @Test(
    "A lease applies only while its process is running and its time has not expired",
    arguments: [("999999999 gone", 60.0, true), ("1 running", 60, false), ("1 running", -1, true)])
  func leases(owner: String, seconds: Double, isSent: Bool) async throws {
    let office = try await Self.office()
    try await office.edit("1") { $0.desc = "mine" }
    let until = Date().timeIntervalSince1970 + seconds
    try await office.writer.write {
      try $0.execute(sql: "UPDATE strata_remote_changes SET owner = ?, until = ?", arguments: [owner, until])
    }
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.waiting) == (isSent ? 1 : 0, isSent ? 0 : 1))
  }

  @Test("A list that may be a page deletes nothing, unless the mapper declares lists complete")
  func pages() async throws {
    let mapper = EntityMapper(Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"])
    let office = try await Self.office(nil, mapper)
    office.server.set("todos", #"[{"id": "1", "title": "Paint", "project_id": "a"}]"#)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().count == 2)
    await #expect(throws: RemoteError.self) { try await office.remote.refresh(Todo.self, .one("2")) }
    #expect(try await office.todos().count == 2)
    #expect(mapper.missing == .keep)
    #expect(EntityMapper(Todo.self, pagination: .linkHeader).missing == .delete)
    #expect(EntityMapper(Todo.self, missing: .delete).missing == .delete)
  }

  @Test("PUT keeps server values that the model does not know")
  func put() async throws {
    let mapper = EntityMapper(
      Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], update: .put)
    let server = ModelServer([
      "projects": #"[{"id": "a", "name": "A"}]"#,
      "todos":
        #"[{"id": "1", "title": "Paint", "description": "old", "done": true, "project_id": "a", "priority": 3}]"#,
    ])
    let office = try await Self.office(server, mapper)
    server.edit("todos", "1", #"{"title": "Theirs"}"#)
    try await office.edit("1") { $0.desc = nil }
    try await office.remote.send()
    let json = try #require(server.json("todos", "1"))
    #expect(json["priority"] == 3)
    #expect(json["title"] == "Theirs")
    #expect(json["done"] == true)
    #expect(json["description"] == .null)
    #expect(server.requests.contains { $0.method == "PUT" })
  }

  @Test("Records with references by id are updated and deleted without waiting for their references")
  func references() async throws {
    let club = try await Club(
      [
        "teams": #"[{"id": "t", "name": "T", "founded": "2001-01-01T00:00:00Z", "lead_id": "m", "member_ids": ["m"]}]"#,
        "members": #"[{"id": "m", "name": "M", "team_id": "t"}, {"id": "n", "name": "N", "team_id": null}]"#,
      ], byID: true)
    try await club.remote.refresh(Member.self)
    try await club.remote.refresh(Team.self)
    try await club.queue.write { try $0.execute(sql: "UPDATE team SET founded = NULL, leadID = 'n'") }
    #expect(try await club.remote.send().sent == 1)
    #expect(club.server.json("teams", "t")?["lead_id"] == "n")
    #expect(club.server.json("teams", "t")?["founded"] == .null)
    try await club.queue.write {
      try $0.execute(sql: "UPDATE member SET teamID = NULL; DELETE FROM team WHERE id = 't'")
    }
    try await club.remote.send()
    #expect(club.server.json("teams", "t") == nil)
    #expect(try await club.remote.changes().isEmpty)
  }

  @Test("A change with an unreadable lookup response stays queued, and other changes are sent")
  func unreadableLookup() async throws {
    let mapper = EntityMapper(
      Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: .client)
    let office = try await Self.office(nil, mapper)
    office.server.state.withLock { ($0.acceptsIDs, $0.fault) = (true, { $0.method == "POST" ? .answerLost : nil }) }
    try await office.entities.save(Todo(myId: "mine", title: "New"))
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    try await office.edit("2") { $0.desc = "edited" }
    office.server.state.withLock { $0.fault = { $0.url.path.hasSuffix("mine") ? .body("<html>") : nil } }
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    try await office.remote.send()
    #expect(office.server.json("todos", "2")?["description"] == "edited")
    #expect(try await office.remote.changes().map(\.record) == ["mine"])
    office.server.state.withLock { $0.fault = nil }
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    #expect(try await office.remote.send().sent == 1)
    #expect(office.server.count("todos") == 3)
  }

  @Test("A lookup after a lost response emits the events of the sent change and of its conflicts")
  func lookupEvents() async throws {
    let mapper = EntityMapper(
      Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: .client)
    let office = try await Self.office(nil, mapper)
    office.server.state.withLock { ($0.acceptsIDs, $0.fault) = (true, { $0.method == "POST" ? .answerLost : nil }) }
    try await office.entities.save(Todo(myId: "mine", title: "New"))
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    try await office.edit("mine") { $0.desc = "here" }
    office.server.edit("todos", "mine", #"{"description": "there"}"#)
    office.server.state.withLock { $0.fault = nil }
    for change in try await office.remote.changes() { try await office.remote.retry(change) }
    let events = office.remote.events()
    #expect(try await office.remote.send().conflicts == 1)
    try await office.remote.refresh(Todo.self)
    var kinds: [RemoteEvent.Kind] = []
    for await event in events {
      kinds.append(event.kind)
      if case .didFetch = event.kind { break }
    }
    let isSent = kinds.contains { if case .didSend = $0 { true } else { false } }
    #expect(isSent && kinds.contains { if case .conflicts(1) = $0 { true } else { false } })
  }

  @Test("A PUT keeps unknown server values if the server returns a list of one record")
  func putOfList() async throws {
    let mapper = EntityMapper(Todo.self, keys: ["desc": "description", "myId": "id"], update: .put)
    let office = try await Self.office(nil, mapper)
    let body = #"[{"id": "1", "title": "Paint", "project_id": "a", "priority": 3}]"#
    office.server.state.withLock { $0.fault = { $0.method == "GET" ? .body(body) : nil } }
    try await office.edit("1") { $0.desc = "mine" }
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["priority"] == 3)
    #expect(office.server.json("todos", "1")?["description"] == "mine")
  }

  @Test("Sending stops after three failures in a row")
  func failuresInRow() async throws {
    let rows = (1...6).map { #"{"id": "\#($0)", "title": "T"}"# }.joined(separator: ",")
    let office = try await Self.office(ModelServer(["projects": "[]", "todos": "[\(rows)]"]))
    for id in 1...6 { try await office.edit("\(id)") { $0.desc = "mine" } }
    office.server.forget()
    office.server.state.withLock { $0.fault = { $0.method == "PATCH" ? .status(500) : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    #expect(office.server.lines.filter { $0.hasPrefix("PATCH") }.count == 3)
  }

  @Test("Edits in two rows of one record are not lost")
  func joined() async throws {
    let server = ModelServer(["people": "[]"])
    let writer = try DatabaseQueue()
    try await writer.write {
      try $0.execute(sql: "CREATE TABLE contact (key TEXT PRIMARY KEY, id TEXT UNIQUE, name TEXT NOT NULL, note TEXT)")
    }
    let entities = try EntityStore(writer, Contact.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = [
      EntityMapper(
        Contact.self, keys: ["key": .none], path: "people", traits: ServerTraits(honoursIdempotencyKeys: true))
    ]
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await entities.save(Contact(key: "mine", id: nil, name: "A", note: nil))
    server.state.withLock { $0.fault = { $0.method == "POST" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    // The refresh inserts the server's copy of the record as a second row. Then both rows are edited.
    try await remote.refresh(Contact.self)
    let rows = try await entities.fetchAll(Contact.all())
    #expect(rows.count == 2)
    for var row in rows {
      row.note = row.key == "mine" ? "first" : "second"
      try await entities.save(row, overwriting: true)
    }
    for change in try await remote.changes() { try await remote.retry(change) }
    try await remote.send()
    let conflicts = try await remote.conflicts()
    let left = try await entities.fetchAll(Contact.all())
    #expect(left.count == 1)
    let kept = Set(left.compactMap(\.note) + conflicts.flatMap { ["\($0.local)", "\($0.server)"] })
    #expect(kept.contains { $0.contains("first") })
    #expect(kept.contains { $0.contains("second") })
  }
}

/// A record whose primary key is not the server's id.
struct Contact: DescribedModel, Entity, Equatable {
  var key: String
  var id: String?
  var name: String
  var note: String?

  static let fields = Fields(
    Contact.self, version: 1, Field("key", \.key, default: UUID().uuidString), Field("id", \.id), Field("name", \.name),
    Field("note", \.note), make: { Contact(key: $0, id: $1, name: $2, note: $3) })
  static let entityMapping = EntityMapping(table: "contact", keys: ["id": ["id"]])
}

@Suite("Saving objects that were fetched earlier")
struct StaleObjectTests {
  private static func office() async throws -> Office {
    let office = try await Office(
      ModelServer([
        "projects": #"[{"id": "a", "name": "A"}]"#,
        "todos": #"[{"id": "1", "title": "Paint", "description": "old", "project_id": "a"}]"#,
      ]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    return office
  }

  @Test("An object that is open while its new record is sent edits that record")
  func openForm() async throws {
    let office = try await Self.office()
    try await office.entities.save(Project(myId: "p-new", name: "New"))
    var form = try await office.entities.saved(Todo(myId: "new", title: "Made", projectID: "p-new"))
    try await office.remote.send()
    form.desc = "written later"
    try await office.entities.save(form)
    #expect(try await office.todos().count == 2)
    try await office.remote.send()
    #expect(office.server.count("todos") == 2)
    let todo = try #require(try await office.todos().first { $0.title == "Made" })
    #expect(office.server.json("todos", todo.myId)?["description"] == "written later")
    #expect(todo.projectID != "p-new")
  }

  @Test("New keys are unique negative numbers")
  func newKeys() async throws {
    let office = try await Self.office()
    let keys = (0..<1000).map { _ in office.remote.newKey() }
    #expect(Set(keys).count == 1000)
    #expect(keys.allSatisfy { $0 < 0 && $0 > -(1 << 53) })
  }

  @Test("Saving with a base writes only the object's changes")
  func base() async throws {
    let office = try await Self.office()
    let fetched = try #require(try await office.todo("1"))
    office.server.edit("todos", "1", #"{"title": "Theirs"}"#)
    try await office.remote.refresh(Todo.self)
    var edited = fetched
    edited.desc = "mine"
    try await office.entities.save(edited, base: fetched)
    #expect(try await office.todo("1") == Todo(myId: "1", title: "Theirs", desc: "mine", projectID: "a"))
    #expect(try await office.remote.changes().first?.columns == ["desc"])
    // The title was changed on both sides.
    edited.title = "Mine"
    let stale = edited
    let error = await #expect(throws: EntityError.self) { try await office.entities.save(stale, base: fetched) }
    #expect(error?.code == .conflict)
    #expect(try await office.todo("1")?.title == "Theirs")
    try await office.entities.save(edited, base: fetched, conflicts: .keepLocal)
    #expect(try await office.todo("1")?.title == "Mine")
  }

  @Test("List elements that the object never contained are kept, and so are edits of its elements by others")
  func lists() async throws {
    let club = try await Club([
      "teams": #"[{"id": "t", "name": "T"}]"#,
      "members": #"[{"id": "a", "name": "A", "team_id": "t"}, {"id": "b", "name": "B", "team_id": "t"}]"#,
    ])
    try await club.remote.refresh(Team.self)
    try await club.remote.refresh(Member.self)
    let fetched = try #require(try await club.team())
    try await club.queue.write {
      try $0.execute(sql: "INSERT INTO member VALUES ('c', 'C', 't'); UPDATE member SET name = 'A2' WHERE id = 'a'")
    }
    var edited = fetched
    edited.name = "T2"
    edited.members.removeAll { $0.id == "b" }
    try await club.entities.save(edited, base: fetched)
    let team = try #require(try await club.team())
    #expect(team.name == "T2")
    #expect(team.members.map(\.name) == ["A2", "C"])
  }

  @Test("A concurrent deletion is a conflict, not a new record")
  func deleted() async throws {
    let office = try await Self.office()
    let fetched = try #require(try await office.todo("1"))
    office.server.delete("todos", "1")
    try await office.remote.refresh(Todo.self)
    var edited = fetched
    edited.desc = "mine"
    let stale = edited
    let error = await #expect(throws: EntityError.self) { try await office.entities.save(stale, base: fetched) }
    #expect(error?.code == .conflict)
    #expect(try await office.todos().isEmpty)
  }
}
