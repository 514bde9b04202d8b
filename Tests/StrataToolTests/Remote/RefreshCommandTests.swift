import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataTestSupport
import Testing

/// Refreshing, editing and resolving, by processes: a command that waits would keep a thread of the tests' own.
struct RefreshCommandTests {
  private let server: ServeProcess
  private let scratch: Scratch
  private let file: String

  init() throws {
    server = try ServeProcess("-q")
    scratch = try Scratch()
    file = scratch.path("tasks.store")
  }

  private func strata(_ arguments: [String]) throws -> Executable.Result { try Executable.run(arguments) }
  private func strata(_ arguments: String...) throws -> Executable.Result { try strata(arguments) }

  private func refresh(_ options: String..., entity: String = "task") throws -> Executable.Result {
    try strata(["refresh", server.base, "--store", file, "--entity", entity] + options)
  }

  private func edit(_ arguments: String...) throws -> Executable.Result {
    try strata(["edit", "--store", file, "--entity", "task"] + arguments)
  }

  private func documents() throws -> [String: ArchiveValue] {
    let run = try refresh("--print")
    let records = try JSONReader().read(run.output).arrayValue ?? []
    return Dictionary(records.map { ($0["id"]?.stringValue ?? "", $0) }, uniquingKeysWith: { first, _ in first })
  }

  @Test("What the guide shows: a refresh, one that finds nothing new, an edit, and what is sent")
  func guide() async throws {
    #expect(try refresh().text == "task  5 inserted\n")
    #expect(try refresh().text == "task  not modified\n")
    #expect(try edit("t1", #"{"done": false, "notes": null}"#).text == "task  t1 changed\n")
    #expect(try strata("changes", "--store", file).text == "1  task  t1  update, waiting\n")
    #expect(try refresh("--send").text == "task  1 sent\ntask  5 unchanged\n")
    #expect(try strata("changes", "--store", file).text == "no changes\n")
    let answer = try await server.send("GET", "/tasks/t1")
    let record = try JSONReader().read(answer.body)
    #expect(record["done"] == false)
    #expect(record.objectValue?["notes"] == nil)
    #expect(record["due"] == "2026-03-06")
  }

  @Test("A conflict is listed by its key, and ends by a side or a value; the rest goes out before")
  func conflicts() async throws {
    #expect(try refresh().code == 0)
    #expect(try edit("t2", #"{"title": "Mine", "done": true, "assignee": {"name": "Bea"}}"#).code == 0)
    _ = try await server.send("PATCH", "/tasks/t2", #"{"title": "Theirs", "assignee": {"name": "Cy"}}"#)
    let sent = try refresh("--send")
    #expect((sent.code, sent.error) == (1, ""))
    #expect(sent.text.hasPrefix("task  1 sent, 1 waiting\n") && sent.text.contains("2 in conflict"))
    let listed = try strata("conflicts", "--store", file, "--json")
    #expect(listed.code == 1)
    let conflicts = try JSONReader().read(listed.output)["conflicts"]?.arrayValue ?? []
    #expect(Set(conflicts.compactMap { $0["path"]?.stringValue }) == ["title", "assignee.name"])
    let numbers = try conflicts.sorted { "\($0["path"] ?? .null)" < "\($1["path"] ?? .null)" }.map { conflict in
      String(try #require(conflict["number"]?.intValue))
    }
    #expect(try strata("conflicts", "--store", file, numbers[0], "--take", "server").code == 1)
    let last = try strata("conflicts", "--store", file, numbers[1], "--value", #""Ours""#)
    #expect((last.code, last.text) == (0, "no conflicts\n"))
    #expect(try refresh("--send").code == 0)
    let record = try JSONReader().read(try await server.send("GET", "/tasks/t2").body)
    #expect(record["done"] == true)
    #expect([record["title"], record["assignee"]?["name"]] == ["Ours", "Cy"])
    try strata("conflicts", "--store", file, "9", "--take", "local").expectFailure(code: 2, "no conflict 9")
  }

  @Test("Documents are made and deleted, and take the server's id")
  func makingAndDeleting() async throws {
    #expect(try refresh().code == 0)
    #expect(try edit("mine", #"{"title": "New"}"#, "--new").text == "task  mine made\n")
    #expect(try edit("t3", "--delete").text == "task  t3 deleted\n")
    #expect(try refresh("--send").code == 0)
    let known = try documents()
    #expect(known.count == 5)
    #expect(known["t3"] == nil && known["mine"] == nil)
    #expect(known.values.contains { $0["title"] == "New" })
    let head = try await server.send("GET", "/tasks/t3")
    #expect(head.status == 404)
  }

  @Test("What could not be sent is listed, and is sent later or taken back")
  func unsent() throws {
    #expect(try refresh().code == 0)
    #expect(try edit("t1", #"{"title": "x"}"#).code == 0)
    let token = try ServeProcess("-q", "--token", "secret")
    try strata("refresh", token.base, "--store", file, "--entity", "task", "--send").expectFailure(
      code: 2, "status 401")
    #expect(try strata("changes", "--store", file).text.contains("t1"))
    #expect(
      try strata("refresh", token.base, "--store", file, "--entity", "task", "--send", "--token", "secret").code == 0)
    #expect(try strata("changes", "--store", file).text == "no changes\n")
    #expect(try edit("t1", #"{"title": "y"}"#).code == 0)
    #expect(try strata("changes", "--store", file, "--discard", "2").text == "no changes\n")
    try strata("changes", "--store", file, "--discard", "2").expectFailure("no change 2")
  }

  @Test("What is kept is printed where there is no answer, and the failure is told")
  func printing() throws {
    #expect(try refresh().code == 0)
    #expect(server.stop() == 0)
    let run = try refresh("--print", "--timeout", "5")
    #expect(run.code == 2)
    #expect(run.error.contains("could not be reached"))
    #expect(run.error.filter { $0 == "\n" }.count == 1)
    #expect(try JSONReader().read(run.output).arrayValue?.count == 5)
  }

  @Test("Pages, one record, several entities in one file, and the result as JSON")
  func options() throws {
    let pages = try ServeProcess("-q", "--page-size", "2")
    let run = try strata("refresh", pages.base, "--store", file, "--entity", "task", "--json")
    let document = try JSONReader().read(run.output)
    #expect([document["inserted"], document["pages"], document["outcome"]] == [5, 3, "merged"])
    let other = scratch.path("other.store")
    for mode in ["page", "offset"] {
      let run = Run(
        "refresh", server.base, "--store", other, "--entity", "task", "--pages", mode, "--page-size", "2", "--json")
      #expect(try JSONReader().read(run.output)["pages"] == 3, "\(run.error)")
    }
    #expect(try refresh(entity: "project").text == "project  2 inserted\n")
    #expect(try refresh("--one", "p1", entity: "project").text == "project  1 unchanged\n")
    #expect(try refresh("--path", "projects/p1/tasks", entity: "owntask").text == "owntask  3 inserted\n")
    try refresh("--one", "none").expectFailure(code: 2, "status 404")
  }

  @Test("What cannot be is an error of one line, and nothing is changed")
  func failures() throws {
    let text = try scratch.file("text", "a text of some length, which is no database of SQLite at all")
    let base = server.base
    try strata("refresh", base, "--store", text, "--entity", "task").expectFailure(code: 2, "text: ", "database")
    try strata("refresh", base, "--store", scratch.url.path, "--entity", "task").expectFailure(code: 2, "folder")
    try strata("refresh", base, "--store", scratch.path("no/file"), "--entity", "task").expectFailure(
      code: 2, "no/file")
    try strata("refresh", "ftp://x", "--store", file, "--entity", "task").expectFailure(code: 64, "http")
    try strata("refresh", base, "--store", file, "--entity", "strata_x").expectFailure(code: 64, "strata_")
    try strata("refresh", base, "--store", file, "--entity", "none").expectFailure(code: 2, "none", "404")
    try strata("edit", "1", "{}", "--store", scratch.path("none"), "--entity", "task").expectFailure("there is no file")
    #expect(try refresh().code == 0)
    try edit("t9", #"{"a": 1}"#).expectFailure("no task t9", "--new")
    try edit("t1", "{}", "--new").expectFailure("already")
    try edit("t1", "[1]").expectFailure("array", "object")
    try edit("t1", "{").expectFailure("merge patch")
    try edit("t1").expectFailure(code: 64, "merge patch")
    try strata("edit", "1", "{}", "--store", file, "--entity", "else").expectFailure("no table else")
    try strata("conflicts", "--store", scratch.path("none")).expectFailure(code: 2, "there is no file")
    try strata("conflicts", "--store", file, "1").expectFailure(code: 64, "--take")
    #expect(try documents().count == 5)
  }

  @Test("Changes of an app's own models are not passed over in silence", arguments: ["changes", "conflicts"])
  func modelsOfAnApp(_ command: String) throws {
    #expect(try refresh().code == 0)
    let queue = try DatabaseQueue(path: file)
    try queue.write { db in
      try db.execute(
        sql: "INSERT INTO strata_remote_changes (account, entity, record, kind) VALUES ('', 'Todo', '1', 'update')")
    }
    try strata(command, "--store", file).expectFailure(code: command == "changes" ? 1 : 2, "app's own models")
  }

  @Test("Two commands at once wait for each other")
  func together() async throws {
    #expect(try refresh().code == 0)
    let (base, file) = (server.base, file)
    let codes = try await withThrowingTaskGroup(of: Int32.self) { group in
      for number in 0..<6 {
        let arguments =
          number.isMultiple(of: 2)
          ? ["edit", "t\(number / 2 + 1)", #"{"n": \#(number)}"#] : ["refresh", base, "--send"]
        group.addTask { try Executable.run(arguments + ["--store", file, "--entity", "task"]).code }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == [0, 0, 0, 0, 0, 0])
    #expect(try refresh("--send").code == 0)
    #expect(try documents().values.filter { $0["n"] != nil }.count == 3)
  }
}
