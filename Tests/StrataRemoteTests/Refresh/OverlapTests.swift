import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@testable import StrataRemote

@Suite("Overlapping requests")
struct OverlapTests {
  private static let two = #"[{"id": "1", "title": "Paint"}, {"id": "2", "title": "Sand"}]"#

  /// Whether the list is requested before or after the change is sent. Either way, the response shows the state before the change.
  enum Begin: CaseIterable, Sendable {
    case beforeTheChange, afterTheChange
  }

  @Test(
    "A list from before a change was applied does not undo it, in any order of requests and responses",
    arguments: ["PATCH", "PATCH without content", "POST", "POST without content", "DELETE"], Begin.allCases)
  func lists(_ change: String, _ begin: Begin) async throws {
    let server = ModelServer(["todos": Self.two, "projects": "[]"])
    let isSlow = Mutex(false)
    let (hasBegun, isFrozen, listGoesOn, changeGoesOn) = (Gate(), Gate(), Gate(), Gate())
    let desk = try await Desk { request, _ in
      func answer() async throws -> HTTPResponse {
        let response = try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
        guard request.method != "GET", change.hasSuffix("without content") else { return response }
        return request.answered("", ["Location": "/api/todos/s1"], status: 204)
      }
      if request.method != "GET" {
        isFrozen.open()
        try await changeGoesOn.wait()
        return try await answer()
      }
      let response = try await answer()
      if request.url.path == "/api/todos", isSlow.withLock({ $0 }) {
        hasBegun.open()
        try await listGoesOn.wait()
      }
      return response
    }
    try await desk.remote.refresh(Todo.self)
    let sql =
      switch change.prefix(4) {
      case "PATC": "UPDATE todo SET title = 'Mine' WHERE myId = '1'"
      case "POST": "INSERT INTO todo (myId, title, done) VALUES ('n', 'Mine', 0)"
      default: "DELETE FROM todo WHERE myId = '1'"
      }
    func list() -> Task<RemoteRefresh, any Error> {
      isSlow.withLock { $0 = true }
      return Task { try await desk.remote.refresh(Todo.self, .all.with(.reload)) }
    }
    let slow: Task<RemoteRefresh, any Error>
    switch begin {
    case .beforeTheChange:
      slow = list()
      try await hasBegun.wait()
      try await desk.office.writer.write { db in try db.execute(sql: sql) }
      changeGoesOn.open()
      #expect(try await desk.remote.send().sent == 1)
    case .afterTheChange:
      try await desk.office.writer.write { db in try db.execute(sql: sql) }
      let sending = Task { try await desk.remote.send() }
      try await isFrozen.wait()
      slow = list()
      try await hasBegun.wait()
      changeGoesOn.open()
      #expect(try await sending.value.sent == 1)
    }
    let expected = try await desk.office.todos()
    #expect(expected.contains { $0.title == "Mine" } == !change.hasPrefix("DELETE"))
    listGoesOn.open()
    _ = try await slow.value
    #expect(try await desk.office.todos() == expected)
    isSlow.withLock { $0 = false }
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.office.todos() == expected)
    #expect(try await desk.remote.changes().isEmpty)
  }

  @Test(
    "An edit after a lost response is the next request, even if it restores the earlier value",
    arguments: ["Paint", "Other", "Mine"])
  func editsAfterLostAnswers(_ title: String) async throws {
    let office = try await Office(ModelServer(["todos": Self.two, "projects": "[]"]))
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.title = "Mine" }
    office.server.state.withLock { $0.fault = { $0.method == "PATCH" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    try await office.edit("1") { $0.title = title }
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todo("1")?.title == title)
    #expect(try await office.remote.conflicts().isEmpty)
    try await office.remote.send()
    #expect(office.server.json("todos", "1")?["title"] == .string(title))
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("An edit of a reference after a lost response is the next request", arguments: ["a", "c"])
  func referencesAfterLostAnswers(_ project: String) async throws {
    let office = try await Office(
      ModelServer([
        "projects": #"[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}, {"id": "c", "name": "C"}]"#,
        "todos": #"[{"id": "1", "title": "Paint", "project_id": "a"}]"#,
      ]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    try await office.edit("1") { $0.projectID = "b" }
    office.server.state.withLock { $0.fault = { $0.method == "PATCH" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    try await office.edit("1") { $0.projectID = project }
    try await office.remote.refresh(Todo.self)
    try await office.remote.send()
    #expect(try await office.todo("1")?.projectID == project)
    #expect(office.server.json("todos", "1")?["project_id"] == .string(project))
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("A list requested before a new record was sent leaves no ETag that could restore the record")
  func listFromBefore() async throws {
    let server = ModelServer(["todos": Self.two, "projects": "[]"])
    let isSlow = Mutex(true)
    let (hasBegun, goesOn) = (Gate(), Gate())
    let desk = try await Desk { request, _ in
      let response = try await server.send(request, sizeLimit: .max, timeout: .seconds(1))
      if request.method == "GET", isSlow.withLock({ $0 }) {
        hasBegun.open()
        try await goesOn.wait()
      }
      return response
    }
    let slow = Task { try await desk.remote.refresh(Todo.self) }
    try await hasBegun.wait()
    isSlow.withLock { $0 = false }
    try await desk.office.entities.save(Todo(myId: "n", title: "New"))
    #expect(try await desk.remote.send().sent == 1)
    goesOn.open()
    _ = try await slow.value
    let new = try #require(try await desk.office.todos().first { $0.title == "New" })
    server.delete("todos", new.myId)
    // After the deletion, the server's list is the same as before the insertion.
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.office.todos().map(\.myId) == ["1", "2"])
  }

  @Test("A new record with a client id and a lost response keeps its later edits")
  func insertsOfTheClient() async throws {
    let server = ModelServer(["todos": "[]", "projects": "[]"])
    server.state.withLock { $0.acceptsIDs = true }
    let office = try await Office(server) { configuration in
      configuration.mappers[1] = EntityMapper(
        Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], ids: .client)
    }
    try await office.entities.save(Todo(myId: "c1", title: "First", desc: "x"))
    server.state.withLock { $0.fault = { $0.method == "POST" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    server.state.withLock { $0.fault = nil }
    try await office.edit("c1") { $0.title = "Second" }
    server.edit("todos", "c1", #"{"description": "theirs"}"#)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos() == [Todo(myId: "c1", title: "Second", desc: "theirs")])
    try await office.remote.send()
    #expect(server.count("todos") == 1)
    #expect(server.json("todos", "c1")?["title"] == "Second")
    #expect(server.json("todos", "c1")?["description"] == "theirs")
    #expect(try await office.remote.changes().isEmpty)
    #expect(try await office.todos() == [Todo(myId: "c1", title: "Second", desc: "theirs")])
  }

  @Test("A record created again while its deletion finds it gone is sent as a new record", arguments: [404, 410])
  func madeAgain(_ status: Int) async throws {
    let queue = try DatabaseQueue()
    let posted = Mutex<[String]>([])
    let desk = try await Desk(writer: queue) { request, _ in
      if request.method == "POST" {
        posted.withLock { $0.append(String(decoding: request.body ?? Data(), as: UTF8.self)) }
        return request.answered(#"{"id": "9", "title": "Again"}"#, status: 201)
      }
      if request.url.path.hasSuffix("/1") {
        try await queue.write { db in
          try db.execute(sql: "INSERT INTO todo (myId, title, done) VALUES ('1', 'Again', 0)")
        }
        return request.answered(status: status)
      }
      return request.answered(Desk.list("1"))
    }
    try await desk.remote.refresh(Todo.self)
    try await queue.write { db in try db.execute(sql: "DELETE FROM todo") }
    try await desk.remote.send()
    try await desk.remote.send()
    #expect(posted.withLock { $0.count } == 1)
    #expect(try await desk.office.todos() == [Todo(myId: "9", title: "Again")])
  }

  @Test("Two stores on one file that send, refresh and edit at once lose nothing and send nothing twice")
  func twoStores() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("strata-two-\(UUID().uuidString).sqlite")
    defer { try? FileManager.default.removeItem(at: file) }  // If this fails, the system removes the file later.
    let server = ModelServer(["todos": Self.two, "projects": "[]"])
    func open() async throws -> Office {
      var configuration = GRDB.Configuration()
      configuration.busyMode = .timeout(20)
      return try await Office(server, writer: DatabaseQueue(path: file.path, configuration: configuration))
    }
    let offices = [try await open(), try await open()]
    try await offices[0].remote.refresh(Todo.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, office) in offices.enumerated() {
        group.addTask {
          for round in 0..<8 {
            try await office.entities.save(Todo(myId: "n\(number)-\(round)", title: "new \(number) \(round)"))
            let column = number == 0 ? "title" : "desc"
            try await office.writer.write { db in
              try db.execute(
                sql: "UPDATE todo SET \(column) = ? WHERE myId = '1'", arguments: ["\(number) \(round)"])
            }
            try await office.remote.send()
            try await office.remote.refresh(Todo.self)
          }
        }
      }
      try await group.waitForAll()
    }
    for office in offices + offices {
      try await office.remote.send()
      try await office.remote.refresh(Todo.self)
    }
    #expect(try await offices[0].remote.changes().isEmpty)
    let titles = try await offices[0].todos().map(\.title).sorted()
    let made = (0..<2).flatMap { number in (0..<8).map { "new \(number) \($0)" } }
    #expect(titles == (["0 7", "Sand"] + made).sorted())
    #expect(server.count("todos") == titles.count)
    #expect(server.json("todos", "1")?["title"] == "0 7")
    #expect(server.json("todos", "1")?["description"] == "1 7")
  }
}
