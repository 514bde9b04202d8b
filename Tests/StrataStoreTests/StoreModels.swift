import Foundation
import StrataCore
import StrataTestSupport

enum Stage: String, Archivable, CaseIterable { case draft, open, closed }

/// An enum with payloads, and with handwritten encoding and decoding.
enum Reminder: EnumModel, Hashable, Sendable {
  case none
  case at(Date, repeats: Int?)
  indirect case both(Reminder, Reminder)

  static let schema = ModelSchema(
    Reminder.self, name: "Reminder", version: 1, cases: [.init("none"), .init("at"), .init("both")])

  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .none: try writer.beginCase(Self.schema, "none", count: 0)
    case .at(let date, let repeats):
      try writer.beginCase(Self.schema, "at", count: 2)
      try writer.payload("_0", date)
      try writer.payload("repeats", repeats)
    case .both(let first, let second):
      try writer.beginCase(Self.schema, "both", count: 2)
      try writer.payload("_0", first)
      try writer.payload("_1", second)
    }
    writer.endCase()
  }

  static func make(case name: String, payload: CasePayload) throws -> Reminder? {
    switch name {
    case "none": Reminder.none
    case "at": .at(try payload.value("_0"), repeats: try payload.value("repeats"))
    case "both": .both(try payload.value("_0"), try payload.value("_1"))
    default: nil
    }
  }
}

struct Part: DescribedModel, Hashable, Sendable {
  var name: String
  var weight: Double?

  static let fields = Fields(
    Part.self, version: 2, Field("name", \.name), Field("weight", \.weight), make: { Part(name: $0, weight: $1) })
}

/// A document that has a field of every kind that rows store in a special way.
struct Memo: DescribedModel, Hashable, Sendable {
  var title: String
  var text: String
  var stage: Stage
  var tags: Set<String>
  var numbers: [Int: String]
  var due: Date?
  var id: UUID
  var link: URL?
  var amount: Decimal
  var image: Data
  var parts: [Part]
  var reminder: Reminder?

  static let fields = Fields(
    Memo.self, version: 3,
    Field("title", \.title), Field("text", \.text), Field("stage", \.stage), Field("tags", \.tags),
    Field("numbers", \.numbers), Field("due", \.due), Field("id", \.id), Field("link", \.link),
    Field("amount", \.amount), Field("image", \.image), Field("parts", \.parts), Field("reminder", \.reminder),
    make: {
      Memo(
        title: $0, text: $1, stage: $2, tags: $3, numbers: $4, due: $5, id: $6, link: $7, amount: $8, image: $9,
        parts: $10, reminder: $11)
    })
}

/// A small model of five fields.
struct Point5: DescribedModel, Hashable, Sendable {
  var name: String
  var x: Int
  var y: Int
  var label: String?
  var isOn: Bool

  static let fields = Fields(
    Point5.self, name: "Point", version: 2,
    Field("name", \.name), Field("x", \.x), Field("y", \.y), Field("label", \.label),
    Field("isOn", \.isOn, default: true),
    make: { Point5(name: $0, x: $1, y: $2, label: $3, isOn: $4) })
}

/// The form of ``Point5`` in an older program.
struct OldPoint: DescribedModel, Hashable, Sendable {
  var name: String
  var x: Int
  var y: Int

  static let fields = Fields(
    OldPoint.self, name: "Point", version: 1, Field("name", \.name), Field("x", \.x), Field("y", \.y),
    make: { OldPoint(name: $0, x: $1, y: $2) })
}

/// The form of ``Point5`` in a newer program.
struct NewPoint: DescribedModel, Hashable, Sendable {
  var name: String
  var z: Double

  static let fields = Fields(
    NewPoint.self, name: "Point", version: 9, Field("name", \.name), Field("z", \.z),
    make: { NewPoint(name: $0, z: $1) })
}

/// A model that keeps its version while the version of its nested model rises.
struct Holder<Inner: VersionedModel & Sendable>: VersionedModel, Sendable {
  var inner: Inner

  init(inner: Inner) { self.inner = inner }

  static var schema: ModelSchema {
    ModelSchema.cached(Self.self) {
      ModelSchema(Self.self, name: "Holder", version: 1, fields: [FieldInfo("inner", Inner.self)])
    }
  }

  init(fields reader: inout ArchiveReader) throws { inner = try reader.field(0) }
  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, inner) }
}

/// A class whose objects can refer to each other, also in cycles.
final class Person: VersionedModel, Hashable {
  var name: String
  var friends: [Person]
  var rivals: Set<Person>
  var best: Person?

  init(name: String) {
    self.name = name
    (friends, rivals, best) = ([], [], nil)
  }

  static let schema = ModelSchema(
    Person.self, name: "Person", version: 1,
    fields: [
      FieldInfo("name", String.self), FieldInfo("friends", [Person].self), FieldInfo("rivals", Set<Person>.self),
      FieldInfo("best", Person?.self),
    ])

  required init(fields reader: inout ArchiveReader) throws {
    name = try reader.field(0)
    friends = try reader.field(1, default: [])
    rivals = try reader.field(2, default: [])
    best = try reader.field(3)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, name)
    try writer.field(1, friends)
    try writer.field(2, rivals)
    try writer.field(3, best)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 1: friends = try reader.field(1)
    case 2: rivals = try reader.field(2)
    case 3: best = try reader.field(3)
    default: throw reader.constantInCycle(place)
    }
  }

  static func == (left: Person, right: Person) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Memo {
  /// Whether both documents have the same archive. `==` does not work here, because NaN is not equal to itself.
  func isSame(as other: Memo?) throws -> Bool {
    guard let other else { return false }
    return try ArchiveEncoder().encode(self) == ArchiveEncoder().encode(other)
  }
}

/// Generates random documents, many of which share parts of their content.
struct MemoRandom {
  var random: SeededRandom
  /// Long texts that several documents share.
  private var texts: [String] = []
  private var images: [Data] = []

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func text(_ length: Int) -> String {
    let words = ["alpha", "beta", "gamma", "delta", "title", "name", "Memo@3", "ä", "日本", "😀"]
    var text = ""
    while text.utf8.count < length { text += random.oneOf(words) + (random.isOnce(in: 9) ? "\n" : " ") }
    return text
  }

  mutating func longText() -> String {
    if !texts.isEmpty, random.isOnce(in: 2) { return random.oneOf(texts) }
    let text = text(random.oneOf([511, 512, 513, 700, 3000, 70_000]))
    texts.append(text)
    return text
  }

  mutating func image() -> Data {
    if !images.isEmpty, random.isOnce(in: 2) { return random.oneOf(images) }
    let count = random.oneOf([0, 3, 512, 513, 5000, 40_000])
    let image = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
    images.append(image)
    return image
  }

  mutating func date() -> Date {
    random.oneOf([
      Date(timeIntervalSinceReferenceDate: 0.1), Date(timeIntervalSince1970: 1_700_000_000),
      Date(timeIntervalSinceReferenceDate: Double(random.below(1_000_000)) / 3),
    ])
  }

  mutating func reminder(_ depth: Int = 3) -> Reminder? {
    switch random.below(depth > 0 ? 5 : 3) {
    case 0: nil
    case 1: Reminder.none
    case 2: .at(date(), repeats: random.isOnce(in: 2) ? nil : random.below(500))
    default: .both(reminder(depth - 1) ?? .none, reminder(depth - 1) ?? .none)
    }
  }

  mutating func part() -> Part {
    Part(name: text(random.oneOf([0, 3, 12])), weight: random.isOnce(in: 3) ? nil : Double(random.below(100)) / 8)
  }

  mutating func memo() -> Memo {
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    uuid.3 = UInt8(random.below(256))
    return Memo(
      title: text(random.oneOf([0, 5, 30])), text: random.isOnce(in: 2) ? longText() : text(random.below(600)),
      stage: random.oneOf(Stage.allCases), tags: Set((0..<random.below(5)).map { _ in text(6) }),
      numbers: Dictionary((0..<random.below(4)).map { ($0 * 300, "n\($0)") }, uniquingKeysWith: { first, _ in first }),
      due: random.isOnce(in: 3) ? nil : date(), id: UUID(uuid: uuid),
      link: random.isOnce(in: 2)
        ? nil : URL(string: "https://example.com/" + String(repeating: "x", count: random.below(600))),
      amount: Decimal(random.below(100_000)) / 7, image: image(), parts: (0..<random.below(6)).map { _ in part() },
      reminder: reminder())
  }

  /// Returns the document with one random change, or a new document.
  mutating func changed(_ memo: Memo) -> Memo {
    var memo = memo
    switch random.below(7) {
    case 0: memo.title = text(20)
    case 1: memo.text += text(30)
    case 2: memo.stage = random.oneOf(Stage.allCases)
    case 3: memo.parts.append(part())
    case 4: if !memo.parts.isEmpty { memo.parts.remove(at: random.below(memo.parts.count)) }
    case 5: memo.due = nil
    default: return self.memo()
    }
    return memo
  }

  /// Creates persons who refer to each other, and returns the first one.
  mutating func group(_ count: Int) -> Person {
    let persons = (0..<max(1, count)).map { Person(name: "p\($0)") }
    for person in persons {
      person.friends = (0..<random.below(4)).map { _ in random.oneOf(persons) }
      person.rivals = Set((0..<random.below(3)).map { _ in random.oneOf(persons) })
      person.best = random.isOnce(in: 3) ? nil : random.oneOf(persons)
    }
    return persons[0]
  }
}
