import Foundation
import Strata
import StrataTestSupport
import Testing

@Suite("Written values can be read back")
struct WrittenAgainTests {
  @Model(version: 1)
  enum Filter: Equatable {
    case none
    case some(Int)
    case tag(String)
  }

  @Model(version: 1)
  enum Words: Equatable {
    case `self`
    case `init`(Int)
    case type
    case `switch`
    case `default`
  }

  @Model(version: 1)
  struct Query: Equatable {
    var filter: Filter = .none
    var other: Filter?
    var all: [Filter?] = []
    var byName: [String: Filter?] = [:]
    var words: [Words] = []
  }

  private func roundTrips<M: VersionedModel & Equatable>(_ model: M) throws {
    #expect(try ArchiveDecoder().decode(M.self, from: ArchiveEncoder().encode(model)) == model)
    #expect(try M(fromJSON: model.jsonData()) == model)
    #expect(try JSONAdapter<M>().decode(JSONAdapter<M>().encode(model)) == model)
    #expect(
      try ArchiveDecoder().decode(M.self, from: ArchiveUpgrader(M.self).upgrade(ArchiveEncoder().encode(model)))
        == model)
  }

  @Test("X-34: cases with the same names as those of Optional round-trip")
  func optionalNames() throws {
    for filter in [Filter.none, Filter.some(3), Filter.tag("x")] { try roundTrips(filter) }
    try roundTrips(
      Query(
        filter: Filter.none, other: Optional(Filter.none), all: [nil, Optional(Filter.none), Optional(Filter.some(1))],
        byName: ["a": Optional(Filter.none)], words: [Words.`self`, .`init`(1), Words.type, .default]))
    try roundTrips(Query(filter: Filter.some(1), other: nil))
  }

  enum Blind: EnumModel, Equatable {
    case none
    case tag(String)
    static let schema = ModelSchema(
      Blind.self, name: "Blind", version: 1,
      cases: [.init("none"), .init("tag", payload: [String.self], labels: ["_0"])])
    func encodeCase(to writer: inout ArchiveWriter) throws {
      switch self {
      case .none: try writer.beginCase(Self.schema, "none", count: 0)
      case .tag(let tag):
        try writer.beginCase(Self.schema, "tag", count: 1)
        try writer.payload("_0", tag)
      }
      writer.endCase()
    }
    static func make(case name: String, payload: CasePayload) throws -> Blind? {
      switch name {
      case "none": return nil
      case "tag": return .tag(try payload.value("_0"))
      default: return nil
      }
    }
  }

  @Test("X-34: writing an enum case that the type's own code cannot create throws invalidSchema")
  func unmadeCase() throws {
    for value in [Blind.none, .tag("x")] {
      #expect(archiveError { try ArchiveEncoder().encode(value) }?.code == .invalidSchema)
      #expect(archiveError { try value.jsonData() }?.code == .invalidSchema)
    }
  }

  @Model(version: 1)
  enum Event: FieldHashable, DescribesFields {
    case a(Int)
    case b
    case c(Int)
    case d(at: Place?)
  }

  @Model(version: 1)
  struct Place: FieldHashable {
    var name = ""
    @Field(storage: .transitory) var seen = 0
  }

  @Model(version: 1)
  final class Owner: FieldHashable {
    var event = Event.b
    var next: Owner?
  }

  @Model(version: 1)
  enum Link: FieldHashable {
    case end
    case owner(Owner)
    case other(Owner)
  }

  @Test("X-34: enums are equal if their cases and associated values are equal")
  func equality() {
    let events: [Event] = [.a(1), .a(2), .b, .c(1), .d(at: nil), .d(at: Place(name: "x"))]
    for (place, left) in events.enumerated() {
      for (other, right) in events.enumerated() { #expect((left == right) == (place == other)) }
    }
    #expect(Set(events).count == events.count)
    #expect(Event.d(at: Place(name: "x", seen: 1)) == .d(at: Place(name: "x", seen: 2)))
    #expect(Event.d(at: Place(name: "x", seen: 1)).hashValue == Event.d(at: Place(name: "x", seen: 2)).hashValue)
    #expect("\(Event.a(1))" != "\(Event.c(1))")
    let owners = [Owner(), Owner()]
    #expect(owners[0] == owners[1])
    owners[0].event = .a(1)
    #expect(owners[0] != owners[1])
    let links: [Link] = [.end, .owner(owners[0]), .other(owners[0]), .owner(owners[1])]
    for (place, left) in links.enumerated() {
      for (other, right) in links.enumerated() { #expect((left == right) == (place == other)) }
    }
  }

  @Model(version: 1)
  class Animal {
    var name = ""
    var friend: Animal?
    required init() {}
  }

  /// A class without its own field description.
  final class Cat: Animal {
    var lives = 9
  }

  @Model(version: 1)
  struct Home {
    var animals: [Animal] = []
    var favourite: Animal?
  }

  @Test("X-34, A-16: writing an object of an undescribed subclass throws notEncodable")
  func undescribedSubclass() throws {
    let cat = Cat()
    cat.lives = 3
    let friend = Animal()
    friend.friend = cat
    let home = Home(animals: [Animal(), cat], favourite: nil)
    for error in [
      archiveError { try ArchiveEncoder().encode(cat) }, archiveError { try ArchiveEncoder().encode(cat as Animal) },
      archiveError { try ArchiveEncoder().encode([friend]) }, archiveError { try ArchiveEncoder().encode(home) },
      archiveError { try cat.jsonData() }, archiveError { try (cat as Animal).jsonData() },
      archiveError { try home.jsonData() },
      archiveError { try friend.jsonData() }, archiveError { try home.dictionaryValue },
      archiveError { try cat.copy() },
      archiveError { try JSONAdapter<Home>().encode(home) },
      archiveError { try ArchiveEncoder().encodeKeyed(home) },
    ] {
      #expect(error?.code == .notEncodable && error?.reason.contains("Cat") == true, "\(String(describing: error))")
    }
    #expect(archiveError { try ArchiveEncoder().encode(home) }?.pathDescription == "animals[1]")
    let target = cat as Animal
    let before = target
    #expect(throws: ArchiveError.self) { try target.mergeValues(fromJSON: Data(#"{"name": "Tom"}"#.utf8)) }
    #expect(target === before && cat.name == "" && cat.lives == 3)
    // The superclass can be decoded, because it has a field description.
    #expect(try ArchiveDecoder().decode(Animal.self, from: ArchiveEncoder().encode(Animal())).name == "")
  }

  enum Stage: Int, Archivable { case first = 1, second = -2 }
  struct Identifier: RawRepresentable, Hashable, Archivable { var rawValue: UInt64 }
  struct Wrapped: RawRepresentable, Hashable, Archivable { var rawValue: Identifier }
  enum Digit: String, Archivable { case one = "1", two = "2" }

  @Model(version: 1)
  struct Keys: Equatable {
    var stages: [Stage: String] = [:]
    var identifiers: [Identifier: Int] = [:]
    var wrapped: [Wrapped: Int] = [:]
    var optionals: [Int?: Int] = [:]
    var digits: [Digit: Int] = [:]
    var wide: [UInt128: Int] = [:]
    var dates: [Date: Int] = [:]
    var uuids: [UUID: Int] = [:]
    var urls: [URL: Int] = [:]
    var booleans: [Bool: Int] = [:]
    var arrays: [[Int]: Int] = [:]
    var filters: [Digit?: [Stage: Digit]] = [:]
  }

  @Test("X-34: dictionary keys of every kind round-trip through JSON")
  func keys() throws {
    let uuid = UUID()
    let keys = Keys(
      stages: [.first: "a", .second: "b"], identifiers: [Identifier(rawValue: .max): 1, Identifier(rawValue: 0): 2],
      wrapped: [Wrapped(rawValue: Identifier(rawValue: 7)): 1], optionals: [1: 1, -2: 2], digits: [.one: 1, .two: 2],
      wide: [.max: 1, 0: 2], dates: [Date(timeIntervalSinceReferenceDate: 0): 1], uuids: [uuid: 1],
      urls: [URL(filePath: "/a"): 1], booleans: [true: 1, false: 2], arrays: [[1]: 1, []: 2],
      filters: [.one: [.first: .two]])
    #expect(try ArchiveDecoder().decode(Keys.self, from: ArchiveEncoder().encode(keys)) == keys)
    #expect(try Keys(fromJSON: keys.jsonData()) == keys)
    let withNil = Keys(optionals: [nil: 1, 2: 2])
    #expect(try Keys(fromJSON: withNil.jsonData()) == withNil)
    var merged = Keys()
    try merged.merge(.json(keys.jsonData()))
    #expect(merged == keys)
  }

  @Model(version: 1)
  struct Instants: Equatable {
    var values: [Date: Int] = [:]
    var untyped: [ArchiveValue: Int] = [:]
  }

  @Test("X-34: writing keys that have the same text in JSON throws notEncodable")
  func keysOfOneText() throws {
    let date = Date(timeIntervalSinceReferenceDate: 0)
    let instants = Instants(values: [date: 1, date + 1e-12: 2])
    let mixed = Instants(untyped: [1: 1, "1": 2])
    for instants in [instants, mixed] {
      #expect(try ArchiveDecoder().decode(Instants.self, from: ArchiveEncoder().encode(instants)) == instants)
      #expect(
        archiveError { try instants.jsonData() }?.code == .notEncodable,
        "\(instants) \((try? instants.jsonData()).map { String(decoding: $0, as: UTF8.self) } ?? "")")
      #expect(archiveError { try JSONAdapter<Instants>().encode(instants) }?.code == .notEncodable)
    }
  }

  enum Twice: EnumModel, Equatable {
    case at(x: Int)
    case at(y: Int)
    static let schema = ModelSchema(
      Twice.self, name: "Twice", version: 1,
      cases: [
        .init("at", payload: [Int.self], labels: ["x"]), .init("at", payload: [Int.self], labels: ["y"]),
      ])
    func encodeCase(to writer: inout ArchiveWriter) throws {
      try writer.beginCase(Self.schema, "at", count: 1)
      try writer.payload("x", 1)
      writer.endCase()
    }
    static func make(case name: String, payload: CasePayload) throws -> Twice? { .at(x: try payload.value("x")) }
  }

  @Model(version: 1)
  enum Pair {
    case both(_1: Int, Int)
  }

  @Test("X-34: writing an enum with a duplicate case name or label throws invalidSchema")
  func casesOfOneName() {
    #expect(archiveError { try ArchiveEncoder().encode(Twice.at(x: 1)) }?.code == .invalidSchema)
    #expect(archiveError { try Twice.at(y: 1).jsonData() }?.code == .invalidSchema)
    #expect(archiveError { try JSONAdapter<Twice>() }?.code == .invalidSchema)
    #expect(archiveError { try Twice(fromJSON: Data(#"{"at": {"x": 1}}"#.utf8)) }?.code == .invalidSchema)
    #expect(archiveError { try ArchiveEncoder().encode([Twice.at(x: 1)]) }?.code == .invalidSchema)
    #expect(archiveError { try ArchiveEncoder().encode(Pair.both(_1: 1, 2)) }?.code == .invalidSchema)
    #expect(archiveError { try Pair.both(_1: 1, 2).jsonData() }?.code == .invalidSchema)
  }
}
