import StrataCore

/// A document with every kind of field that merging treats differently.
struct SimulatedDocument: DescribedModel, Migratable {
  var title = ""
  var mine = ""
  var asked = ""
  var theirs = ""
  var best: Int?
  var count = 0
  var note: String?
  var place: Place?
  var owner: Owner?
  var items: [Item] = []
  var counts: [String: Int] = [:]
  var places: [String: Place] = [:]
  var shipment = Shipment.none
  var doubles: [Double] = []
  var tags: [String] = []
  var draft = ""
  var merging = MergeState()

  static let fields = Fields(
    SimulatedDocument.self, name: "Doc", version: 2, Field("title", \.title, default: ""),
    Field("mine", \.mine, merge: .localWins, default: ""), Field("asked", \.asked, merge: .conflict, default: ""),
    Field("theirs", \.theirs, merge: .serverWins, default: ""), Field("best", \.best, merge: .max),
    Field("count", \.count, merge: .sumOfDeltas, default: 0), Field("note", \.note), Field("place", \.place),
    Field("owner", \.owner), Field("items", \.items, default: []), Field("counts", \.counts, default: [:]),
    Field("places", \.places, default: [:]), Field("shipment", \.shipment, default: .none),
    Field("doubles", \.doubles, default: []), Field("tags", \.tags, default: []),
    Field("draft", \.draft, json: .none, default: ""), Field("merging", \.merging, default: MergeState()),
    make: {
      SimulatedDocument(
        title: $0, mine: $1, asked: $2, theirs: $3, best: $4, count: $5, note: $6, place: $7, owner: $8, items: $9,
        counts: $10, places: $11, shipment: $12, doubles: $13, tags: $14, draft: $15, merging: $16)
    })

  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("summary", to: "title")))

  /// A model without identity that contains another model.
  struct Place: DescribedModel {
    var city: String
    var zip: Int?
    var geo: Geo?

    static let fields = Fields(
      Place.self, version: 1, Field("city", \.city, default: ""), Field("zip", \.zip), Field("geo", \.geo),
      make: { Place(city: $0, zip: $1, geo: $2) })
  }

  struct Geo: DescribedModel {
    var lat: Double
    var lon: Double

    static let fields = Fields(
      Geo.self, version: 1, Field("lat", \.lat, default: 0), Field("lon", \.lon, default: 0),
      make: { Geo(lat: $0, lon: $1) })
  }

  /// A model with identity in a field that holds one object.
  struct Owner: DescribedModel {
    let id: Int?
    var name: String
    var note: String?

    static let fields = Fields(
      Owner.self, version: 1, Field("id", \.id), Field("name", \.name, default: ""), Field("note", \.note),
      make: { Owner(id: $0, name: $1, note: $2) })
  }

  /// A list element with a field that JSON never contains.
  struct Item: DescribedModel {
    var id: Int?
    var name: String
    var color: String?
    var place: Place?
    var draft: String

    static let fields = Fields(
      Item.self, version: 1, Field("id", \.id), Field("name", \.name, default: ""), Field("color", \.color),
      Field("place", \.place), Field("draft", \.draft, json: .none, default: ""),
      make: { Item(id: $0, name: $1, color: $2, place: $3, draft: $4) })
  }

  enum Shipment: EnumModel {
    case none
    case parcel(weight: Int, note: String?)
    case mail(address: String)

    static let schema = ModelSchema(
      Shipment.self, name: "Shipment", version: 1,
      cases: [
        .init("none"), .init("parcel", payload: [Int.self, String?.self], labels: ["weight", "note"]),
        // A declaration may omit labels.
        .init("mail"),
      ])

    func encodeCase(to writer: inout ArchiveWriter) throws {
      switch self {
      case .none: try writer.beginCase(Self.schema, "none", count: 0)
      case .parcel(let weight, let note):
        try writer.beginCase(Self.schema, "parcel", count: 2)
        try writer.payload("weight", weight)
        try writer.payload("note", note)
      case .mail(let address):
        try writer.beginCase(Self.schema, "mail", count: 1)
        try writer.payload("address", address)
      }
      writer.endCase()
    }

    static func make(case name: String, payload: CasePayload) throws -> Shipment? {
      switch name {
      case "none": Shipment.none
      case "parcel": .parcel(weight: try payload.value("weight"), note: try payload.value("note"))
      case "mail": .mail(address: try payload.value("address"))
      default: nil
      }
    }
  }
}
