import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Node: DescribedModel, FieldHashable, DescribesFields {
  var a: String?
  var b: String?
  var seen = 0
  var inside: [Node] = []
  static let fields = Fields(
    Node.self, version: 1, Field("a", \.a), Field("b", \.b), Field("seen", \.seen, storage: .transitory, default: 0),
    Field("inside", \.inside, default: []), make: { Node(a: $0, b: $1, seen: $2, inside: $3) })
  static var redactedKeys: Set<String> { ["b"] }
}

/// A model with a set whose encoded order depends on `seen`.
private struct Bag: DescribedModel, FieldHashable {
  var nodes: Set<Node>
  var byNode: [Node: Int] = [:]
  static let fields = Fields(
    Bag.self, version: 1, Field("nodes", \.nodes), Field("byNode", \.byNode), make: { Bag(nodes: $0, byNode: $1) })
}

private final class Thing: DescribedModel, FieldHashable {
  var name: String
  var ratio: Double
  init(name: String, ratio: Double = 0) { (self.name, self.ratio) = (name, ratio) }
  static let fields = Fields(
    Thing.self, version: 1, Field("name", \.name), Field("ratio", \.ratio), make: { Thing(name: $0, ratio: $1) })
}

/// Objects that refer to each other.
private final class Companion: DescribedModel, FieldHashable, DescribesFields, Validating {
  var name: String
  var friend: Companion?
  var others: [Companion]
  init(_ name: String, friend: Companion? = nil, others: [Companion] = []) {
    (self.name, self.friend, self.others) = (name, friend, others)
  }
  static let fields = Fields(
    Companion.self, name: "Person", version: 1, Field("name", \.name), Field("friend", \.friend),
    Field("others", \.others),
    make: { Companion($0, friend: $1, others: $2) })
  static let validation = Validation<Companion>(.check("name", \.name, .nonEmpty))
}

private struct Team: DescribedModel, FieldHashable, Validating {
  var name: String
  var members: [String: Companion]
  static let fields = Fields(
    Team.self, version: 1, Field("name", \.name), Field("members", \.members), make: { Team(name: $0, members: $1) })
  static let validation = Validation<Team>(.check("members", \.members, .count(...2)))
}

private struct Everyday: DescribedModel, DescribesFields {
  var id: Int
  var text: String
  var opened: Date
  var data: Data
  var link: URL
  var payment: Payment
  var names: [String: Int]
  static let fields = Fields(
    Everyday.self, version: 1, Field("id", \.id), Field("text", \.text), Field("opened", \.opened),
    Field("data", \.data), Field("link", \.link), Field("payment", \.payment), Field("names", \.names),
    make: { Everyday(id: $0, text: $1, opened: $2, data: $3, link: $4, payment: $5, names: $6) })
}

@Suite("Equality, hash and description of fields")
struct FieldEquatableTests {
  @Test("M-3, M-9: equality compares permanent fields and ignores transitory ones, at any depth")
  func equality() {
    #expect(Node(a: "x", seen: 1) == Node(a: "x", seen: 2))
    #expect(Node(a: "x") != Node(a: nil))
    #expect(Node(inside: [Node(a: "x", seen: 1)]) == Node(inside: [Node(a: "x", seen: 2)]))
    #expect(Node(inside: [Node(a: "x")]) != Node(inside: [Node(a: "y")]))
  }

  @Test("M-9: equality of sets and dictionaries of models ignores transitory fields")
  func sets() {
    let names = ["a", "b", "c", "d", "e"]
    let one = Bag(nodes: Set(names.enumerated().map { Node(a: $1, seen: $0) }), byNode: [Node(seen: 1): 1])
    let other = Bag(nodes: Set(names.enumerated().map { Node(a: $1, seen: 9 - $0) }), byNode: [Node(seen: 2): 1])
    #expect(one == other)
    #expect(one.hashValue == other.hashValue)
  }

  @Test("M-9, M-11: an object equals itself and its copy, but no value of another type")
  func objects() throws {
    let thing = Thing(name: "x")
    let copy = try thing.copy()
    #expect(copy == thing && copy !== thing)
    #expect(thing != Thing(name: "y"))
    let odd = Thing(name: "x", ratio: .nan)
    #expect(odd == odd)
    #expect(!thing.isEqual(to: Node(a: "x")))
    #expect(!Node(a: "x").isEqual(to: thing))
  }

  @Test("M-10: equal models have equal hashes, and swapping two field values changes the hash")
  func hashes() {
    #expect(Node(a: "x", seen: 1).hashValue == Node(a: "x", seen: 2).hashValue)
    #expect(Node(a: "x", b: "y").hashValue != Node(a: "y", b: "x").hashValue)
    #expect(Node(a: "x", b: "x").hashValue != Node(a: "y", b: "y").hashValue)
    #expect(Thing(name: "x").hashValue == Thing(name: "x").hashValue)
  }

  @Test("M-12, KV-10: the description lists the permanent fields in order and redacts sensitive values")
  func description() throws {
    #expect("\(Node(a: "x", seen: 4))" == #"Node(a: "x", b: nil, inside: [])"#)
    #expect(
      "\(Node(a: "x", b: "y", inside: [Node(b: "z")]))"
        == #"Node(a: "x", b: •••, inside: [Node(a: nil, b: •••, inside: [])])"#)
    let everyday = Everyday(
      id: 1, text: "a \"b\"", opened: Date(timeIntervalSince1970: 0), data: Data([1, 2]),
      link: try #require(URL(string: "https://example.com")), payment: .card(number: "4111", expiry: nil),
      names: ["z": 1, "a": 2])
    #expect(
      everyday.fieldDescription(redacting: ["number"])
        == #"Everyday(id: 1, text: "a \"b\"", opened: 1970-01-01T00:00:00Z, data: 2 bytes, "#
        + #"link: https://example.com, payment: Payment(card: (number: •••, expiry: nil)), names: (a: 2, z: 1))"#)
  }

  /// Two objects that are friends of each other.
  private func couple(_ first: String, _ second: String) -> Companion {
    let person = Companion(first)
    person.friend = Companion(second, friend: person)
    return person
  }

  @Test("M-13: equality, hashing, description and validation terminate on reference cycles")
  func circles() throws {
    let couple = couple("a", "b")
    #expect(couple == self.couple("a", "b"))
    #expect(couple != self.couple("a", "c"))
    #expect(couple.hashValue == self.couple("a", "b").hashValue)
    #expect("\(couple)" == #"Person(name: "a", friend: Person(name: "b", friend: Person(…), others: []), others: [])"#)
    #expect(couple.isValid)
    couple.friend?.name = ""
    let error = try #require(throws: ArchiveError.self) { try couple.validated() }
    #expect(error.pathDescription == "friend.name")
    // An object that is its own friend equals two equal objects that are friends of each other.
    let alone = Companion("a")
    alone.friend = alone
    #expect(alone == self.couple("a", "a"))
    #expect(alone.hashValue == self.couple("a", "a").hashValue)
    alone.friend = nil
    couple.friend?.friend = nil
  }

  @Test("M-9: one object in two places equals two equal objects in these places")
  func sharing() {
    let one = Companion("x")
    let shared = Companion("a", others: [one, one])
    let apart = Companion("a", others: [Companion("x"), Companion("x")])
    #expect(shared == apart && shared.hashValue == apart.hashValue)
    #expect(shared != Companion("a", others: [one, Companion("y")]))
    #expect(Team(name: "t", members: ["m": one]) == Team(name: "t", members: ["m": Companion("x")]))
    #expect(Team(name: "t", members: ["m": one]) != Team(name: "t", members: ["n": one]))
  }

  @Test("M-13: equality, hashing, description and validation handle long chains of objects", .tags(.long))
  func chains() throws {
    let count = Effort.rounds(1500, long: 3000)
    func chain(_ count: Int) -> [Companion] {
      let contacts = (0..<count).map { Companion("\($0)") }
      for (contact, next) in zip(contacts, contacts.dropFirst()) { contact.friend = next }
      return contacts
    }
    let (one, other) = (chain(count), chain(count))
    #expect(one[0] == other[0] && one[0].hashValue == other[0].hashValue)
    #expect("\(one[0])".contains("Person(…)"))
    #expect(one[0].isValid)
    #expect(try one[0].validated().friend === one[1])
    other[count - 1].name = ""
    #expect(one[0] != other[0])
    let error = try #require(throws: ArchiveError.self) { try other[0].validated() }
    #expect(error.codingPath.count == count)
    // Breaks the chain, because otherwise its objects would be released recursively.
    for contact in one + other { contact.friend = nil }
  }

  @Test("M-11: a copy shares the referenced objects with the original")
  func shallowCopies() throws {
    let couple = couple("a", "b")
    let copy = try couple.copy(updating: ["name": "c"])
    #expect(copy.friend === couple.friend && copy.name == "c" && couple.name == "a")
    #expect(try couple.copy().friend === couple.friend)
    let team = Team(name: "t", members: ["m": couple])
    #expect(try team.copy(updating: ["name": "u"]).members["m"] === couple)
    #expect(try team.copy(updating: \.name, to: "u").members["m"] === couple)
    #expect(throws: ArchiveError.self) { try team.copy(updating: ["members": ["m": ["name": ""]]]) }
    couple.friend = nil
  }
}
