import Foundation
public import Strata
import StrataTestSupport
import Testing

@propertyWrapper
struct Clamped: Equatable {
  private var value: Int
  private let limit: Int
  var wrappedValue: Int {
    get { value }
    set { value = min(newValue, limit) }
  }
  init(wrappedValue: Int, limit: Int = 100) {
    value = min(wrappedValue, limit)
    self.limit = limit
  }
}

@Model(version: 1)
struct Oddities: Equatable {
  var `self`: Int
  var `init`: String
  var `class`: [Int]
  var description: String
  var hash: Int
  var reader: Int
  var writer: Int
  var schema: String
  var `two words`: Int
  @Clamped var clamped: Int
  @Clamped(limit: 3) var limited = 2
  var observed = 1 {
    willSet { _ = newValue }
    didSet { _ = oldValue }
  }
  private var secret = 7
  @Field(archive: .excluded) lazy var computed = id * 2
  @Field(archive: .excluded) var onChange: (@Sendable () -> Void)?
  @Field(archive: .excluded) var pair = (1, 2)
  var id: Int { hash }

  init(_ number: Int) {
    (self.`self`, self.`init`, self.`class`, description, hash) = (number, "i", [number], "d", number)
    (reader, writer, schema, `two words`, clamped) = (1, 2, "s", 3, 4)
    secret = number
  }

  static func == (a: Oddities, b: Oddities) -> Bool {
    a.`self` == b.`self` && a.`init` == b.`init` && a.`class` == b.`class` && a.description == b.description
      && a.hash == b.hash && a.`two words` == b.`two words` && a.clamped == b.clamped
      && a.limited == b.limited
      && a.observed == b.observed && a.secret == b.secret && a.schema == b.schema
  }
}

@Model(version: 1)
struct Box<Content: Archivable & Equatable, Tag>: Equatable where Tag: Codable & Equatable {
  var content: Content
  var tag: Tag
  var history: [Content] = [Content]()
}

@Model(version: 1, name: "carton", formerNames: ["case"])
struct Carton<Content: Archivable>: Archivable where Content: Equatable {
  var content: Content
}

enum Outer {
  enum Kind: String, Archivable {
    case open, closed
    static func usual() -> Kind { .closed }
  }

  @Model(version: 1)
  struct Inner: Equatable {
    var kind: Kind = Kind.usual()
    var kinds = [Kind.open, Kind.closed]
    var number = 1
  }

  @Model(version: 1)
  final class Object {
    var kind: Kind = Kind.usual()
  }
}

extension Outer {
  @Model(version: 1)
  enum Event: Equatable { case opened(Kind), closed }
}

@Model(version: 1)
public struct PublicPoint: Sendable, Hashable {
  public var x = 0.0
  public var y = -1.0
  public init() {}
}

struct Refusing: Codable {
  struct Refusal: Error, Equatable {}

  func encode(to encoder: any Encoder) throws { throw Refusal() }
}

@Model(version: 1)
struct Shelf {
  var name = "s"
  var byName: [String: Part] = [:]

  @Model(version: 1)
  struct Part { var contents: Refusing? }
}

@Suite struct ModelShapeTests {
  @Test("A-15: encoding errors have the type, the path and the original error")
  func failingEncoding() throws {
    let shelf = Shelf(byName: ["a": Shelf.Part(), "b": Shelf.Part(contents: Refusing())])
    let error = #expect(throws: ArchiveError.self) { try ArchiveEncoder().encode([shelf]) }
    #expect(error?.code == .notEncodable && error?.pathDescription == "[0].byName.b.contents")
    #expect(error?.typeName == "Shelf.Part" && error?.underlyingError is Refusing.Refusal)
  }

  @Test func memberwiseInitializerSurvives() throws {
    let ticket = Ticket(id: 1, title: "t", a: 2, b: 3)
    #expect(try archived(ticket) == ticket)
    #expect(Outer.Inner().kind == .closed)
  }

  @Test func schemaOfAStruct() throws {
    let schema = Ticket.schema
    #expect(schema.name == "Ticket" && schema.modelVersion == 3 && schema.formerNames == ["Bug"])
    let keys = ["id", "title", "state", "retrievedAt", "votes", "labels", "ratio", "isLocked", "a", "b"]
    #expect(schema.fields.map(\.key) == keys)
    #expect(schema.keepsUnknownFields)
    #expect(
      schema.fields.map { "\($0.type)" }.suffix(6) == [
        "Int", "Array<String>", "Double", "Bool", "Int", "Int",
      ])
    #expect(schema.fields[1].formerly == ["headline", "subject"] && schema.fields[3].archive == .excluded)
    #expect(
      schema.fields[2].unknown == .useDefault && schema.fields[2].isOptional && !schema.fields[0].isOptional)
    try schema.check()
  }

  @Test func oddNames() throws {
    var oddities = Oddities(9)
    oddities.clamped = 1000
    oddities.limited = 1
    let copy = try archived(oddities)
    #expect(copy == oddities)
    #expect(copy.clamped == 100 && copy.limited == 1)
    let keys = ["self", "init", "class", "description", "hash", "reader", "writer", "schema", "two words"]
    #expect(Oddities.schema.fields.map(\.key) == keys + ["clamped", "limited", "observed", "secret"])
  }

  @Test("M-15, U-6: a generic model has one schema for each set of type arguments")
  func genericModels() throws {
    let box = Box(content: Outer.Inner(kind: .open), tag: Plain(), history: [Outer.Inner()])
    #expect(try archived(box) == box)
    #expect(Box<Outer.Inner, Plain>.schema.name == "Box<Outer.Inner, Plain>")
    #expect(Box<Int?, Plain>.schema === Box<Int?, Plain>.schema)
    #expect(Carton<[Int]>.schema.name == "carton<[Int]>")
    #expect(Carton<[Int]>.schema.formerNames == ["case<[Int]>"])
  }

  @Test func nestedModels() throws {
    #expect(Outer.Inner.schema.name == "Outer.Inner")
    #expect(Outer.Event.schema.name == "Outer.Event")
    let inner = Outer.Inner(kind: .open, kinds: [.closed], number: 4)
    #expect(try archived(inner) == inner)
    #expect(try archived(Outer.Event.opened(.closed)) == .opened(.closed))
    let record = ModelRecord(typeName: "Outer.Inner", modelVersion: 1, object: ArchiveObject())
    #expect(
      try ArchiveDecoder().decode(Outer.Inner.self, from: ArchiveEncoder().encode(record)) == Outer.Inner())
    #expect(try archived(Outer.Object()).kind == .closed)
  }

  @Test("A-4: decoding sets an excluded field to its default")
  func excludedFieldTakesItsDefault() throws {
    let ticket = Ticket(id: 1, retrievedAt: .now, a: 0, b: 0)
    #expect(try archived(ticket).retrievedAt == .distantPast)
  }

  @Test func formerKeysUnknownCasesAndUnknownKeys() throws {
    let entries: [(String, ArchiveValue)] = [
      ("id", .int(1)), ("subject", .string("t")), ("state", .string("new")), ("a", .int(1)), ("b", .int(2)),
      ("later", .bool(true)),
    ]
    let object = ArchiveObject(entries.map { ArchiveObject.Entry(key: $0.0, value: $0.1) })
    let data = try ArchiveEncoder().encode(ModelRecord(typeName: "Bug", modelVersion: 3, object: object))
    let ticket = try ArchiveDecoder().decode(Ticket.self, from: data)
    #expect(ticket.title == "t" && ticket.state == .open && ticket.labels.isEmpty)
    #expect(ticket.unknownFields["later"] == .bool(true))
    #expect(try archived(ticket) == ticket)
  }
}
