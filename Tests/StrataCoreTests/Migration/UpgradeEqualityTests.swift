import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Upgrading equals decoding and encoding")
struct UpgradeEqualityTests {
  private static let subclasses: [any VersionedModel.Type] = [Harbour.self]

  /// Compares an upgraded archive with the same archive after decoding and encoding it.
  private func compare<T: Archivable, R: Archivable & SendableMetatype>(
    _ type: T.Type, root: R.Type, _ data: Data, _ comment: Comment
  ) throws -> Bool {
    let upgrader = ArchiveUpgrader(root, subclasses: Self.subclasses)
    let decoder = ArchiveDecoder(subclasses: Self.subclasses)
    let before = Data(data)
    let upgraded = Result { try upgrader.upgrade(data) }
    let decoded = Result { try decoder.decode(type, from: data) }
    #expect(data == before)
    switch (decoded, upgraded) {
    case (.failure(let error), .failure(let other)):
      let (error, other) = (try #require(error as? ArchiveError), try #require(other as? ArchiveError))
      #expect(error.code == other.code && error.pathDescription == other.pathDescription, comment)
      return false
    case (.success(let value), .success(let upgraded)):
      let today = try ArchiveEncoder(subclasses: Self.subclasses).encode(value)
      #expect(upgraded == today, comment)
      #expect(try upgrader.upgrade(upgraded) == upgraded, comment)
      // The upgraded archive decodes to the same value, apart from fields that no archive contains.
      #expect(
        try ArchiveEncoder(subclasses: Self.subclasses).encode(decoder.decode(type, from: upgraded)) == today, comment)
      #expect(try Self.formerNames(in: ArchiveDecoder().decodeValue(from: upgraded)) == [], comment)
      return true
    default:
      Issue.record("one throws and the other does not: \(decoded), \(upgraded) (\(comment))")
      return false
    }
  }

  /// The former names in a value. The current models don't write them, and an upgraded archive must decode without aliases.
  /// Remembered conflicts are left out, because they stay as they were recorded.
  private static func formerNames(in value: ArchiveValue) -> [String] {
    switch value {
    case .string(let text): ["e-mail", "lost"].contains(text) ? [text] : []
    case .integer(77): ["77"]
    case .array(let elements), .set(let elements): elements.flatMap(formerNames)
    case .object(let object):
      object.entries.filter { !["later", "conflicts"].contains($0.key) }.flatMap { formerNames(in: $0.value) }
    case .map(let entries): entries.flatMap { formerNames(in: $0.key) + formerNames(in: $0.value) }
    case .record(let record):
      ["Item", "Store"].filter { $0 == record.typeName }
        + record.keys.filter { ["caption", "label", "creditCard", "items", "boats"].contains($0) }
        + record.fields.filter { $0.key != "later" }.flatMap { formerNames(in: $0.value) }
    case .graph(let graph): (graph.objects + [graph.root]).flatMap(formerNames)
    default: []
    }
  }

  @Test(
    "X-35: upgrading gives the same archive as decoding and encoding, or the same error", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(2, long: 20)))
  func records(seed: UInt64) throws {
    var random = RecordRandom(seed: 35_000 + seed)
    var succeeded = 0
    for round in 0..<40 {
      let comment: Comment = "seed \(35_000 + seed), round \(round)"
      func archive(_ record: ModelRecord) throws -> Data { try ArchiveEncoder().encode(record) }
      func archive(_ records: [ModelRecord], _ name: String) throws -> Data {
        try ArchiveEncoder().archive(Stamp(typeName: name)) { try $0.write(.array(records.map { .record($0) })) }
      }
      let outcomes = [
        try compare(Ware.self, root: Ware.self, archive(random.ware()), comment),
        try compare([Ware].self, root: Ware.self, archive([random.ware(), random.ware()], "[Item]"), comment),
        try compare(WareShelf.self, root: WareShelf.self, archive(random.shelf()), comment),
        try compare(Parcel.self, root: Parcel.self, archive(random.parcel()), comment),
        try compare([Parcel?].self, root: Parcel.self, archive([random.parcel()], "[Parcel?]"), comment),
      ]
      succeeded += outcomes.count { $0 }
      let graph = random.graph()
      if case .array = graph.root {
        let data = try ArchiveEncoder().encode(graph, typeName: "[Store]", modelVersion: 1)
        succeeded += try compare([Depot].self, root: Depot.self, data, comment) ? 1 : 0
      } else {
        let data = try ArchiveEncoder().encode(graph, typeName: "Depot", modelVersion: 1)
        succeeded += try compare(Depot.self, root: Depot.self, data, comment) ? 1 : 0
      }
    }
    #expect(succeeded > 40, "seed \(35_000 + seed): too few records can be decoded")
  }

  @Test("X-35: the upgrader accepts any container of its model that the stamp names, with former names too")
  func roots() throws {
    let ware = try ArchiveDecoder().decode(
      Ware.self, from: ArchiveEncoder().encode(ModelRecord(typeName: "Ware", modelVersion: 3, fields: [("title", "t")]))
    )
    func same<T: Archivable & SendableMetatype>(_ value: T, line: Int = #line) throws {
      let data = try ArchiveEncoder(compression: .none).encode(value)
      #expect(try ArchiveUpgrader(Ware.self).upgrade(data) == data, "line \(line)")
      #expect(try ArchiveUpgrader(T.self).upgrade(data) == data, "line \(line)")
    }
    try same(ware)
    try same(Ware?.none)
    try same([ware])
    try same([[Ware?.some(ware)]])
    try same(Set([ware]))
    try same(["a": ware])
    try same([1: [ware]])
    try same([Channel.mail: ware])
    try same([["a": 1]: ware])
    let former = try ArchiveEncoder().archive(Stamp(typeName: "[String: Item?]")) { try $0.write(["a": .null]) }
    #expect(try ArchiveUpgrader(Ware.self).upgrade(former) == ArchiveEncoder().encode(["a": Ware?.none]))
    // Dictionary keys are upgraded if the stamp names their type.
    let keys = ArchiveValue.map([
      .init(key: "e-mail", value: .record(ModelRecord(typeName: "Ware", modelVersion: 3, fields: [("title", "t")])))
    ])
    let data = try ArchiveEncoder().archive(Stamp(typeName: "[Channel: Ware]")) { try $0.write(keys) }
    #expect(try ArchiveUpgrader([Channel: Ware].self).upgrade(data) == ArchiveEncoder().encode([Channel.mail: ware]))
    // A stamp may contain any type name, even a very deeply nested one.
    let deep = String(repeating: "[", count: 4000) + "Ware" + String(repeating: "]", count: 4000)
    let hostile = try ArchiveEncoder().archive(Stamp(typeName: deep)) { try $0.write(ArchiveValue.null) }
    #expect(throws: ArchiveError.self) { try ArchiveUpgrader(Ware.self).upgrade(hostile) }
  }

  @Test("X-35: decoding upgrades the stored merge base, so that a former name can be removed")
  func mergeStates() throws {
    let base = ModelRecord(typeName: "Item", modelVersion: 1, fields: [("label", "t"), ("channel", "e-mail")])
    let remembered = ArchiveValue.object(
      ArchiveObject([.init(key: "base", value: .record(base)), .init(key: "conflicts", value: [])]))
    let record = ModelRecord(typeName: "Ware", modelVersion: 3, fields: [("title", "t"), ("merging", remembered)])
    let ware = try ArchiveDecoder().decode(Ware.self, from: ArchiveEncoder().encode(record))
    let today = try #require(ware.merging.base)
    #expect(today.typeName == "Ware" && today.modelVersion == 3)
    #expect(today["channel"] == "mail" && today["title"] == "t" && today["label"] == nil)
    // A base that cannot be upgraded is kept. The next merge throws the error.
    let lost = ModelRecord(typeName: "Item", modelVersion: 9, fields: [("label", "t")])
    let kept = ArchiveValue.object(
      ArchiveObject([.init(key: "base", value: .record(lost)), .init(key: "conflicts", value: [])]))
    let other = ModelRecord(typeName: "Ware", modelVersion: 3, fields: [("title", "t"), ("merging", kept)])
    #expect(try ArchiveDecoder().decode(Ware.self, from: ArchiveEncoder().encode(other)).merging.base == lost)
  }

  @Test("X-35, A-11: the upgrader runs rules and hooks, and `validates: false` skips the rules")
  func rules() throws {
    let old = ModelRecord(typeName: "Parcel", modelVersion: 1, fields: [("grams", 500), ("text", "BIG")])
    let data = try ArchiveEncoder().encode(old)
    #expect(throws: ArchiveError.self) { try ArchiveUpgrader(Parcel.self).upgrade(data) }
    let upgraded = try ArchiveUpgrader(Parcel.self, validates: false).upgrade(data)
    #expect(try ArchiveDecoder().decodeValue(from: upgraded)["text"] == "big")
    #expect(try ArchiveDecoder(validates: false).decode(Parcel.self, from: upgraded).weight == 500)
  }
}
