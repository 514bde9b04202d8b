import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// All released archives. Their bytes never change. `STRATA_RECORD_FIXTURES=1 swift test` adds new ones and fails, so that a
/// recording is not mistaken for a passed test.
@Suite("Golden archives")
struct GoldenTests {
  static let names = [
    "person-v1", "person-v2", "person-v3", "person-v4", "everything-v1", "payment-v2", "document", "people-v4",
    "family-v1", "hierarchy", "numbers", "club-v1", "shapes", "stream",
  ]

  /// The content of each archive.
  static func make(_ name: String) throws -> Data {
    let encoder = ArchiveEncoder()
    let address = ArchiveValue.record(
      ModelRecord(typeName: "Address", modelVersion: 1, fields: [("street", "Main 1"), ("country", "CH")]))
    let born = ArchiveValue.date(Date(timeIntervalSince1970: 86400))
    switch name {
    case "person-v1": return try encoder.encode(MigrationTests.old)
    case "person-v2":
      return try encoder.encode(
        ModelRecord(
          typeName: "Person", modelVersion: 2, fields: [("name", "Ada"), ("street", "Main 1"), ("born", born)]))
    case "person-v3":
      return try encoder.encode(
        ModelRecord(
          typeName: "Person", modelVersion: 3, fields: [("name", "Ada"), ("born", born), ("address", address)]))
    case "person-v4": return try encoder.encode(MigrationTests.new)
    case "everything-v1": return try encoder.encode(RoundTripTests.nested())
    case "payment-v2": return try encoder.encode(Payment.split(.cash, .card(number: "4111", expiry: nil)))
    case "document":
      return try encoder.encode(
        JSONReader().read(
          Data(#"{"big": 18446744073709551615, "list": [1, 2.5, "text", null, true], "nested": {"a": {}}}"#.utf8)))
    case "family-v1": return try encoder.encode(GoldenGraphs.family())
    case "club-v1": return try encoder.encode(GoldenGraphs.club())
    case "shapes": return try encoder.encode(shapes())
    case "hierarchy":
      return try encoder.encode(GoldenGraphs.hierarchy(), typeName: "Puppy", modelVersion: 1)
    case "numbers":
      return try encoder.encode(JSONReader().read(Data("[1e400, 0.1, 3.14159265358979323846]".utf8)))
    case "people-v4": return try encoder.encode([MigrationTests.new, MigrationTests.new])
    default:
      return try withFolder { folder in
        let url = folder.appending(path: "stream.strata")
        var writer = try ArchiveStreamWriter<Address>(creating: url)
        for number in 0..<3 { try writer.append(Address(street: "Street \(number)", country: "CH")) }
        try writer.finish()
        return try Data(contentsOf: url)
      }
    }
  }

  /// Returns more record shapes than the format has numbers for, each used twice, and also a set and a map with several kinds of keys.
  private static func shapes() -> ArchiveValue {
    let records = (0..<300).map { number in
      ArchiveValue.record(ModelRecord(typeName: "Shape", modelVersion: number, fields: [("side", .integer(number))]))
    }
    let mixed: [ArchiveValue] = ["b", 1, .data(Data("b".utf8)), 300, -1, [1], records[299], records[0], 1.5, "aa"]
    let map = ArchiveValue.map(mixed.map { ArchiveValue.MapEntry(key: $0, value: .array([$0])) })
    return .array([.set(mixed), map, .array(records), .array(records)])
  }

  /// Returns the value as JSON. A graph becomes its objects in order and its root, and references become `{"reference": n}`. A map
  /// becomes its pairs, regardless of how the writer encoded the map.
  private static func plain(_ value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .graph(let graph): ["objects": .array(graph.objects.map(plain)), "root": plain(graph.root)]
    case .reference(let number): ["reference": .integer(number)]
    case .array(let elements): .array(elements.map(plain))
    case .set(let elements): .array(elements.map(plain))
    case .map(let entries): .array(entries.map { [plain($0.key), plain($0.value)] })
    case .object(let object): .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: plain($0.value)) }))
    case .record(let record):
      .record(
        ModelRecord(
          typeName: record.typeName, modelVersion: record.modelVersion,
          fields: record.fields.map { ($0.key, plain($0.value)) }))
    default: value
    }
  }

  private func archive(_ name: String) throws -> Data {
    try Data(contentsOf: Repository.fixtures.appending(path: "archives/\(name).strata"))
  }

  private func expected(_ name: String) throws -> ArchiveValue {
    try JSONReader().read(Data(contentsOf: Repository.fixtures.appending(path: "archives/\(name).json")))
  }

  @Test(
    "Every released archive decodes to the content of the JSON file beside it",
    arguments: names.filter { $0 != "stream" })
  func values(name: String) throws {
    try record(name)
    let value = try ArchiveDecoder().decodeValue(from: archive(name))
    #expect(try JSONReader().read(JSONWriter().write(Self.plain(value))) == expected(name))
  }

  @Test(
    "Every released version of Person decodes as the current version",
    arguments: ["person-v1", "person-v2", "person-v3"])
  func upgrades(name: String) throws {
    #expect(try ArchiveDecoder().decode(Person.self, from: archive(name)) == MigrationTests.new)
  }

  @Test("Released archives decode to the expected models")
  func typed() throws {
    #expect(try ArchiveDecoder().decode(Everything.self, from: archive("everything-v1")) == RoundTripTests.nested())
    #expect(
      try ArchiveDecoder().decode([Person].self, from: archive("people-v4")) == [
        MigrationTests.new, MigrationTests.new,
      ])
    #expect(try ArchiveDecoder().decode(Person.self, from: archive("person-v4")).name == "ADA")
  }

  @Test("Decoding the released graph restores the identity of its objects")
  func graph() throws {
    let family = try ArchiveDecoder().decode(GoldenGraphs.Parent.self, from: archive("family-v1"))
    #expect(family.name == "Ada" && family.children.map(\.name) == ["Ben", "Cleo"])
    #expect(family.children.allSatisfy { $0.parent === family })
    #expect(family.favourite === family.children[1])
    #expect(family.children[0].sibling === family.children[1] && family.children[1].sibling === family.children[0])
    family.children[0].sibling = nil
  }

  @Test("The released archive with a set and a dictionary of objects decodes with all references")
  func club() throws {
    let club = try ArchiveDecoder().decode(GoldenGraphs.Club.self, from: archive("club-v1"))
    #expect(club.members.map(\.name) == ["Kim", "Kim", "Kim", "Kim"])
    #expect(Set(club.members.map { $0.mentor?.name }) == ["Ada", "Ben", "Kim", nil])
    #expect(club.members.allSatisfy { $0.club === club })
    #expect(club.years[2001]?.name == "Ada" && club.years[-1]?.mentor?.name == "Ben")
  }

  @Test("The released stream decodes to its models")
  func stream() async throws {
    try record("stream")
    var streets: [String] = []
    let url = Repository.fixtures.appending(path: "archives/stream.strata")
    for try await address in ArchiveSequence(Address.self, from: url) { streets.append(address.street) }
    #expect(streets == ["Street 0", "Street 1", "Street 2"])
  }

  @Test("Encoding the same content today gives the stamps and bodies of the released archives", arguments: names)
  func bodies(name: String) throws {
    // Compares the bodies, because the compressed bytes depend on the system's zlib.
    let (today, released) = try (Self.members(Self.make(name)), Self.members(archive(name)))
    #expect(today.map(\.stamp) == released.map(\.stamp))
    #expect(today.map(\.body) == released.map(\.body))
  }

  private static func members(_ archive: Data) throws -> [(stamp: Stamp, body: [UInt8])] {
    let bytes = [UInt8](archive)
    var members: [(stamp: Stamp, body: [UInt8])] = []
    var offset = 0
    while offset < bytes.count {
      let member = try inflate(bytes, at: offset)
      members.append((member.stamp, member.body))
      offset = member.nextOffset
    }
    return members
  }

  @Test(
    "Each damaged or foreign archive throws its expected error code",
    arguments: [
      ("truncated", ArchiveError.Code.truncated), ("flipped", .damaged), ("newer-format", .newerFormat),
      ("newer-model", .newerModel), ("plain-gzip", .notAnArchive), ("empty", .notAnArchive),
    ])
  func damaged(name: String, code: ArchiveError.Code) throws {
    let data = try Data(contentsOf: Repository.fixtures.appending(path: "damaged/\(name).strata"))
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Person.self, from: data) }
    #expect(error?.code == code)
  }

  /// Writes a missing fixture if the environment requests it. Existing fixtures are never overwritten.
  private func record(_ name: String) throws {
    guard ProcessInfo.processInfo.environment["STRATA_RECORD_FIXTURES"] != nil else { return }
    let url = Repository.fixtures.appending(path: "archives/\(name).strata")
    guard !FileManager.default.fileExists(atPath: url.path) else { return }
    let data = try Self.make(name)
    try data.write(to: url, options: .withoutOverwriting)
    if name != "stream" {
      let json = try JSONWriter(isPretty: true).write(Self.plain(ArchiveDecoder().decodeValue(from: data)))
      try json.write(to: Repository.fixtures.appending(path: "archives/\(name).json"), options: .withoutOverwriting)
    }
    Issue.record("recorded \(name); look at it and run the tests again")
  }
}
