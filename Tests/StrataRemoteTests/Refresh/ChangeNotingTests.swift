import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

@Suite("Recording of changes")
struct ChangeNotingTests {
  private func office() async throws -> Office {
    let office = try await Office(
      ModelServer(["projects": "[]", "todos": #"[{"id": "1", "title": "Milk", "done": false, "description": "x"}]"#]))
    try await office.remote.refresh(Todo.self)
    return office
  }

  /// Returns the rows of the tables that the store added to the app's database.
  private func noted(_ office: Office) async throws -> [String] {
    try await office.writer.read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT 'change ' || entity || ' ' || record || ' ' || kind FROM strata_remote_changes
          UNION ALL SELECT 'edit ' || record || ' ' || field || ' ' || coalesce(base, 'null') FROM strata_remote_edits
          """
      ).map { $0[0] as String }.sorted()
    }
  }

  @Test(
    "The old values and the changed columns are recorded for every kind of statement",
    arguments: [
      "UPDATE todo SET title = 'Tea' WHERE myId = '1'",
      "UPDATE OR REPLACE todo SET title = 'Tea' WHERE myId = '1'",
      "UPDATE OR IGNORE todo SET title = 'Tea' WHERE myId = '1'",
      "INSERT INTO todo (myId, title, done) VALUES ('1', 'Tea', 0) ON CONFLICT (myId) DO UPDATE SET title = excluded.title",
      "INSERT OR REPLACE INTO todo (myId, title, done, desc) VALUES ('1', 'Tea', 0, 'x')",
      "DELETE FROM todo; INSERT INTO todo (myId, title, done, desc) VALUES ('1', 'Tea', 0, 'x')",
    ], [1, 2])
  func statements(_ sql: String, _ times: Int) async throws {
    let office = try await office()
    for _ in 0..<times { try await office.writer.write { db in try db.execute(sql: sql) } }
    try await office.remote.send()
    let patches = office.server.requests.filter { $0.method != "GET" }
    #expect(patches.map(\.method) == ["PATCH"])
    #expect(patches.first?.body == Data(#"{"title":"Tea"}"#.utf8))
    #expect(try await noted(office) == [])
  }

  @Test(
    "A statement that changes nothing leaves no old values for a later edit",
    arguments: [
      "INSERT OR IGNORE INTO todo (myId, title, done) VALUES ('1', 'Tea', 0)",
      "INSERT INTO todo (myId, title, done) VALUES ('1', 'Tea', 0) ON CONFLICT DO NOTHING",
      "INSERT INTO todo (myId, title, done) VALUES ('1', 'Milk', 0) ON CONFLICT (myId) DO UPDATE SET title = excluded.title",
      "UPDATE todo SET title = 'Milk'", "DELETE FROM todo WHERE myId = '2'",
    ])
  func nothing(_ sql: String) async throws {
    let office = try await office()
    try await office.writer.write { db in try db.execute(sql: sql) }
    #expect(try await office.remote.changes().isEmpty)
    office.server.edit("todos", "1", #"{"title": "Oat milk", "description": "y"}"#)
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todo("1")?.title == "Oat milk")
    try await office.edit("1") { $0.done = true }
    #expect(try await noted(office) == ["change Todo 1 update", "edit 1 done 0"])
    try await office.remote.send()
    #expect(office.server.requests.last { $0.method == "PATCH" }?.body == Data(#"{"done":true}"#.utf8))
    #expect(office.server.json("todos", "1")?["description"] == "y")
  }

  @Test("A recreated table without triggers throws, and no unrecorded edit is overwritten")
  func droppedTable() async throws {
    let office = try await office()
    try await office.writer.write { db in
      try db.execute(
        sql: """
          CREATE TABLE other AS SELECT * FROM todo; DROP TABLE todo;
          CREATE TABLE todo (
            myId TEXT PRIMARY KEY, title TEXT NOT NULL, "desc" TEXT, done BOOLEAN NOT NULL, projectID TEXT);
          INSERT INTO todo SELECT * FROM other; DROP TABLE other; UPDATE todo SET title = 'Mine';
          """)
    }
    office.server.edit("todos", "1", #"{"description": "y"}"#)
    for _ in 0..<2 {
      let error = await #expect(throws: RemoteError.self) { try await office.remote.refresh(Todo.self) }
      #expect(error?.code == .store && error?.reason.contains("migrations") ?? false)
    }
    #expect(try await office.todo("1")?.title == "Mine")
  }

  @Test("An upsert of a locally created record is still one insert")
  func inserts() async throws {
    let office = try await office()
    let sql = """
      INSERT INTO todo (myId, title, done) VALUES ('n', ?, 0) ON CONFLICT (myId) DO UPDATE SET title = excluded.title
      """
    for title in ["a", "b"] {
      try await office.writer.write { db in try db.execute(sql: sql, arguments: [title]) }
    }
    #expect(try await noted(office) == ["change Todo n insert"])
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM todo WHERE myId = 'n'") }
    #expect(try await noted(office) == [])
  }

  @Test("Rolled-back changes are not recorded, and deletions by REPLACE are")
  func rollbacks() async throws {
    let office = try await Office(
      ModelServer([
        "projects": #"[{"id": "a", "name": "A"}]"#, "todos": #"[{"id": "1", "title": "a", "project_id": "a"}]"#,
      ]))
    try await office.remote.refresh(Project.self)
    try await office.remote.refresh(Todo.self)
    await #expect(throws: CancellationError.self) {
      try await office.writer.write { db in
        try db.execute(sql: "UPDATE project SET name = 'A3'")
        throw CancellationError()
      }
    }
    try await office.writer.write { db in
      try db.inSavepoint {
        try db.execute(sql: "UPDATE project SET name = 'A4'")
        return .rollback
      }
    }
    #expect(try await noted(office) == [])
    try await office.writer.write { db in try db.execute(sql: "INSERT OR REPLACE INTO project VALUES ('a', 'A2')") }
    #expect(
      try await office.remote.changes().map { "\($0.entity) \($0.record) \($0.kind)" } == [
        "Todo 1 delete", "Project a update",
      ])
  }
}
