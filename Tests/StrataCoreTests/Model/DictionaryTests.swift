import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Author: DescribedModel, Equatable {
  var login: String
  var badge = "none"
  static let fields = Fields(
    Author.self, version: 3, Field("login", \.login), Field("badge", \.badge, archive: .excluded, default: "none"),
    make: { Author(login: $0, badge: $1) })
}

/// A model with fields of every storage and archive behavior, and a computed property.
private struct Post: DescribedModel, Equatable {
  var name: String?
  var count = 1
  var author: Author?
  var tags: Set<String> = []
  var opened = Date(timeIntervalSinceReferenceDate: 0)
  var cache = 7
  var owner: String?
  var dynamicName: String { name ?? "" }
  static let fields = Fields(
    Post.self, version: 2, Field("name", \.name), Field("count", \.count, default: 1), Field("author", \.author),
    Field("tags", \.tags, default: []), Field("opened", \.opened, default: Date(timeIntervalSinceReferenceDate: 0)),
    Field("cache", \.cache, archive: .excluded, default: 7), Field("owner", \.owner, storage: .transitory),
    make: { Post(name: $0, count: $1, author: $2, tags: $3, opened: $4, cache: $5, owner: $6) })
}

private struct Nothing: DescribedModel, Equatable {
  static let schema = ModelSchema(Nothing.self, name: "Nothing", version: 1)
  static let fields = NoFields()
  init() {}
  init(fields reader: inout ArchiveReader) throws {}
  func encodeFields(to writer: inout ArchiveWriter) throws {}
  struct NoFields: FieldDescription {
    typealias Root = Nothing
    var schema: ModelSchema { Nothing.schema }
    func read(from reader: inout ArchiveReader) throws -> Nothing { Nothing() }
    func write(_ root: Nothing, to writer: inout ArchiveWriter) throws {}
    func adopt(_ other: Nothing, into root: inout Nothing) throws {}
  }
}

@Suite("Dictionaries")
struct DictionaryTests {
  @Test("M-1, M-2: the schema lists the fields in order, without computed properties")
  func fields() {
    #expect(Post.schema.fields.map(\.key) == ["name", "count", "author", "tags", "opened", "cache", "owner"])
    #expect(Post.schema.fields.map(\.storage).filter { $0 == .transitory }.count == 1)
  }

  @Test("M-1: a model without fields is valid")
  func noFields() throws {
    #expect(try Nothing().dictionaryValue.isEmpty)
    #expect(try Nothing(dictionary: nil) == Nothing())
    #expect(try ArchiveDecoder().decode(Nothing.self, from: ArchiveEncoder().encode(Nothing())) == Nothing())
  }

  @Test("M-1: a schema with a duplicate field or a field without storage throws invalidSchema")
  func twice() throws {
    for fields in [
      [FieldInfo("a", Int.self), FieldInfo("a", Int.self)], [FieldInfo("a", Int.self, storage: .none)],
    ] {
      let schema = ModelSchema(Post.self, name: "Twice", version: 1, fields: fields)
      let error = try #require(throws: ArchiveError.self) { try schema.check() }
      #expect(error.code == .invalidSchema)
    }
  }

  @Test("An enum case must have a label for each type of its payload, or no labels")
  func labels() throws {
    func schema(_ labels: String...) -> ModelSchema {
      ModelSchema(
        Payment.self, name: "Labels", version: 1, cases: [.init("a", payload: [Int.self, Post.self], labels: labels)])
    }
    try schema().check()
    try schema("x", "_1").check()
    for schema in [schema("x"), schema("x", "y", "z")] {
      let error = try #require(throws: ArchiveError.self) { try schema.check() }
      #expect(error.code == .invalidSchema && error.reason.contains("of the case a differs"))
    }
  }

  @Test("M-3, M-4: the dictionary contains every field, even transitory and excluded ones, and null for nil")
  func everyField() throws {
    let expected: [String: ArchiveValue] = [
      "name": .null, "count": 1, "author": .null, "tags": .set([]),
      "opened": .date(Date(timeIntervalSinceReferenceDate: 0)), "cache": 7, "owner": .null,
    ]
    #expect(try Post().dictionaryValue == expected)
  }

  @Test("M-5: an absent key keeps the default, null sets nil, and a nil dictionary counts as empty")
  func absentAndNull() throws {
    #expect(try Post(dictionary: nil) == Post())
    #expect(try Post(dictionary: [:]) == Post())
    #expect(try Post(dictionary: ["name": "x", "owner": "o", "cache": 9]) == Post(name: "x", cache: 9, owner: "o"))
    #expect(try Post(dictionary: ["name": .null]).name == nil)
  }

  @Test("M-4, M-5: a model created from its dictionaryValue is equal to the original")
  func roundTrip() throws {
    let post = Post(
      name: "x", count: 3, author: Author(login: "l", badge: "gold"), tags: ["a", "b"],
      opened: Date(timeIntervalSinceReferenceDate: 4.5), cache: 8, owner: "o")
    #expect(try Post(dictionary: post.dictionaryValue) == post)
  }

  @Test("M-5: nested models may be plain objects without a type, and sets may be arrays")
  func plainObjects() throws {
    let post = try Post(dictionary: ["author": ["login": "l"], "tags": ["a", "b", "a"]])
    #expect(post.author == Author(login: "l"))
    #expect(post.tags == ["a", "b"])
    #expect(
      try Payment.decode(from: ["card": ["number": "1"]], in: DecodingContext(source: .dictionary))
        == .card(number: "1", expiry: nil))
  }

  @Test("M-6: an unknown key throws an error that lists the known keys, also in nested models")
  func unknownKeys() throws {
    let error = try #require(throws: ArchiveError.self) { try Post(dictionary: ["nmae": "x", "zzz": 1]) }
    #expect(error.code == .unknownKey)
    #expect(error.pathDescription == "nmae")
    #expect(error.reason.contains("name, count"))
    let inner = try #require(throws: ArchiveError.self) { try Post(dictionary: ["author": ["login": "l", "x": 1]]) }
    #expect(inner.code == .unknownKey)
    #expect(inner.pathDescription == "author.x")
    // Keys are field names, never paths into other objects.
    #expect(throws: ArchiveError.self) { try Post(dictionary: ["author.login": "x"]) }
    #expect(throws: ArchiveError.self) { try Post(dictionary: ["dynamicName": "x"]) }
  }

  @Test(
    "M-6: a value of the wrong type throws typeMismatch with the key",
    arguments: [
      ("name", ArchiveValue.int(1)), ("count", "1"), ("count", 1.5), ("count", true),
      ("opened", "2011-01-26T19:01:12Z"),
      ("author", 1), ("tags", "a"),
    ])
  func wrongTypes(key: String, value: ArchiveValue) throws {
    let error = try #require(throws: ArchiveError.self) { try Post(dictionary: [key: value]) }
    #expect(error.code == .typeMismatch)
    #expect(error.pathDescription == key)
  }

  @Test(
    "M-7: null for a non-optional field throws typeMismatch with the key", arguments: ["count", "opened"])
  func nullIntoRequired(key: String) throws {
    let error = try #require(throws: ArchiveError.self) { try Post(dictionary: [key: .null]) }
    #expect(error.code == .typeMismatch)
    #expect(error.pathDescription == key)
    #expect(error.typeName == "Post")
  }

  @Test("U-18: a missing field without a default throws missingValue")
  func missing() throws {
    let error = try #require(throws: ArchiveError.self) { try Post(dictionary: ["author": [:]]) }
    #expect(error.code == .missingValue)
    #expect(error.pathDescription == "author.login")
  }

  @Test("M-3: unknown keys that a model keeps are not in its dictionary")
  func unknownFields() throws {
    let json = try Keeping(fromJSON: Data(#"{"a": 1}"#.utf8))
    var record = ModelRecord(typeName: "Keeping", modelVersion: 1, fields: [("a", 1), ("b", 2)])
    record["b"] = 2
    let kept = try ArchiveDecoder().decode(Keeping.self, from: ArchiveEncoder().encode(record))
    #expect(try kept.dictionaryValue == json.dictionaryValue)
    #expect(try kept.copy(updating: ["a": 5]).archivedUnknownFields == kept.archivedUnknownFields)
  }
}

private struct Keeping: VersionedModel {
  var a: Int
  var others = UnknownFields()
  static let schema = ModelSchema(
    Keeping.self, name: "Keeping", version: 1, fields: [FieldInfo("a", Int.self)], keepsUnknownFields: true)
  init(fields reader: inout ArchiveReader) throws {
    a = try reader.field(0)
    others = reader.readUnknownFields()
  }
  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, a) }
  var archivedUnknownFields: UnknownFields { others }
}
