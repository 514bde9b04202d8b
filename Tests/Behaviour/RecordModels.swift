import Foundation
import StrataCore

// The models of the migrated records. Together they use every kind of migration step.

/// A model with five versions. Its steps use all operations: rename, move, drop, default, null, conversions, and custom code.
struct Account: DescribedModel, Migratable, Validating, ShownModel {
  var first: String
  var last: String
  var contact: Contact?
  var born: Date?
  var stars: Int
  var score: Double
  var price: Decimal?
  var isActive: Bool
  var page: URL?
  var token: UUID?
  var tags: [String]
  var status: State
  var goal: Int
  var cache: Int
  var badges: [Badge]

  static let fields = Fields(
    Account.self, name: "Account", formerNames: ["User"], version: 5,
    Field("first", \.first, default: ""), Field("last", \.last, default: ""), Field("contact", \.contact),
    Field("born", \.born), Field("stars", \.stars, formerly: ["points", "likes"], default: 0),
    Field("score", \.score, default: 0), Field("price", \.price), Field("isActive", \.isActive, default: true),
    Field("page", \.page), Field("token", \.token), Field("tags", \.tags, default: []),
    Field("status", \.status, default: .open), Field("goal", \.goal, default: 10),
    Field("cache", \.cache, archive: .excluded, default: 42), Field("badges", \.badges, default: []),
    make: {
      Account(
        first: $0, last: $1, contact: $2, born: $3, stars: $4, score: $5, price: $6, isActive: $7, page: $8, token: $9,
        tags: $10, status: $11, goal: $12, cache: $13, badges: $14)
    })

  struct NoSpace: Error {}

  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2, .loose(.rename("fullName", to: "name"), over: "name", from: "fullName"),
      .loose(.convert("born", .toDate)), .loose(.convert("score", .toDouble)),
      .loose(.convert("isActive", .toBool))),
    .step(
      from: 2, to: 3,
      .loose(
        .move("street", to: "contact.street", creating: .init("Contact", version: 1)), over: "contact.street",
        from: "street"),
      .loose(.move("contact.rank", to: "stars"), over: "stars", from: "contact.rank"),
      .loose(.convert("price", .toDecimal)), .loose(.convert("contact.zip", .toString))),
    .step(
      from: 3, to: 4, .drop("legacy"), .drop("contact.fax"), .replaceNull("goal", with: 7), .setDefault("goal", 5),
      .loose(.convert("tags", .toArray)), .loose(.convert("page", .toURL)), .loose(.convert("token", .toUUID)),
      .loose(.convert("status", .mapping([0: "open", 1: "closed", "old": "merged"], otherwise: "open")))),
    .step(from: 4, to: 5, "split the name, and join the words") { record in
      if let name = record.removeValue(forKey: "name")?.stringValue {
        guard let space = name.firstIndex(of: " ") else { throw NoSpace() }
        record["first"] = .string(String(name[..<space]))
        record["last"] = .string(String(name[name.index(after: space)...]))
      }
      if case .array(let words)? = record.removeValue(forKey: "words") {
        record["last"] = .string(words.compactMap(\.stringValue).joined(separator: "-"))
      }
    })

  static let validation = Validation<Account>(
    .check("stars", \.stars, .range(0...)), .check("last", \.last, .length(...12)),
    .replace("goal", \.goal) { min($0, 100) })

  func showFields(to text: inout CaseText) {
    text.field("first", first)
    text.field("last", last)
    text.field("contact", contact)
    text.field("born", born)
    text.field("stars", stars)
    text.field("score", score)
    text.field("price", price)
    text.field("isActive", isActive)
    text.field("page", page)
    text.field("token", token)
    text.field("tags", tags)
    text.field("status", status)
    text.field("goal", goal)
    text.field("cache", cache)
    text.field("badges", badges)
  }
}

/// A nested model with its own versions, which keeps unknown keys.
struct Contact: VersionedModel, Migratable, ShownModel {
  var street: String
  var zip: String?
  var channel: Channel
  var unknownFields = UnknownFields()

  static let schema = ModelSchema(
    Contact.self, name: "Contact", version: 2,
    fields: [
      FieldInfo("street", String.self, formerly: ["road"], default: { "" }), FieldInfo("zip", String?.self),
      FieldInfo("channel", Channel.self, unknown: .useDefault, default: { .chat }),
    ], keepsUnknownFields: true)
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2, .loose(.rename("code", to: "zip"), over: "zip", from: "code"), .setDefault("channel", "e-mail")))

  init(fields reader: inout ArchiveReader) throws {
    street = try reader.field(0, default: "")
    zip = try reader.field(1)
    channel = try reader.field(2, default: .chat, unknown: .useDefault)
    unknownFields = reader.readUnknownFields()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, street)
    try writer.field(1, zip)
    try writer.field(2, channel)
  }

  var archivedUnknownFields: UnknownFields { unknownFields }

  func showFields(to text: inout CaseText) {
    text.field("street", street)
    text.field("zip", zip)
    text.field("channel", channel)
    text.field("unknown", unknownFields)
  }
}

/// An enum with payloads. Its cases changed between versions.
enum Badge: EnumModel, Migratable, ShownModel {
  case star(points: Int)
  case named(String)
  case none

  static let schema = ModelSchema(
    Badge.self, name: "Badge", version: 2,
    cases: [
      .init("star", formerly: ["medal"], payload: [Int.self], labels: ["points"]),
      .init("named", payload: [String.self], labels: ["_0"]), .init("none"),
    ])
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .loose(.rename("title", to: "named"), over: "named", from: "title")))

  func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .star(let points):
      try writer.beginCase(Self.schema, "star", count: 1)
      try writer.payload("points", points)
    case .named(let name):
      try writer.beginCase(Self.schema, "named", count: 1)
      try writer.payload("_0", name)
    case .none: try writer.beginCase(Self.schema, "none", count: 0)
    }
    writer.endCase()
  }

  static func make(case name: String, payload: CasePayload) throws -> Badge? {
    switch name {
    case "star": .star(points: try payload.value("points"))
    case "named": .named(try payload.value("_0"))
    case "none": Badge.none
    default: nil
    }
  }

  func showFields(to text: inout CaseText) {
    switch self {
    case .star(let points): text.field("star", points)
    case .named(let name): text.field("named", name)
    case .none: text.add("none")
    }
  }
}

/// A model with a migration hook for its keys, a hook that runs after decoding, and migration steps.
struct Parcel: DescribedModel, Migratable, KeyMigrating, PostDecoding, ShownModel {
  var weight: Int
  var channel: Channel
  var text: String
  var secret: String
  var priority: Priority

  static let fields = Fields(
    Parcel.self, version: 3, Field("weight", \.weight, default: 1), Field("channel", \.channel, default: .mail),
    Field("text", \.text, formerly: ["label", "caption"], default: ""),
    Field("secret", \.secret, archive: .excluded, default: "none"), Field("priority", \.priority, default: .low),
    make: { Parcel(weight: $0, channel: $1, text: $2, secret: $3, priority: $4) })

  struct TooOld: Error {}

  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .loose(.convert("grams", .toInteger))),
    .step(from: 2, to: 3, .loose(.rename("via", to: "channel"), over: "channel", from: "via")))

  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
    switch key {
    case "weight" where modelVersion < 2: return record["grams"]
    case "secret": return record["text"] == nil ? record["secret"] : .string("of version \(modelVersion)")
    case "text" where record["refuses"] != nil: throw TooOld()
    default: return record[key]
    }
  }

  mutating func didDecode(from source: DecodingSource) throws {
    if text == "refuse" { throw TooOld() }
    text = "\(source):\(text)"
  }

  func showFields(to text: inout CaseText) {
    text.field("weight", weight)
    text.field("channel", channel)
    text.field("text", self.text)
    text.field("secret", secret)
    text.field("priority", priority)
  }
}

/// A model that remembers a base. The base can be of any version.
struct Ware: DescribedModel, Migratable, ShownModel {
  var title: String
  var state: State
  var parts: [Ware]
  var prices: [String: Channel]
  var channels: Set<Channel>
  var merging: MergeState

  static let fields = Fields(
    Ware.self, formerNames: ["Item"], version: 3, Field("title", \.title, formerly: ["caption"]),
    Field("state", \.state, unknown: .useDefault, default: .open), Field("parts", \.parts, default: []),
    Field("prices", \.prices, default: [:]), Field("channels", \.channels, default: []),
    Field("merging", \.merging, default: MergeState()),
    make: { Ware(title: $0, state: $1, parts: $2, prices: $3, channels: $4, merging: $5) })
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .loose(.rename("label", to: "title"), over: "title", from: "label"), .drop("gone")),
    .step(from: 2, to: 3, .loose(.convert("title", .toString)), .setDefault("state", "closed")))

  func showFields(to text: inout CaseText) {
    text.field("title", title)
    text.field("state", state)
    text.field("parts", parts)
    text.field("prices", prices)
    text.field("channels", channels)
    text.field("merging", merging)
  }
}

/// A class hierarchy. The class at each level has its own version.
class Depot: ModelHierarchy, Migratable, ShownObject {
  var name: String
  var channel: Channel
  var next: Depot?
  weak var home: Depot?

  private static let depotSchema = ModelSchema(
    Depot.self, name: "Depot", formerNames: ["Store"], version: 2,
    fields: [
      FieldInfo("name", String.self, formerly: ["title"]), FieldInfo("channel", Channel.self, default: { .mail }),
      FieldInfo("next", Depot?.self), FieldInfo("home", Depot?.self, archive: .conditional),
    ])
  class var schema: ModelSchema { depotSchema }
  class var migration: MigrationPlan {
    MigrationPlan(
      for: Depot.self, .step(from: 1, to: 2, .loose(.rename("label", to: "name"), over: "name", from: "label")))
  }
  static var subclasses: [any VersionedModel.Type] { [Harbour.self] }

  required init(fields reader: inout ArchiveReader) throws {
    name = try reader.field(0)
    channel = try reader.field(1, default: .mail)
    next = try reader.field(2)
    home = try reader.field(3)
    Links.add { self.next = nil }
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, name)
    try writer.field(1, channel)
    try writer.field(2, next)
    try writer.conditionalField(3, home)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 0: name = try reader.field(0)
    case 1: channel = try reader.field(1, default: .mail)
    case 2: next = try reader.field(2)
    case 3: home = try reader.field(3)
    default: throw reader.constantInCycle(place)
    }
  }

  func showFields(to text: inout CaseText) {
    text.field("name", name)
    text.field("channel", channel)
    text.field("next", next)
    text.field("home", home)
  }
}

final class Harbour: Depot {
  let ships: Int

  private static let harbourSchema = ModelSchema(
    Harbour.self, name: "Harbour", version: 3, superclass: Depot.self,
    fields: [FieldInfo("ships", Int.self, formerly: ["boats"], isConstant: true)])
  override class var schema: ModelSchema { harbourSchema }
  override class var migration: MigrationPlan {
    MigrationPlan(
      for: Harbour.self, .step(from: 1, to: 2, .loose(.convert("boats", .toInteger))),
      .step(from: 2, to: 3, .drop("piers")))
  }

  required init(fields reader: inout ArchiveReader) throws {
    ships = try reader.field(0)
    reader.beginSuperclass(after: 1)
    try super.init(fields: &reader)
    reader.endSuperclass(after: 1)
  }

  override func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, ships)
    writer.beginSuperclass(after: 1)
    try super.encodeFields(to: &writer)
    writer.endSuperclass(after: 1)
  }

  override func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    guard place > 0 else { throw reader.constantInCycle(place) }
    reader.beginSuperclass(after: 1)
    try super.readField(place - 1, from: &reader)
    reader.endSuperclass(after: 1)
  }

  override func showFields(to text: inout CaseText) {
    text.field("ships", ships)
    super.showFields(to: &text)
  }
}

extension MigrationOperation {
  /// Returns an operation that also accepts records without its key. If a record has both the source key and the target key, the target's
  /// value is removed first. `.ifPresent` and `overwriting:` aren't used, because old commits don't have them.
  static func loose(_ operation: MigrationOperation, over target: ValuePath? = nil, from source: ValuePath? = nil)
    -> MigrationOperation
  {
    .custom(operation.description) { record in
      let version = record.modelVersion
      if let target, let source, record[source] != nil { try record.set(nil, at: target) }
      record.modelVersion = 1
      record = try MigrationPlan(.step(from: 1, to: 2, operation)).upgrade(record)
      record.modelVersion = version
    }
  }
}
