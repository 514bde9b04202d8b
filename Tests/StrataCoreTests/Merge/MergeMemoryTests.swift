import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Merge state: remembered bases and conflicts") struct MergeMemoryTests {
  @Test("A conflict in an excluded field of a shared object is not archived", arguments: [false, true])
  func excludedFieldOfASharedObject(isRoot: Bool) throws {
    func vault(_ secret: String, _ name: String) -> SecretVault {
      let keeper = SecretKeeper(7, secret, name)
      return SecretVault(isRoot ? nil : keeper, [keeper, SecretKeeper(8, secret, name)])
    }
    let local = vault("known", "a")
    try local.mergeValues(from: vault("known", "a"))
    for keeper in local.keepers { (keeper.secret, keeper.name) = ("my secret", "mine") }
    let report = try local.mergeValues(from: vault("their secret", "theirs"))
    #expect(report.conflicts.count == 4 && local.mergeConflicts.count == 4)
    let data = try ArchiveEncoder(compression: .none).encode(local)
    for text in ["my secret", "their secret", "known"] { #expect(data.range(of: Data(text.utf8)) == nil, "\(text)") }
    // Conflicts in other fields are archived.
    let read = try ArchiveDecoder().decode(SecretVault.self, from: data)
    #expect(
      read.mergeConflicts.map(\.path.description) == [
        isRoot ? "keepers[id=7].name" : "lead.name", "keepers[id=8].name",
      ])
  }

  // MARK: Conflicts of an older version

  /// A conflict about an object in a cycle is kept when the model gets a new version.
  @Test(arguments: [2, 500])
  func conflictsOfACycleStay(_ count: Int) throws {
    func crew(_ name: String) -> Crew1 {
      let crew = Crew1("t", [], MergeState())
      crew.sailors = (1...count).map { Seafarer($0, name, crew) }
      return crew
    }
    let crew1 = crew("a")
    try crew1.markSynced()
    crew1.sailors[0].name = "mine"
    let server = crew("theirs")
    try crew1.merge(.model(server))
    let data = try ArchiveEncoder().encode(crew1)
    let opened = try ArchiveDecoder().decode(Crew2.self, from: data)
    #expect(opened.name == "t")
    let conflict = try #require(opened.mergeConflicts.first)
    #expect(opened.mergeConflicts.map(\.path) == crew1.mergeConflicts.map(\.path))
    #expect(conflict.local == "mine" && conflict.server == "theirs" && conflict.base == "a" && conflict.isOutdated)
    try opened.resolve(conflict, with: .value("theirs"))
    #expect(opened.sailors[0].name == "theirs" && opened.mergeConflicts.isEmpty)
  }

  /// A conflict about an object at any depth is kept when the model gets a new version.
  @Test(arguments: [20, 40, 200])
  func deepConflictsStay(_ count: Int) throws {
    let list = Chain1("t", .chain(count, "a"), MergeState())
    try list.markSynced()
    try #require(list.first).last.name = "mine"
    try list.merge(.model(Chain1("t", .chain(count, "theirs"), MergeState())))
    #expect(list.mergeConflicts.count == 1)
    let opened = try ArchiveDecoder().decode(Chain2.self, from: ArchiveEncoder().encode(list))
    #expect(opened.mergeConflicts.map(\.path) == list.mergeConflicts.map(\.path))
    #expect(opened.mergeConflicts.map(\.server) == ["theirs"])
  }

  // MARK: Two elements with one identity

  private static func conflicted() throws -> Doc1 {
    func json(_ first: String, _ second: String) -> Data {
      Data(#"{"title":"t","parts":[{"id":1,"n":"\#(first)"},{"id":1,"n":"\#(second)"}]}"#.utf8)
    }
    var doc = try Doc1(fromJSON: json("a", "b"))
    (doc.parts[0].n, doc.parts[1].n) = ("mine a", "mine b")
    try doc.mergeValues(fromJSON: json("A", "B"))
    #expect(doc.mergeConflicts.map(\.path.description) == ["parts[id=1].n", "parts[id=1].n"])
    return doc
  }

  /// When an archive is upgraded, two conflicts with the same path keep their values.
  @Test func conflictsOfOnePathStay() throws {
    let opened = try ArchiveDecoder().decode(Doc2.self, from: ArchiveEncoder().encode(Self.conflicted()))
    #expect(opened.name == "t")
    #expect(opened.mergeConflicts.map(\.local) == ["mine a", "mine b"])
    #expect(opened.mergeConflicts.map(\.server) == ["A", "B"])
  }

  /// A conflict whose path names several elements can only be resolved with `.local`. This changes no element and resolves only
  /// that conflict.
  @Test func conflictsOfOnePathAreResolvedOneByOne() throws {
    var doc = try Self.conflicted()
    let conflicts = doc.mergeConflicts
    for resolution in [MergeResolution.server, .base, .value("x")] {
      let error = #expect(throws: ArchiveError.self) { try doc.resolve(conflicts[1], with: resolution) }
      #expect(error?.code == .mergeFailed)
    }
    #expect(doc.parts.map(\.n) == ["mine a", "mine b"] && doc.mergeConflicts == conflicts)
    doc.parts[1].n = "B"
    try doc.resolve(conflicts[1], with: .local)
    #expect(doc.parts.map(\.n) == ["mine a", "B"] && doc.mergeConflicts == [conflicts[0]])
  }

  /// A conflict in a dictionary with integer keys can be resolved even if the dictionary was emptied locally.
  @Test func conflictsOfAnEmptyMapAreResolved() throws {
    var doc = try Doc1(fromJSON: Data(#"{"title":"t","scores":{"1":"a"}}"#.utf8))
    doc.scores = [:]
    try doc.mergeValues(fromJSON: Data(#"{"title":"t","scores":{"1":"b"}}"#.utf8))
    try doc.resolve(#require(doc.mergeConflicts.first), with: .server)
    #expect(doc.scores == [1: "b"] && doc.mergeConflicts.isEmpty)
  }

  // MARK: Lists

  /// Every way to merge a list keeps the merge state of its elements.
  @Test func listsKeepWhatElementsRemember() throws {
    var items = [try Item(fromJSON: Data(#"{"id":1,"title":"a"}"#.utf8))]
    items[0].title = "mine"
    try items[0].mergeValues(fromJSON: Data(#"{"id":1,"title":"theirs"}"#.utf8))
    #expect(items[0].mergeConflicts.count == 1)
    let before = items[0].merging
    var box = ItemBox(items: items)
    let server = [Item(id: 1, title: "newer", merging: MergeState())]
    try items.mergeValues(from: server)
    try box.mergeValues(from: ItemBox(items: server))
    #expect(items[0].title == "newer" && items[0].merging == before)
    #expect(box.items[0].title == "newer" && box.items[0].merging == before)
  }

  /// Elements that have no value for the key are matched by content and position.
  @Test func refreshingAddsNoElements() throws {
    let text = Data(#"{"all":[{"name":"y"}]}"#.utf8)
    let things = try Things(fromJSON: text)
    let other = Things([Thing(nil, "y")], MergeState())
    for _ in 0..<3 {
      try things.merge(.json(text))
      try other.merge(
        .model(Things([Thing(nil, "y")], MergeState())), base: Things([Thing(nil, "y")], MergeState()))
    }
    #expect(things.all.map(\.name) == ["y"] && other.all.map(\.name) == ["y"])
  }

  /// A merge matches the elements of a list even if only some of them have an identity.
  @Test func elementsWithAndWithoutIdentities() throws {
    let things = try Things(fromJSON: Data(#"{"all":[{"name":"x"},{"id":1,"name":"a"},{"name":"y"}]}"#.utf8))
    let (x, one, y) = (things.all[0], things.all[1], things.all[2])
    try things.mergeValues(
      fromJSON: Data(#"{"all":[{"id":1,"name":"A"},{"name":"x"},{"name":"y"},{"name":"z"}]}"#.utf8))
    #expect(things.all.map(\.name) == ["A", "x", "y", "z"])
    #expect(things.all[0] === one && things.all[1] === x && things.all[2] === y)
  }

  /// A conflict about an element without identity can be archived and resolved.
  @Test(arguments: [MergeResolution.server, .local])
  func conflictsAboutElementsWithoutIdentities(_ resolution: MergeResolution) throws {
    let things = try Things(fromJSON: Data(#"{"all":[{"name":"x"},{"name":"y"}]}"#.utf8))
    things.all.removeFirst()
    let refresh = Data(#"{"all":[{"name":"x2"},{"name":"y"}]}"#.utf8)
    try things.merge(.json(refresh))
    #expect(things.all.map(\.name) == ["y"] && things.mergeConflicts.count == 1)
    try things.merge(.json(refresh))
    let opened = try ArchiveDecoder().decode(Things.self, from: ArchiveEncoder().encode(things))
    #expect(opened.all.map(\.name) == ["y"] && opened.mergeConflicts == things.mergeConflicts)
    try opened.resolve(#require(opened.mergeConflicts.first), with: resolution)
    #expect(Set(opened.all.map(\.name)) == (resolution == .server ? ["x2", "y"] : ["y"]))
    #expect(opened.mergeConflicts.isEmpty)
  }

  // MARK: Pages

  private static let keep = MergeOptions(unlisted: .keep)

  /// Returns a source that lists only the given elements and keys. A merge keeps the others.
  private static func shelf(_ books: [(Int, String)], _ tags: [String: String]) -> ArchiveValue {
    let list = books.map { id, name -> ArchiveValue in ["id": .integer(id), "name": .string(name)] }
    let object = ArchiveValue.object(ArchiveObject(tags.map { .init(key: $0.key, value: .string($0.value)) }))
    return ["books": .array(list), "kept": .array(list), "tags": object, "boxes": [["id": 1, "books": .array(list)]]]
  }

  private static let pageOptions: [MergeOptions] = [
    keep, MergeOptions(policy: .automatic, unlisted: .keep),
    MergeOptions(policies: ["boxes[*].books": .byID("id", unlisted: .keep), "books": .byID("id", unlisted: .keep)]),
  ]

  @Test("A page leaves the base of unlisted elements and keys unchanged", arguments: pageOptions.indices)
  func pages(_ place: Int) throws {
    let options = Self.pageOptions[place]
    let shelf = try Shelf(fromJSON: Self.shelf([(1, "a"), (2, "b")], ["x": "a", "y": "b"]))
    try shelf.merge(
      .json(Self.shelf([(2, "b")], options.unlisted == nil ? ["x": "a", "y": "b"] : ["y": "b"])), options: options)
    let report = try shelf.merge(
      .json(Self.shelf([(1, "A")], options.unlisted == nil ? ["x": "A", "y": "b"] : ["x": "A"])), options: options)
    #expect(report.conflicts.isEmpty && shelf.mergeConflicts.isEmpty)
    #expect(shelf.books.map(\.name) == ["A", "b"] && shelf.kept.map(\.name) == ["A", "b"])
    #expect(shelf.boxes[0].books.map(\.name) == ["A", "b"] && shelf.tags == ["x": "A", "y": "b"])
  }

  @Test("A locally removed element or key stays removed when a later page lists it unchanged")
  func pagesAndRemovals() throws {
    let whole = Self.shelf([(1, "a"), (2, "b")], ["x": "a", "y": "b"])
    let shelf = try Shelf(fromJSON: whole)
    shelf.books.remove(at: 0)
    shelf.kept.remove(at: 0)
    shelf.tags["x"] = nil
    try shelf.merge(.json(Self.shelf([(2, "b")], ["y": "b"])), options: Self.keep)
    try shelf.merge(.json(whole), options: Self.keep)
    #expect(shelf.books.map(\.id) == [2] && shelf.kept.map(\.id) == [2] && shelf.tags == ["y": "b"])
  }

  @Test("A locally removed key stays removed under any merge policy")
  func pagesOfKeys() throws {
    for policy in [nil, .serverWins, .localWins] as [MergePolicy?] {
      let options = MergeOptions(policy: policy, unlisted: .keep)
      let shelf = try Shelf(fromJSON: Self.shelf([], ["x": "a", "y": "b"]))
      try shelf.merge(.json(["tags": ["y": "c"]]), options: options)
      shelf.tags["x"] = nil
      try shelf.merge(.json(["tags": ["x": "a", "y": "c"]]), options: options)
      #expect(shelf.tags == ["y": "c"], "\(policy.map { "\($0)" } ?? "no policy")")
    }
  }

  @Test("Only fields that keep unlisted elements keep them in the base")
  func wholeLists() throws {
    let whole = Self.shelf([(1, "a"), (2, "b")], ["x": "a", "y": "b"])
    let shelf = try Shelf(fromJSON: whole)
    for book in [shelf.books[0], shelf.kept[0]] { book.name = "mine" }
    shelf.tags["x"] = "mine"
    try shelf.merge(.json(Self.shelf([(2, "b")], ["y": "b"])))
    #expect(shelf.books.map(\.name) == ["mine", "b"] && shelf.kept.map(\.name) == ["mine", "b"])
    let base = try #require(shelf.merging.base)
    #expect(base["books"]?.arrayValue?.count == 1 && base["kept"]?.arrayValue?.count == 2)
    #expect(base["tags"]?.objectValue?.keys == ["y"])
  }

  @Test("Pages of value types and of dictionaries with non-string keys merge without conflicts")
  func pagesOfValues() throws {
    func json(_ parts: String, _ scores: String) -> Data {
      Data(#"{"title":"t","parts":[\#(parts)],"scores":{\#(scores)}}"#.utf8)
    }
    var doc = try Doc1(fromJSON: json(#"{"id":1,"n":"a"},{"id":2,"n":"b"}"#, #""1":"a","2":"b""#))
    try doc.merge(.json(json(#"{"id":2,"n":"b"}"#, #""2":"b""#)), options: Self.keep)
    let report = try doc.merge(.json(json(#"{"id":1,"n":"A"}"#, #""1":"A""#)), options: Self.keep)
    #expect(doc.parts.map(\.n) == ["A", "b"] && doc.scores == [1: "A", 2: "b"] && report.conflicts.isEmpty)
  }

  @Test("Elements and keys that a patch removes are also removed from the base")
  func patchesRemove() throws {
    let shelf = try Shelf(fromJSON: Self.shelf([(1, "a"), (2, "b")], ["x": "a"]))
    try shelf.merge(.patch(JSONPatch([.remove("books[0]"), .remove("tags.x")])), options: Self.keep)
    #expect(shelf.books.map(\.id) == [2] && shelf.tags.isEmpty)
    #expect(shelf.merging.base?["books"]?.arrayValue?.count == 1 && shelf.merging.base?["tags"] == [:])
  }

  // MARK: Objects

  private static func ship(_ id: Int, _ cabin: Int) -> Data {
    Data(#"{"captain":{"id":\#(id),"name":"c\#(id)","cabin":{"no":\#(cabin)}}}"#.utf8)
  }

  /// Resolving a conflict with the server's object also takes everything inside that object.
  @Test func resolvingTakesTheWholeObject() throws {
    let ship = try Ship(fromJSON: Self.ship(1, 1))
    ship.captain = Mate(2, "Bob", Cabin(2))
    try ship.merge(.json(Self.ship(3, 3)))
    let opened = try ArchiveDecoder().decode(Ship.self, from: ArchiveEncoder().encode(ship))
    for ship in [ship, opened] {
      try ship.resolve(#require(ship.mergeConflicts.first), with: .server)
      #expect(ship.captain?.id == 3 && ship.captain?.name == "c3" && ship.captain?.cabin?.no == 3)
      let report = try ship.merge(.json(Self.ship(3, 3)))
      #expect(report.isEmpty && ship.captain?.cabin?.no == 3)
    }
  }

  /// Neither side has the base's object with its contents, so the conflict cannot be resolved with the base.
  @Test func resolvingMakesNoObjectWithoutItsInside() throws {
    let ship = try Ship(fromJSON: Self.ship(1, 1))
    let bob = Mate(2, "Bob", Cabin(2))
    ship.captain = bob
    try ship.merge(.json(Self.ship(3, 3)))
    let conflict = try #require(ship.mergeConflicts.first)
    let error = #expect(throws: ArchiveError.self) { try ship.resolve(conflict, with: .base) }
    #expect(error?.code == .mergeFailed)
    #expect(ship.captain === bob && ship.mergeConflicts == [conflict])
  }

  /// A conflict about values without objects can be resolved without the base, which may be unreadable.
  @Test func resolvingValuesNeedsNoBase() throws {
    func part(_ n: ArchiveValue) -> ArchiveValue {
      .record(ModelRecord(typeName: "MemoryPart", modelVersion: 1, fields: [("id", 1), ("n", n)]))
    }
    let base = ModelRecord(typeName: "MemoryDoc", modelVersion: 1, fields: [("title", true)])
    let conflict: ArchiveValue = ["path": ["parts", ["key": "id", "id": 1]], "rule": "r", "server": part("theirs")]
    let old = ModelRecord(
      typeName: "MemoryDoc", modelVersion: 1,
      fields: [
        ("title", "t"), ("parts", [part("mine")]), ("merging", ["base": .record(base), "conflicts": [conflict]]),
      ])
    var doc = try ArchiveDecoder().decode(Doc1.self, from: ArchiveEncoder().encode(old))
    try doc.resolve(#require(doc.mergeConflicts.first), with: .server)
    #expect(doc.parts.map(\.n) == ["theirs"] && doc.mergeConflicts.isEmpty)
  }

  // MARK: Size

  /// A conflict with a long path needs no more stack than one with a short path.
  @Test(.tags(.long)) func conflictsAtTheEndOfAChain() throws {
    let count = Effort.rounds(1500, long: 3000)
    let list = Chain1("t", .chain(count, "a"), MergeState())
    try list.markSynced()
    try #require(list.first).last.name = "mine"
    try list.merge(.model(Chain1("t", .chain(count, "theirs"), MergeState())))
    try list.mergeValues(fromJSON: Data(#"{"title":"u"}"#.utf8))
    let conflict = try #require(list.mergeConflicts.first)
    #expect(conflict.path.components.count == count + 1)
    try list.resolve(conflict, with: .server)
    #expect(list.first?.last.name == "theirs" && list.title == "u" && list.mergeConflicts.isEmpty)
    list.first?.unlink()
  }
}

// MARK: - Models

private struct Part: DescribedModel {
  var id: Int
  var n: String
  static let fields = Fields(
    Part.self, name: "MemoryPart", version: 1, Field("id", \.id), Field("n", \.n), make: { Part(id: $0, n: $1) })
}

private struct Doc1: DescribedModel {
  var title: String
  var parts: [Part]
  var scores: [Int: String]
  var merging: MergeState
  static let fields = Fields(
    Doc1.self, name: "MemoryDoc", version: 1, Field("title", \.title),
    Field("parts", \.parts, merge: .byID(), default: []), Field("scores", \.scores, default: [:]),
    Field("merging", \.merging, default: MergeState()),
    make: { Doc1(title: $0, parts: $1, scores: $2, merging: $3) })
}

private struct Doc2: DescribedModel, Migratable {
  var name: String
  var parts: [Part]
  var scores: [Int: String]
  var merging: MergeState
  static let fields = Fields(
    Doc2.self, name: "MemoryDoc", version: 2, Field("name", \.name),
    Field("parts", \.parts, merge: .byID(), default: []), Field("scores", \.scores, default: [:]),
    Field("merging", \.merging, default: MergeState()),
    make: { Doc2(name: $0, parts: $1, scores: $2, merging: $3) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("title", to: "name")))
}

private struct Item: DescribedModel {
  var id: Int
  var title: String
  var merging: MergeState
  static let fields = Fields(
    Item.self, name: "MemoryItem", version: 1, Field("id", \.id), Field("title", \.title),
    Field("merging", \.merging, default: MergeState()), make: { Item(id: $0, title: $1, merging: $2) })
}

private struct ItemBox: DescribedModel {
  var items: [Item]
  static let fields = Fields(
    ItemBox.self, name: "MemoryItemBox", version: 1, Field("items", \.items, merge: .byID(), default: []),
    make: { ItemBox(items: $0) })
}

private final class SecretKeeper: DescribedModel {
  let id: Int
  var secret: String
  var name: String
  init(_ id: Int, _ secret: String, _ name: String) { (self.id, self.secret, self.name) = (id, secret, name) }
  static let fields = Fields(
    SecretKeeper.self, name: "MemoryKeeper", version: 1, Field("id", \.id),
    Field("secret", \.secret, archive: .excluded, default: ""), Field("name", \.name),
    make: { SecretKeeper($0, $1, $2) })
}

private final class SecretVault: DescribedModel {
  var lead: SecretKeeper?
  var keepers: [SecretKeeper]
  var merging: MergeState
  init(_ lead: SecretKeeper?, _ keepers: [SecretKeeper], _ merging: MergeState = MergeState()) {
    (self.lead, self.keepers, self.merging) = (lead, keepers, merging)
  }
  static let fields = Fields(
    SecretVault.self, name: "MemoryVault", version: 1, Field("lead", \.lead),
    Field("keepers", \.keepers, merge: .byID(), default: []), Field("merging", \.merging, default: MergeState()),
    make: { SecretVault($0, $1, $2) })
}

private final class Crew1: DescribedModel {
  var title: String
  var sailors: [Seafarer]
  var merging: MergeState
  init(_ title: String, _ sailors: [Seafarer], _ merging: MergeState) {
    (self.title, self.sailors, self.merging) = (title, sailors, merging)
  }
  static let fields = Fields(
    Crew1.self, name: "MemoryCrew", version: 1, Field("title", \.title),
    Field("sailors", \.sailors, merge: .byID(), default: []), Field("merging", \.merging, default: MergeState()),
    make: { Crew1($0, $1, $2) })
}

private final class Seafarer: DescribedModel {
  let id: Int
  var name: String
  weak var crew: Crew1?
  init(_ id: Int, _ name: String, _ crew: Crew1?) { (self.id, self.name, self.crew) = (id, name, crew) }
  static let fields = Fields(
    Seafarer.self, name: "MemorySailor", version: 1, Field("id", \.id), Field("name", \.name),
    Field("crew", \.crew, archive: .conditional, json: .none), make: { Seafarer($0, $1, $2) })
}

private final class Crew2: DescribedModel, Migratable {
  var name: String
  var sailors: [Sailor2]
  var merging: MergeState
  init(_ name: String, _ sailors: [Sailor2], _ merging: MergeState) {
    (self.name, self.sailors, self.merging) = (name, sailors, merging)
  }
  static let fields = Fields(
    Crew2.self, name: "MemoryCrew", version: 2, Field("name", \.name),
    Field("sailors", \.sailors, merge: .byID(), default: []), Field("merging", \.merging, default: MergeState()),
    make: { Crew2($0, $1, $2) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("title", to: "name")))
}

private final class Sailor2: DescribedModel {
  let id: Int
  var name: String
  weak var crew: Crew2?
  init(_ id: Int, _ name: String, _ crew: Crew2?) { (self.id, self.name, self.crew) = (id, name, crew) }
  static let fields = Fields(
    Sailor2.self, name: "MemorySailor", version: 1, Field("id", \.id), Field("name", \.name),
    Field("crew", \.crew, archive: .conditional, json: .none), make: { Sailor2($0, $1, $2) })
}

private final class MemoryLink: DescribedModel {
  let id: Int
  var name: String
  var next: MemoryLink?
  init(_ id: Int, _ name: String, _ next: MemoryLink?) { (self.id, self.name, self.next) = (id, name, next) }
  static let fields = Fields(
    MemoryLink.self, name: "MemoryLink", version: 1, Field("id", \.id), Field("name", \.name), Field("next", \.next),
    make: { MemoryLink($0, $1, $2) })

  var last: MemoryLink {
    var link = self
    while let next = link.next { link = next }
    return link
  }

  /// Releases the links one by one.
  func unlink() {
    var link = next
    next = nil
    while let current = link { (link, current.next) = (current.next, nil) }
  }
}

extension MemoryLink? {
  fileprivate static func chain(_ count: Int, _ last: String) -> MemoryLink? {
    (1...count).reversed().reduce(nil as MemoryLink?) { next, id in MemoryLink(id, id == count ? last : "n", next) }
  }
}

private final class Chain1: DescribedModel {
  var title: String
  var first: MemoryLink?
  var merging: MergeState
  init(_ title: String, _ first: MemoryLink?, _ merging: MergeState) {
    (self.title, self.first, self.merging) = (title, first, merging)
  }
  static let fields = Fields(
    Chain1.self, name: "MemoryChain", version: 1, Field("title", \.title), Field("first", \.first),
    Field("merging", \.merging, default: MergeState()), make: { Chain1($0, $1, $2) })
}

private final class Chain2: DescribedModel, Migratable {
  var name: String
  var first: MemoryLink?
  var merging: MergeState
  init(_ name: String, _ first: MemoryLink?, _ merging: MergeState) {
    (self.name, self.first, self.merging) = (name, first, merging)
  }
  static let fields = Fields(
    Chain2.self, name: "MemoryChain", version: 2, Field("name", \.name), Field("first", \.first),
    Field("merging", \.merging, default: MergeState()), make: { Chain2($0, $1, $2) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("title", to: "name")))
}

private final class Cabin: DescribedModel {
  var no: Int
  init(_ no: Int) { self.no = no }
  static let fields = Fields(Cabin.self, name: "MemoryCabin", version: 1, Field("no", \.no), make: { Cabin($0) })
}

private final class Mate: DescribedModel {
  let id: Int
  var name: String
  var cabin: Cabin?
  init(_ id: Int, _ name: String, _ cabin: Cabin?) { (self.id, self.name, self.cabin) = (id, name, cabin) }
  static let fields = Fields(
    Mate.self, name: "MemoryMate", version: 1, Field("id", \.id), Field("name", \.name), Field("cabin", \.cabin),
    make: { Mate($0, $1, $2) })
}

private final class Ship: DescribedModel {
  var captain: Mate?
  var merging: MergeState
  init(_ captain: Mate?, _ merging: MergeState) { (self.captain, self.merging) = (captain, merging) }
  static let fields = Fields(
    Ship.self, name: "MemoryShip", version: 1, Field("captain", \.captain),
    Field("merging", \.merging, default: MergeState()), make: { Ship($0, $1) })
}

private final class Book: DescribedModel {
  let id: Int
  var name: String
  init(_ id: Int, _ name: String) { (self.id, self.name) = (id, name) }
  static let fields = Fields(
    Book.self, name: "MemoryBook", version: 1, Field("id", \.id), Field("name", \.name), make: { Book($0, $1) })
}

private struct BookBox: DescribedModel {
  var id: Int
  var books: [Book]
  static let fields = Fields(
    BookBox.self, name: "MemoryBookBox", version: 1, Field("id", \.id), Field("books", \.books, default: []),
    make: { BookBox(id: $0, books: $1) })
}

private final class Shelf: DescribedModel {
  var books: [Book]
  var kept: [Book]
  var tags: [String: String]
  var boxes: [BookBox]
  var merging: MergeState
  init(_ books: [Book], _ kept: [Book], _ tags: [String: String], _ boxes: [BookBox], _ merging: MergeState) {
    (self.books, self.kept, self.tags, self.boxes, self.merging) = (books, kept, tags, boxes, merging)
  }
  static let fields = Fields(
    Shelf.self, name: "MemoryShelf", version: 1, Field("books", \.books, default: []),
    Field("kept", \.kept, merge: .byID(unlisted: .keep), default: []), Field("tags", \.tags, default: [:]),
    Field("boxes", \.boxes, default: []), Field("merging", \.merging, default: MergeState()),
    make: { Shelf($0, $1, $2, $3, $4) })
}

private final class Thing: DescribedModel {
  let id: Int?
  var name: String
  init(_ id: Int?, _ name: String) { (self.id, self.name) = (id, name) }
  static let fields = Fields(
    Thing.self, name: "MemoryThing", version: 1, Field("id", \.id), Field("name", \.name), make: { Thing($0, $1) })
}

private final class Things: DescribedModel {
  var all: [Thing]
  var merging: MergeState
  init(_ all: [Thing], _ merging: MergeState) { (self.all, self.merging) = (all, merging) }
  static let fields = Fields(
    Things.self, name: "MemoryThings", version: 1, Field("all", \.all, merge: .byID(), default: []),
    Field("merging", \.merging, default: MergeState()), make: { Things($0, $1) })
}
