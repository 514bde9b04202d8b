import Foundation
import Strata
import Testing

@Model(version: 1)
private struct Stone: Hashable {
  let id: Int
  var name = ""
  var note: String?
}

@Model(version: 1)
private struct Slab: Equatable {
  var rows: [[Stone]] = []
  var tray: Set<Stone> = []
  var named: [[String: Stone]] = []
  @Field(merge: .byID("name")) var byName: [[Stone]] = []
  var counts: [String: Int] = [:]
  var tickets: [Seat] = []
}

/// A model whose identity is not in JSON.
@Model(version: 1)
private struct Seat: Hashable {
  @Field(json: .none) var id = UUID()
  var name = ""
  var seats = 1
}

@Model(version: 1)
private class Hound: JSONTagged, ModelHierarchy {
  let id: Int
  var name = ""
  var note: String?
  var friend: Hound?
  @Field(archive: .conditional) weak var rival: Hound?
  init(id: Int) { self.id = id }
  static var jsonTagging: JSONTagging { .internal("kind") }
  static var subclasses: [any VersionedModel.Type] { [Whelp.self] }
}

@Model(version: 1, superclass: Hound.self)
private final class Whelp: Hound {
  var age = 3
  override init(id: Int) { super.init(id: id) }
}

@Model(version: 1)
private final class Pack {
  var dogs: [Hound] = []
  var favourite: Hound?
  init() {}
}

@Model(version: 1)
private final class Gate {
  var text = ""
  @Field(json: .automatic.missing(["kind": "Hound", "id": 9])) var guardian: Hound?
  init() {}
}

@Model(version: 1)
private final class Post {
  var inner: Gate?
  init() {}
}

@Model(version: 1)
private final class Leash {
  let owner: Hound
  var text = ""
  init(owner: Hound) { self.owner = owner }
}

@Model(version: 1)
private final class Yard {
  var tag: Leash?
  var dogs: [Hound] = []
  init() {}
}

@Model(version: 1)
private struct Remembering {
  var rows: [[Stone]] = []
  var merging = MergeState()
}

/// A container of models that is encoded like an array.
private struct Pile<Element: VersionedModel>: Archivable {
  var elements: [Element] = []
  func write(to writer: inout ArchiveWriter) throws { try elements.write(to: &writer) }
  static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Pile {
    Pile(elements: try [Element].decode(from: value, in: context))
  }
  static func _collectSchemas(into catalog: inout SchemaCatalog) { Element._collectSchemas(into: &catalog) }
  static var _rootSchema: ModelSchema? { Element.schema }
  static var typeShape: TypeShape { Element.self == Seat.self ? .opaque : .array(of: Element.self) }
}

@Model(version: 1)
private struct Quarry {
  var stones = Pile<Stone>()
}

@Model(version: 1)
private struct Hall {
  var seats: [String: [Pile<Seat>]] = [:]
}

private func body(_ text: String) -> Data { Data(text.utf8) }

@Suite("Nested lists, sets and dictionaries of models")
struct NestedListTests {
  private let board = Slab(
    rows: [[Stone(id: 1, name: "a", note: "x"), Stone(id: 2, name: "b")], [Stone(id: 3, name: "c", note: "z")]],
    tray: [Stone(id: 4, name: "d", note: "n"), Stone(id: 5, name: "e")])

  @Test("A model is matched by identity across nested lists and keeps the values of absent keys")
  func moved() throws {
    var value = board
    let report = try value.merge(
      .json(body(#"{"rows": [[{"id": 3, "name": "C"}], [{"id": 1}, {"id": 9, "name": "new"}]]}"#)))
    #expect(
      value.rows == [
        [Stone(id: 3, name: "C", note: "z")], [Stone(id: 1, name: "a", note: "x"), Stone(id: 9, name: "new")],
      ])
    let lines = report.entries.map { "\($0.path) \($0.outcome)" }
    #expect(
      lines.contains("rows[id=3].name server") && lines.contains("rows[id=2] server")
        && lines.contains("rows[id=9] server"))
  }

  @Test("A repeated identity is matched within its own list")
  func repeated() throws {
    var value = Slab(rows: [[Stone(id: 1, name: "a", note: "one")], [Stone(id: 1, name: "b", note: "two")]])
    try value.merge(.json(body(#"{"rows": [[{"id": 1, "name": "A"}], [{"id": 1, "name": "B"}]]}"#)))
    #expect(value.rows == [[Stone(id: 1, name: "A", note: "one")], [Stone(id: 1, name: "B", note: "two")]])
  }

  @Test("With a base, edits on both sides are merged even if the server moves models between lists")
  func threeSides() throws {
    var local = board, server = board
    local.rows[0][0].note = "mine"
    server.rows = [[board.rows[1][0]], [board.rows[0][1], board.rows[0][0]]]
    server.rows[0][0].name = "theirs"
    let report = try local.merge(.model(server), base: board)
    #expect(report.conflicts.isEmpty && local.rows[0] == server.rows[0])
    #expect(local.rows[1] == [Stone(id: 2, name: "b"), Stone(id: 1, name: "a", note: "mine")])
  }

  @Test("Removing a list that contains an edited model is a conflict")
  func editedAndGone() throws {
    var local = board, server = board
    local.rows[1][0].note = "mine"
    server.rows = [board.rows[0]]
    server.rows[0][0].name = "theirs"
    let report = try local.merge(.model(server), base: board)
    #expect(report.conflicts.map(\.path.description) == ["rows"])
    #expect(local.rows[1] == [Stone(id: 3, name: "c", note: "mine")] && local.rows[0][0].name == "theirs")
    var taken = board
    taken.rows[1][0].note = "mine"
    try taken.merge(.model(server), base: board, options: MergeOptions(conflicts: .takeServer))
    #expect(taken.rows == server.rows)
    // An element was removed locally and edited by the server.
    var removed = board
    removed.rows = [board.rows[0]]
    server = board
    server.rows[1][0].name = "theirs"
    #expect(try removed.merge(.model(server), base: board).conflicts.map(\.path.description) == ["rows"])
    #expect(removed.rows == [board.rows[0]])
  }

  @Test("Sets are merged by identity, with and without a base")
  func sets() throws {
    var value = board
    try value.merge(.json(body(#"{"tray": [{"id": 4, "name": "D"}, {"id": 6}]}"#)))
    #expect(value.tray == [Stone(id: 4, name: "D", note: "n"), Stone(id: 5, name: "e"), Stone(id: 6)])
    var local = board, server = board
    local.tray = [Stone(id: 4, name: "d", note: "mine"), Stone(id: 5, name: "e"), Stone(id: 7)]
    server.tray = [Stone(id: 4, name: "theirs", note: "n"), Stone(id: 8)]
    #expect(try local.merge(.model(server), base: board).conflicts.isEmpty)
    #expect(local.tray == [Stone(id: 4, name: "theirs", note: "mine"), Stone(id: 7), Stone(id: 8)])
  }

  @Test("Models in nested dictionaries are matched by identity, and in nested lists by the policy's key")
  func dictionaries() throws {
    var value = Slab(
      named: [["a": Stone(id: 1, name: "one", note: "n")], ["b": Stone(id: 2)]],
      byName: [[Stone(id: 1, name: "k", note: "n")]])
    try value.merge(.json(body(#"{"named": [{"x": {"id": 1}}], "byName": [[{"name": "k", "id": 1}]]}"#)))
    #expect(value.named == [["x": Stone(id: 1, name: "one", note: "n")]])
    #expect(value.byName == [[Stone(id: 1, name: "k", note: "n")]])
  }

  @Test("Unlisted elements are kept and reported unless the options, a path policy or a model source removes them")
  func unlisted() throws {
    let before = Slab(tray: [Stone(id: 1), Stone(id: 2)], counts: ["a": 1, "b": 2])
    let part = body(#"{"tray": [{"id": 1}], "counts": {"a": 5}}"#)
    var value = before
    let report = try value.merge(.json(part))
    #expect(value.counts == ["a": 5, "b": 2] && value.tray == before.tray)
    let kept = report.entries.filter { $0.outcome == .local }.map(\.path.description)
    #expect(kept.sorted() == ["counts.b", "tray[id=2]"])
    value = before
    try value.merge(.json(part), options: MergeOptions(unlisted: .remove))
    #expect(value.counts == ["a": 5] && value.tray == [Stone(id: 1)])
    value = before
    try value.merge(.json(part), options: MergeOptions(policies: ["tray": .byID(unlisted: .remove)]))
    #expect(value.counts == ["a": 5, "b": 2] && value.tray == [Stone(id: 1)])
    value = before
    try value.mergeValues(from: Slab(tray: [Stone(id: 1)], counts: ["a": 5]))
    #expect(value.counts == ["a": 5] && value.tray == [Stone(id: 1)])
    // A patch names the keys that it removes.
    value = before
    try value.merge(.patch(JSONPatch(parsing: body(#"[{"op": "remove", "path": "/counts/b"}]"#))))
    #expect(value.counts == ["a": 1])
  }

  @Test("Elements whose identity is missing in JSON keep it if their content matches")
  func hidden() throws {
    let tickets = [Seat(name: "a"), Seat(name: "b", seats: 2)]
    var value = Slab(tickets: tickets)
    try value.merge(.json(body(#"{"tickets": [{"name": "b", "seats": 2}, {"name": "c"}, {"name": "a"}]}"#)))
    #expect(value.tickets.map(\.name) == ["b", "c", "a"])
    #expect(value.tickets[0] == tickets[1] && value.tickets[2] == tickets[0])
    #expect(!tickets.map(\.id).contains(value.tickets[1].id))
  }

  @Test("A custom container is merged by its declared shape; without a shape, the schema is invalid")
  func containers() throws {
    var quarry = Quarry(stones: Pile(elements: [Stone(id: 1, name: "a", note: "n"), Stone(id: 2)]))
    try quarry.merge(.json(body(#"{"stones": [{"id": 1, "name": "b"}]}"#)))
    #expect(quarry.stones.elements == [Stone(id: 1, name: "b", note: "n"), Stone(id: 2)])
    let error = try #require(throws: ArchiveError.self) { try Hall.schema.check() }
    #expect(error.code == .invalidSchema && error.codingPath == [.key("seats")] && error.reason.contains(".array(of:)"))
  }

  @Test("If a document repeats an element, the second one gets a new identity, with and without a base")
  func hiddenTwice() throws {
    let seats = [Seat(name: "a")]
    for base in [nil, Slab(tickets: seats)] {
      var value = Slab(tickets: seats)
      try value.merge(.json(body(#"{"tickets": [{"name": "a"}, {"name": "a"}]}"#)), base: base)
      #expect(
        value.tickets.map(\.name) == ["a", "a"] && value.tickets[0] == seats[0] && value.tickets[1].id != seats[0].id)
    }
  }

  @Test("Empty lists are merged with and without a base, and null for a list throws")
  func empty() throws {
    var value = board
    try value.merge(.json(body(#"{"rows": [], "tray": []}"#)))
    #expect(value.rows.isEmpty && value.tray == board.tray)
    var local = board, server = board
    local.rows = []
    server.rows[0][1].name = "theirs"
    #expect(try local.merge(.model(server), base: board).conflicts.map(\.path.description) == ["rows"])
    #expect(local.rows.isEmpty)
    #expect(throws: ArchiveError.self) { try value.merge(.json(body(#"{"rows": null}"#))) }
  }

  @Test("Conflicts in nested lists are remembered and can be resolved")
  func resolving() throws {
    var value = try Remembering(fromJSON: body(#"{"rows": [[{"id": 1, "name": "a"}], [{"id": 2, "name": "b"}]]}"#))
    value.rows[1][0].name = "mine"
    try value.merge(.json(body(#"{"rows": [[{"id": 1, "name": "a"}], [{"id": 2, "name": "theirs"}]]}"#)))
    #expect(value.rows[1][0].name == "mine")
    value = try ArchiveDecoder().decode(Remembering.self, from: ArchiveEncoder().encode(value))
    let conflict = try #require(value.mergeConflicts.first)
    #expect(conflict.path.description == "rows[id=2].name")
    // The element is found at its new position.
    value.rows = [[value.rows[1][0], value.rows[0][0]]]
    try value.resolve(conflict, with: .server)
    #expect(value.rows == [[Stone(id: 2, name: "theirs"), Stone(id: 1, name: "a")]] && value.mergeConflicts.isEmpty)
  }
}

@Suite("Objects replaced by instances of a subclass")
struct ReplacedObjectTests {
  @Test("All references resolve to the replacement, which has the fields of both classes")
  func replaced() throws {
    let pack = Pack()
    let dog = Hound(id: 1)
    (dog.name, dog.note) = ("a", "kept")
    (pack.dogs, pack.favourite) = ([dog], dog)
    let report = try pack.merge(.json(body(#"{"dogs": [{"kind": "Whelp", "id": 1, "name": "b"}]}"#)))
    let whelp = try #require(pack.dogs.first as? Whelp)
    #expect(whelp.name == "b" && whelp.note == "kept" && whelp.age == 3 && pack.favourite === whelp)
    #expect(report.changedKeys == ["dogs", "favourite"] && dog.name == "a")
    #expect(report.entries.contains { $0.rule == "replaced by an object of the class Whelp" })
    try pack.merge(.json(body(#"{"dogs": [{"kind": "Whelp", "id": 1, "age": 5}]}"#)))
    #expect(pack.dogs.first === whelp && whelp.age == 5)
  }

  @Test("Objects that refer to each other are replaced together")
  func cycle() throws {
    let pack = Pack()
    let (one, two) = (Hound(id: 1), Hound(id: 2))
    (one.friend, two.friend, two.rival) = (two, one, one)
    pack.dogs = [one, two]
    try pack.merge(.json(body(#"{"dogs": [{"kind": "Whelp", "id": 1}, {"kind": "Whelp", "id": 2, "age": 7}]}"#)))
    let (first, second) = (try #require(pack.dogs[0] as? Whelp), try #require(pack.dogs[1] as? Whelp))
    #expect(first.friend === second && second.friend === first && second.rival === first && second.age == 7)
    one.friend = nil
    first.friend = nil
  }

  @Test("A new object gets the object that its JSON mapping supplies for an absent key")
  func missing() throws {
    let post = Post()
    try post.merge(.json(body(#"{"inner": {"text": "t"}}"#)))
    #expect(post.inner?.guardian?.id == 9 && post.inner?.text == "t")
  }

  @Test("An object that a constant refers to keeps its class, and the report says so")
  func constants() throws {
    let office = Yard()
    let dog = Hound(id: 1)
    (office.dogs, office.tag) = ([dog], Leash(owner: dog))
    let report = try office.merge(.json(body(#"{"dogs": [{"kind": "Whelp", "id": 1, "name": "b", "age": 5}]}"#)))
    #expect(office.dogs.first === dog && office.tag?.owner === dog && dog.name == "b")
    #expect(
      report.entries.contains { $0.rule.contains("has the class Whelp, but a constant refers to the local object") })
  }

  @Test("The root cannot change its class, and merging a subclass model uses only the shared keys")
  func root() throws {
    let hound = Hound(id: 1)
    let document = body(#"{"kind": "Whelp", "id": 1, "age": 5}"#)
    #expect(throws: ArchiveError.self) { try hound.merge(.json(document)) }
    #expect(throws: ArchiveError.self) { try hound.merge(.archive(ArchiveEncoder().encode(Whelp(id: 1)))) }
    let whelp = Whelp(id: 1)
    whelp.name = "b"
    let report = try hound.merge(.model(whelp))
    #expect(hound.name == "b" && report.entries.contains { $0.rule == "the model Hound does not declare this key" })
  }
}
