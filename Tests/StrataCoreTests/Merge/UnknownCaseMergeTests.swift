import Foundation
import StrataCore
import Testing

private enum Phase: String, Archivable { case open, closed, merged }

private struct Bearer: DescribedModel, Equatable {
  var id = 0
  var role = Phase.open
  var note = ""
  static let fields = Fields(
    Bearer.self, name: "UnknownOwner", version: 1, Field("id", \.id, default: 0),
    Field("role", \.role, unknown: .useDefault, default: .open), Field("note", \.note, default: ""),
    make: { Bearer(id: $0, role: $1, note: $2) })
}

extension Bearer: Mergeable {
  static let mergeRules = MergeRules(identity: "id")
}

private struct Errand: DescribedModel, Equatable {
  var title = ""
  var state = Phase.open
  var priority: Phase? = nil
  var owner = Bearer()
  var others: [Bearer] = []
  var byName: [String: Bearer] = [:]
  static let fields = Fields(
    Errand.self, name: "UnknownTicket", version: 1, Field("title", \.title, default: ""),
    Field("state", \.state, json: "status", unknown: .useDefault, default: .open),
    Field("priority", \.priority, unknown: .useDefault, default: nil), Field("owner", \.owner, default: Bearer()),
    Field("others", \.others, default: []), Field("byName", \.byName, default: [:]),
    make: { Errand(title: $0, state: $1, priority: $2, owner: $3, others: $4, byName: $5) })
}

/// The same model with a merge base.
private struct Remembering: DescribedModel, Equatable {
  var state = Phase.open
  var note = ""
  var merging = MergeState()
  static let fields = Fields(
    Remembering.self, name: "UnknownRemembering", version: 1,
    Field("state", \.state, unknown: .useDefault, default: .open), Field("note", \.note, default: ""),
    Field("merging", \.merging, default: MergeState()),
    make: { Remembering(state: $0, note: $1, merging: $2) })
}

private final class Chamber: DescribedModel {
  var state = Phase.open
  var name = ""
  init(state: Phase, name: String) { (self.state, self.name) = (state, name) }
  static let fields = Fields(
    Chamber.self, name: "UnknownRoom", version: 1, Field("state", \.state, unknown: .useDefault, default: .open),
    Field("name", \.name, default: ""), make: { Chamber(state: $0, name: $1) })
}

/// A model with containers of enum cases. Unknown cases are skipped.
private struct Phases: DescribedModel, Equatable {
  var list: [Phase] = []
  var set: Set<Phase> = []
  var lists: [[Phase]] = []
  var optional: [Phase]? = nil
  var others: [Bearer] = []
  static let fields = Fields(
    Phases.self, name: "UnknownPhases", version: 1, Field("list", \.list, unknown: .useDefault, default: []),
    Field("set", \.set, unknown: .useDefault, default: []), Field("lists", \.lists, unknown: .useDefault, default: []),
    Field("optional", \.optional, unknown: .useDefault, default: nil), Field("others", \.others, default: []),
    make: { Phases(list: $0, set: $1, lists: $2, optional: $3, others: $4) })
}

private struct RememberingPhases: DescribedModel, Equatable {
  var list: [Phase] = []
  var merging = MergeState()
  static let fields = Fields(
    RememberingPhases.self, version: 1, Field("list", \.list, unknown: .useDefault, default: []),
    Field("merging", \.merging, default: MergeState()), make: { RememberingPhases(list: $0, merging: $1) })
}

private struct PhaseOwner: DescribedModel, Equatable {
  var phases = Phases()
  static let fields = Fields(
    PhaseOwner.self, name: "UnknownPhaseOwner", version: 1, Field("phases", \.phases, default: Phases()),
    make: { PhaseOwner(phases: $0) })
}

@Suite("Merging: unknown enum cases replace no values")
struct UnknownCaseMergeTests {
  private static let local = Errand(
    title: "t", state: .closed, priority: .merged, owner: Bearer(id: 1, role: .closed, note: "o"),
    others: [Bearer(id: 2, role: .merged, note: "two"), Bearer(id: 3, role: .closed, note: "three")],
    byName: ["a": Bearer(id: 4, role: .merged)])

  private static let json = Data(
    #"""
    {"title": "new", "status": "foo", "priority": "foo", "owner": {"id": 1, "role": "foo", "note": "p"},
     "others": [{"id": 3, "role": "foo", "note": "3"}, {"id": 2, "role": "foo"}, {"id": 9, "role": "foo"}],
     "byName": {"a": {"id": 4, "role": "foo", "note": "n"}}}
    """#.utf8)

  private static var merged: Errand {
    var merged = local
    merged.title = "new"
    merged.owner.note = "p"
    merged.others = [
      Bearer(id: 3, role: .closed, note: "3"), Bearer(id: 2, role: .merged, note: "two"), Bearer(id: 9, role: .open),
    ]
    merged.byName["a"]?.note = "n"
    return merged
  }

  @Test("JSON with unknown cases keeps local values at every depth, and new elements get the default")
  func json() throws {
    var ticket = Self.local
    let report = try ticket.merge(.json(Self.json))
    #expect(ticket == Self.merged)
    #expect(report.changedKeys == ["title", "owner", "others", "byName"])
    let kept = report.entries.filter { $0.rule == "the enum case is unknown to this program" }
    #expect(kept.allSatisfy { $0.outcome == .local && $0.server == nil && $0.local == $0.result })
    #expect(
      Set(kept.map(\.path.description)) == [
        "state", "priority", "owner.role", "others[id=3].role", "others[id=2].role", "byName.a.role",
      ])
    var again = Self.local
    try JSONAdapter<Errand>().merge(.json(Self.json), into: &again)
    #expect(again == Self.merged)
  }

  @Test("Unknown cases keep the local value even with serverWins policies or a base")
  func policies() throws {
    for options in [MergeOptions(policy: .serverWins), MergeOptions(policies: ["state": .serverWins])] {
      var ticket = Self.local
      try ticket.merge(.json(Self.json), options: options)
      #expect(ticket.state == .closed && ticket.priority == .merged)
    }
    var ticket = Self.local
    var base = Self.local
    base.state = .open
    base.owner.role = .open
    let report = try ticket.merge(.json(Self.json), base: base)
    #expect(ticket == Self.merged && report.conflicts.isEmpty)
    ticket = Self.local
    try ticket.merge(.json(Self.json), base: Self.local)
    #expect(ticket == Self.merged)
  }

  @Test(
    "Merge patches, JSON patches, records and archives with unknown cases keep local values",
    arguments: ["merge patch", "patch", "record", "archive"])
  func forms(form: String) throws {
    let record = ModelRecord(
      typeName: "UnknownTicket", modelVersion: 1,
      fields: [("title", "new"), ("state", "foo"), ("priority", "foo")])
    let source: MergeSource =
      switch form {
      case "merge patch": .mergePatch(Data(#"{"title": "new", "status": "foo", "priority": "foo"}"#.utf8))
      case "patch":
        .patch(
          try JSONPatch(
            parsing: Data(
              #"""
              [{"op": "replace", "path": "/title", "value": "new"}, {"op": "replace", "path": "/status", "value": "foo"},
               {"op": "replace", "path": "/priority", "value": "foo"}]
              """#.utf8)))
      case "record": .record(record)
      default: .archive(try ArchiveEncoder().encode(record))
      }
    var ticket = Self.local
    try ticket.merge(source)
    var expected = Self.local
    expected.title = "new"
    #expect(ticket == expected)
  }

  private enum Form: CaseIterable { case json, record, archive, adapter }

  @Test("The report names each field from which elements with unknown cases were skipped", arguments: Form.allCases)
  private func skipped(form: Form) throws {
    let json = #"""
      {"phases": {"list": ["merged", "foo"], "set": ["foo"], "lists": [["open"], ["foo", "closed"]], "optional": ["bar"],
       "others": [{"id": 1, "role": "closed"}]}}
      """#
    let phases = ModelRecord(
      typeName: "UnknownPhases", modelVersion: 1,
      fields: [
        ("list", ["merged", "foo"]), ("set", .set(["foo"])), ("lists", [["open"], ["foo", "closed"]]),
        ("optional", ["bar"]),
        (
          "others",
          [
            .record(
              ModelRecord(
                typeName: "UnknownOwner", modelVersion: 1, fields: [("id", 1), ("role", "closed"), ("note", "")]))
          ]
        ),
      ])
    let record = ModelRecord(typeName: "UnknownPhaseOwner", modelVersion: 1, fields: [("phases", .record(phases))])
    let local = PhaseOwner(phases: Phases(list: [.open], set: [.open], lists: [], optional: nil))
    for base in [nil, local] {
      var merged = local
      let report =
        switch form {
        case .json: try merged.merge(.json(Data(json.utf8)), base: base)
        case .record: try merged.merge(.record(record), base: base)
        case .archive: try merged.merge(.archive(ArchiveEncoder().encode(record)), base: base)
        case .adapter: try JSONAdapter<PhaseOwner>().merge(.json(Data(json.utf8)), into: &merged, base: base)
        }
      #expect(
        merged.phases
          == Phases(
            list: [.merged], set: [], lists: [[.open], [.closed]], optional: [], others: [Bearer(id: 1, role: .closed)])
      )
      let skipped = report.entries.filter { $0.rule.contains("were skipped") }
      #expect(
        skipped.map(\.path.description) == ["phases.list", "phases.set", "phases.lists", "phases.optional"],
        "\(form)\n\(report)")
    }
    var known = local
    let report = try known.merge(.json(Data(#"{"phases": {"list": ["merged"], "set": []}}"#.utf8)))
    #expect(!report.entries.contains { $0.rule.contains("skipped") })
  }

  @Test("A skipped element ends no conflict, and the line has the outcome of the field")
  func skippedConflict() throws {
    var model = try RememberingPhases(fromJSON: Data(#"{"list": ["open"]}"#.utf8))
    model.list = [.closed]
    let json = Data(#"{"list": ["merged", "foo"]}"#.utf8)
    try model.merge(.json(json))
    #expect(model.mergeConflicts.count == 1 && model.list == [.closed])
    try model.merge(.json(json))
    #expect(model.mergeConflicts.count == 1 && model.list == [.closed])
    var phases = Phases(list: [.closed])
    let report = try phases.merge(.json(json), options: MergeOptions(policy: .keepLocal))
    #expect(phases.list == [.closed])
    #expect(report.entries.allSatisfy { $0.outcome == .local }, "\(report)")
  }

  @Test("An object keeps a field's value if the incoming case is unknown")
  func objects() throws {
    let room = Chamber(state: .closed, name: "a")
    let report = try room.mergeValues(fromJSON: Data(#"{"state": "foo", "name": "b"}"#.utf8))
    #expect(room.state == .closed && room.name == "b")
    #expect(report.entries.map(\.path.description).contains("state"))
  }

  @Test("The base keeps the server's last known case, and later cases are compared with it")
  func remembered() throws {
    var model = try Remembering(fromJSON: Data(#"{"state": "closed"}"#.utf8))
    try model.mergeValues(fromJSON: Data(#"{"state": "foo", "note": "n"}"#.utf8))
    #expect(model.state == .closed && model.note == "n")
    try model.mergeValues(fromJSON: Data(#"{"state": "merged"}"#.utf8))
    #expect(model.state == .merged && model.merging.conflicts.isEmpty)
    model.state = .open
    try model.mergeValues(fromJSON: Data(#"{"state": "foo"}"#.utf8))
    #expect(model.state == .open && model.merging.conflicts.isEmpty)
    let report = try model.mergeValues(fromJSON: Data(#"{"state": "closed"}"#.utf8))
    #expect(model.state == .open && report.conflicts.map(\.path.description) == ["state"])
  }

  @Test("Decoding JSON or an archive replaces unknown cases with the default")
  func reading() throws {
    let ticket = try Errand(fromJSON: Self.json)
    #expect(ticket.state == .open && ticket.priority == nil && ticket.others.map(\.role) == [.open, .open, .open])
    let record = ModelRecord(typeName: "UnknownTicket", modelVersion: 1, fields: [("state", "foo")])
    #expect(try ArchiveDecoder().decode(Errand.self, from: ArchiveEncoder().encode(record)).state == .open)
  }
}
