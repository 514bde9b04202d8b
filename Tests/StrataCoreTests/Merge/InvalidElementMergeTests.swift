import Foundation
import Strata
import Testing

@Model(version: 1)
private struct RosterHand: Equatable {
  let id: Int
  var name: String
  var pay: Int?
}

@Model(version: 1)
private struct Roster: Equatable {
  @Field(json: .path("hands").skippingInvalid) var hands: [RosterHand] = []
  @Field(json: .path("rows").skippingInvalid) var rows: [[RosterHand]] = []
  @Field(json: .path("numbers").skippingInvalid) var numbers: [Int] = []
  var title = ""
}

@Model(version: 1)
private struct RememberingRoster {
  @Field(json: .path("hands").skippingInvalid) var hands: [RosterHand] = []
  var merging = MergeState()
}

@Model(version: 1)
private final class CrewMember {
  let id: Int
  var name: String
  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1)
private final class RosterShip {
  @Field(json: .path("members").skippingInvalid) var members: [CrewMember] = []
  init() {}
}

@Suite("Merging: invalid elements that are skipped")
struct InvalidElementMergeTests {
  private static let before = Roster(
    hands: [RosterHand(id: 1, name: "A", pay: 3), RosterHand(id: 2, name: "B", pay: nil)],
    rows: [[RosterHand(id: 1, name: "A", pay: 3)], [RosterHand(id: 2, name: "B", pay: nil)]], numbers: [1, 2])

  enum Base: CaseIterable { case none, given }

  @Test("A local element is kept if the document contains an invalid element", arguments: Base.allCases)
  func lists(base: Base) throws {
    for bad in [#"{"id":1,"name":55}"#, #"{"name":"A"}"#, #""x""#, "null"] {
      var crew = Self.before
      let json = Data(#"{"hands":[\#(bad),{"id":2,"name":"B2"},{"id":3,"name":"C"}]}"#.utf8)
      let report = try crew.merge(.json(json), base: base == .given ? Self.before : nil)
      #expect(
        Set(crew.hands.map { "\($0.id) \($0.name) \($0.pay ?? 0)" }) == ["1 A 3", "2 B2 0", "3 C 0"],
        "\(bad)\n\(report)")
      #expect(report.entries.contains { $0.path.description == "hands" && $0.rule == "invalid elements were skipped" })
      #expect(!report.entries.contains { $0.rule.contains("missing on the server") }, "\(report)")
    }
    // A complete list removes elements as usual.
    var crew = Self.before
    let report = try crew.merge(.json(Data(#"{"hands":[{"id":2,"name":"B"}]}"#.utf8)), base: Self.before)
    #expect(crew.hands.map(\.id) == [2])
    #expect(!report.entries.contains { $0.rule.contains("skipped") })
  }

  @Test("A list of lists is a conflict if a local element is not among the valid elements", arguments: Base.allCases)
  func nested(base: Base) throws {
    var crew = Self.before
    let json = Data(#"{"rows":[[{"id":1,"name":55}],[{"id":2,"name":"B2"}]]}"#.utf8)
    let report = try crew.merge(.json(json), base: base == .given ? Self.before : nil)
    #expect(crew.rows.map { $0.map(\.id) } == [[1], [2]])
    #expect(report.entries.contains { $0.path.description == "rows" && $0.outcome == .conflict }, "\(report)")
    #expect(report.entries.contains { $0.rule == "invalid elements were skipped" })
  }

  @Test("The remembered base keeps the elements, so a later complete list is merged as usual")
  func remembered() throws {
    var crew = RememberingRoster()
    let full = Data(#"{"hands":[{"id":1,"name":"A","pay":3},{"id":2,"name":"B"}]}"#.utf8)
    try crew.merge(.json(full))
    try crew.merge(.json(Data(#"{"hands":[{"id":1,"name":55},{"id":2,"name":"B"}]}"#.utf8)))
    #expect(crew.hands.map(\.id) == [1, 2])
    crew.hands[0].name = "mine"
    // The server still has the known value, so the edit is kept without a conflict.
    let report = try crew.merge(.json(full))
    #expect(crew.hands.map(\.name) == ["mine", "B"] && report.conflicts.isEmpty, "\(report)")
    crew.hands[0].name = "A"
    // A complete list without the element removes it.
    try crew.merge(.json(Data(#"{"hands":[{"id":2,"name":"B"}]}"#.utf8)))
    #expect(crew.hands.map(\.id) == [2])
  }

  @Test("With addWins, the elements are kept, too; a policy for the whole list uses the valid elements")
  func policies() throws {
    let json = Data(#"{"hands":[{"id":1,"name":55},{"id":2,"name":"B"}]}"#.utf8)
    for (policy, ids) in [
      (MergePolicy.addWins, [1, 2]), (.union, [1, 2]), (.byID(unlisted: .remove), [1, 2]), (.serverWins, [2]),
    ] {
      var crew = Self.before
      let report = try crew.merge(.json(json), base: Self.before, options: MergeOptions(policies: ["hands": policy]))
      #expect(crew.hands.map(\.id).sorted() == ids, "\(policy)\n\(report)")
      #expect(report.entries.contains { $0.rule == "invalid elements were skipped" })
    }
  }

  @Test("Objects are kept, too", arguments: Base.allCases)
  func objects(base: Base) throws {
    func ship() -> RosterShip {
      let ship = RosterShip()
      ship.members = [CrewMember(id: 1, name: "A"), CrewMember(id: 2, name: "B")]
      return ship
    }
    let local = ship()
    let first = local.members[0]
    let json = Data(#"{"members":[{"id":1,"name":55},{"id":2,"name":"B2"}]}"#.utf8)
    try local.merge(.json(json), base: base == .given ? ship() : nil)
    #expect(local.members.map(\.name) == ["A", "B2"] && local.members.first === first)
  }

  @Test("A new model gets the valid elements, and a list without identities is replaced with a line in the report")
  func others() throws {
    var crew = Roster()
    try crew.merge(.json(Data(#"{"hands":[{"id":1,"name":55},{"id":2,"name":"B"}]}"#.utf8)))
    #expect(crew.hands.map(\.id) == [2])
    crew = Self.before
    let report = try crew.merge(.json(Data(#"{"numbers":[5,"x"]}"#.utf8)), base: Self.before)
    #expect(crew.numbers == [5])
    #expect(report.entries.contains { $0.path.description == "numbers" && $0.rule == "invalid elements were skipped" })
  }
}

@Model(version: 1)
private struct TrackedHand: Equatable {
  let id: Int
  var name: String
  var merging = MergeState()
}

@Model(version: 1)
private class Creature {
  var id = 1
  var name = "A"
  init() {}
}

@Model(version: 1, superclass: Creature.self)
private final class Hound: Creature {
  var merging = MergeState()
  override init() { super.init() }
}

@Suite("Merging: lists of models with merge states")
struct ListStateTests {
  @Test("Merging a list without a base fails if its elements have bases, because their edits would be lost")
  func bases() throws {
    let json = Data(#"[{"id":1,"name":"A"}]"#.utf8)
    var hands = try JSONReader().read([TrackedHand].self, from: json)
    hands[0].name = "mine"
    let local = hands
    let error = #expect(throws: ArchiveError.self) { try hands.merge(.json(json)) }
    #expect(error?.code == .mergeFailed && hands == local)
    // If the call has a base, or if the elements don't remember bases, the list is merged.
    try hands.merge(.json(json), base: JSONReader().read([TrackedHand].self, from: json))
    #expect(hands.map(\.name) == ["mine"])
    var plain = [TrackedHand(id: 1, name: "x")]
    try plain.merge(.json(json))
    #expect(plain.map(\.name) == ["A"])
  }

  @Test("The same applies if only a subclass has a merge state")
  func subclass() throws {
    let hound = Hound()
    try hound.markSynced()
    hound.name = "mine"
    var creatures: [Creature] = [hound]
    #expect(throws: ArchiveError.self) { try creatures.merge(.json(Data(#"[{"id":1,"name":"A"}]"#.utf8))) }
    #expect(hound.name == "mine")
  }
}

@Suite("Merging: lists of lists report what they lose")
struct NestedListReportTests {
  private static let base = Roster(rows: [
    [RosterHand(id: 1, name: "A", pay: nil), RosterHand(id: 2, name: "B", pay: nil)]
  ])

  @Test("Removed models have a line in the report, whichever side removed them")
  func removed() throws {
    var crew = Self.base
    let report = try crew.merge(.json(Data(#"{"rows":[[{"id":1,"name":"A"}]]}"#.utf8)), base: Self.base)
    #expect(crew.rows.map { $0.map(\.id) } == [[1]])
    #expect(
      report.entries.contains { $0.path.description == "rows[id=2]" && $0.rule.contains("missing on the server") })
    crew = Self.base
    crew.rows[0].removeLast()
    let kept = try crew.merge(
      .json(Data(#"{"rows":[[{"id":1,"name":"A"},{"id":2,"name":"B"}]]}"#.utf8)), base: Self.base)
    #expect(crew.rows.map { $0.map(\.id) } == [[1]])
    #expect(kept.entries.contains { $0.path.description == "rows[id=2]" && $0.rule == "removed locally" }, "\(kept)")
  }

  @Test("With unlisted: .keep, a list of lists that lacks a local model is a conflict")
  func keep() throws {
    var crew = Self.base
    let report = try crew.merge(
      .json(Data(#"{"rows":[[{"id":1,"name":"A2"}]]}"#.utf8)), base: Self.base, options: MergeOptions(unlisted: .keep))
    #expect(crew.rows.map { $0.map(\.name) } == [["A2", "B"]])
    #expect(report.conflicts.map(\.path.description) == ["rows"])
  }
}
