import Foundation
import GRDB
import StrataRemote
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct Refreshing {
    let workspace: Workspace
    let server: ServeProcess

    init() throws {
      workspace = try Workspace()
      try workspace.copy(Repository.fixtures.appending(path: "remote"), to: "served")
      server = try ServeProcess(workspace.scratch.path("served"), "--write")
    }

    /// The arguments of a command that works on the local copy of the tasks.
    private static let tasks = ["--store", "tasks.store", "--entity", "task"]

    @discardableResult
    private func refresh(_ options: String..., code: Int32 = 0, at location: SourceLocation = #_sourceLocation) throws
      -> Executable.Result
    {
      try workspace.strata(["refresh", server.base] + Self.tasks + options, code: code, at: location)
    }

    @Test("A change that the server accepts is in its file")
    func serving() async throws {
      #expect(server.line.hasPrefix("serving projects (2), tasks (5) at http:"))
      let record = try await server.send("GET", "/tasks/t1")
      let tag = try #require(record.headers["ETag"])
      #expect(record.status == 200)
      let cached = try await server.send("GET", "/tasks/t1", nil, ["If-None-Match": tag])
      #expect(cached.status == 304 && cached.headers["ETag"] == tag)
      let condition: HTTPHeaders = ["Content-Type": "application/merge-patch+json", "If-Match": tag]
      #expect(try await server.send("PATCH", "/tasks/t1", #"{"done": false}"#, condition).status == 200)
      #expect(try await server.send("PATCH", "/tasks/t1", #"{"done": true}"#, condition).status == 412)
      let original = Repository.fixtures.appending(path: "remote/tasks.json").path
      let difference = try workspace.strata("diff", original, "served/tasks.json", code: 1)
      #expect(difference.lines.contains(#"~ [id="t1"].done"#), "\(difference.text)")
      #expect(server.stop() == 0)
      #expect(try server.log.filter { $0.contains(" → ") }.count == 4)
    }

    @Test("A local change and a server's change of one field are a conflict, which is resolved and sent")
    func conflict() async throws {
      #expect(try refresh().lines.contains("task  5 inserted"))
      #expect(try refresh().lines.contains("task  not modified"))
      let queue = try DatabaseQueue(path: workspace.scratch.path("tasks.store"))
      #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM task") } == 5)
      try queue.close()
      try workspace.strata(["edit", "t2", #"{"title": "Choose tiles"}"#] + Self.tasks)
      let changes = try workspace.strata("changes", "--store", "tasks.store")
      #expect(changes.lines.contains("1  task  t2  update, waiting"), "\(changes.text)")
      let patch: HTTPHeaders = ["Content-Type": "application/merge-patch+json"]
      #expect(try await server.send("PATCH", "/tasks/t2", #"{"title": "Order tiles"}"#, patch).status == 200)
      try refresh("--send", code: 1)
      let conflicts = try workspace.strata("conflicts", "--store", "tasks.store", code: 1)
      #expect(conflicts.lines.contains("1  task t2  title"), "\(conflicts.text)")
      try workspace.strata("conflicts", "--store", "tasks.store", "1", "--take", "local")
      #expect(try refresh("--send", "--json").object()["sent"] as? Int == 1)
      let file = try String(decoding: workspace.scratch.data("served/tasks.json"), as: UTF8.self)
      #expect(file.contains(#""Choose tiles""#), "\(file)")
      #expect(server.stop() == 0)
    }
  }
}
