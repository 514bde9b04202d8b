import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Round trips")
struct RoundTripTests {
  static func nested() -> Everything {
    var value = Everything()
    value.optional = ""
    value.nested = [Everything(), Everything()]
    return value
  }

  @Test("Every kind of property round-trips", arguments: [Everything(), nested()])
  func everything(value: Everything) throws {
    let data = try ArchiveEncoder().encode(value)
    #expect(try ArchiveDecoder().decode(Everything.self, from: data) == value)
  }

  @Test("Equal values encode to equal bytes (X-4)")
  func deterministic() throws {
    var left = Everything()
    var right = Everything()
    left.set = Set((0..<100).map(String.init))
    right.set = Set((0..<100).reversed().map(String.init))
    left.byName = Dictionary(uniqueKeysWithValues: (0..<100).map { ("k\($0)", $0) })
    right.byName = [:]
    for (key, value) in left.byName.sorted(by: { $0.key > $1.key }) { right.byName[key] = value }
    #expect(try ArchiveEncoder().encode(left) == ArchiveEncoder().encode(right))
  }

  @Test("Decoding a model directly or through ArchiveValue gives the same result")
  func roads() throws {
    let data = try ArchiveEncoder().encode(Self.nested())
    let value = try ArchiveDecoder().decodeValue(from: data)
    #expect(try Everything.decode(from: value, in: DecodingContext()) == Self.nested())
    let record = try #require(value.recordValue)
    #expect(try ArchiveEncoder().encode(record) == data)
  }

  @Test(
    "Dates keep every bit",
    arguments: [
      0, 0.5, 1e-300, -1e-300, .infinity, -.infinity, 123_456_789.123_456_78, -978_307_200, 1e300,
      .leastNonzeroMagnitude,
    ])
  func dates(seconds: Double) throws {
    let date = Date(timeIntervalSinceReferenceDate: seconds)
    let back: Date = try ArchiveDecoder().decode(from: ArchiveEncoder().encode(date))
    #expect(back.timeIntervalSinceReferenceDate.bitPattern == seconds.bitPattern)
  }

  @Test("Random dates and doubles keep every bit", .tags(.long), arguments: [UInt64.random(in: .min ... .max)])
  func random(seed: UInt64) throws {
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    for _ in 0..<Effort.rounds(200, long: 2000) {
      let bits = random.next()
      let double = Double(bitPattern: bits)
      let back: Double = try ArchiveDecoder().decodeBody(from: ArchiveEncoder().encodeBody(double))
      #expect(back.bitPattern == double.bitPattern)
      let now = Double(bits >> 20) / 1e4
      let date: Date = try ArchiveDecoder().decodeBody(
        from: ArchiveEncoder().encodeBody(Date(timeIntervalSinceReferenceDate: now)))
      #expect(date.timeIntervalSinceReferenceDate.bitPattern == now.bitPattern)
    }
  }

  @Test("A relative URL keeps its base URL")
  func urls() throws {
    let url = try #require(URL(string: "b?c", relativeTo: URL(string: "https://example.com/a/")))
    let back: URL = try ArchiveDecoder().decode(from: ArchiveEncoder().encode(url))
    #expect(back == url)
    #expect(back.baseURL == url.baseURL)
  }

  @Test(
    "Decimals round-trip exactly",
    arguments: ["0", "-0.1", "1e100", "1e-100", "99999999999999999999999999999999999999", "NaN"])
  func decimals(text: String) throws {
    let decimal = text == "NaN" ? Decimal.nan : try #require(Decimal(string: text))
    let back: Decimal = try ArchiveDecoder().decode(from: ArchiveEncoder().encode(decimal))
    #expect(back.isNaN == decimal.isNaN && (decimal.isNaN || back == decimal))
  }

  @Test("An explicit null decodes as nil, not as the default (A-2)")
  func null() throws {
    struct Holder: DescribedModel, Equatable {
      var note: String?
      static let fields = Fields(
        Holder.self, version: 1, Field("note", \.note, default: "default"), make: { Holder(note: $0) })
    }
    let data = try ArchiveEncoder().encode(Holder(note: nil))
    #expect(try ArchiveDecoder().decode(Holder.self, from: data) == Holder(note: nil))
    #expect(
      try ArchiveDecoder().decode(
        Holder.self, from: ArchiveEncoder().encode(ModelRecord(typeName: "Holder", modelVersion: 1))
      ).note == "default")
  }

  @Test("Codable types can be archived without a model declaration (U-7)")
  func codable() throws {
    struct Order: Codable, Equatable {
      var id: Int
      var lines: [Size]
      var when: Date
      var by: [String: URL]
    }
    let url = try #require(URL(string: "https://example.com"))
    let order = Order(
      id: 1, lines: [Size(width: 1, height: 2, note: "x")], when: Date(timeIntervalSince1970: 5), by: ["a": url])
    let data = try ArchiveEncoder().encode(order)
    #expect(try ArchiveDecoder().decode(Order.self, from: data) == order)
    let value = try ArchiveDecoder().decodeValue(from: data)
    #expect(value["when"] == .date(Date(timeIntervalSince1970: 5)))
  }

  @Test("Equal sets and dictionaries of Codable types encode to equal bytes (X-4)")
  func codableOrder() throws {
    struct Key: Codable, Hashable { var name: String }
    struct Bag: Codable, Equatable {
      var set: Set<Key>
      var byKey: [Key: Int]
      var byName: [String: Key]
    }
    func bag(_ numbers: some Sequence<Int>) -> Bag {
      var bag = Bag(set: [], byKey: [:], byName: [:])
      for number in numbers {
        bag.set.insert(Key(name: "\(number)"))
        bag.byKey[Key(name: "\(number)")] = number
        bag.byName["\(number)"] = Key(name: "x")
      }
      return bag
    }
    let data = try ArchiveEncoder().encode(bag(0..<200))
    #expect(try data == ArchiveEncoder().encode(bag((0..<200).reversed())))
    #expect(try ArchiveDecoder().decode(Bag.self, from: data) == bag(0..<200))
    let names = try ArchiveDecoder().decodeValue(from: data)["byName"]?.objectValue?.keys ?? []
    #expect(names.prefix(3) == ["0", "1", "2"] && names.last == "199")
  }

  @Test("A record contains the type name, the version and the fields (A-1)")
  func record() throws {
    let value = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(Address(street: "a", country: "b")))
    #expect(value.recordValue?.typeName == "Address" && value.recordValue?.modelVersion == 1)
    #expect(value.recordValue?.keys == ["street", "country"])
    #expect(
      value == .record(ModelRecord(typeName: "Address", modelVersion: 1, fields: [("country", "b"), ("street", "a")])))
  }

  @Test("Keys that differ only in Unicode normalization are distinct")
  func spellings() throws {
    let json = Data("{\"\u{E9}\": 1, \"e\u{301}\": 2}".utf8)
    let value = try JSONReader().read(json)
    #expect(value.objectValue?.count == 2)
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value)) == value)
    let record = ModelRecord(typeName: "T", modelVersion: 1, object: try #require(value.objectValue))
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(record)) == .record(record))
    #expect(record["\u{E9}"] == 1 && record["e\u{301}"] == 2)
  }

  @Test("Records of the same shape each keep the normalization of an added or renamed key")
  func spellingsOfChanges() {
    let shape = ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", 0)])
    for keys in [["\u{E9}", "e\u{301}"], ["e\u{301}", "\u{E9}"]] {
      for key in keys {
        var added = shape, renamed = shape, named = shape
        added[key] = 1
        #expect(added[key] == 1 && added.keys.last.map { $0.utf8.elementsEqual(key.utf8) } == true)
        renamed.rename("a", to: key)
        #expect(renamed[key] == 0)
        named.typeName = key
        #expect(named.typeName.utf8.elementsEqual(key.utf8))
      }
    }
  }

  @Test("An unknown key that differs from a model's key only in normalization is kept")
  func unknownSpellings() throws {
    let record = ModelRecord(
      typeName: "Spelled", modelVersion: 1, fields: [("\u{E9}", 1), ("e\u{301}", 2)])
    let read = try ArchiveDecoder().decode(Spelled.self, from: ArchiveEncoder().encode(record))
    #expect(read.value == 1 && read.unknownFields["e\u{301}"] == 2)
    let again = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(read))
    #expect(again["\u{E9}"] == 1 && again["e\u{301}"] == 2)
  }

  @Test("Creating a model from a dictionary throws if two keys differ only in normalization")
  func spellingsOfADictionary() {
    let inner: ArchiveValue = .object(
      ArchiveObject([.init(key: "\u{E9}", value: 1), .init(key: "e\u{301}", value: 2)]))
    #expect(throws: ArchiveError.self) { try SpelledHolder(dictionary: ["inner": inner]) }
  }

  @Test(
    "A type name with a version suffix, or a negative version, throws notEncodable",
    arguments: [("T@3", nil), ("T", -1)] as [(String, Int?)])
  func marks(name: String, version: Int?) {
    let record = ModelRecord(
      typeName: name, modelVersion: version,
      fields: [("nested", .record(ModelRecord(typeName: name, modelVersion: version)))])
    let error = #expect(throws: ArchiveError.self) { try ArchiveEncoder().encode(record) }
    #expect(error?.code == .notEncodable)
  }

  @Test("The stamp contains the type name, version and count")
  func stamp() throws {
    let stamp = try Stamp(
      of: ArchiveEncoder().encode([Address(street: "a", country: "b"), Address(street: "a", country: "b")]))
    #expect(stamp.typeName == "[Address]")
    #expect(stamp.modelVersion == 1)
    #expect(stamp.count == 2)
  }

  @Test("More record types than there are record tags round-trip")
  func manyShapes() throws {
    let records = (0..<600).map {
      ArchiveValue.record(
        ModelRecord(typeName: "T\($0 % 300)", modelVersion: $0 % 3, fields: [("k\($0 % 300)", .int(Int64($0)))]))
    }
    let data = try ArchiveEncoder().encode(ArchiveValue.array(records))
    #expect(try ArchiveDecoder().decodeValue(from: data) == .array(records))
  }

  @Test("Encoding and decoding throw if the nesting exceeds the limit")
  func depth() throws {
    var value = ArchiveValue.array([])
    for _ in 0..<600 { value = .array([value]) }
    let error = #expect(throws: ArchiveError.self) { try ArchiveEncoder().encode(value) }
    #expect(error?.code == .limitExceeded && error?.limit == .depth)
    var limits = ArchiveLimits()
    limits.depth = 1000
    let data = try ArchiveEncoder(limits: limits).encode(value)
    #expect(throws: ArchiveError.self) { try ArchiveDecoder().decodeValue(from: data) }
    #expect(try ArchiveDecoder(limits: limits).decodeValue(from: data) == value)
  }

  @Test("Decoding an enum accepts aliases, and an unknown case gives the default or throws (A-17, U-12)")
  func enums() throws {
    func record(_ value: ArchiveValue) throws -> Data { try ArchiveEncoder().encode(value) }
    #expect(try ArchiveDecoder().decode(Channel.self, from: record("e-mail")) == .mail)
    #expect(try ArchiveDecoder().decode(Priority.self, from: record(77)) == .unknown)
    let error = #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(State.self, from: record("lost")) }
    #expect(error?.code == .unknownCase)
    let old = ModelRecord(
      typeName: "Payment", modelVersion: 2, fields: [("creditCard", ["number": "1", "expiry": .null])])
    #expect(
      try ArchiveDecoder().decode(Payment.self, from: ArchiveEncoder().encode(old)) == .card(number: "1", expiry: nil))
  }

  @Test("Repeated strings round-trip even if the string table has no room for them")
  func alternatingStrings() throws {
    // Strings longer than 65,535 bytes are not added to the string table. If the table is full, new short strings replace the oldest
    // ones.
    let long = ["a", "b"].map { String(repeating: $0, count: 70_000) }
    let alternating = (0..<60).map { long[$0 % 2] }
    let body = try ArchiveEncoder().encodeBody(alternating)
    #expect(try ArchiveDecoder().decodeBody([String].self, from: body) == alternating)
    #expect(body.count > 60 * 70_000)
    let many = (0..<40_000).map { "string \($0)" }
    let repeated = many + (0..<100).map { many[$0 % 2] } + many.suffix(100)
    let short = try ArchiveEncoder().encodeBody(repeated)
    #expect(try ArchiveDecoder().decodeBody([String].self, from: short) == repeated)
    // After a string has been written again, later repetitions can refer to it.
    #expect(try short.count - ArchiveEncoder().encodeBody(many + many.suffix(100)).count < 100 * 8)
  }
}

private struct Spelled: VersionedModel {
  var value: Int
  var unknownFields = UnknownFields()
  static let schema = ModelSchema(
    Spelled.self, name: "Spelled", version: 1, fields: [FieldInfo("\u{E9}", Int.self)], keepsUnknownFields: true)
  init(fields reader: inout ArchiveReader) throws {
    value = try reader.field(0)
    unknownFields = reader.readUnknownFields()
  }
  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, value) }
  var archivedUnknownFields: UnknownFields { unknownFields }
}

private struct SpelledHolder: DescribedModel {
  var inner: Spelled
  static let fields = Fields(
    SpelledHolder.self, version: 1, Field("inner", \.inner), make: { SpelledHolder(inner: $0) })
}
