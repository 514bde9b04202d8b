import Foundation
import Strata
import StrataTestSupport
import Testing

/// A page of comments. Each comment contains its whole author, as in the responses of most servers.
@Model(version: 1)
final class Discussion {
  var comments: [Remark] = []
  init() {}
}

@Model(version: 1)
final class Remark {
  let id: Int
  var author: Writer?
  /// This person may be missing in a document.
  var editor: Writer?
  init(id: Int, author: Writer? = nil, editor: Writer? = nil) {
    (self.id, self.author, self.editor) = (id, author, editor)
  }
}

@Model(version: 1)
final class Writer {
  let id: Int
  var name: String
  var mail: String?
  init(id: Int, name: String, mail: String? = nil) { (self.id, self.name, self.mail) = (id, name, mail) }
}

/// A drawer with things that are identified only by their position or label.
@Model(version: 1)
final class Drawer {
  @Field(merge: .byID("label")) var things: [Gadget] = []
  var pair: [Gadget] = []
  init() {}
}

@Model(version: 1)
final class Gadget {
  var label: String
  var count: Int
  init(_ label: String, _ count: Int) { (self.label, self.count) = (label, count) }
}

@Model(version: 1)
final class Meeting {
  var people: Set<Attendee> = []
  init() {}
}

@Model(version: 1)
final class Attendee: Hashable {
  let id: Int
  var name: String
  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
  static func == (left: Attendee, right: Attendee) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A class with its own code to merge one key.
@Model(version: 1)
final class Stock: KeyMerging {
  let id: Int
  var count = 0
  var name = ""
  var supplier: Writer?
  init(id: Int) { self.id = id }

  func mergeValue(forKey key: String, from source: Stock) throws -> Bool {
    guard key == "count" else { return false }
    count += source.count
    return true
  }
}

@Model(version: 1)
final class Warehouse {
  @Field(merge: .byID()) var stocks: [Stock] = []
  init() {}
}

@Suite("Objects referenced many times")
struct RepeatedObjectTests {
  private func thread(_ count: Int, _ author: Writer) -> Discussion {
    let thread = Discussion()
    thread.comments = (0..<count).map { Remark(id: $0, author: author, editor: author) }
    return thread
  }

  /// All 20,000 comments refer to one author. Comparing each mention with all others would take 400 million steps.
  @Test(
    "MG-13: an author referenced by 20,000 comments is merged once", .tags(.long), arguments: [true, false],
    [true, false])
  func mentions(knowsBase: Bool, namesEditor: Bool) throws {
    let count = Effort.rounds(2_000, long: 20_000)
    let ada = Writer(id: 1, name: "Ada", mail: "ada@x")
    let local = thread(count, ada)
    let editor = namesEditor ? #"{"id": 1, "name": "Ada L."}"# : #"{"name": "Ada L."}"#
    let comments = (0..<count).map { #"{"id": \#($0), "author": {"id": 1, "name": "Ada L."}, "editor": \#(editor)}"# }
    let json = Data(#"{"comments": [\#(comments.joined(separator: ","))]}"#.utf8)
    let base = knowsBase ? thread(count, Writer(id: 1, name: "Ada", mail: "ada@x")) : nil
    let report = try local.merge(.json(json), base: base)
    #expect(ada.name == "Ada L." && ada.mail == "ada@x")
    #expect(local.comments.allSatisfy { $0.author === ada && $0.editor === ada })
    #expect(report.entries.count == 1)
  }

  @Test("MG-13: 20,000 local copies of one server object are updated with one report entry", .tags(.long))
  func duplicates() throws {
    let count = Effort.rounds(2_000, long: 20_000)
    func json(_ name: String) -> Data {
      let comments = (0..<count).map { #"{"id": \#($0), "author": {"id": 1, "name": "\#(name)"}}"# }
      return Data(#"{"comments": [\#(comments.joined(separator: ","))]}"#.utf8)
    }
    let local = try Discussion(fromJSON: json("Ada"))
    #expect(local.comments[0].author !== local.comments[1].author)
    let report = try local.mergeValues(fromJSON: json("Ada L."))
    #expect(report.entries.count == 1)
    #expect(local.comments.allSatisfy { $0.author?.name == "Ada L." })
  }

  @Test("MG-16: local copies of one object that differ have separate report entries")
  func differentDuplicates() throws {
    let local = Discussion()
    local.comments = (0..<3).map { Remark(id: $0, author: Writer(id: 1, name: "n\($0 / 2)", mail: "m")) }
    let server = #"{"id": 1, "name": "s", "mail": "t"}"#
    let comments = (0..<3).map { #"{"id": \#($0), "author": \#(server)}"# }.joined(separator: ",")
    let report = try local.mergeValues(fromJSON: Data(#"{"comments": [\#(comments)]}"#.utf8))
    let lines = report.entries.map { "\($0.path.keys) \($0.local?.stringValue ?? "–")" }
    #expect(lines.sorted() == ["author.mail m", "author.name n0", "author.name n1"])
  }

  @Test("MG-11: elements with the same label are matched in order", arguments: 1...20)
  func labels(count: Int) throws {
    func drawer(_ counts: (Int) -> Int) -> Drawer {
      let drawer = Drawer()
      drawer.things = (0..<count).map { Gadget("l\($0 % 3)", counts($0)) }
      drawer.pair = drawer.things
      return drawer
    }
    let base = drawer { $0 }, local = drawer { $0 }, server = drawer { $0 * 10 }
    let things = local.things
    try local.merge(.model(server), base: base)
    #expect(local.things.map(\.count) == (0..<count).map { $0 * 10 })
    #expect(zip(local.things, things).allSatisfy { $0 === $1 } && zip(local.pair, things).allSatisfy { $0 === $1 })
  }

  @Test("MG-12: members of merged sets are local objects", arguments: [true, false])
  func sets(knowsBase: Bool) throws {
    func meeting(_ names: [String]) -> Meeting {
      let meeting = Meeting()
      meeting.people = Set(names.enumerated().map { Attendee(id: $0, name: $1) })
      return meeting
    }
    let local = meeting(["a", "b"]), server = meeting(["a", "B", "c"])
    let people = local.people
    _ = try knowsBase ? local.merge(.model(server), base: meeting(["a", "b"])) : local.mergeValues(from: server)
    #expect(local.people.count == 3 && people.allSatisfy { one in local.people.contains { $0 === one } })
    #expect(local.people.sorted { $0.id < $1.id }.map(\.name) == ["a", "B", "c"])
    #expect(server.people.allSatisfy { one in !local.people.contains { $0 === one } })
  }

  @Test("MG-9: an object's merge hook receives a whole object, combined from the partial and the local one")
  func hooks() throws {
    let local = Warehouse(), ada = Writer(id: 1, name: "Ada", mail: "a@x")
    let stock = Stock(id: 7)
    (stock.count, stock.name, stock.supplier) = (3, "bolts", ada)
    local.stocks = [stock]
    try local.mergeValues(
      fromJSON: Data(#"{"stocks": [{"id": 7, "count": 4, "supplier": {"id": 1, "name": "A"}}]}"#.utf8))
    #expect(local.stocks[0] === stock && stock.count == 7 && stock.name == "bolts")
    #expect(stock.supplier === ada && ada.name == "A" && ada.mail == "a@x")
  }

  @Test("A call's path policies apply to an object at each of its paths")
  func selectors() throws {
    func crew() -> Crew {
      let crew = Crew(name: "c")
      crew.sailors = [Sailor(id: 1, name: "Ada"), Sailor(id: 2, name: "Bob")]
      crew.captain = crew.sailors[0]
      return crew
    }
    let local = crew(), server = crew()
    local.sailors[0].name = "mine"
    for sailor in server.sailors { sailor.name = "theirs" }
    local.sailors[1].name = "edited"
    let options = MergeOptions(policies: ["captain.name": .localWins, "sailors[*].name": .serverWins])
    try local.merge(.model(server), base: crew(), options: options)
    // The captain is also a sailor, so two policies apply to the captain's name. The last one wins.
    #expect(local.sailors.map(\.name) == ["theirs", "theirs"])
    let other = crew()
    other.sailors[0].name = "mine"
    let report = try other.merge(
      .model(server), base: crew(), options: MergeOptions(policies: ["captain.name": .localWins]))
    #expect(other.captain?.name == "mine" && other.sailors[1].name == "theirs")
    #expect(report.conflicts.isEmpty)
    let third = crew(), path = ValuePath([.key("sailors"), .element(key: "id", id: 2), .key("name")])
    for sailor in third.sailors { sailor.name = "mine" }
    server.sailors.reverse()
    try third.merge(
      .model(server), base: crew(), options: MergeOptions(policy: .serverWins, policies: [path: .localWins]))
    #expect(Set(third.sailors.map { "\($0.id) \($0.name)" }) == ["1 theirs", "2 mine"])
    let byIndex = MergeOptions(policies: ["sailors[1].name": .localWins])
    for merge in [
      { try third.merge(.model(server), options: byIndex) },
      { try Merger(options: byIndex).merge(["sailors": []], into: ["sailors": []]).report },
      {
        var sailors = third.sailors
        return try sailors.mergeValues(from: [], options: byIndex)
      },
    ] as [() throws -> MergeReport] {
      let error = #expect(throws: ArchiveError.self) { _ = try merge() }
      #expect(error?.code == .invalidSchema && error?.reason.contains("[*]") == true)
    }
  }

  @Test(
    "MG-9: duplicate keys are rejected at every depth where fields read them",
    arguments: [
      #"{"comments": [{"id": 1, "author": {"id": 1, "name": "a", "name": "b"}}]}"#,
      #"{"comments": [{"id": 1, "id": 2}]}"#, #"{"comments": [], "comments": []}"#,
    ])
  func duplicateKeys(text: String) throws {
    let local = Discussion()
    let error = #expect(throws: ArchiveError.self) { try local.mergeValues(fromJSON: Data(text.utf8)) }
    #expect(error?.code == .invalidJSON)
    #expect(throws: ArchiveError.self) { try Discussion(fromJSON: Data(text.utf8)) }
    #expect(throws: ArchiveError.self) { try local.merge(.mergePatch(Data(text.utf8))) }
    #expect(local.comments.isEmpty)
  }

  @Test(
    "Duplicate keys that no field reads are ignored",
    arguments: [
      #"{"comments": [{"id": 1, "x": 1, "x": 2}], "y": {"z": 1, "z": 2}, "y": 3}"#,
      #"{"comments": [{"id": 1, "author": {"id": 1, "name": "a", "x": {"y": 1, "y": 2}}}]}"#,
    ])
  func unreadDuplicates(text: String) throws {
    let local = Discussion()
    try local.mergeValues(fromJSON: Data(text.utf8))
    #expect(try local.comments.count == 1 && Discussion(fromJSON: Data(text.utf8)).comments.count == 1)
  }

  @Test("Duplicate keys in a list of models are rejected", arguments: [#"[{"id": 1, "name": "a", "name": "b"}]"#])
  func duplicateKeysOfLists(text: String) throws {
    var list: [Contact] = []
    #expect(throws: ArchiveError.self) { try list.merge(.json(Data(text.utf8))) }
  }
}

extension ValuePath {
  /// The last two keys of the path.
  fileprivate var keys: String {
    components.compactMap { if case .key(let key) = $0 { key } else { nil } }.suffix(2).joined(separator: ".")
  }
}
