import Foundation
import GRDB
import Strata
import Testing

@testable import Recipes

@Suite("GRDB: an archived column")
struct ArchivedColumnTests {
  private func database() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.write { db in
      try db.create(table: "note") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("title", .text).notNull().indexed()
        table.column("content", .blob)
      }
    }
    return queue
  }

  /// Inserts a row as version 1 of the app would write it.
  private func insertOld(_ db: Database, title: String, body: String) throws {
    let old = ModelRecord(typeName: "NoteContent", modelVersion: 1, fields: [("body", .string(body)), ("tags", [])])
    try db.execute(
      sql: "INSERT INTO note (title, content) VALUES (?, ?)", arguments: [title, try ArchiveEncoder().encode(old)])
  }

  private func version(_ db: Database, _ id: Int64) throws -> Int? {
    let archive = try Data.fetchOne(db, sql: "SELECT content FROM note WHERE id = ?", arguments: [id])
    return try Stamp(of: #require(archive)).modelVersion
  }

  @Test("A saved row can be found by a column, and its archived value can be fetched and updated")
  func saved() throws {
    try database().write { db in
      var note = Note(title: "Shopping", content: NoteContent(text: "Milk", tags: ["home"]))
      try note.insert(db)
      #expect(note.id == 1)
      #expect(try Note.filter(Column("title") == "Shopping").fetchAll(db) == [note])
      note.content.tags.append("today")
      try note.update(db)
      #expect(try Note.fetchOne(db, key: 1)?.content.tags == ["home", "today"])
    }
  }

  @Test("Values of version 1 are upgraded when they are read, and can be rewritten in batches")
  func upgraded() throws {
    try database().write { db in
      for number in 1...5 { try insertOld(db, title: "Old", body: "text \(number)") }
      var note = Note(title: "New", content: NoteContent(text: "text 6"))
      try note.insert(db)
      #expect(try Note.fetchAll(db).map(\.content.text) == (1...6).map { "text \($0)" })
      #expect(try version(db, 1) == 1)
      try db.execute(sql: "UPDATE note SET content = x'00' WHERE id = 2")
      try db.execute(sql: "INSERT INTO note (id, title) VALUES (7, 'without')")
      var last: Int64? = 0
      var steps = 0
      while let id = last { (last, steps) = (try Note.upgrade(db, after: id, limit: 4), steps + 1) }
      #expect(steps == 3)
      for id: Int64 in [1, 3, 4, 5, 6] { #expect(try version(db, id) == 2) }
      #expect(try Data.fetchOne(db, sql: "SELECT content FROM note WHERE id = 2") == Data([0]))
      let (notes, errors) = try Note.fetchReadable(db)
      #expect(notes.map(\.content.text) == [1, 3, 4, 5, 6].map { "text \($0)" })
      #expect(errors.map(\.id) == [2, 7])
    }
  }

  @Test(
    "Fetching an unreadable value throws an error with the row and the reason",
    arguments: [
      ("x'1f8b08'", ArchiveError.Code.truncated), ("'no archive'", .notAnArchive), ("x''", .notAnArchive),
      ("NULL", nil),
      ("7", .notAnArchive),
    ])
  func damaged(_ content: String, _ code: ArchiveError.Code?) throws {
    try database().write { db in
      try db.execute(sql: "INSERT INTO note (title, content) VALUES ('secret', \(content))")
      let error = try #require(throws: ArchivedColumnError.self) { try Note.fetchAll(db) }
      #expect(error.reason?.code == code)
      #expect(error.description.hasPrefix("column content of row 1: "))
      #expect(!error.description.contains("secret"))
      #expect(throws: ArchivedColumnError.self) { try Note.fetchOne(db, key: 1) }
    }
  }

  @Test("Fetching a corrupted or newer archive never returns a wrong value")
  func everyByte() throws {
    try database().write { db in
      var note = Note(title: "a", content: NoteContent(text: "some text", tags: ["x"]))
      try note.insert(db)
      let archive = try ArchiveEncoder().encode(note.content)
      for place in archive.indices {
        var changed = archive
        changed[place] ^= 0xFF
        try db.execute(sql: "UPDATE note SET content = ? WHERE id = 1", arguments: [changed])
        // The decoder ignores the time and the operating system in the gzip header. If only these change, it reads the original value.
        if let read = try Note.fetchReadable(db).notes.first { #expect(read == note) }
      }
      let newer = ModelRecord(typeName: "NoteContent", modelVersion: 3, fields: [("text", "a")])
      try db.execute(sql: "UPDATE note SET content = ?", arguments: [try ArchiveEncoder().encode(newer)])
      #expect(try Note.fetchReadable(db).errors.map(\.reason?.code) == [.newerModel])
    }
  }
}
