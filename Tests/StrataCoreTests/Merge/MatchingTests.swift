import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite("Objects are matched, merged once and linked")
struct MatchingTests {
  private func json(_ text: String) -> Data { Data(text.utf8) }

  private func crew() -> Crew {
    let crew = Crew(name: "c")
    let ada = Sailor(id: 1, name: "Ada", mail: "ada@x"), bob = Sailor(id: 2, name: "Bob", mail: "bob@x", boss: ada)
    crew.sailors = [ada, bob]
    crew.captain = ada
    for sailor in crew.sailors { sailor.crew = crew }
    return crew
  }

  @Test("MG-11: pointing a reference to another object changes neither object", arguments: [false, true])
  func reference(knowsBase: Bool) throws {
    let local = crew(), server = crew()
    let (ada, bob) = (local.sailors[0], local.sailors[1])
    server.captain = server.sailors[1]
    let report = try knowsBase ? local.merge(.model(server), base: crew()) : local.mergeValues(from: server)
    #expect(local.captain === bob && local.sailors[0] === ada && local.sailors[1] === bob)
    #expect(ada.name == "Ada" && ada.mail == "ada@x" && bob.name == "Bob" && bob.mail == "bob@x")
    #expect(report.entries.map(\.path.description) == ["captain"])
  }

  @Test("MG-11, MG-9: JSON can point a reference to another object by its identity", arguments: [false, true])
  func referenceInJSON(knowsBase: Bool) throws {
    let local = crew()
    let (ada, bob) = (local.sailors[0], local.sailors[1])
    try local.merge(.json(json(#"{"captain": {"id": 2, "name": "Bob B."}}"#)), base: knowsBase ? crew() : nil)
    #expect(local.captain === bob && bob.name == "Bob B." && bob.mail == "bob@x" && bob.boss === ada)
    #expect(ada.name == "Ada" && ada.crew === local && bob.crew === local)
    // An incoming object without a local counterpart becomes a new object.
    try local.mergeValues(fromJSON: json(#"{"captain": {"id": 7, "name": "Eve", "boss": {"id": 2}}}"#))
    #expect(local.captain?.id == 7 && local.captain?.boss === bob && bob.name == "Bob B.")
  }

  @Test("MG-12: an inserted object refers to local objects", arguments: [false, true])
  func inserted(knowsBase: Bool) throws {
    let local = crew(), server = crew()
    let ada = local.sailors[0]
    let cid = Sailor(id: 3, name: "Cid", boss: server.sailors[0])
    server.sailors.append(cid)
    cid.crew = server
    _ = try knowsBase ? local.merge(.model(server), base: crew()) : local.mergeValues(from: server)
    #expect(local.sailors.count == 3 && local.sailors[2] !== cid)
    #expect(local.sailors[2].boss === ada && local.sailors[2].crew === local && cid.boss === server.sailors[0])
  }

  @Test("MG-13: an object with two references is merged once")
  func once() throws {
    func pair(_ miles: Int) -> Crew {
      let made = crew()
      made.sailors[0].miles = miles
      return made
    }
    let local = pair(12)
    let report = try local.merge(.model(pair(15)), base: pair(10))
    #expect(local.captain?.miles == 17 && local.captain === local.sailors[0])
    #expect(report.entries.count == 1)
  }

  @Test("MG-14: the target's policies apply when the source is of a superclass or subclass")
  func classes() throws {
    let cook = Cook(id: 1, name: "a")
    cook.nick = "mine"
    cook.dish = "mine"
    let sailor = Sailor(id: 1, name: "b")
    sailor.nick = "theirs"
    try cook.merge(.model(sailor))
    #expect(cook.name == "b" && cook.nick == "mine" && cook.dish == "mine")
    let target = Sailor(id: 1, name: "b")
    target.nick = "mine"
    let other = Cook(id: 1, name: "c")
    other.nick = "theirs"
    try target.mergeValues(from: other)
    #expect(target.name == "c" && target.nick == "mine")
    let local = Crew(name: "c"), server = Crew(name: "c")
    local.captain = cook
    let theirs = Sailor(id: 1, name: "d")
    theirs.nick = "theirs"
    server.captain = theirs
    try local.mergeValues(from: server)
    #expect(local.captain === cook && cook.name == "d" && cook.nick == "mine")
  }

  @Test("An incoming conditional reference is kept, or reported if only a weak property would hold it")
  func conditional() throws {
    let local = crew()
    try local.mergeValues(fromJSON: json(#"{"guest": {"id": 9, "name": "Guest"}}"#))
    #expect(local.guest?.name == "Guest")
    try local.mergeValues(fromJSON: json(#"{"guest": null}"#))
    #expect(local.guest == nil)
    // Only a weak reference would refer to the new crew, so the merge does not create it.
    let sailor = Sailor(id: 1, name: "Ada")
    let report = try sailor.mergeValues(fromJSON: json(#"{"crew": {"name": "new"}, "boss": {"id": 2, "name": "Bob"}}"#))
    #expect(sailor.crew == nil && sailor.boss?.name == "Bob")
    let line = try #require(report.entries.first { $0.path.description == "crew" })
    #expect(line.result == nil && line.outcome == .local && line.rule.contains("weak") && report.entries.count == 2)
  }

  @Test("MG-13: a thousand conflicts are kept through a second merge", .tags(.long))
  func manyConflicts() throws {
    let count = Effort.rounds(1000, long: 3000)
    func crew(_ name: String) -> Crew {
      let crew = Crew(name: "c")
      crew.sailors = (0..<count).map { Sailor(id: $0, name: name) }
      return crew
    }
    let local = crew("base")
    try local.markSynced()
    for sailor in local.sailors { sailor.name = "mine" }
    try local.mergeValues(from: crew("theirs"))
    try local.mergeValues(from: crew("theirs"))
    #expect(local.mergeConflicts.count == count && local.sailors[7].name == "mine")
  }

  @Test("MG-9: merging partial elements keeps their weak back references")
  func backReferences() throws {
    let local = crew()
    try local.mergeValues(fromJSON: json(#"{"sailors": [{"id": 2, "name": "B"}, {"id": 1, "name": "A"}]}"#))
    #expect(local.sailors.map(\.name) == ["B", "A"] && local.sailors.allSatisfy { $0.crew === local })
    var sailors = local.sailors
    let fresh = [try Sailor(fromJSON: json(#"{"id": 1, "name": "Ada"}"#)), Sailor(id: 2, name: "Bob")]
    try sailors.mergeValues(from: fresh, by: "id")
    #expect(sailors.allSatisfy { $0.crew === local } && sailors.map(\.name) == ["Ada", "Bob"])
  }

  @Test("Graphs with shared objects and cycles merge with a remembered base, also after archiving")
  func remembered() throws {
    let local = try Crew(
      fromJSON: json(
        #"{"name": "c", "captain": {"id": 1, "name": "Ada"}, "sailors": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob", "boss": {"id": 1, "name": "Ada"}}]}"#
      ))
    local.sailors[0].name = "mine"
    try local.mergeValues(fromJSON: json(#"{"name": "d", "sailors": [{"id": 1, "mail": "m"}, {"id": 2}]}"#))
    #expect(local.name == "d" && local.sailors[0].name == "mine" && local.sailors[0].mail == "m")
    let server = crew()
    server.sailors[0].boss = server.sailors[1]
    try local.mergeValues(from: server)
    try local.mergeValues(from: server)
    let opened = try archived(local)
    #expect(opened.merging.base != nil)
    #expect(opened.sailors[0].boss === opened.sailors[1] && opened.sailors[1].boss === opened.sailors[0])
    server.sailors[1].name = "new"
    let target = opened
    try target.mergeValues(from: server)
    #expect(target.sailors[1].name == "new" && target.mergeConflicts.count == opened.mergeConflicts.count)
  }

  @Test("MG-13: merging a ring of objects reports only the changed one", arguments: [7, 12])
  func complete(_ count: Int) throws {
    func clique(_ name: String) -> Crew {
      let crew = Crew(name: "c")
      crew.sailors = (0..<count).map { Sailor(id: $0, name: "s") }
      for sailor in crew.sailors { sailor.boss = crew.sailors[(sailor.id + 1) % count] }
      crew.sailors[0].name = name
      return crew
    }
    let local = clique("mine")
    let report = try local.merge(.model(clique("s")), base: clique("s"))
    #expect(report.entries.count == 1 && local.sailors[0].name == "mine")
  }

  @Test("Deeply nested objects are matched, and objects beyond the depth limit throw")
  func deepDocuments() throws {
    func document(_ depth: Int) -> Data {
      let opening = (0..<depth).map { #"{"id": \#($0), "name": "n", "boss": "# }.joined()
      return json(opening + "null" + String(repeating: "}", count: depth))
    }
    let sailor = Sailor(id: 0, name: "a", boss: Sailor(id: 1, name: "b"))
    let boss = sailor.boss
    try sailor.merge(.json(document(400)))
    #expect(sailor.boss === boss && boss?.name == "n" && boss?.boss?.boss?.id == 3)
    let error = #expect(throws: ArchiveError.self) { try sailor.merge(.json(document(600))) }
    #expect(error?.code == .limitExceeded && sailor.boss === boss)
  }

  @Test("A chain of 20,000 linked objects is merged without deep recursion", .tags(.long), .longRunsOnly)
  func chain() throws {
    func chain(_ texts: (Int) -> String) -> (ChainPart, [ChainPart]) {
      var links: [ChainPart] = []
      for number in (0..<20_000).reversed() { links.append(ChainPart(text: texts(number), next: links.last)) }
      return (links[links.count - 1], links)
    }
    let (local, locals) = chain { $0 == 15_000 ? "mine" : "a" }
    let (server, servers) = chain { $0 % 2 == 0 ? "b" : "a" }
    let (base, bases) = chain { _ in "a" }
    let report = try local.merge(.model(server), base: base)
    #expect(report.conflicts.count == 1 && report.entries.count == 10_000)
    #expect(locals.count { $0.text == "b" } == 9999)
    for link in (locals + servers + bases) { link.next = nil }
  }
}
