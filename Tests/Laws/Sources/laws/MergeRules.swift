import Foundation
import Strata

// Models for the merge rules that the generated types don't cover. Rules that currently fail are listed in Tests/Laws/known.tsv.

@Model(version: 1)
final class Hidden {
  @Field(json: .none) var id = -1
  var name = ""
  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

/// A struct whose identity never appears in a document.
@Model(version: 1)
struct Ticket: Hashable {
  @Field(json: .none) var id = UUID()
  var name = ""
}

@Model(version: 1)
struct Hiding {
  var byName: [String: Hidden] = [:]
  var list: [Hidden] = []
  var tickets: [Ticket] = []
}

@Model(version: 1)
final class Couple {
  let id: Int
  var first: Thing?
  var second: Thing?
  weak var loose: Thing?
  var things: [Thing] = []
  init(id: Int) { self.id = id }
}

@Model(version: 1)
struct Made: Hashable {
  @Field(json: .automatic.missing(9)) var count: Int = 1
  @Field(archive: .excluded) var session = 0
  var text = ""
  var number = 0.0
}

@Model(version: 1)
struct Making: Hashable {
  var id = 0
  var made: [String: Made] = [:]
  var maybe: Made?
  @Field(unknown: .useDefault) var moods: [Colour] = []
  @Field(unknown: .useDefault) var named: [String: Colour] = [:]
  @Field(merge: .lines) var text = ""
  var memory = MergeState()
  var unknownFields = UnknownFields()
  enum Colour: String, Archivable { case red, green }
}

extension DeclaredLaws {
  /// Checks the numbered merge rules.
  mutating func mergeRules() {
    rule6()
    rule7()
    rule8()
    rule9()
    rule10()
  }

  private mutating func expect(_ law: Law, _ name: String, _ holds: () throws -> Bool) {
    do { add(law, name, try holds() ? nil : "does not hold") } catch { add(law, name, "\(error)") }
  }

  private static func json(_ text: String) -> MergeSource { .json(Data(text.utf8)) }

  private mutating func rule6() {
    expect(.rule6, "weak reference cleared by an archive") {
      let thing = Thing(id: 1)
      func couple(_ loose: Thing?) -> Couple {
        let couple = Couple(id: 1)
        (couple.things, couple.loose) = ([thing], loose)
        return couple
      }
      let here = couple(thing)
      try here.merge(.archive(ArchiveEncoder().encode(couple(nil))), base: couple(thing))
      return here.loose == nil
    }
    expect(.rule6, "nowhere in JSON is never overwritten") {
      var value = [Ticket(name: "a")]
      let id = value[0].id
      var holder = Hiding(tickets: value)
      try holder.merge(Self.json(#"{"tickets": [{"name": "a"}]}"#))
      value = holder.tickets
      return value[0].id == id
    }
    expect(.rule6, "excluded fields in a remembered state") {
      var value = Making(made: ["a": Made(session: 1)])
      try value.merge(Self.json(#"{"made": {"a": {"session": 2}}}"#))
      value.made["a"]?.session = 3
      try value.merge(Self.json(#"{"made": {"a": {"session": 2}}}"#))
      return value.made["a"]?.session == 3
    }
    expect(.rule6, "a new empty object in a merge patch") {
      var (patched, read) = (Making(), Making())
      try patched.merge(.mergePatch(Data(#"{"maybe": {}}"#.utf8)))
      try read.merge(Self.json(#"{"maybe": {}}"#))
      return patched.maybe == read.maybe && read.maybe != nil
    }
    expect(.rule6, "unknown keys survive a merge") {
      let adapter = try JSONAdapter<Making>(unknownKeys: .capture)
      var value = try adapter.decode(Data(#"{"id": 1, "more": 5}"#.utf8))
      try value.merge(Self.json(#"{"id": 1}"#))
      return value.unknownFields.object["more"] == 5
    }
    expect(.rule6, "unknown cases in containers") {
      let value = try Making(fromJSON: Data(#"{"moods": ["red", "blue"], "named": {"a": "blue", "b": "green"}}"#.utf8))
      return value.moods.contains(.red) && value.named["b"] == .green
    }
  }

  private mutating func rule7() {
    expect(.rule7, "composed text is the same as decomposed, and zero as negative zero") {
      var value = Making(made: ["a": Made(text: "\u{e9}", number: 0.0)])
      let report = try value.merge(Self.json("{\"made\": {\"a\": {\"text\": \"e\u{301}\", \"number\": -0.0}}}"))
      var listed = Hiding(tickets: [Ticket(name: "\u{e9}")])
      let other = try listed.merge(Self.json("{\"tickets\": [{\"name\": \"e\u{301}\"}]}"))
      return report.changes.isEmpty == other.changes.isEmpty
    }
    expect(.rule7, "lines above two thousand") {
      let lines = (0..<2500).map { "line \($0)\n" }
      func text(_ changes: [Int: String]) -> String { lines.enumerated().map { changes[$0] ?? $1 }.joined() }
      var value = Making(text: text([10: "here\n"]))
      let server = try Making(text: text([2000: "there\n"])).jsonData()
      try value.merge(.json(server), base: Making(text: text([:])))
      return value.text == text([10: "here\n", 2000: "there\n"])
    }
  }

  private mutating func rule8() {
    func hiding() -> Hiding {
      Hiding(
        byName: ["a": Hidden(id: -1, name: "a"), "b": Hidden(id: -1, name: "b")],
        list: [Hidden(id: 1, name: "c"), Hidden(id: 2, name: "d")])
    }
    expect(.rule8, "own document, identity nowhere in JSON, in a dictionary") {
      var value = hiding()
      try value.merge(.json(value.jsonData()))
      return value.byName.mapValues(\.name) == ["a": "a", "b": "b"]
    }
    expect(.rule8, "own document, identity nowhere in JSON, in a list") {
      var value = hiding()
      try value.merge(.json(value.jsonData()))
      return value.list.map(\.name) == ["c", "d"] && value.list.map(\.id) == [1, 2]
    }
    expect(.rule8, "own document, structs with ids of their own") {
      var value = Hiding(tickets: [Ticket(name: "a"), Ticket(name: "b")])
      let before = value.tickets
      try value.merge(.json(value.jsonData()))
      return value.tickets == before
    }
    expect(.rule8, "one identity twice with other values is reported") {
      let couple = Couple(id: 1)
      couple.things = [Thing(id: 5)]
      let value = couple
      let report = try value.merge(Self.json(#"{"things": [{"id": 5, "name": "a"}, {"id": 5, "name": "b"}]}"#))
      return "\(report)".contains("several times") || report.entries.contains { $0.outcome == .conflict }
    }
  }

  private mutating func rule9() {
    expect(.rule9, "missing counts for what is new") {
      var value = Making()
      try value.merge(Self.json(#"{"made": {"new": {"text": "x"}}, "maybe": {"text": "y"}}"#))
      return value.made["new"]?.count == 9 && value.maybe?.count == 9
    }
    expect(.rule9, "missing does not touch what is here") {
      var value = Making(made: ["a": Made(count: 4)])
      try value.merge(Self.json(#"{"made": {"a": {"text": "x"}}}"#))
      return value.made["a"]?.count == 4
    }
  }

  private mutating func rule10() {
    expect(.rule10, "two fields that come to hold one object") {
      let couple = Couple(id: 1)
      (couple.first, couple.second) = (Thing(id: 1), Thing(id: 1))
      couple.first?.name = "n"
      couple.second?.name = "n"
      let value = couple
      let report = try value.merge(Self.json(#"{"first": {"id": 1, "name": "n"}, "second": {"id": 1, "name": "n"}}"#))
      return report.changedKeys.isEmpty == report.changes.isEmpty
    }
  }
}
