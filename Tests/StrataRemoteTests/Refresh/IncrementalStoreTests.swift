import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Features of AFIncrementalStore and its users' requests")
struct IncrementalStoreTests {
  private static let two = #"[{"id": "1", "title": "Paint"}, {"id": "2", "title": "Sand"}]"#

  @Test("F-1: a fetch yields cached rows first, and local edits are kept after the response")
  func cachedFirst() async throws {
    let office = try await Office(ModelServer(["todos": Self.two]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.desc = "mine" }
    office.server.edit("todos", "1", #"{"title": "Paint again", "description": "theirs"}"#)
    office.server.edit("todos", "2", #"{"description": "rough"}"#)
    var seen: [[String?]] = []
    for try await todos in office.remote.fetch(Todo.order(Column("myId"))) {
      seen.append(todos.map { $0.desc })
    }
    #expect(seen == [["mine", nil], ["mine", "rough"]])
    #expect(try await office.todo("1")?.title == "Paint again")
    #expect(try await office.remote.conflicts().map(\.key) == ["desc"])
  }

  @Test("F-2: events follow the commit and list the ids of requested records, not of nested ones")
  func events() async throws {
    let club = try await Club([
      "teams": #"[{"id": "t", "name": "T", "lead": {"id": "m", "name": "M"}}]"#
    ])
    let events = club.remote.events()
    async let heard = {
      var heard: [String] = []
      for await event in events {
        switch event.kind {
        case .willFetch: heard.append("will")
        case .didReceive(let pages, let records): heard.append("received \(records) in \(pages)")
        case .didFetch(let refresh):
          // When this event arrives, the rows already contain the server's change.
          let name = try await club.team()?.name
          heard.append("did \(refresh.ids) \(refresh.inserted) \(name ?? "none")")
          return heard
        default: heard.append("\(event.kind)")
        }
      }
      return heard
    }()
    try await club.remote.refresh(Team.self)
    #expect(try await heard == ["will", "received 1 in 1", #"did ["t"] 2 T"#])
  }

  @Test("F-3: a failed refresh emits an event and throws, after the cached rows were yielded")
  func failures() async throws {
    let office = try await Office(ModelServer(["todos": Self.two]))
    try await office.remote.refresh(Todo.self)
    office.server.state.withLock { $0.fault = { _ in .status(500) } }
    let events = office.remote.events()
    var seen = 0
    let error = await #expect(throws: RemoteError.self) {
      for try await todos in office.remote.fetch(Todo.all()) { seen += todos.count }
    }
    #expect((seen, error?.code, error?.status, error?.entity) == (2, .unavailable, 500, "Todo"))
    #expect(try await office.remote.cached(Todo.all()).count == 2)
    var codes: [RemoteError.Code] = []
    for await event in events {
      if case .fetchFailed(let error) = event.kind {
        codes.append(error.code)
        break
      }
    }
    #expect(codes == [.unavailable])
  }

  @Test(
    "F-4: the default path is the lowercase plural of the name, joined to any base URL",
    arguments: [
      ("https://example.com", "https://example.com/todos"), ("https://example.com/", "https://example.com/todos"),
      ("https://example.com/api", "https://example.com/api/todos"),
      ("https://example.com/api/", "https://example.com/api/todos"),
      ("https://example.com/api//?x=1#y", "https://example.com/api/todos"),
    ])
  func paths(_ base: String, _ expected: String) async throws {
    let asked = Asked()
    let office = try await Office(ModelServer([:])) { configuration in
      configuration.baseURL = URL(string: base) ?? configuration.baseURL
      configuration.transport = asked
    }
    try await office.remote.refresh(Todo.self)
    try await office.remote.refresh(Todo.self, .at("projects", "a/b", "todos", query: ["q": "x&y"]))
    _ = try? await office.remote.refresh(Todo.self, .one("1 ?"))  // The response is a list without this record.
    let root = String(expected.dropLast("todos".count))
    #expect(
      asked.urls == [expected, "\(root)projects/a%2Fb/todos?q=x%26y", "\(root)todos/1%20%3F"])
  }

  @Test("F-4: the path of a mapper is used and may have several components")
  func ownPath() async throws {
    let asked = Asked()
    let office = try await Office(ModelServer([:])) { configuration in
      configuration.mappers = [EntityMapper(Todo.self, keys: ["myId": "id"], path: "/v2/to dos/")]
      configuration.transport = asked
    }
    try await office.remote.refresh(Todo.self)
    #expect(asked.urls == ["https://example.com/api/v2/to%20dos"])
  }

  @Test(
    "F-5: a body is a list, an object with the list or record under the entity's name, or a record",
    arguments: [
      (#"[{"id": "1", "title": "a"}]"#, ["1"]), (#"{"todos": [{"id": "1", "title": "a"}], "total": 1}"#, ["1"]),
      (#"{"todo": {"id": "1", "title": "a"}}"#, ["1"]), (#"{"id": "1", "title": "a"}"#, ["1"]), ("[]", []),
      (#"{"todos": []}"#, []), (#"{"id": "1", "title": "a", "todo": 5}"#, ["1"]),
    ])
  func bodies(_ body: String, _ ids: [String]) async throws {
    let office = try await Office(ModelServer(["todos": "[]"]))
    office.server.state.withLock { $0.fault = { _ in .body(body) } }
    #expect(try await office.remote.refresh(Todo.self).ids == ids)
  }

  @Test(
    "F-5: a decoder converts bodies of refreshes and of change responses, and its errors merge nothing")
  func decoders() async throws {
    let office = try await Office(ModelServer(["todos": #"[{"id": "1", "title": "a"}]"#])) { configuration in
      configuration.decoder = { body in
        let value = try JSONReader().read(body)
        guard case .object(let envelope) = value, let data = envelope["data"] else {
          throw CocoaError(.coderReadCorrupt)
        }
        return data
      }
    }
    office.server.state.withLock { $0.fault = { _ in .body(#"{"data": [{"id": "1", "title": "b"}], "meta": {}}"#) } }
    #expect(try await office.remote.refresh(Todo.self).ids == ["1"])
    office.server.state.withLock { $0.fault = nil }
    let error = await #expect(throws: RemoteError.self) {
      try await office.remote.refresh(Todo.self, .all.with(.reload))
    }
    #expect(error?.code == .invalidBody && error?.underlyingError is CocoaError)
    #expect(try await office.todo("1")?.title == "b")
  }

  @Test(
    "F-6: the id can come from id, _id, identifier, url or URL, and a record without one throws",
    arguments: ["id", "_id", "identifier", "url", "URL"])
  func ids(_ key: String) async throws {
    let office = try await Office(ModelServer(["todos": #"[{"\#(key)": "7", "title": "a"}]"#])) { configuration in
      configuration.mappers = [
        EntityMapper(Todo.self, keys: ["myId": .path(ValuePath(key: key))])
      ]
    }
    #expect(try await office.remote.refresh(Todo.self).ids == ["7"])
    office.server.set("todos", #"[{"title": "a"}]"#)
    let error = await #expect(throws: RemoteError.self) { try await office.remote.refresh(Todo.self) }
    #expect(error?.code == .invalidBody)
    #expect(try await office.todos().count == 1)
  }

  @Test("F-7: values that the model does not declare are ignored, and dates are decoded")
  func attributes() async throws {
    let club = try await Club([
      "teams":
        #"[{"id": "t", "name": "T", "founded": "2013-04-03T14:00:00Z", "extra": {"a": [1]}, "more": [1, {"b": null}]}]"#
    ])
    try await club.remote.refresh(Team.self)
    #expect(try await club.team()?.founded == Date(timeIntervalSince1970: 1_364_997_600))
  }

  @Test("F-8: nested relations replace, an empty list and null clear, and an absent key keeps")
  func relations() async throws {
    let m = #"{"id": "m", "name": "M"}"#
    let club = try await Club([
      "teams": #"[{"id": "t", "name": "T", "lead": \#(m), "members": [\#(m), {"id": "n", "name": "N"}]}]"#
    ])
    func refresh(_ team: String) async throws -> Team? {
      club.server.set("teams", "[\(team)]")
      try await club.remote.refresh(Team.self)
      return try await club.team()
    }
    try await club.remote.refresh(Team.self)
    var team = try await club.team()
    #expect((team?.lead?.id, team?.members.map(\.id)) == ("m", ["m", "n"]))
    team = try await refresh(#"{"id": "t", "name": "T2"}"#)
    #expect((team?.lead?.id, team?.members.count) == ("m", 2))
    team = try await refresh(#"{"id": "t", "name": "T3", "members": {"id": "n", "name": "N"}}"#)
    #expect(team?.members.map(\.id) == ["n"])
    team = try await refresh(#"{"id": "t", "name": "T4", "lead": null, "members": []}"#)
    #expect((team?.lead?.id, team?.members.count) == (nil, 0))
    #expect(try await club.entities.fetchAll(Member.all()).count == 2)
  }

  @Test("F-8: references by id wait for records that have not arrived, in single relations and lists")
  func references() async throws {
    let club = try await Club(
      ["teams": #"[{"id": "t", "name": "T", "lead_id": "m", "member_ids": ["m", "n"]}]"#, "members": "[]"], byID: true)
    try await club.remote.refresh(Team.self)
    var team = try await club.team()
    #expect((team?.lead?.id, team?.members.map(\.id)) == (nil, []))
    club.server.set("members", #"[{"id": "m", "name": "M"}, {"id": "n", "name": "N"}]"#)
    try await club.remote.refresh(Member.self)
    #expect(try await club.team()?.lead?.id == "m")
    // Some members were missing when the team's list arrived, so the team is requested again in full.
    #expect(try await club.remote.refresh(Team.self).outcome == .merged)
    team = try await club.team()
    #expect((team?.lead?.id, team?.members.map(\.id)) == ("m", ["m", "n"]))
    #expect(try await club.remote.refresh(Team.self).outcome == .notModified)
  }

  @Test(
    "F-8: a pending reference that the server removed is not set when its record arrives", arguments: ["null", #""x""#])
  func withdrawnReferences(_ id: String) async throws {
    let club = try await Club(
      ["teams": #"[{"id": "t", "name": "T", "lead_id": "m"}]"#, "members": "[]"], byID: true)
    try await club.remote.refresh(Team.self)
    club.server.set("teams", #"[{"id": "t", "name": "T", "lead_id": \#(id)}]"#)
    try await club.remote.refresh(Team.self)
    club.server.set("members", #"[{"id": "m", "name": "M"}]"#)
    try await club.remote.refresh(Member.self)
    #expect(try await club.team()?.lead == nil)
  }

  @Test("F-10: ids are opaque strings", arguments: ["123ABC", "007", "1e3", " a", "ü/?#%", "__af_1", "0"])
  func opaqueIDs(_ id: String) async throws {
    let office = try await Office(ModelServer(["todos": #"[{"id": "\#(id)", "title": "a"}]"#]))
    #expect(try await office.remote.refresh(Todo.self).ids == [id])
    #expect(try await office.todos().map(\.myId) == [id])
    try await office.edit(id) { $0.title = "b" }
    try await office.remote.send()
    #expect(office.server.json("todos", id)?["title"] == "b")
  }

  @Test(
    "F-11: an edit that leaves a record unchanged sends no request")
  func updates() async throws {
    let office = try await Office(ModelServer(["todos": Self.two]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Paint" }
    try await office.edit("2") { $0.title = "x" }
    try await office.edit("2") { $0.title = "Sand" }
    office.server.forget()
    try await office.remote.send()
    #expect(office.server.lines.isEmpty)
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test(
    "F-12: a refused change is kept and reported, and only its dependent changes wait",
    arguments: [400, 403, 422])
  func refusals(_ status: Int) async throws {
    let office = try await Office(ModelServer(["todos": Self.two, "projects": "[]"]))
    try await office.remote.refresh(Todo.self)
    office.server.state.withLock {
      $0.refuses = { $0.method == "POST" && $0.url.path.hasSuffix("projects") ? status : nil }
    }
    try await office.entities.save(Project(myId: "p", name: "House"))
    try await office.entities.save(Todo(myId: "new", title: "Paint", projectID: "p"))
    try await office.edit("1") { $0.title = "Paint all" }
    let sending = try await office.remote.send()
    #expect((sending.sent, sending.refused, sending.waiting) == (1, 1, 1))
    let changes = try await office.remote.changes()
    #expect(changes.map(\.record) == ["p", "new"])
    #expect((changes[0].state, changes[0].status) == (.refused, status))
    #expect(office.server.json("todos", "1")?["title"] == "Paint all")
    #expect(try await office.entities.fetchAll(Project.all()).count == 1)
    // A refused change is not sent again automatically. After `retry`, the next send includes it and the changes that waited for it.
    office.server.forget()
    try await office.remote.send()
    #expect(office.server.lines.isEmpty)
    office.server.state.withLock { $0.refuses = nil }
    try await office.remote.retry(changes[0])
    #expect(try await office.remote.send().sent == 2)
    #expect(office.server.json("todos", "s2")?["project_id"] == "s1")
  }

  @Test("F-12: discarding a change restores the server's last values", arguments: ["update", "insert", "delete"])
  func discarding(_ kind: String) async throws {
    let office = try await Office(ModelServer(["todos": Self.two]))
    try await office.remote.refresh(Todo.self)
    switch kind {
    case "update": try await office.edit("1") { $0.title = "Mine" }
    case "insert": try await office.entities.save(Todo(myId: "new", title: "New"))
    default: try await office.writer.write { db in _ = try Todo.filter(Column("myId") == "1").deleteAll(db) }
    }
    let change = try #require(try await office.remote.changes().first)
    #expect(change.kind.rawValue == kind)
    try await office.remote.discard(change)
    #expect(try await office.remote.changes().isEmpty)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == ["Paint", "Sand"])
  }

  @Test("F-12: discarding a refused change restores the server's values", arguments: [403, 409, 422])
  func discardingRefused(_ status: Int) async throws {
    let office = try await Office(ModelServer(["todos": #"[{"id": "1", "title": "Paint", "description": "v"}]"#]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.desc = nil }
    office.server.state.withLock { $0.refuses = { $0.method == "PATCH" ? status : nil } }
    #expect(try await office.remote.send().refused == 1)
    let change = try #require(try await office.remote.changes().first)
    try await office.remote.discard(change)
    #expect(try await office.todo("1")?.desc == "v")
    #expect(try await office.remote.changes().isEmpty)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todo("1")?.desc == "v")
  }

  @Test("F-13: the records of a relation are requested on demand, and local edits are kept")
  func relationOnDemand() async throws {
    let club = try await Club([
      "teams": #"[{"id": "t", "name": "T"}]"#,
      "members": #"[{"id": "m", "name": "M", "team_id": "t"}, {"id": "n", "name": "N", "team_id": "t"}]"#,
    ])
    try await club.remote.refresh(Team.self)
    try await club.remote.refresh(Member.self)
    try await club.queue.write { db in try db.execute(sql: "UPDATE member SET name = 'Mine' WHERE id = 'm'") }
    club.server.set("members", #"[{"id": "o", "name": "O", "team_id": "t"}]"#)
    let own = Member.filter(Column("teamID") == "t")
    let refresh = try await club.remote.refresh(Member.self, .matching(["team_id": "t"]), replacing: own)
    // The refresh deletes records that are no longer in the requested part, unless they have unsent changes.
    #expect((refresh.inserted, refresh.deleted, refresh.kept) == (1, 1, 1))
    #expect(try await club.team()?.members.map(\.name) == ["Mine", "O"])
  }

  @Test("F-15: refreshing a record that no longer exists deletes it, unless the mapper keeps it")
  func gone() async throws {
    for missing in EntityMapper.Missing.allCases {
      let office = try await Office(ModelServer(["todos": Self.two])) { configuration in
        configuration.mappers = [EntityMapper(Todo.self, keys: ["myId": "id"], missing: missing)]
      }
      try await office.remote.refresh(Todo.self)
      office.server.delete("todos", "1")
      if missing == .delete {
        #expect(try await office.remote.refresh(Todo.self, .one("1")).deleted == 1)
      } else {
        await #expect(throws: RemoteError.self) { try await office.remote.refresh(Todo.self, .one("1")) }
      }
      office.server.delete("todos", "2")
      try await office.remote.refresh(Todo.self)
      #expect(try await office.todos().count == (missing == .delete ? 0 : 2))
    }
  }

  @Test("F-16: all mistakes of a configuration are reported at once, with remedies")
  func mistakes() async throws {
    let entities = try await Office(ModelServer([:])).entities
    let configuration = RemoteConfiguration(
      baseURL: try #require(URL(string: "ftp://example.com")),
      mappers: EntityMapper(Todo.self, keys: ["none": "x"]), EntityMapper(Project.self, keys: ["myId": "id"]),
      EntityMapper(Project.self, keys: ["myId": "id"], name: "Twice"), EntityMapper(Team.self))
    let error = await #expect(throws: RemoteError.self) { try await RemoteStore(entities, configuration) }
    #expect(error?.code == .invalidConfiguration)
    for part in ["http or https", "none", "two mappers map the same entity", "is not registered"] {
      #expect(error?.reason.contains(part) ?? false, "\(part) is not in \(error?.reason ?? "")")
    }
  }

  @Test("F-17, U-26: refreshes, saves and sends from 50 concurrent tasks all complete")
  func completion() async throws {
    let office = try await Office(ModelServer(["todos": Self.two, "projects": "[]"]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask {
          try await office.remote.refresh(Todo.self, .all.with(.reload))
          try await office.entities.save(Project(myId: "p\(number)", name: "n"))
          try await office.remote.send()
          _ = try await office.remote.cached(Todo.all())
        }
      }
      try await group.waitForAll()
    }
    try await office.remote.send()
    #expect(try await office.remote.changes().isEmpty)
    #expect(office.server.count("projects") == 50)
  }
}

/// Records the requested URLs. Each response is an empty list.
private final class Asked: HTTPTransport {
  private let found = Mutex<[String]>([])
  var urls: [String] { found.withLock { $0 } }

  func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
    found.withLock { $0.append(request.url.absoluteString) }
    return HTTPResponse(200, body: Data("[]".utf8), url: request.url)
  }
}
