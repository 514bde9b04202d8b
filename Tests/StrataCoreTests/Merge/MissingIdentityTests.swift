import Foundation
import Strata
import StrataTestSupport
import Testing

/// An element whose identity is created by the program and not by the server.
@Model(version: 1)
private struct Line: Hashable {
  var id = UUID()
  var text = ""
  var place: LineSpot?
  var count = 7
  @Field(json: .none) var isOpen = false
}

@Model(version: 1)
private struct LineSpot: Hashable {
  var x = 0
  @Field(json: .none) var y = 0
}

@Model(version: 1)
private struct Sheet: Equatable {
  var lines: [Line] = []
  var set: Set<Line> = []
  var rows: [[Line]] = []
  var named: [String: [Line]] = [:]
}

@Model(version: 1)
private struct PartItem { let id: Int; var name = "" }

@Model(version: 1)
private struct Parts { var items: [PartItem] = [] }

@Model(version: 1)
private struct Table: Equatable {
  var bySpot: [LineSpot: Line] = [:]
  var byName: [String: Line] = [:]
}

@Model(version: 1)
private struct Remembering {
  var lines: [Line] = []
  var merging = MergeState()
}

@Model(version: 1)
private final class Leaf {
  var id = UUID()
  var text = ""
  var count = 7
  init() {}
}

@Model(version: 1)
private final class Tree {
  var leaves: [Leaf] = []
  var merging = MergeState()
  init() {}
}

@Model(version: 1)
private struct Shape: Hashable {
  var id = UUID().uuidString
  var a = 0
  var b = 0
  var c = 0
  var d = 0
  var e = 0
  var f = 0
  var g = 0
  var h = 0
}

@Model(version: 1)
private struct Shapes {
  var list: [Shape] = []
}

@Model(version: 1)
struct MissingIdentityDiary: Equatable {
  @Model(version: 1)
  struct Day: Hashable {
    var id = UUID()
    var name = ""
    var sets: [Exercise] = []
    var best: Exercise?
    var named: [String: Exercise] = [:]
    var rows: [[Exercise]] = []
    var last = Entry.none
    @Field(unknown: .useDefault) var kinds: [Kind] = []
    @Field(json: .none) var photo = ""
  }

  @Model(version: 1)
  struct Exercise: Hashable {
    var id = UUID()
    var reps = 0
    var weight = 10
  }

  @Model(version: 1)
  enum Entry: Hashable {
    case none, timed(of: Exercise)
  }

  enum Kind: String, Archivable { case old }

  var days: [Day] = []
  var merging = MergeState()

  static func == (left: MissingIdentityDiary, right: MissingIdentityDiary) -> Bool { left.days == right.days }
}

@Model(version: 1)
struct MissingIdentityWeek {
  @Model(version: 1)
  struct Day: Hashable {
    var id = UUID()
    var sets: Set<MissingIdentityDiary.Exercise> = []
  }

  var days: Set<Day> = []
}

@Model(version: 1)
private struct Required {
  @Model(version: 1)
  struct Entry: Hashable {
    let id: Int
    var text = ""
  }
  var list: [Entry] = []
}

@Model(version: 1)
private struct Constants {
  @Model(version: 1)
  struct Entry: Hashable, Mergeable {
    var name = ""
    var text = ""
    static let mergeRules = MergeRules(identity: "name")
  }
  var list: [Entry] = []
}

@Model(version: 1)
private struct Optionals {
  @Model(version: 1)
  struct Entry: Hashable {
    var id: Int?
    var text = ""
  }
  var list: [Entry] = []
}

@Suite("Incoming list elements without the identity of their type")
struct MissingIdentityTests {
  private let two = MergeSource.json(Data(#"{"lines":[{"text":"a"},{"text":"b"}]}"#.utf8))

  @Test("A patch that removes a generated identity matches the element by its content")
  func patched() throws {
    var sheet = Sheet(lines: [Line(text: "a"), Line(text: "b")])
    sheet.lines[0].isOpen = true
    let before = sheet
    try sheet.merge(.mergePatch(Data(#"{"lines":[{"text":"a"},{"text":"b"}]}"#.utf8)))
    #expect(sheet == before)
    try sheet.merge(.mergePatch(Data(#"{"lines":[{"text":"a"},{"text":"b"},{"text":"c"}]}"#.utf8)))
    #expect(Array(sheet.lines.prefix(2)) == before.lines && sheet.lines.map(\.text) == ["a", "b", "c"])
    // A missing key that has a constant default gets that default.
    sheet.lines[1].count = 9
    let id = sheet.lines[1].id.uuidString
    try sheet.merge(.mergePatch(Data(#"{"lines":[{"id":"\#(id)","text":"b"}]}"#.utf8)))
    #expect(sheet.lines.map(\.count) == [7])
  }

  @Test("The error for a required identity that is missing names the element")
  func missing() throws {
    var parts = Parts(items: [PartItem(id: 1, name: "a")])
    let json = Data(#"{"items": [{"id": 1}, {"id": 2, "name": "b"}, {"name": "c"}]}"#.utf8)
    let error = #expect(throws: ArchiveError.self) { try parts.merge(.json(json)) }
    #expect(error?.code == .missingValue && error?.codingPath == [.key("items"), .index(2), .key("id")])
  }

  @Test("A document that is merged again adds no element, in any kind of list")
  func again() throws {
    let json = Data(
      #"""
      {"lines":[{"text":"a"},{"text":"b","place":{"x":1}},{"text":"a"}],"set":[{"text":"a"},{"text":"b"}],
       "rows":[[{"text":"a"}],[{"text":"b"},{"text":"a"}]],"named":{"k":[{"text":"a"},{"text":"a"}]}}
      """#.utf8)
    var sheet = Sheet()
    try sheet.merge(.json(json))
    #expect(sheet.lines.map(\.text) == ["a", "b", "a"])
    #expect(Set(sheet.lines.map(\.id)).count == 3)
    let first = sheet
    for _ in 0..<3 {
      let report = try sheet.merge(.json(json))
      #expect(sheet == first)
      #expect(report.entries.isEmpty)
    }
  }

  @Test("An element keeps its identity and the values that the document does not send")
  func kept() throws {
    var sheet = Sheet()
    try sheet.merge(two)
    sheet.lines[0].count = 1
    sheet.lines[1].isOpen = true
    sheet.lines[1].place = LineSpot(x: 3, y: 4)
    let before = sheet
    try sheet.merge(.json(Data(#"{"lines":[{"text":"b","place":{"x":3}},{"text":"a"}]}"#.utf8)))
    #expect(sheet.lines == before.lines.reversed())
  }

  @Test("An element with a changed value is a new element; the local one is unlisted")
  func changed() throws {
    var sheet = Sheet()
    try sheet.merge(two)
    let ids = sheet.lines.map(\.id)
    let json = MergeSource.json(Data(#"{"lines":[{"text":"a"},{"text":"c"}]}"#.utf8))
    var whole = sheet
    try whole.merge(json, options: MergeOptions(unlisted: .remove))
    #expect(whole.lines.map(\.text) == ["a", "c"])
    #expect(whole.lines[0].id == ids[0] && !ids.contains(whole.lines[1].id))
    try sheet.merge(json)
    #expect(Set(sheet.lines.map(\.text)) == ["a", "b", "c"])
  }

  @Test("Elements that share an identity are matched as often as they occur")
  func shared() throws {
    let id = UUID()
    var sheet = Sheet(lines: [Line(id: id, text: "a"), Line(id: id, text: "a")])
    let before = sheet
    try sheet.merge(.json(Data(#"{"lines":[{"text":"a"},{"text":"a"}]}"#.utf8)))
    #expect(sheet == before)
  }

  @Test(
    "An identity without a default is required, a constant default is the identity, and an optional one can be null")
  func noDefault() throws {
    var required = Required(list: [Required.Entry(id: 1, text: "a")])
    #expect(throws: ArchiveError.self) { try required.merge(.json(Data(#"{"list":[{"text":"a"}]}"#.utf8))) }
    var constant = Constants(list: [Constants.Entry(name: "x", text: "a"), Constants.Entry(text: "b")])
    try constant.merge(.json(Data(#"{"list":[{"text":"a"},{"name":"y"}]}"#.utf8)))
    #expect(Set(constant.list.map { "\($0.name):\($0.text)" }) == ["x:a", ":a", "y:"])
    var empty = Sheet(lines: [Line(text: "a")])
    try empty.merge(.json(Data(#"{"lines":[{}]}"#.utf8)))
    #expect(empty.lines.map(\.text).sorted() == ["", "a"])
    var optional = Optionals(list: [Optionals.Entry(id: 1, text: "a")])
    for _ in 0..<2 {
      try optional.merge(.json(Data(#"{"list":[{"text":"a"}]}"#.utf8)))
      #expect(optional.list.map(\.id) == [1, nil] || optional.list.map(\.id) == [nil, 1])
    }
  }

  @Test("An empty object is an element with the default values")
  func emptyObjects() throws {
    var sheet = Sheet(lines: [Line(text: "a"), Line(isOpen: true)])
    let tree = Tree()
    tree.leaves = [Leaf(), Leaf()]
    tree.leaves[0].text = "a"
    let (ids, leaves) = (sheet.lines.map(\.id), tree.leaves)
    for _ in 0..<3 {
      try sheet.merge(.json(Data(#"{"lines":[{}]}"#.utf8)))
      try tree.merge(.json(Data(#"{"leaves":[{}]}"#.utf8)))
      #expect(Set(sheet.lines.map(\.id)) == Set(ids))
      #expect(Set(tree.leaves.map(ObjectIdentifier.init)) == Set(leaves.map(ObjectIdentifier.init)))
    }
    #expect(sheet.lines.first { $0.id == ids[1] }?.isOpen == true)
    // Two empty objects become two elements.
    try sheet.merge(.json(Data(#"{"lines":[{},{}]}"#.utf8)))
    try tree.merge(.json(Data(#"{"leaves":[{},{}]}"#.utf8)))
    #expect(sheet.lines.map(\.text).sorted() == ["", "", "a"])
    #expect(tree.leaves.map(\.text).sorted() == ["", "", "a"])
  }

  @Test("Sets of models with nested models without identity are matched by content")
  func sets() throws {
    let json = MergeSource.json(Data(#"{"days":[{"sets":[{"reps":1},{"reps":2}]},{"sets":[{"reps":1}]}]}"#.utf8))
    var week = MissingIdentityWeek()
    for _ in 0..<3 { try week.merge(json) }
    #expect(week.days.count == 2)
    #expect(week.days.map { $0.sets.map(\.reps).sorted() }.sorted { $0.count < $1.count } == [[1], [1, 2]])
  }

  @Test("Elements with too many different sets of keys are an error and not a long search")
  func manyShapes() throws {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"]
    let elements = (0..<256).map { set in
      "{" + keys.indices.filter { set >> $0 & 1 == 1 }.map { "\"\(keys[$0])\":1" }.joined(separator: ",") + "}"
    }
    var shapes = Shapes(list: (0..<10_000).map { Shape(id: "\($0)") })
    let json = Data("{\"list\":[\(elements.joined(separator: ","))]}".utf8)
    let error = #expect(throws: ArchiveError.self) { try shapes.merge(.json(json)) }
    #expect(error?.code == .mergeFailed)
    #expect("\(error.map(String.init(describing:)) ?? "")".contains("too many comparisons"))
  }

  @Test("Models without identity in other models are compared by the values that the document contains")
  func nested() throws {
    let json = Data(
      #"""
      {"days":[{"name":"Push","sets":[{"reps":5},{"reps":3}],"best":{"reps":9},"named":{"a":{"reps":1}},
       "rows":[[{"reps":2}]],"last":{"timed":{"of":{"reps":4}}}},{},{"kinds":["new"]}]}
      """#.utf8)
    var diary = MissingIdentityDiary()
    try diary.merge(.json(json))
    let first = diary
    diary.days[0].photo = "mine"
    diary.days[0].sets[1].weight = 20
    let edited = diary
    #expect(first.days.count == 3)
    for _ in 0..<3 {
      #expect(try diary.merge(.json(json)).entries.allSatisfy { $0.rule.contains("were skipped") })
      #expect(diary == edited)
    }
    let base = edited
    for _ in 0..<3 {
      try diary.merge(.json(json), base: base)
      #expect(diary == edited)
    }
    diary = first
    diary.merging = MergeState()
    for _ in 0..<3 {
      try diary.merge(.json(json))
      #expect(diary.days == first.days)
    }
  }

  @Test("The remembered base knows the identities: removals and edits are recognized", arguments: [1, 2, 3])
  func remembered(repeats: Int) throws {
    let full = MergeSource.json(Data(#"{"lines":[{"text":"a"},{"text":"b"}]}"#.utf8))
    var model = Remembering()
    for _ in 0..<repeats { try model.merge(full) }
    model.lines[0].text = "edited"
    let ids = model.lines.map(\.id)
    for _ in 0..<3 {
      let report = try model.merge(full)
      #expect(model.lines.map(\.text) == ["edited", "b"] && model.lines.map(\.id) == ids)
      #expect(
        report.entries.map { "\($0.path)" } == ["lines[id=\"\(ids[0].uuidString.lowercased())\"].text"]
          || report.entries.count == 1)
    }
    try model.merge(.json(Data(#"{"lines":[{"text":"a"}]}"#.utf8)))
    #expect(model.lines.map(\.text) == ["edited"])
    try model.merge(.json(Data(#"{"lines":[]}"#.utf8)), options: MergeOptions(unlisted: .remove))
    #expect(model.lines.isEmpty)
  }

  @Test("A server that removes all elements removes the local ones")
  func allRemoved() throws {
    var model = Remembering()
    try model.merge(.json(Data(#"{"lines":[{"text":"a"}]}"#.utf8)))
    try model.merge(.json(Data(#"{"lines":[]}"#.utf8)))
    #expect(model.lines.isEmpty)
    let tree = Tree()
    try tree.merge(.json(Data(#"{"leaves":[{"text":"a"}]}"#.utf8)))
    try tree.merge(.json(Data(#"{"leaves":[]}"#.utf8)))
    #expect(tree.leaves.isEmpty)
  }

  @Test("An element that the document names by its identity is not taken for one without identity")
  func named() throws {
    var sheet = Sheet()
    try sheet.merge(two)
    let id = sheet.lines[0].id
    let text = #"{"lines":[{"text":"a"},{"id":"\#(id.uuidString)","text":"a"}]}"#
    try sheet.merge(.json(Data(text.utf8)), options: MergeOptions(unlisted: .remove))
    #expect(sheet.lines.map(\.text) == ["a", "a"])
    #expect(sheet.lines[1].id == id && sheet.lines[0].id != id)
  }

  @Test("Models in a dictionary correspond by key and keep their identity")
  func dictionaries() throws {
    let (one, two) = (LineSpot(x: 1), LineSpot(x: 2))
    var table = Table(
      bySpot: [one: Line(text: "a"), two: Line(text: "b")], byName: ["1": Line(text: "a"), "2": Line(text: "b")])
    let before = table
    // The other table has the values of the two keys swapped.
    let other = Table(
      bySpot: [one: Line(text: "b"), two: Line(text: "a")], byName: ["1": Line(text: "b"), "2": Line(text: "a")])
    let json = try String(decoding: other.jsonData(), as: UTF8.self).replacing(/"id":"[^"]*",/, with: "")
    try table.merge(.json(Data(json.utf8)))
    #expect(table.bySpot.mapValues(\.text) == [one: "b", two: "a"])
    #expect(table.bySpot.mapValues(\.id) == before.bySpot.mapValues(\.id))
    #expect(table.byName.mapValues(\.id) == before.byName.mapValues(\.id))
  }

  @Test("A list of models itself is merged in the same way")
  func root() throws {
    var lines: [Line] = []
    let json = MergeSource.json(Data(#"[{"text":"a"},{"text":"b"}]"#.utf8))
    try lines.merge(json, unlisted: .keep)
    let first = lines
    try lines.merge(json, unlisted: .keep)
    #expect(lines == first)
  }

  @Test("With a base, local edits, insertions and removals stay, and nothing is added twice", arguments: [false, true])
  func withBase(isRemembered: Bool) throws {
    var remembering = Remembering()
    var sheet = Sheet()
    try remembering.merge(two)
    try sheet.merge(two)
    let base = sheet
    if isRemembered { sheet.lines = remembering.lines }
    sheet.lines[0].text = "edited"
    sheet.lines.append(Line(text: "own"))
    let edited = sheet.lines
    func merge(_ text: String) throws -> [Line] {
      guard isRemembered else {
        try sheet.merge(.json(Data(text.utf8)), base: base)
        return sheet.lines
      }
      remembering.lines = sheet.lines
      try remembering.merge(.json(Data(text.utf8)))
      sheet.lines = remembering.lines
      return sheet.lines
    }
    for _ in 0..<3 {
      #expect(try merge(#"{"lines":[{"text":"a"},{"text":"b"}]}"#) == edited)
    }
    sheet.lines.removeAll { $0.text == "b" }
    for _ in 0..<3 {
      #expect(try merge(#"{"lines":[{"text":"a"},{"text":"b"}]}"#).map(\.text) == ["edited", "own"])
    }
  }

  @Test("Objects are matched in the same way and keep their identity", arguments: [false, true])
  func objects(hasBase: Bool) throws {
    let tree = Tree()
    let json = MergeSource.json(Data(#"{"leaves":[{"text":"a"},{"text":"b"}]}"#.utf8))
    try tree.merge(json)
    let first = tree.leaves
    first[0].count = 1
    for _ in 0..<3 {
      if !hasBase { tree.merging = MergeState() }
      try tree.merge(json)
      #expect(tree.leaves.map(\.text) == ["a", "b"])
      #expect(zip(tree.leaves, first).allSatisfy { $0 === $1 })
      #expect(first[0].count == 1)
    }
    first[1].text = "edited"
    for _ in 0..<3 where hasBase {
      try tree.merge(json)
      #expect(tree.leaves.map(\.text) == ["a", "edited"])
    }
  }
}
