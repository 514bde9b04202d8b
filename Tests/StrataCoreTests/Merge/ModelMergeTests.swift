import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
final class Acquaintance {
  let id: Int
  var name: String
  @Field(merge: .keepLocal) var visits = 0
  @Field(archive: .excluded) weak var friend: Acquaintance?
  @Field(archive: .excluded) var cache = "empty"

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

@Model(version: 1)
final class Settings: Sendable {
  let theme: String
  init(theme: String) { self.theme = theme }
}

@Model(version: 1)
final class Tallying {
  var count = 0
  var label: String?
}

@Model(version: 1)
struct Watcher {
  var name: String
  @Field(archive: .excluded) weak var person: Acquaintance?
}

@Model(version: 1)
struct Booking: Equatable {
  let id: Int
  @Field(merge: .serverWins.ifPresent) var title: String?
  var state = State.open
  var a, b: Int
}

@Suite struct ModelMergeTests {
  @Test func structs() throws {
    var target = Booking(id: 1, title: "old", a: 1, b: 1)
    let report = try target.mergeValues(from: Booking(id: 1, title: nil, state: .closed, a: 2, b: 1))
    #expect(report.changedKeys == ["state", "a"])
    #expect(target == Booking(id: 1, title: "old", state: .closed, a: 2, b: 1))
  }

  @Test func classes() throws {
    let target = Acquaintance(id: 1, name: "old")
    let same = target
    let friend = Acquaintance(id: 2, name: "friend")
    target.friend = friend
    target.visits = 3
    let source = Acquaintance(id: 1, name: "new")
    source.visits = 9
    source.cache = "full"
    let report = try target.mergeValues(from: source)
    #expect(report.changedKeys == ["name", "cache"])
    #expect(same.name == "new" && same.visits == 3 && same.cache == "full" && same.friend === friend)
    #expect(Acquaintance.schema.fields[0].isConstant)
    #expect(throws: ArchiveError.self) { try target.mergeValues(from: Acquaintance(id: 3, name: "other")) }
    #expect(same.id == 1 && same.name == "new")
  }

  @Test func referencesStayInStructs() throws {
    let person = Acquaintance(id: 1, name: "p")
    var watcher = Watcher(name: "old", person: person)
    try watcher.mergeValues(from: Watcher(name: "new"))
    #expect(watcher.name == "new" && watcher.person === person)
  }

  @Test func objects() throws {
    let person = Acquaintance(id: 5, name: "n")
    let copy = try archived(person)
    #expect(copy !== person && copy.id == 5 && copy.name == "n" && copy.cache == "empty")
    #expect(try archived(Settings(theme: "dark")).theme == "dark")
    let counter = Tallying()
    counter.count = 4
    #expect(try archived(counter).count == 4)
  }
}
