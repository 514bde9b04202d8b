import Foundation
import Strata
import Testing

@Suite("Merging with a base")
struct ThreeWayMergeTests {
  private let base = TodoItem(
    id: 1, title: "a", views: 10, tags: ["x", "y"], text: "one\ntwo\nthree\n",
    steps: [TodoStep(id: 1, name: "a"), TodoStep(id: 2, name: "b"), TodoStep(id: 3, name: "c")],
    place: TodoPlace(city: "Bern", street: "Weg 1"), extra: ["a": 1, "b": 2])

  @Test("U-1, U-16: one side's changes are merged, also in nested models, lists and dictionaries")
  func bothSides() throws {
    var local = base, server = base
    local.title = "edited"
    local.views += 1
    local.tags = ["x", "y", "mine"]
    local.text = "ONE\ntwo\nthree\n"
    local.steps[0].isDone = true
    local.steps.append(TodoStep(id: 9, name: "new here"))
    local.place?.street = nil
    local.draft = "draft"
    local.extra["a"] = 5
    server.isDone = true
    server.views += 5
    server.tags = ["y"]
    server.text = "one\ntwo\nthree\nfour\n"
    server.steps[0].name = "A"
    server.steps.remove(at: 1)
    server.steps.insert(TodoStep(id: 4, name: "new there"), at: 0)
    server.place?.city = "Thun"
    server.draft = "nothing for here"
    server.extra["b"] = nil
    let report = try local.merge(.model(server), base: base)
    #expect(local.title == "edited" && local.isDone && local.views == 16)
    #expect(local.tags == ["y", "mine"] && local.text == "ONE\ntwo\nthree\nfour\n")
    #expect(local.steps.map(\.id) == [4, 1, 3, 9])
    #expect(local.steps[1] == TodoStep(id: 1, name: "A", isDone: true))
    #expect(local.place == TodoPlace(city: "Thun", street: nil))
    #expect(local.draft == "draft" && local.extra == ["a": 5])
    #expect(report.conflicts.isEmpty)
    let outcomes = Dictionary(report.entries.map { ($0.path.description, $0.outcome) }, uniquingKeysWith: { $1 })
    #expect(outcomes["title"] == .local && outcomes["isDone"] == .server && outcomes["views"] == .merged)
    #expect(outcomes["steps[id=1].name"] == .server && outcomes["steps[id=1].isDone"] == .local)
    #expect(outcomes["steps[id=2]"] == .server && outcomes["steps[id=4]"] == .server)
    #expect(outcomes["place.city"] == .server && outcomes["place.street"] == .local)
    #expect(outcomes["draft"] == .local && outcomes["extra.b"] == .server && outcomes["extra.a"] == .local)
  }

  @Test("A change on both sides is a conflict that keeps the local value and reports all three values")
  func conflict() throws {
    var local = base, server = base
    local.title = "mine"
    server.title = "theirs"
    var taken = local
    let report = try local.merge(.model(server), base: base)
    let conflict = try #require(report.conflicts.first)
    #expect(local.title == "mine" && conflict.path.description == "title" && report.isEmpty)
    #expect(conflict.base == "a" && conflict.local == "mine" && conflict.server == "theirs")
    #expect(!report.description.contains("mine") && report.table(showsValues: true).contains("\"mine\""))
    try taken.merge(.model(server), base: base, options: MergeOptions(conflicts: .takeServer))
    #expect(taken.title == "theirs")
    var kept = base
    kept.title = "mine"
    let error = try #require(throws: ArchiveError.self) {
      try kept.merge(.model(server), base: base, options: MergeOptions(conflicts: .fail))
    }
    #expect(error.code == .mergeFailed && error.reason.contains("title") && !error.description.contains("theirs"))
    try local.resolve(conflict, with: .server)
    #expect(local.title == "theirs")
    try local.resolve(conflict, with: .value("both"))
    #expect(local.title == "both")
    #expect(throws: ArchiveError.self) { try local.resolve(conflict, with: .value(7)) }
    #expect(local.title == "both")
  }

  @Test(
    "The unlisted rule decides between a deletion and an edit of the same element",
    arguments: [
      (Unlisted.keep, [1, 2, 3]), (.remove, [2]), (.removeUnlessEdited, [2, 3]),
    ])
  func missing(_ policy: Unlisted, _ expected: [Int]) throws {
    var local = base, server = base
    server.steps = [base.steps[1]]
    local.steps[2].name = "edited"
    let options = MergeOptions(policies: ["steps": .byID("id", unlisted: policy)])
    let report = try local.merge(.model(server), base: base, options: options)
    #expect(local.steps.map(\.id) == expected)
    #expect(report.entries.contains { $0.path.description == "steps[id=3]" })
    // If an element was removed locally and edited by the server, it is a conflict.
    var removed = base
    removed.steps.removeAll { $0.id == 3 }
    server = base
    server.steps[2].name = "edited"
    let other = try removed.merge(.model(server), base: base, options: options)
    #expect(removed.steps.map(\.id) == [1, 2] && other.conflicts.map(\.path.description) == ["steps[id=3]"])
    try removed.resolve(#require(other.conflicts.first), with: .server)
    #expect(removed.steps.last == server.steps[2])
  }

  @Test("Moves and insertions from both sides are kept")
  func order() throws {
    var local = base, server = base
    local.steps = [base.steps[2], base.steps[0], base.steps[1]]
    server.steps.insert(TodoStep(id: 7, name: "there"), at: 1)
    local.steps.insert(TodoStep(id: 8, name: "here"), at: 3)
    try local.merge(.model(server), base: base)
    #expect(local.steps.map(\.id) == [3, 1, 7, 2, 8])
  }

  @Test("Type rules apply: the last writer's text wins, and whole lists are merged by identity")
  func rules() throws {
    let old = Date(timeIntervalSince1970: 0)
    func note(_ text: String, _ title: String, _ time: Double) -> DatedMemo {
      DatedMemo(id: 1, text: text, title: title, changed: old + time)
    }
    let base = MemoBook(notes: [note("a", "t", 0), DatedMemo(id: 2, changed: old)])
    var local = MemoBook(notes: [note("mine", "t", 10)])
    let server = MemoBook(notes: [
      note("theirs", "T", 5), DatedMemo(id: 2, changed: old), DatedMemo(id: 3, changed: old),
    ])
    let report = try local.merge(.model(server), base: base)
    #expect(local.notes.map(\.id) == [1, 3])
    #expect(local.notes[0] == note("mine", "T", 10) && report.conflicts.isEmpty)
    #expect(report.entries.contains { $0.path.description == "notes[id=1].text" && $0.rule == "lastWriter(changed)" })
  }

  @Test("Path policies override field policies, and a call's policy applies to nested models")
  func policies() throws {
    var local = base, server = base
    local.steps[0].name = "mine"
    server.steps[0].name = "theirs"
    local.place?.city = "mine"
    server.place?.city = "theirs"
    server.place?.street = "there"
    var other = local
    try local.merge(
      .model(server), base: base,
      options: MergeOptions(policies: ["steps[*].name": .serverWins, "place.*": .localWins]))
    #expect(local.steps[0].name == "theirs" && local.place == TodoPlace(city: "mine", street: "there"))
    try other.merge(.model(server), base: base, options: MergeOptions(policy: .serverWins))
    #expect(other.steps[0].name == "theirs" && other.place == TodoPlace(city: "theirs", street: "there"))
  }

  @Test("Base, local and server values of different versions are upgraded before the merge")
  func versions() throws {
    let old = ModelRecord(typeName: "TodoItem", modelVersion: 1, fields: [("id", 1), ("summary", "server's")])
    let archive = try ArchiveEncoder().encode(old)
    var local = base
    local.isDone = true
    let report = try local.merge(.archive(archive), base: base)
    #expect(
      local.title == "server's" && local.isDone && local.steps == base.steps && report.mergedKeys == ["id", "title"])
    let (merged, untyped) = try Merger(models: [TodoItem.self]).merge(
      .record(old),
      into: .record(ModelRecord(typeName: "TodoItem", modelVersion: 2, fields: [("id", 1), ("title", "b")])),
      base: .record(ModelRecord(typeName: "TodoItem", modelVersion: 1, fields: [("id", 1), ("summary", "b")])))
    #expect(merged["title"] == "server's" && merged.recordValue?.modelVersion == 2 && untyped.conflicts.isEmpty)
    let error = #expect(throws: ArchiveError.self) {
      try Merger().merge(
        .record(old),
        into: .record(ModelRecord(typeName: "TodoItem", modelVersion: 2, fields: [("id", 1), ("title", "b")])))
    }
    #expect(error?.code == .unsupportedVersion)
    let newer = try ArchiveEncoder().encode(ModelRecord(typeName: "TodoItem", modelVersion: 3, fields: [("id", 1)]))
    let before = local
    #expect(throws: ArchiveError.self) { try local.merge(.archive(newer)) }
    #expect(local == before)
  }

  @Test("Merge patches and JSON patches change only the values that they name")
  func patches() throws {
    var task = base
    try task.merge(.mergePatch(Data(#"{"title": "p", "place": {"street": null}, "extra": {"a": null}}"#.utf8)))
    #expect(task.title == "p" && task.place == TodoPlace(city: "Bern", street: nil) && task.extra == ["b": 2])
    let patch = try JSONPatch(
      parsing: Data(
        #"[{"op":"test","path":"/id","value":1},{"op":"replace","path":"/place/city","value":"Chur"},{"op":"remove","path":"/steps/0"}]"#
          .utf8))
    let report = try task.merge(.patch(patch))
    #expect(task.place?.city == "Chur" && task.steps.map(\.id) == [2, 3] && report.changedKeys == ["steps", "place"])
    let before = task
    let failing = JSONPatch([.replace(ValuePath(key: "title"), "x"), .test(ValuePath(key: "id"), 2)])
    let error = #expect(throws: ArchiveError.self) { try task.merge(.patch(failing)) }
    #expect(error?.code == .mergeFailed && task == before)
    // A server's patch contains only its changes, so local edits are kept.
    var edited = base
    edited.place?.street = "mine"
    try edited.merge(.mergePatch(Data(#"{"place": {"city": "Chur"}}"#.utf8)), base: base)
    #expect(edited.place == TodoPlace(city: "Chur", street: "mine"))
  }
}
