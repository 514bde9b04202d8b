import Foundation
import Strata
import StrataTestSupport
import Testing

/// A model with fields of many kinds.
@Model(version: 1)
private struct MixedBag: Equatable {
  var name = ""
  var byNumber: [Int: TodoPlace] = [:]
  var byName: [String: TodoPlace] = [:]
  var payment: Payment = .cash
  var place: TodoPlace?
  @Field(merge: .byID("name")) var tallies: [Tally] = []
  @Field(merge: .recursive) var main: Tally = Tally(name: "main")
  var ratio = 0.5
  var unknownFields = UnknownFields()
}

/// A model whose own code merges counts by adding them up.
@Model(version: 1)
private struct Tally: Equatable, KeyMerging {
  let name: String
  var count = 0
  var color: String?

  mutating func mergeValue(forKey key: String, from source: Tally) throws -> Bool {
    guard key == "count" else { return false }
    guard source.count >= 0 else { throw CancellationError() }
    count += source.count
    return true
  }
}

@Model(version: 1)
private final class TrackedNote {
  let id: Int
  var text = ""
  var stars = 0
  var merging = MergeState()

  init(id: Int) { self.id = id }
}

@Model(version: 1)
private struct TrackedBox: Equatable {
  var title = ""
  @Field(merge: .byID()) var tasks: [TrackedTask] = []
  var merging = MergeState()
}

/// The part of a task that another endpoint of the server returns.
@Model(version: 1)
private struct TaskSummary: Equatable {
  let id: Int
  var title: String
  var stars: Int
}

@Model(version: 1)
private struct TaskStars: Equatable {
  let id: Int
  var stars: Int
}

@Suite("Merging every kind of model value")
struct MergeShapeTests {
  private let bern = TodoPlace(city: "Bern", street: "Weg 1")

  @Test("U-1: dictionaries are merged key by key, whatever their key type")
  func dictionaries() throws {
    let base = MixedBag(byNumber: [1: bern, 2: bern, 3: bern], byName: ["a": bern, "b": bern, "c": bern])
    var local = base, server = base
    local.byNumber[1]?.street = "mine"
    server.byNumber[1]?.city = "Thun"
    server.byNumber[2] = nil
    local.byNumber[3] = nil
    local.byNumber[7] = TodoPlace(city: "here")
    server.byNumber[8] = TodoPlace(city: "there")
    local.byName["a"]?.street = "mine"
    server.byName["a"]?.city = "Thun"
    server.byName["b"] = nil
    local.byName["c"] = nil
    let report = try local.merge(.model(server), base: base)
    #expect(
      local.byNumber == [
        1: TodoPlace(city: "Thun", street: "mine"), 7: TodoPlace(city: "here"), 8: TodoPlace(city: "there"),
      ])
    #expect(local.byName == ["a": TodoPlace(city: "Thun", street: "mine")] && report.conflicts.isEmpty)
    // A change on both sides is a conflict at its key, and can be resolved there.
    var mine = base, theirs = base
    mine.byNumber[1]?.city = "mine"
    theirs.byNumber[1]?.city = "theirs"
    mine.byNumber[2] = nil
    theirs.byNumber[2]?.city = "theirs"
    let conflicts = try mine.merge(.model(theirs), base: base).conflicts
    #expect(conflicts.map(\.path.description).sorted() == ["byNumber[1].city", "byNumber[2]"])
    for conflict in conflicts { try mine.resolve(conflict, with: .server) }
    #expect(mine.byNumber == theirs.byNumber)
    // One side has emptied the dictionary.
    var emptied = base
    emptied.byNumber = [:]
    try emptied.merge(.model(base), base: base)
    #expect(emptied.byNumber.isEmpty)
    var full = base
    try full.merge(.model(emptied), base: base)
    #expect(full.byNumber.isEmpty && full.byName == base.byName)
  }

  @Test(
    "Equal enum cases merge their associated values; different cases take the changed side or conflict"
  )
  func cases() throws {
    let base = MixedBag(payment: .card(number: "1", expiry: nil))
    var local = base, server = base
    server.payment = .cash
    try local.merge(.model(server), base: base)
    #expect(local.payment == .cash)
    local = base
    local.payment = .card(number: "2", expiry: nil)
    server.payment = .card(number: "3", expiry: Date(timeIntervalSince1970: 0))
    let report = try local.merge(.model(server), base: base)
    #expect(local.payment == .card(number: "2", expiry: Date(timeIntervalSince1970: 0)))
    #expect(report.conflicts.map(\.path.description) == ["payment.card.number"])
    try local.resolve(#require(report.conflicts.first), with: .server)
    #expect(local == server)
    local.payment = .cash
    let other = try local.merge(.model(server), base: base)
    #expect(local.payment == .cash && other.conflicts.map(\.path.description) == ["payment"])
  }

  @Test("A nested model that both sides added is merged key by key")
  func added() throws {
    let base = MixedBag()
    var local = base, server = base
    local.place = TodoPlace(city: "Bern", street: "mine")
    server.place = TodoPlace(city: "Bern", street: "theirs")
    var same = server
    let report = try local.merge(.model(server), base: base)
    #expect(local.place?.street == "mine" && report.conflicts.map(\.path.description) == ["place.street"])
    #expect(try same.merge(.model(server), base: base).entries.isEmpty)
    // One side has removed the place, and the other side has edited it.
    let known = MixedBag(place: bern)
    var removed = known, edited = known
    removed.place = nil
    edited.place?.city = "Thun"
    var kept = edited
    let conflicts = try removed.merge(.model(edited), base: known).conflicts
    #expect(removed.place == nil && conflicts.map(\.path.description) == ["place"])
    removed.place = nil
    #expect(try kept.merge(.model(removed), base: known).conflicts.count == 1 && kept.place?.city == "Thun")
  }

  @Test("Unknown keys of a model are kept, and NaN does not count as a difference")
  func unknown() throws {
    let entries: [(String, ArchiveValue)] = [("name", "a"), ("later", [1, 2])]
    let record = ModelRecord(
      typeName: MixedBag.schema.name, modelVersion: 1,
      object: ArchiveObject(entries.map { ArchiveObject.Entry(key: $0.0, value: $0.1) })
    )
    var local = try ArchiveDecoder().decode(MixedBag.self, from: ArchiveEncoder().encode(record))
    #expect(local.unknownFields["later"] == [1, 2])
    let base = local
    var server = MixedBag(name: "b")
    try local.merge(.model(server), base: base)
    #expect(local.name == "b" && local.unknownFields["later"] == [1, 2])
    local.ratio = .nan
    let nan = local
    server = local
    server.name = "c"
    let report = try local.merge(.model(server), base: nan)
    #expect(local.name == "c" && report.entries.map(\.path.description) == ["name"])
    server.ratio = 1
    try local.merge(.model(server), base: nan)
    #expect(local.ratio == 1)
  }

  @Test("MG-3: merge hooks of nested models handle their keys, and a thrown error fails the merge")
  func hooks() throws {
    let before = MixedBag(
      tallies: [Tally(name: "a", count: 5), Tally(name: "b", count: 1)],
      main: Tally(name: "main", count: 5, color: "red"))
    var local = before
    let server = MixedBag(
      tallies: [Tally(name: "a", count: 3, color: "blue"), Tally(name: "c", count: 9)],
      main: Tally(name: "main", count: 3))
    try local.mergeValues(from: server)
    #expect(local.tallies == [Tally(name: "a", count: 8, color: "blue"), Tally(name: "c", count: 9)])
    #expect(local.main == Tally(name: "main", count: 8))
    var failing = before
    let error = #expect(throws: ArchiveError.self) {
      try failing.mergeValues(from: MixedBag(name: "x", tallies: [Tally(name: "b", count: -1)]))
    }
    #expect(error?.code == .mergeFailed && error?.codingPath == [.key("tallies"), .index(0), .key("count")])
    #expect(failing == before)
  }

  @Test("MG-5, MG-6: with a base, superclass and subclass objects merge the changes of both sides")
  func hierarchy() throws {
    func merged(_ server: Animal, _ base: Animal, _ options: MergeOptions = MergeOptions()) throws -> Dog? {
      let target: Animal = Dog(name: "mine", breed: "Pug")
      try target.merge(.model(server), base: base, options: options)
      return target as? Dog
    }
    let puppy = try merged(Puppy(name: "a", breed: "Boxer", weeks: 1), Puppy(name: "a", breed: "Pug", weeks: 0))
    #expect(puppy?.name == "mine" && puppy?.breed == "Boxer")
    // The server's object, the base or both are instances of the superclass.
    #expect(try merged(Animal(name: "a"), Animal(name: "a"))?.name == "mine")
    #expect(try merged(Animal(name: "a"), Dog(name: "a", breed: "Pug"))?.name == "mine")
    let dog = try merged(Dog(name: "a", breed: "Boxer"), Animal(name: "a"))
    #expect(dog?.name == "mine" && dog?.breed == "Boxer")
    let error = #expect(throws: ArchiveError.self) {
      try merged(Animal(name: "theirs"), Animal(name: "a"), MergeOptions(conflicts: .fail))
    }
    #expect(error?.code == .mergeFailed)
    #expect(
      try merged(Animal(name: "theirs"), Animal(name: "a"), MergeOptions(conflicts: .takeServer))?.name == "theirs")
  }

  @Test("References of incoming objects resolve to local objects, and the server's objects are unchanged")
  func backReferences() throws {
    let server = TeamProject(id: 1, name: "p")
    let lead = Teammate(id: 1, name: "l")
    lead.project = server
    server.lead = lead
    let local = TeamProject(id: 1, name: "p")
    try local.mergeValues(from: server)
    #expect(local.lead?.name == "l" && local.lead?.project === local && lead.project === server)
    #expect(local.lead !== lead)
    let theirs = Folder(name: "f"), file = File(title: "x")
    file.folder = theirs
    theirs.byName["x"] = file
    theirs.favourite = file
    theirs.box = Wrapping(file: file)
    let mine = Folder(name: "f")
    try mine.mergeValues(from: theirs)
    #expect(mine.byName["x"]?.folder === mine && mine.favourite === mine.byName["x"])
    #expect(mine.box?.file === mine.favourite && file.folder === theirs)
  }

  @Test("Concurrent merges of copies give the same result")
  func concurrency() async throws {
    let base = MixedBag(
      byNumber: Dictionary(uniqueKeysWithValues: (0..<50).map { ($0, bern) }),
      tallies: (0..<50).map { Tally(name: "t\($0)") })
    var server = base, local = base
    for number in 0..<50 where number % 3 == 0 { server.byNumber[number]?.city = "there" }
    for number in 0..<50 where number % 2 == 0 { local.byNumber[number]?.street = "here" }
    let (own, other) = (local, server)
    let results = try await withThrowingTaskGroup(of: MixedBag.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var copy = own
          try copy.merge(.model(other), base: base)
          return copy
        }
      }
      return try await group.reduce(into: [MixedBag]()) { $0.append($1) }
    }
    #expect(results.count == 8 && results.allSatisfy { $0 == results[0] })
    #expect(results[0].byNumber[6] == TodoPlace(city: "there", street: "here"))
  }
}

@Suite("Remembered merge state")
struct RememberedConflictTests {
  private func task(_ title: String, _ stars: Int = 0) -> Data {
    Data(#"{"id": 1, "title": "\#(title)", "stars": \#(stars), "steps": [{"id": 1, "name": "s"}]}"#.utf8)
  }

  @Test("A conflict remains until it is resolved, the server sends a new value, or both sides agree")
  func conflictsStay() throws {
    var task = try TrackedTask(fromJSON: task("a"))
    task.title = "mine"
    try task.merge(.json(self.task("theirs")))
    #expect(task.mergeConflicts.map(\.server) == ["theirs"])
    // The conflict remains after merging the same response, other changes, a part without the key, and a different model.
    try task.merge(.json(self.task("theirs")))
    try task.merge(.json(self.task("theirs", 5)))
    try task.mergeValues(fromJSON: Data(#"{"stars": 6}"#.utf8))
    try task.merge(.model(TaskStars(id: 1, stars: 7)))
    #expect(task.title == "mine" && task.stars == 7 && task.mergeConflicts.map(\.server) == ["theirs"])
    var (resolved, agreed, ruled) = (task, task, task)
    try resolved.resolve(#require(resolved.mergeConflicts.first), with: .server)
    #expect(resolved.title == "theirs" && resolved.mergeConflicts.isEmpty)
    // A new value from the server replaces the conflict.
    try task.merge(.json(self.task("theirs too", 7)))
    #expect(task.mergeConflicts.map(\.server) == ["theirs too"] && task.title == "mine")
    // The server has accepted the edit, so both sides agree.
    try agreed.merge(.json(self.task("mine", 7)))
    #expect(agreed.mergeConflicts.isEmpty && agreed.title == "mine")
    // A policy resolves the conflict.
    try ruled.merge(.json(self.task("new", 7)), options: MergeOptions(policy: .serverWins))
    #expect(ruled.mergeConflicts.isEmpty && ruled.title == "new")
  }

  @Test("A conflict about an element remains until it is resolved or both sides have removed the element")
  func elements() throws {
    var task = try TrackedTask(fromJSON: task("a"))
    task.steps = []
    let edited = Data(#"{"id": 1, "title": "a", "stars": 0, "steps": [{"id": 1, "name": "new"}]}"#.utf8)
    for _ in 0..<3 {
      try task.merge(.json(edited))
      #expect(task.steps.isEmpty && task.mergeConflicts.map(\.path.description) == ["steps[id=1]"])
    }
    var restored = task
    try restored.resolve(#require(restored.mergeConflicts.first), with: .server)
    #expect(restored.steps.map(\.name) == ["new"] && restored.mergeConflicts.isEmpty)
    try task.mergeValues(fromJSON: Data(#"{"steps": []}"#.utf8))
    #expect(task.steps.isEmpty && task.mergeConflicts.isEmpty)
  }

  @Test("Merging some keys advances the base only for those keys")
  func someKeys() throws {
    var local = try TrackedTask(fromJSON: task("a"))
    let server = try TrackedTask(fromJSON: task("theirs", 3))
    try local.mergeValues(from: server, forKeys: ["stars"])
    #expect(local.title == "a" && local.stars == 3)
    try local.mergeValues(from: server)
    #expect(local.title == "theirs")
    // Local edits do not become part of the base.
    local.title = "mine"
    try local.merge(.model(TaskStars(id: 1, stars: 4)))
    try local.merge(.json(task("theirs", 4)))
    #expect(local.title == "mine" && local.stars == 4)
  }

  @Test("MG-1: an object of another model is merged with the remembered base")
  func otherModel() throws {
    var local = try TrackedTask(fromJSON: task("a"))
    local.title = "mine"
    try local.merge(.model(TaskSummary(id: 1, title: "a", stars: 2)))
    #expect(local.title == "mine" && local.stars == 2)
    try local.merge(.model(TaskSummary(id: 1, title: "theirs", stars: 2)))
    #expect(local.title == "mine" && local.mergeConflicts.map(\.path.description) == ["title"])
  }

  @Test("Class instances remember bases and conflicts like structs")
  func objects() throws {
    func json(_ text: String, _ stars: Int) -> Data { Data(#"{"id": 1, "text": "\#(text)", "stars": \#(stars)}"#.utf8) }
    let note = try TrackedNote(fromJSON: json("a", 0))
    let object = note
    note.text = "mine"
    try note.mergeValues(fromJSON: json("a", 2))
    #expect(note === object && note.text == "mine" && note.stars == 2 && note.mergeConflicts.isEmpty)
    try note.mergeValues(fromJSON: json("theirs", 2))
    try note.mergeValues(fromJSON: json("theirs", 3))
    #expect(note.text == "mine" && note.stars == 3 && note.mergeConflicts.count == 1)
    let again = try archived(note)
    #expect(again.merging == note.merging && again.text == "mine")
    try note.resolve(#require(note.mergeConflicts.first), with: .value("both"))
    #expect(object.text == "both" && object.mergeConflicts.isEmpty)
  }

  @Test("For nested models that remember their base, the outermost model's base applies")
  func nested() throws {
    func json(_ title: String, _ stars: Int) -> Data {
      Data(
        #"{"title": "t", "tasks": [{"id": 1, "title": "\#(title)", "stars": \#(stars), "steps": []}]}"#.utf8)
    }
    var box = try TrackedBox(fromJSON: json("a", 0))
    box.tasks[0].title = "mine"
    try box.mergeValues(fromJSON: json("a", 4))
    #expect(box.tasks[0].title == "mine" && box.tasks[0].stars == 4)
    let report = try box.mergeValues(fromJSON: json("theirs", 4))
    #expect(report.conflicts.map(\.path.description) == ["tasks[id=1].title"] && box.tasks[0].title == "mine")
    #expect(box.mergeConflicts.count == 1)
    let again = try archived(box)
    #expect(again == box && again.merging == box.merging)
    try box.resolve(#require(box.mergeConflicts.first), with: .server)
    #expect(box.tasks[0].title == "theirs" && box.mergeConflicts.isEmpty)
  }

  @Test("Resolving a conflict about a removed element throws and leaves the model unchanged")
  func lost() throws {
    let base = TodoItem(id: 1, title: "t", steps: [TodoStep(id: 1, name: "a"), TodoStep(id: 2, name: "b")])
    var local = base, server = base
    local.steps[1].name = "mine"
    server.steps[1].name = "theirs"
    let conflict = try #require(try local.merge(.model(server), base: base).conflicts.first)
    #expect(conflict.path.description == "steps[id=2].name")
    local.steps.swapAt(0, 1)
    try local.resolve(conflict, with: .server)
    #expect(local.steps.map(\.name) == ["theirs", "a"])
    local.steps.removeFirst()
    let before = local
    let error = #expect(throws: ArchiveError.self) { try local.resolve(conflict, with: .server) }
    #expect(error?.code == .mergeFailed && local == before)
  }
}
