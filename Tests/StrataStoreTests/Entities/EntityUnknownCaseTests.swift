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

  enum Mood: String, Archivable, UnknownCaseRepresentable {
    case good, other
    static let unknownCase = Mood.other
  }

  struct Visit: DescribedModel, Entity, Equatable {
    var id: Int
    var title: String
    var phase: Phase
    var mood: Mood
    static let fields = Fields(
      Visit.self, version: 1, Field("id", \.id), Field("title", \.title),
      Field("phase", \.phase, unknown: .useDefault, default: .open), Field("mood", \.mood),
      make: { Visit(id: $0, title: $1, phase: $2, mood: $3) })
    static let entityMapping = EntityMapping(table: "visit")
  }

  struct BasedVisit: DescribedModel, Entity {
    var id: Int
    var title: String
    var phase: Phase
    var base = RowBase()
    static let fields = Fields(
      BasedVisit.self, version: 1, Field("id", \.id), Field("title", \.title),
      Field("phase", \.phase, unknown: .useDefault, default: .open), Field("base", \.base, default: RowBase()),
      make: { BasedVisit(id: $0, title: $1, phase: $2, base: $3) })
    static let entityMapping = EntityMapping(table: "visit")
  }

  private func visits() throws -> DatabaseQueue {
    try database { db in
      try db.execute(
        sql: """
          CREATE TABLE visit (id INTEGER PRIMARY KEY, title TEXT, phase TEXT NOT NULL DEFAULT 'open',
            mood TEXT NOT NULL DEFAULT 'good');
          INSERT INTO visit VALUES (1, 'a', 'archived', 'grim'), (2, 'b', 'closed', 'good');
          """)
    }
  }

  private static let unknown = "1|a!|archived|grim"

  @Test("A save keeps the columns of unknown cases that the object does not edit", arguments: [false, true])
  func saved(hasBase: Bool) throws {
    let queue = try visits()
    let entities = try EntityStore(queue, Visit.self)
    func edit(_ change: (inout Visit) -> Void) throws {
      try queue.write { db in
        for fetched in try entities.fetchAll(Visit.all(), in: db) where fetched.id == 1 {
          var visit = fetched
          change(&visit)
          _ = try hasBase ? entities.save(visit, base: fetched, in: db) : entities.save(visit, in: db)
        }
      }
    }
    let select = "SELECT id, title, phase, mood FROM visit WHERE id = 1"
    try edit { $0.title += "!" }
    #expect(try queue.lines(select) == [Self.unknown])
    // An edit of such a column replaces the unknown case.
    try edit { ($0.phase, $0.mood) = (.closed, .good) }
    #expect(try queue.lines(select) == ["1|a!|closed|good"])
  }

  @Test("An object with a RowBase keeps the column of an unknown case that the object does not edit")
  func rowBase() throws {
    let queue = try visits()
    let entities = try EntityStore(queue, BasedVisit.self)
    try queue.write { db in
      var visit = try #require(try entities.fetchAll(BasedVisit.all(), in: db).first)
      visit.title += "!"
      _ = try entities.save(visit, in: db)
      #expect(try String.fetchOne(db, sql: "SELECT phase FROM visit WHERE id = 1") == "archived")
      // If another program has changed the column in the meantime, editing it is a conflict.
      visit = try #require(try entities.fetchAll(BasedVisit.all(), in: db).first)
      try db.execute(sql: "UPDATE visit SET phase = 'frozen' WHERE id = 1")
      visit.phase = .closed
      #expect(throws: EntityError.self) { try entities.save(visit, in: db) }
      #expect(try String.fetchOne(db, sql: "SELECT phase FROM visit WHERE id = 1") == "frozen")
    }
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
