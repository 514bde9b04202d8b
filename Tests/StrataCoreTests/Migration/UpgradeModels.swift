import Foundation
import StrataCore
import StrataTestSupport

/// A model with every construct that an archive may contain in an older form.
struct Ware: DescribedModel, Migratable, FieldHashable {
  var title: String
  var channel: Channel
  var priority: Priority
  var state: State
  var secret: String
  var note: String?
  var prices: [String: Channel]
  var byChannel: [Channel: Priority]
  var channels: Set<Channel>
  var payment: Payment?
  var parts: [Ware]
  var merging: MergeState

  static let fields = Fields(
    Ware.self, formerNames: ["Item"], version: 3,
    Field("title", \.title, formerly: ["caption"]), Field("channel", \.channel, default: .chat),
    Field("priority", \.priority, default: .low),
    Field("state", \.state, unknown: .useDefault, default: .open),
    Field("secret", \.secret, archive: .excluded, default: "none"),
    Field("note", \.note), Field("prices", \.prices, default: [:]), Field("byChannel", \.byChannel, default: [:]),
    Field("channels", \.channels, default: []), Field("payment", \.payment), Field("parts", \.parts, default: []),
    Field("merging", \.merging, default: MergeState()),
    make: {
      Ware(
        title: $0, channel: $1, priority: $2, state: $3, secret: $4, note: $5, prices: $6, byChannel: $7, channels: $8,
        payment: $9, parts: $10, merging: $11)
    })
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("label", to: "title", overwriting: true).ifPresent, .drop("gone")),
    .step(from: 2, to: 3, .convert("note", .toString).ifPresent, .setDefault("channel", "e-mail")))
}

/// A model that keeps unknown keys.
struct WareShelf: VersionedModel {
  var id: Int
  var wares: [Ware]
  var unknownFields = UnknownFields()
  static let schema = ModelSchema(
    WareShelf.self, name: "WareShelf", version: 1,
    fields: [FieldInfo("id", Int.self), FieldInfo("wares", [Ware].self, formerly: ["items"], default: { [] })],
    keepsUnknownFields: true)
  init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    wares = try reader.field(1, default: [])
    unknownFields = reader.readUnknownFields()
  }
  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, wares)
  }
  var archivedUnknownFields: UnknownFields { unknownFields }
}

/// A model with a migration hook for its keys, validation rules and a hook that runs after decoding.
struct Parcel: DescribedModel, KeyMigrating, Validating, PostDecoding {
  var weight: Int
  var channel: Channel
  var text: String
  static let fields = Fields(
    Parcel.self, version: 2, Field("weight", \.weight, default: 1), Field("channel", \.channel, default: .mail),
    Field("text", \.text, default: ""), make: { Parcel(weight: $0, channel: $1, text: $2) })
  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
    key == "weight" && modelVersion < 2 ? record["grams"] : record[key]
  }
  static let validation = Validation<Parcel>(.check("weight", \.weight, .range(0...100)))
  mutating func didDecode(from source: DecodingSource) throws { text = text.lowercased() }
}

/// Objects that refer to each other.
class Depot: VersionedModel {
  var name: String
  var channel: Channel
  var next: Depot?
  weak var home: Depot?
  var shelves: [WareShelf]

  private static let depotSchema = ModelSchema(
    Depot.self, name: "Depot", formerNames: ["Store"], version: 2,
    fields: [
      FieldInfo("name", String.self, formerly: ["title"]), FieldInfo("channel", Channel.self, default: { .mail }),
      FieldInfo("next", Depot?.self), FieldInfo("home", Depot?.self, archive: .conditional),
      FieldInfo("shelves", [WareShelf].self, default: { [] }),
    ])
  class var schema: ModelSchema { depotSchema }

  required init(fields reader: inout ArchiveReader) throws {
    name = try reader.field(0)
    channel = try reader.field(1, default: .mail)
    next = try reader.field(2)
    home = try reader.field(3)
    shelves = try reader.field(4, default: [])
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, name)
    try writer.field(1, channel)
    try writer.field(2, next)
    try writer.conditionalField(3, home)
    try writer.field(4, shelves)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 0: name = try reader.field(0)
    case 1: channel = try reader.field(1, default: .mail)
    case 2: next = try reader.field(2)
    case 3: home = try reader.field(3)
    case 4: shelves = try reader.field(4, default: [])
    default: throw reader.constantInCycle(place)
    }
  }
}

final class Harbour: Depot {
  var ships: [Channel]

  private static let harbourSchema = ModelSchema(
    Harbour.self, name: "Harbour", version: 3, superclass: Depot.self,
    fields: [FieldInfo("ships", [Channel].self, formerly: ["boats"])])
  override class var schema: ModelSchema { harbourSchema }

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
    guard place > 0 else {
      ships = try reader.field(0)
      return
    }
    reader.beginSuperclass(after: 1)
    try super.readField(place - 1, from: &reader)
    reader.endSuperclass(after: 1)
  }
}
