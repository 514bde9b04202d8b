import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@Suite("Entities: unknown enum cases")
struct EntityUnknownCaseTests {
  enum Phase: String, Archivable { case open, closed }

  struct Errand: DescribedModel, Entity, Equatable {
    var id: Int
    var title: String
    var phase: Phase
    static let fields = Fields(
      Errand.self, version: 1, Field("id", \.id), Field("title", \.title, default: ""),
      Field("phase", \.phase, unknown: .useDefault, default: .open), make: { Errand(id: $0, title: $1, phase: $2) })
    static let entityMapping = EntityMapping(table: "errand")
  }

  @Test(
    "An unknown case in JSON or an archive keeps the column of an existing row; a new row takes the default",
    arguments: [false, true])
  func rows(asArchive: Bool) throws {
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE errand (id INTEGER PRIMARY KEY, title TEXT, phase TEXT NOT NULL)")
    }
    let entities = try EntityStore(queue, Errand.self)
    try entities.saveNow(Errand(id: 1, title: "a", phase: .closed))
    let fields: [(key: String, value: ArchiveValue)] = [("title", "b"), ("phase", "foo")]
    let records = [1, 2].map { id in
      ModelRecord(typeName: "Errand", modelVersion: 1, fields: [("id", .int(id))] + fields)
    }
    let json = #"[{"id": 1, "title": "b", "phase": "foo"}, {"id": 2, "title": "b", "phase": "foo"}]"#
    let source: MergeSource =
      asArchive
      ? .archive(try ArchiveEncoder().encode(ArchiveValue.array(records.map { .record($0) }))) : .json(Data(json.utf8))
    try queue.write { db in _ = try entities.apply(source, to: Errand.self, in: db) }
    #expect(try queue.lines("SELECT id, title, phase FROM errand ORDER BY id") == ["1|b|closed", "2|b|open"])
  }

  struct Chore: DescribedModel, Entity, Equatable {
    var id: Int
    var phase: Phase
    static let fields = Fields(
      Chore.self, version: 1, Field("id", \.id),
      Field("phase", \.phase, json: .path("phase").missing("closed"), unknown: .useDefault, default: .open),
      make: { Chore(id: $0, phase: $1) })
    static let entityMapping = EntityMapping(table: "chore")
  }

  @Test("The fallback for an absent path is not used for an unknown case, which takes the default")
  func missing() throws {
    let queue = try database { try $0.execute(sql: "CREATE TABLE chore (id INTEGER PRIMARY KEY, phase TEXT NOT NULL)") }
    let entities = try EntityStore(queue, Chore.self)
    let json = Data(#"[{"id": 1, "phase": "foo"}, {"id": 2}]"#.utf8)
    try queue.write { db in _ = try entities.apply(.json(json), to: Chore.self, in: db) }
    #expect(try queue.lines("SELECT id, phase FROM chore ORDER BY id") == ["1|open", "2|closed"])
    #expect(try JSONAdapter<Chore>().decodeArray(json) == [Chore(id: 1, phase: .open), Chore(id: 2, phase: .closed)])
  }
}
