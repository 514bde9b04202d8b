package import Foundation
package import StrataCore

/// A raw-value enum, archived by the name of its case.
package enum State: String, Archivable, CaseIterable { case open, closed, merged }

package enum Priority: Int, Archivable, UnknownCaseRepresentable {
  case low = 1
  case high = 9
  case unknown = -1
  package static var unknownCase: Priority { .unknown }
}

package enum Channel: String, Archivable, CaseAliasing {
  case mail, chat
  package static var formerRawValues: [String: Channel] { ["e-mail": .mail] }
}

package struct Size: Codable, Equatable, Sendable {
  package var width: Int
  package var height: Double
  package var note: String?

  package init(width: Int, height: Double, note: String? = nil) {
    (self.width, self.height, self.note) = (width, height, note)
  }
}

/// A handwritten enum with payloads.
package enum Payment: EnumModel, Equatable, Sendable {
  case cash
  case card(number: String, expiry: Date?)
  indirect case split(Payment, Payment)
  case ship(Address)

  package static let schema = ModelSchema(
    Payment.self, name: "Payment", version: 2,
    cases: [
      .init("cash"), .init("card", formerly: ["creditCard"]), .init("split"), .init("ship", payload: [Address.self]),
    ])

  package func encodeCase(to writer: inout ArchiveWriter) throws {
    switch self {
    case .cash: try writer.beginCase(Self.schema, "cash", count: 0)
    case .card(let number, let expiry):
      try writer.beginCase(Self.schema, "card", count: 2)
      try writer.payload("number", number)
      try writer.payload("expiry", expiry)
    case .split(let first, let second):
      try writer.beginCase(Self.schema, "split", count: 2)
      try writer.payload("_0", first)
      try writer.payload("_1", second)
    case .ship(let address):
      try writer.beginCase(Self.schema, "ship", count: 1)
      try writer.payload("_0", address)
    }
    writer.endCase()
  }

  package static func make(case name: String, payload: CasePayload) throws -> Payment? {
    switch name {
    case "cash": .cash
    case "card": .card(number: try payload.value("number"), expiry: try payload.value("expiry"))
    case "split": .split(try payload.value("_0"), try payload.value("_1"))
    case "ship": .ship(try payload.value("_0"))
    default: nil
    }
  }
}

/// A model with every kind of property, without a field description.
package struct Everything: VersionedModel, Equatable, Sendable {
  package var int8: Int8 = -8
  package var int16: Int16 = -1600
  package var int32: Int32 = .min
  package var int64: Int64 = .min
  package var int: Int = .max
  package var uint8: UInt8 = .max
  package var uint16: UInt16 = .max
  package var uint32: UInt32 = .max
  package var uint64: UInt64 = .max
  package var uint: UInt = .max
  package var int128: Int128 = .min
  package var uint128: UInt128 = .max
  package var bool = true
  package var float: Float = 0.1
  package var double = 0.1
  package var string = "Zürich 🦀"
  package var data = Data([0, 1, 2, 255])
  package var date = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)
  package var url = URL(string: "https://example.com/a?b=c#d")
  package var uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  package var decimal = Decimal(string: "-12345678901234567890.123456789") ?? 0
  package var optional: String?
  package var array = ["a", "bcd", "bcd"]
  package var set: Set<String> = ["x", "yy", "zzz"]
  package var byName: [String: Int] = ["one": 1, "two": 2]
  package var byNumber: [Int: String] = [1: "one", -2: "minus two"]
  package var state = State.closed
  package var priority = Priority.high
  package var payment = Payment.split(.cash, .card(number: "4111", expiry: nil))
  package var nested: [Everything] = []
  package var size = Size(width: 3, height: 2.5, note: nil)
  package var sizes = [Size(width: 1, height: 1, note: "n")]

  package static let schema = ModelSchema(
    Everything.self, name: "Everything", version: 1,
    fields: [
      FieldInfo("int8", Int8.self), FieldInfo("int16", Int16.self), FieldInfo("int32", Int32.self),
      FieldInfo("int64", Int64.self), FieldInfo("int", Int.self), FieldInfo("uint8", UInt8.self),
      FieldInfo("uint16", UInt16.self), FieldInfo("uint32", UInt32.self), FieldInfo("uint64", UInt64.self),
      FieldInfo("uint", UInt.self), FieldInfo("int128", Int128.self), FieldInfo("uint128", UInt128.self),
      FieldInfo("bool", Bool.self), FieldInfo("float", Float.self), FieldInfo("double", Double.self),
      FieldInfo("string", String.self), FieldInfo("data", Data.self), FieldInfo("date", Date.self),
      FieldInfo("url", URL?.self), FieldInfo("uuid", UUID.self), FieldInfo("decimal", Decimal.self),
      FieldInfo("optional", String?.self), FieldInfo("array", [String].self), FieldInfo("set", Set<String>.self),
      FieldInfo("byName", [String: Int].self), FieldInfo("byNumber", [Int: String].self),
      FieldInfo("state", State.self), FieldInfo("priority", Priority.self), FieldInfo("payment", Payment.self),
      FieldInfo("nested", [Everything].self), FieldInfo("size", Size.self), FieldInfo("sizes", [Size].self),
    ])

  package init() {}

  package init(fields reader: inout ArchiveReader) throws {
    int8 = try reader.field(0)
    int16 = try reader.field(1)
    int32 = try reader.field(2)
    int64 = try reader.field(3)
    int = try reader.field(4)
    uint8 = try reader.field(5)
    uint16 = try reader.field(6)
    uint32 = try reader.field(7)
    uint64 = try reader.field(8)
    uint = try reader.field(9)
    int128 = try reader.field(10)
    uint128 = try reader.field(11)
    bool = try reader.field(12)
    float = try reader.field(13)
    double = try reader.field(14)
    string = try reader.field(15)
    data = try reader.field(16)
    date = try reader.field(17)
    url = try reader.field(18)
    uuid = try reader.field(19)
    decimal = try reader.field(20)
    optional = try reader.field(21)
    array = try reader.field(22)
    set = try reader.field(23)
    byName = try reader.field(24)
    byNumber = try reader.field(25)
    state = try reader.field(26)
    priority = try reader.field(27)
    payment = try reader.field(28)
    nested = try reader.field(29)
    size = try reader.field(30)
    sizes = try reader.field(31)
  }

  package func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, int8)
    try writer.field(1, int16)
    try writer.field(2, int32)
    try writer.field(3, int64)
    try writer.field(4, int)
    try writer.field(5, uint8)
    try writer.field(6, uint16)
    try writer.field(7, uint32)
    try writer.field(8, uint64)
    try writer.field(9, uint)
    try writer.field(10, int128)
    try writer.field(11, uint128)
    try writer.field(12, bool)
    try writer.field(13, float)
    try writer.field(14, double)
    try writer.field(15, string)
    try writer.field(16, data)
    try writer.field(17, date)
    try writer.field(18, url)
    try writer.field(19, uuid)
    try writer.field(20, decimal)
    try writer.field(21, optional)
    try writer.field(22, array)
    try writer.field(23, set)
    try writer.field(24, byName)
    try writer.field(25, byNumber)
    try writer.field(26, state)
    try writer.field(27, priority)
    try writer.field(28, payment)
    try writer.field(29, nested)
    try writer.field(30, size)
    try writer.field(31, sizes)
  }
}

/// Version 1 of a person. ``Person`` must be able to open its archives.
package struct PersonV1: DescribedModel {
  package var fullName: String
  package var street: String
  package var born: Double

  package init(fullName: String, street: String, born: Double) {
    (self.fullName, self.street, self.born) = (fullName, street, born)
  }

  package static let fields = Fields(
    PersonV1.self, name: "Person", version: 1,
    Field("fullName", \.fullName), Field("street", \.street), Field("born", \.born),
    make: { PersonV1(fullName: $0, street: $1, born: $2) })
}

package struct Address: DescribedModel, Equatable {
  package var street: String
  package var country: String

  package init(street: String, country: String) { (self.street, self.country) = (street, country) }

  package static let fields = Fields(
    Address.self, version: 1, Field("street", \.street), Field("country", \.country, default: "CH"),
    make: { Address(street: $0, country: $1) })
}

/// The current version of a person, three migration steps later.
package struct Person: DescribedModel, Migratable, Equatable {
  package var name: String
  package var address: Address?
  package var born: Date
  package var stars: Int
  package var note: String?
  package var cache: Int
  package var unknownFields = UnknownFields()

  package init(name: String, address: Address?, born: Date, stars: Int, note: String?, cache: Int) {
    (self.name, self.address, self.born) = (name, address, born)
    (self.stars, self.note, self.cache) = (stars, note, cache)
  }

  package static let fields = Fields(
    Person.self, version: 4,
    Field("name", \.name), Field("address", \.address), Field("born", \.born), Field("stars", \.stars, default: 0),
    Field("note", \.note), Field("cache", \.cache, archive: .excluded, default: 42),
    make: { Person(name: $0, address: $1, born: $2, stars: $3, note: $4, cache: $5) })

  package static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("fullName", to: "name"), .convert("born", .toDate)),
    .step(from: 2, to: 3, .move("street", to: "address.street", creating: .init("Address", version: 1))),
    .step(from: 3, to: 4, "shout the name") { record in
      if let name = record["name"]?.stringValue { record["name"] = .string(name.uppercased()) }
    })
}
