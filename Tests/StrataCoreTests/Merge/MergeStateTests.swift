import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct CountedItem {
  @Field(merge: .sumOfDeltas) var count = 0
  var merging = MergeState()
}

@Suite("Merging with a remembered base")
struct MergeStateTests {
  private func json(_ title: String, stars: Int = 0) -> Data {
    Data(#"{"id": 1, "title": "\#(title)", "stars": \#(stars), "steps": [{"id": 1, "name": "s"}]}"#.utf8)
  }

  @Test("The base is the server's last state, starting with the first JSON")
  func remembers() throws {
    var task = try TrackedTask(fromJSON: json("a"))
    task.title = "mine"
    task.steps[0].isDone = true
    let report = try task.mergeValues(fromJSON: json("a", stars: 3))
    #expect(task.title == "mine" && task.stars == 3 && task.steps[0].isDone && report.changedKeys == ["stars"])
    // The server accepts the edit, and then changes the value again.
    try task.mergeValues(fromJSON: json("mine", stars: 3))
    try task.mergeValues(fromJSON: json("theirs", stars: 3))
    #expect(task.title == "theirs" && task.steps[0].isDone && task.mergeConflicts.isEmpty)
    #expect(try !String(decoding: task.jsonData(), as: UTF8.self).contains("merging"))
    var twin = task
    twin.merging = MergeState()
    #expect(twin.merging != task.merging)
  }

  @Test("A partial document advances the base only for its own keys")
  func partial() throws {
    var task = try TrackedTask(fromJSON: json("a"))
    task.title = "mine"
    try task.mergeValues(fromJSON: Data(#"{"stars": 2}"#.utf8))
    #expect(task.title == "mine" && task.stars == 2)
    try task.mergeValues(fromJSON: json("a", stars: 2))
    #expect(task.title == "mine")
  }

  @Test("Unresolved conflicts and the base survive archiving and version upgrades")
  func archived() throws {
    var task = try TrackedTask(fromJSON: json("a"))
    task.title = "mine"
    try task.mergeValues(fromJSON: json("theirs"))
    #expect(task.title == "mine" && task.mergeConflicts.count == 1)
    let data = try ArchiveEncoder().encode(task)
    var opened = try ArchiveDecoder().decode(TrackedTask.self, from: data)
    #expect(opened.merging == task.merging)
    let conflict = try #require(opened.mergeConflicts.first)
    #expect(conflict.path.description == "title" && conflict.server == "theirs" && conflict.base == "a")
    try opened.resolve(conflict, with: .server)
    #expect(opened.title == "theirs" && opened.mergeConflicts.isEmpty)
    // The model and its base are both archived as version 1.
    let base = ModelRecord(
      typeName: "TrackedTask", modelVersion: 1, fields: [("id", 1), ("summary", "a"), ("stars", 0), ("steps", [])])
    let old = ModelRecord(
      typeName: "TrackedTask", modelVersion: 1,
      fields: [
        ("id", 1), ("summary", "mine"), ("stars", 0), ("steps", []),
        ("merging", ["base": .record(base), "conflicts": []]),
      ])
    var lifted = try ArchiveDecoder().decode(TrackedTask.self, from: ArchiveEncoder().encode(old))
    let report = try lifted.mergeValues(fromJSON: Data(#"{"title": "a", "stars": 4}"#.utf8))
    #expect(lifted.title == "mine" && lifted.stars == 4 && report.conflicts.isEmpty)
  }

  private func ofVersion1() throws -> TrackedTask {
    func record(_ summary: String) -> ModelRecord {
      ModelRecord(
        typeName: "TrackedTask", modelVersion: 1,
        fields: [("id", 1), ("summary", .string(summary)), ("stars", 0), ("steps", [])])
    }
    let conflicts: ArchiveValue = [
      ["path": ["summary"], "rule": "both changed it", "base": "a", "local": "mine", "server": "theirs"],
      ["path": ["stars"], "rule": "both changed it", "base": 1, "local": 0, "server": 2],
    ]
    var fields = record("mine").fields
    fields.append(("merging", ["base": .record(record("theirs")), "conflicts": conflicts]))
    let old = ModelRecord(typeName: "TrackedTask", modelVersion: 1, fields: fields)
    return try ArchiveDecoder().decode(TrackedTask.self, from: ArchiveEncoder().encode(old))
  }

  @Test(
    "MG-16: a conflict from an older version stays outdated through later merges and archives")
  func outdated() throws {
    var task = try ofVersion1()
    #expect(task.merging.base?["title"] == "theirs")
    #expect(task.mergeConflicts.map(\.path.description) == ["summary", "stars"])
    #expect(task.mergeConflicts.map(\.isOutdated) == [true, true])
    #expect(task.mergeConflicts[0].description.contains("recorded by an older version"))
    try task.mergeValues(fromJSON: Data(#"{"stars": 2, "title": "theirs"}"#.utf8))
    #expect(task.title == "mine")
    task = try ArchiveDecoder().decode(TrackedTask.self, from: ArchiveEncoder().encode(task))
    #expect(task.mergeConflicts.map(\.path.description) == ["summary", "stars"])
    #expect(task.mergeConflicts.map(\.isOutdated) == [true, true])
  }

  @Test("MG-16: a conflict from an older version is resolved only with the local value or a new one")
  func outdatedResolved() throws {
    var task = try ofVersion1()
    let (summary, stars) = (task.mergeConflicts[0], task.mergeConflicts[1])
    for resolution in [MergeResolution.server, .base] {
      for conflict in [summary, stars] {
        let error = #expect(throws: ArchiveError.self) { try task.resolve(conflict, with: resolution) }
        #expect(error?.code == .mergeFailed && error?.description.contains("older version") == true)
        // A field that the new version does not have cannot be set to a value.
        let advice = conflict == summary ? "no field with this key" : ".value(…)"
        #expect(error?.description.contains(advice) == true, "\(conflict)")
      }
    }
    let error = #expect(throws: ArchiveError.self) { try task.resolve(summary, with: .value("x")) }
    #expect(error?.description.contains("resolve the conflict with .local") == true)
    #expect(task.mergeConflicts.count == 2 && task.title == "mine" && task.stars == 0)
    try task.resolve(stars, with: .value(7))
    #expect(task.stars == 7)
    task.title = "theirs"
    try task.resolve(summary, with: .local)
    #expect(task.title == "theirs" && task.mergeConflicts.isEmpty)
  }

  @Test(
    "MG-16: a base that cannot be upgraded makes its conflicts outdated; re-archiving does not")
  func outdatedOrNot() throws {
    var task = try TrackedTask(fromJSON: json("a"))
    task.title = "mine"
    try task.mergeValues(fromJSON: json("theirs"))
    let again = try ArchiveDecoder().decode(TrackedTask.self, from: ArchiveEncoder().encode(task))
    #expect(again.mergeConflicts.map(\.isOutdated) == [false])
    var record = try task.record()
    var merging = try #require(record["merging"]?.objectValue)
    merging["base"] = .record(ModelRecord(typeName: "TrackedTask", modelVersion: 0, fields: []))
    record["merging"] = .object(merging)
    let broken = try ArchiveDecoder().decode(TrackedTask.self, from: ArchiveEncoder().encode(record))
    #expect(broken.mergeConflicts.map(\.isOutdated) == [true])
  }

  @Test("An accepted edit becomes part of the base, so counters are not counted twice")
  func accepted() throws {
    var item = try CountedItem(fromJSON: Data(#"{"count": 10}"#.utf8))
    item.count = 12
    try item.markSynced()
    try item.mergeValues(fromJSON: Data(#"{"count": 12}"#.utf8))
    #expect(item.count == 12 && item.merging.base?["count"] == 12)
    let crew = Crew(name: "a")
    crew.sailors = [Sailor(id: 1, name: "Ada")]
    crew.captain = crew.sailors[0]
    crew.sailors[0].boss = crew.sailors[0]
    try crew.markSynced()
    crew.sailors[0].name = "mine"
    try crew.mergeValues(fromJSON: Data(#"{"sailors": [{"id": 1, "name": "Ada", "mail": "m"}]}"#.utf8))
    #expect(crew.captain?.name == "mine" && crew.captain?.mail == "m" && crew.mergeConflicts.isEmpty)
  }
}
