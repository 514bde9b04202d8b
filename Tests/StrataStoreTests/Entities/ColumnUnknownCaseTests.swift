import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

private enum Phase: String, Archivable { case open, closed }

private struct Step: DescribedModel, Equatable {
  var phase = Phase.open
  var note = ""
  static let fields = Fields(
    Step.self, name: "ColumnStep", version: 1, Field("phase", \.phase, unknown: .useDefault, default: .open),
    Field("note", \.note, default: ""), make: { Step(phase: $0, note: $1) })
}

/// A row with JSON columns for a model, a list of models and enum cases.
private struct Plan: DescribedModel, Entity, Equatable {
  var id: Int
  var step: Step
  var steps: [Step]
  var phases: [Phase]
  var phase: Phase
  static let fields = Fields(
    Plan.self, version: 1, Field("id", \.id), Field("step", \.step), Field("steps", \.steps),
    Field("phases", \.phases, unknown: .useDefault, default: []),
    Field("phase", \.phase, unknown: .useDefault, default: .open),
    make: { Plan(id: $0, step: $1, steps: $2, phases: $3, phase: $4) })
  static let entityMapping = EntityMapping(
    table: "plan",
    columns: ["step": .json("step"), "steps": .json("steps"), "phases": .json("phases"), "phase": .json("phase")])
}

/// The same row, which also keeps the state in which it was fetched.
private struct BasedPlan: DescribedModel, Entity {
  var id: Int
  var phases: [Phase]
  var fetched = RowBase()
  static let fields = Fields(
    BasedPlan.self, version: 1, Field("id", \.id), Field("phases", \.phases, unknown: .useDefault, default: []),
    Field("fetched", \.fetched, default: RowBase()), make: { BasedPlan(id: $0, phases: $1, fetched: $2) })
  static let entityMapping = EntityMapping(table: "plan", columns: ["phases": .json("phases")])
}

/// The next version of the row. Its migration step changes the label and, for some labels, the phases.
private struct NewPlan: DescribedModel, Migratable, Entity, Equatable {
  var id: Int
  var phases: [Phase]
  var phase: Phase
  var label: String
  static let fields = Fields(
    NewPlan.self, name: "Plan", version: 2, Field("id", \.id),
    Field("phases", \.phases, unknown: .useDefault, default: []),
    Field("phase", \.phase, unknown: .useDefault, default: .open), Field("label", \.label),
    make: { NewPlan(id: $0, phases: $1, phase: $2, label: $3) })
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2,
      .custom("adds a mark") {
        if $0["label"] == "extend" { $0["phases"] = ["foo"] }
        if $0["label"] == "replace" { $0["phases"] = ["open"] }
        $0["label"] = .string(($0["label"]?.stringValue ?? "") + "!")
      }))
  static let entityMapping = EntityMapping(
    table: "plan", columns: ["phases": .json("phases"), "phase": .json("phase")])
}

/// The same row, but its columns store archives instead of JSON.
private struct ArchivedPlan: DescribedModel, Entity, Equatable {
  var plan: Int
  var step: Step
  var steps: [Step]
  var phases: [Phase]
  var phase: Phase
  static let fields = Fields(
    ArchivedPlan.self, version: 1, Field("id", \.plan), Field("step", \.step), Field("steps", \.steps),
    Field("phases", \.phases, unknown: .useDefault, default: []),
    Field("phase", \.phase, unknown: .useDefault, default: .open),
    make: { ArchivedPlan(plan: $0, step: $1, steps: $2, phases: $3, phase: $4) })
  static let entityMapping = EntityMapping(
    table: "plan",
    columns: [
      "step": .archive("step"), "steps": .archive("steps"), "phases": .archive("phases"), "phase": .archive("phase"),
    ])
}

@Suite("Entities: unknown enum cases in columns of JSON and archives")
struct ColumnUnknownCaseTests {
  private func queue(_ values: [any DatabaseValueConvertible]) throws -> DatabaseQueue {
    try database { db in
      try db.execute(sql: "CREATE TABLE plan (id INTEGER PRIMARY KEY, step, steps, phases, phase)")
      try db.execute(sql: "INSERT INTO plan VALUES (1, ?, ?, ?, ?)", arguments: StatementArguments(values))
    }
  }

  private func row(_ queue: DatabaseQueue) throws -> [DatabaseValue] {
    try queue.read { db in
      let row = try #require(try Row.fetchOne(db, sql: "SELECT step, steps, phases, phase FROM plan"))
      return Array(row.databaseValues)
    }
  }

  private static let json = [
    #"{"phase":"foo","note":"n"}"#, #"[{"phase":"foo"},{"phase":"closed"}]"#, #"["closed","foo"]"#, #""foo""#,
  ]

  private static func archives() throws -> [Data] {
    func step(_ phase: ArchiveValue) -> ArchiveValue {
      .record(ModelRecord(typeName: "ColumnStep", modelVersion: 1, fields: [("phase", phase), ("note", "n")]))
    }
    return try [step("foo"), [step("foo"), step("closed")], ["closed", "foo"], "foo"].map {
      try ArchiveEncoder().encode($0 as ArchiveValue)
    }
  }

  enum Base: CaseIterable { case none, given }

  @Test(
    "JSON: a fetch replaces unknown cases, and a save keeps the columns that were not edited", arguments: Base.allCases)
  func json(base: Base) throws {
    let queue = try queue(Self.json)
    let before = try row(queue)
    let entities = try EntityStore(queue, Plan.self)
    try queue.write { db in
      let fetched = try #require(try entities.fetchAll(Plan.all(), in: db).first)
      #expect(
        fetched
          == Plan(
            id: 1, step: Step(note: "n"), steps: [Step(), Step(phase: .closed)], phases: [.closed], phase: .open))
      _ = try base == .given ? entities.save(fetched, base: fetched, in: db) : entities.save(fetched, in: db)
    }
    #expect(try row(queue) == before)
    try queue.write { db in
      let fetched = try #require(try entities.fetchAll(Plan.all(), in: db).first)
      var edited = fetched
      edited.step.note = "edited"
      edited.phases = [.open]
      _ = try base == .given ? entities.save(edited, base: fetched, in: db) : entities.save(edited, in: db)
    }
    let after = try row(queue)
    #expect(after[1] == before[1] && after[3] == before[3])
    #expect(String.fromDatabaseValue(after[0])?.contains("edited") == true)
    #expect(String.fromDatabaseValue(after[2]) == #"["open"]"#)
  }

  @Test(
    "Archives: a fetch replaces unknown cases, and a save keeps the columns that were not edited",
    arguments: Base.allCases)
  func archives(base: Base) throws {
    let queue = try queue(Self.archives())
    let before = try row(queue)
    let entities = try EntityStore(queue, ArchivedPlan.self)
    try queue.write { db in
      let fetched = try #require(try entities.fetchAll(ArchivedPlan.all(), in: db).first)
      #expect(
        fetched
          == ArchivedPlan(
            plan: 1, step: Step(note: "n"), steps: [Step(note: "n"), Step(phase: .closed, note: "n")],
            phases: [.closed], phase: .open))
      _ = try base == .given ? entities.save(fetched, base: fetched, in: db) : entities.save(fetched, in: db)
    }
    #expect(try row(queue) == before)
    try queue.write { db in
      let fetched = try #require(try entities.fetchAll(ArchivedPlan.all(), in: db).first)
      var edited = fetched
      edited.step.note = "edited"
      edited.phases = [.open]
      _ = try base == .given ? entities.save(edited, base: fetched, in: db) : entities.save(edited, in: db)
      #expect(try entities.fetchAll(ArchivedPlan.all(), in: db).first == edited)
    }
    let after = try row(queue)
    #expect(after[1] == before[1] && after[3] == before[3] && after[0] != before[0] && after[2] != before[2])
  }

  @Test("A migration keeps the columns with unknown cases")
  func migrated() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE plan (id INTEGER PRIMARY KEY, phases TEXT, phase TEXT, label TEXT);
          INSERT INTO plan VALUES (1, '["closed", "foo"]', '"foo"', 'a');
          """)
    }
    try Log.migrator(of: NewPlan.self).migrate(queue)
    #expect(try queue.lines("SELECT phases, phase, label FROM plan") == [#"["closed", "foo"]|"foo"|a!"#])
    let entities = try EntityStore(queue, NewPlan.self)
    let fetched = try queue.read { db in try entities.fetchAll(NewPlan.all(), in: db) }
    #expect(fetched == [NewPlan(id: 1, phases: [.closed], phase: .open, label: "a!")])
  }

  @Test("A document replaces unknown cases, and a change by another program is a conflict")
  func changed() throws {
    let queue = try queue(Self.json)
    let entities = try EntityStore(queue, BasedPlan.self)
    var edited = try queue.read { db in try #require(try entities.fetchAll(BasedPlan.all(), in: db).first) }
    edited.phases = [.open]
    try queue.write { db in
      try db.execute(sql: #"UPDATE plan SET phases = '["closed","bar"]'"#)
      #expect(throws: EntityError.self) { try entities.save(edited, in: db) }
    }
    #expect(String.fromDatabaseValue(try row(queue)[2]) == #"["closed","bar"]"#)
    let json = Data(#"{"id":1,"phases":["closed"]}"#.utf8)
    try queue.write { db in _ = try entities.apply(.json(json), to: BasedPlan.self, in: db) }
    #expect(String.fromDatabaseValue(try row(queue)[2]) == #"["closed"]"#)
  }

  @Test("A document that does not contain a column with unknown cases leaves it unchanged")
  func absent() throws {
    let queue = try queue(Self.json)
    let before = try row(queue)
    let entities = try EntityStore(queue, Plan.self)
    let json = Data(#"{"id":1,"step":{"note":"new"}}"#.utf8)
    try queue.write { db in _ = try entities.apply(.json(json), to: Plan.self, in: db) }
    let after = try row(queue)
    #expect(Array(after[1...]) == Array(before[1...]))
    #expect(String.fromDatabaseValue(after[0])?.contains("new") == true)
  }

  @Test("A step that changes a value must replace its unknown cases")
  func changedByStep() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE plan (id INTEGER PRIMARY KEY, phases TEXT, phase TEXT, label TEXT);
          INSERT INTO plan VALUES (1, '["foo", "bar"]', '"open"', 'extend');
          """)
    }
    #expect(throws: EntityError.self) { try Log.migrator(of: NewPlan.self).migrate(queue) }
    try queue.write { db in try db.execute(sql: "UPDATE plan SET label = 'replace'") }
    try Log.migrator(of: NewPlan.self).migrate(queue)
    #expect(try queue.lines("SELECT phases FROM plan") == [#"["open"]"#])
  }
}
