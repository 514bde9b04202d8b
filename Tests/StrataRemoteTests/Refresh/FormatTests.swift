import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import StrataTestSupport
import Testing

@Suite("Change queues of earlier releases")
struct FormatTests {
  @Test("Changes recorded in format 1 are sent, including the request in flight")
  func formatOne() async throws {
    let sql = try String(contentsOf: Repository.fixtures.appending(path: "queues/format1.sql"), encoding: .utf8)
    let queue = try DatabaseQueue()
    try await queue.write {
      try $0.execute(sql: sql.replacing("BEGIN TRANSACTION;", with: "").replacing("COMMIT;", with: ""))
    }
    let todos = (1...6).map {
      #"{"id": "\#($0)", "title": "T\#($0)", "description": "\#($0 == 5 ? "there" : "old")", "project_id": "p1"}"#
    }
    let server = ModelServer([
      "projects": #"[{"id": "p1", "name": "House"}]"#,
      "todos": "[" + todos.joined(separator: ",")
        + #", {"id": "s1", "title": "Made", "description": "here", "project_id": "p1"}]"#,
    ])
    // The server has already received the change that was being sent, and recognizes the repeated request.
    let known = try JSONWriter().write(#require(server.json("todos", "s1")))
    server.state.withLock { state in
      state.lastID = 1
      state.answers["\"3A3B7E86-6EEB-4C66-9312-E8AD6B4F77B7\"POST"] = HTTPResponse(
        201, body: known, url: server.base)
    }
    let office = try await Office(server, writer: queue)
    let changes = try await office.remote.changes()
    #expect(changes.map(\.record) == ["5", "4", "new", "1", "3", "newer"])
    #expect(changes.map(\.state) == [.waiting, .refused, .sending, .waiting, .waiting, .waiting])
    #expect(try await office.remote.conflicts().count == 1)
    let sending = try await office.remote.send()
    #expect(sending.sent == 4)
    #expect(server.json("todos", "1")?["description"] == "waiting")
    #expect(server.json("todos", "3") == nil)
    #expect(server.json("todos", "5")?["description"] == "there")
    #expect(server.json("todos", "s2")?["title"] == "Second")
    #expect(server.count("todos") == 7)
    #expect(try await office.todo("s1")?.desc == "here")
    #expect(try await office.todo("4")?.desc == "refused")
    #expect(try await office.remote.changes().map(\.record) == ["5", "4"])
  }
}
