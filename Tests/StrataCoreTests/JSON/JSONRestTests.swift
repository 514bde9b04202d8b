import Foundation
import Strata
import StrataTestSupport
import Testing

/// A model whose fields share objects and arrays with keys that no field reads.
private struct Part: VersionedModel, Equatable {
  var title: String?
  var rank: Int?
  var latitude: Double?
  var first: String?
  var token: String?
  var archivedUnknownFields = UnknownFields()

  static let schema = ModelSchema(
    Part.self, name: "RestPart", version: 1,
    fields: [
      FieldInfo("title", String?.self, json: "milestone.title"),
      FieldInfo("rank", Int?.self, json: "milestone.meta.rank"), FieldInfo("latitude", Double?.self, json: "at[0]"),
      FieldInfo("first", String?.self, json: "rows[0].name"),
      FieldInfo("token", String?.self, json: .writeOnly("token")),
    ], keepsUnknownFields: true)

  init(fields reader: inout ArchiveReader) throws {
    title = try reader.field(0)
    rank = try reader.field(1)
    latitude = try reader.field(2)
    first = try reader.field(3)
    token = try reader.field(4)
    archivedUnknownFields = reader.readUnknownFields()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, title)
    try writer.field(1, rank)
    try writer.field(2, latitude)
    try writer.field(3, first)
    try writer.field(4, token)
  }
}

@Suite("JSON: keys that no field reads")
struct JSONRestTests {
  private func value(_ text: String) throws -> ArchiveValue { try JSONReader().read(Data(text.utf8)) }

  private static let documents = [
    #"{"milestone":{"title":"m","id":7}}"#, #"{"milestone":{"id":7,"meta":{"rank":1,"of":{"x":[1]}}}}"#,
    #"{"milestone":{"title":null,"id":7},"other":1}"#, #"{"at":[1.5,2.5,3.5]}"#, #"{"at":[1.5]}"#,
    #"{"rows":[{"name":"a","size":1},{"name":"b"},null]}"#, #"{"milestone":null}"#, #"{"milestone":{"meta":null}}"#,
    #"{"milestone":{}}"#, #"{"at":[1.5,null,2]}"#,
  ]

  @Test("U-22: capture keeps unread siblings of field paths, archives them and writes them again", arguments: documents)
  func capture(text: String) throws {
    let adapter = try JSONAdapter<Part>(unknownKeys: .capture)
    let document = try value(text)
    let part = try adapter.decode(Data(text.utf8))
    #expect(try adapter.decode(document) == part)
    let archived = try ArchiveDecoder().decode(Part.self, from: ArchiveEncoder().encode(part))
    for part in [part, archived] {
      let written = try adapter.encodeValue(part, nulls: .omit)
      #expect(try adapter.decode(written) == part, "\(text)")
      // With `nulls: .omit`, the adapter writes neither a null that a field reads nor an empty object.
      let isSame = JSONMergePatch.patch(from: written, to: document)
      #expect(isSame == [:] || text.contains("null") || text.contains("{}"), "\(text): \(isSame)")
      #expect(try value(String(decoding: adapter.encode(part, nulls: .omit), as: UTF8.self)) == written)
    }
  }

  @Test("A changed field is written together with the captured keys")
  func changed() throws {
    let adapter = try JSONAdapter<Part>(unknownKeys: .capture)
    var part = try adapter.decode(value(#"{"milestone":{"id":7,"meta":{"of":1}},"token":"old","x":1}"#))
    part.title = "new"
    part.token = "t"
    let text = try String(decoding: adapter.encode(part, nulls: .omit), as: UTF8.self)
    #expect(text == #"{"milestone":{"title":"new","meta":{"of":1},"id":7},"token":"t","x":1}"#)
    #expect(
      try String(decoding: adapter.encode(part, fields: .only(["title"])), as: UTF8.self)
        == #"{"milestone":{"title":"new"}}"#)
    #expect(
      try String(
        decoding: adapter.encode(part, fields: .excluding(["rank", "latitude", "first", "token"])), as: UTF8.self)
        == #"{"milestone":{"title":"new"}}"#)
  }

  @Test("The refuse option rejects unread siblings of field paths")
  func refuse() throws {
    let adapter = try JSONAdapter<Part>(unknownKeys: .refuse)
    let document = try value(
      #"{"milestone":{"id":7,"meta":{"rank":1,"of":1}},"rows":[{"size":1},{"more":1}],"x":1}"#)
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(document) }
    #expect(error?.code == .unknownKey && error?.pathDescription == "milestone.id")
    let all = #expect(throws: ArchiveError.self) { try adapter.decode(document, errors: .collectAll) }
    #expect(all?.all.map(\.pathDescription) == ["milestone.id", "milestone.meta.of", "rows[0].size", "x"])
    #expect(throws: Never.self) { try adapter.decode(value(#"{"milestone":{"title":"a"},"rows":[{},{"more":1}]}"#)) }
  }

  @Test("Thousands of captured keys next to a field are read, archived, written and compared", .tags(.long))
  func many() throws {
    let entries = (0..<Effort.rounds(4_000, long: 16_000)).map {
      ArchiveObject.Entry(key: "key number \($0)", value: .int(Int64($0)))
    }
    let adapter = try JSONAdapter<Part>(unknownKeys: .capture)
    for document in [.object(ArchiveObject(entries)), ["milestone": .object(ArchiveObject(entries))]] as [ArchiveValue]
    {
      let part = try adapter.decode(JSONWriter().write(document))
      #expect(try adapter.encodeValue(part, nulls: .omit) == document)
      #expect(try ArchiveDecoder().decode(Part.self, from: ArchiveEncoder().encode(part)) == part)
      var other = part
      other.title = "t"
      #expect(try adapter.jsonMergePatch(from: part, to: other) == ["milestone": ["title": "t"]])
    }
  }

  @Model(version: 1, name: "Notice")
  struct Notice {
    var title: String
    @Field(json: .readOnly("updated_at")) var updatedAt: String?
    @Field(json: .readOnly("labels[*].name")) var labels: [String] = []
    @Field(json: .readOnly("meta.count")) var count: Int?
    @Field(json: .firstOf("page", "links.html", "url").writing(nulls: .omit)) var page: String?
    @Field(json: .readOnly(.firstOf("id", "_id"))) var id: Int?
    var unknownFields = UnknownFields()
  }

  @Test(
    "U-22: read-only keys and unused alternative paths are captured and written again",
    arguments: [
      #"{"title":"t","updated_at":"now","labels":[{"name":"a","color":1},{"name":"b"}],"meta":{"count":2,"more":3}}"#,
      #"{"title":"t","page":"p","links":{"html":"h","self":"s"},"url":"u","id":1,"_id":2}"#,
      #"{"title":"t","_id":2}"#,
      #"{"title":"t","page":null,"url":"u"}"#,
    ])
  func everythingIsWrittenAgain(text: String) throws {
    let adapter = try JSONAdapter<Notice>(unknownKeys: .capture)
    let notice = try adapter.decode(Data(text.utf8))
    let (before, after) = try (JSONReader().read(Data(text.utf8)), JSONReader().read(adapter.encode(notice)))
    #expect(after.objectValue == before.objectValue?.withoutNullPage, "\(after)")
  }

  @Test("U-22: a value read from an alternative path is written at the first path")
  func chosenAlternative() throws {
    let adapter = try JSONAdapter<Notice>(unknownKeys: .capture)
    let notice = try adapter.decode(Data(#"{"title":"t","links":{"html":"h","self":"s"},"url":"u"}"#.utf8))
    let written = try JSONReader().read(adapter.encode(notice))
    #expect(written == ["title": "t", "page": "h", "links": ["self": "s"], "url": "u"])
  }

  @Model(version: 1, name: "Ticketed")
  struct Ticketed {
    @Field(json: .firstOf("a.b", "c")) var first: Int?
    @Field(json: .writeOnly("auth.token")) var token: String?
    @Field(json: .writeOnly(.firstOf("keys[0]", "key"))) var key: String?
    var unknownFields = UnknownFields()
  }

  @Test("U-22: a field's error is the same with and without captured unknown keys")
  func errorOfAlternative() throws {
    let document = try value(#"{"a":5}"#)
    for unknownKeys in [JSONUnknownKeys.ignore, .capture] {
      let adapter = try JSONAdapter<Ticketed>(unknownKeys: unknownKeys)
      let error = #expect(throws: ArchiveError.self) { try adapter.decode(document) }
      #expect(error?.code == .typeMismatch && error?.codingPath == [.key("first")], "\(unknownKeys)")
      #expect(error?.jsonPath == [.key("a")] && error?.typeName == "Ticketed")
      let all = #expect(throws: ArchiveError.self) { try adapter.decode(document, errors: .collectAll) }
      #expect(all?.all.map(\.codingPath) == [[.key("first")]])
    }
  }

  @Test("U-22: a write-only field reads nothing, so a value at one of its alternative paths is kept")
  func alternativeOfWritten() throws {
    let adapter = try JSONAdapter<Ticketed>(unknownKeys: .capture)
    #expect(try adapter.encodeValue(adapter.decode(value(#"{"key":1}"#)), nulls: .omit) == ["key": 1])
  }

  @Test(
    "U-22: capturing throws if an unread value blocks the path of a written field",
    arguments: [
      (#"{"auth":"basic"}"#, "token", "auth"), (#"{"auth":[1]}"#, "token", "auth"),
      (#"{"keys":{"a":1}}"#, "key", "keys"), (#"{"keys":"k","key":1}"#, "key", "keys"),
    ])
  func inTheWay(text: String, field: String, path: String) throws {
    let adapter = try JSONAdapter<Ticketed>(unknownKeys: .capture)
    let json = try value(text)
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(json) }
    #expect(error?.code == .typeMismatch && error?.codingPath == [.key(field)] && error?.typeName == "Ticketed")
    #expect(error?.jsonPathDescription == path && error?.reason.contains("unknownKeys: .capture") == true)
    var ticket = Ticketed()
    #expect(throws: ArchiveError.self) { try adapter.merge(.json(json), into: &ticket) }
    // Without capturing, unread keys are skipped.
    #expect(throws: Never.self) { try JSONAdapter<Ticketed>().decode(json) }
  }

  @Test("U-22: all values that cannot be captured are reported; null and matching containers are accepted")
  func allInTheWay() throws {
    let adapter = try JSONAdapter<Ticketed>(unknownKeys: .capture)
    let all = #expect(throws: ArchiveError.self) {
      try adapter.decode(value(#"{"a":1,"auth":2,"keys":3}"#), errors: .collectAll)
    }
    #expect(all?.all.map(\.codingPath) == [[.key("first")], [.key("token")], [.key("key")]])
    // Keys next to a field can be captured. If a container is null, every field inside it is null.
    for text in [#"{"auth":{"kind":"basic"}}"#, #"{"auth":null}"#, #"{"keys":[]}"#, #"{"keys":["k","l"]}"#] {
      #expect(throws: Never.self) { try adapter.decode(value(text)) }
    }
  }

  @Model(version: 1, name: "Rowed")
  struct Rowed {
    @Field(json: "[0].name") var name: String?
    @Field(json: "[1]") var count: Int?
    var unknownFields = UnknownFields()
  }

  @Test("With an array at the root, unread values throw unknownKey for both refuse and capture")
  func arrayAtRoot() throws {
    for (text, path) in [(#"[{"name":"a","size":1},2]"#, "[0]"), (#"[{"name":"a"},2,3]"#, "[2]")] {
      let error = #expect(throws: ArchiveError.self) {
        try JSONAdapter<Rowed>(unknownKeys: .capture).decode(value(text))
      }
      #expect(error?.code == .unknownKey && error?.pathDescription == path)
    }
    let refused = #expect(throws: ArchiveError.self) {
      try JSONAdapter<Rowed>(unknownKeys: .refuse).decode(value(#"[{"name":"a","size":1},2]"#))
    }
    #expect(refused?.code == .unknownKey && refused?.pathDescription == "[0].size")
    for unknownKeys in [JSONUnknownKeys.refuse, .capture] {
      #expect(try JSONAdapter<Rowed>(unknownKeys: unknownKeys).decode(value(#"[{"name":"a"},2]"#)).count == 2)
    }
  }

  @Test("U-22: a captured key can equal the current or former name of a field with another JSON key")
  func sameName() throws {
    let adapter = try JSONAdapter<Renamed>(unknownKeys: .capture)
    let text = #"{"headline":"h","title":"T","caption":[1],"\#u{E000}title":2,"x":1}"#
    let renamed = try adapter.decode(Data(text.utf8))
    #expect(renamed.title == "h" && renamed.archivedUnknownFields["title"] == "T")
    #expect(renamed.archivedUnknownFields["caption"] == [1] && renamed.archivedUnknownFields.object.count == 4)
    #expect(try String(decoding: adapter.encode(renamed), as: UTF8.self) == text)
    #expect(try adapter.encodeValue(renamed, fields: .only(["title"])) == ["headline": "h"])
    let archived = try ArchiveDecoder().decode(Renamed.self, from: ArchiveEncoder().encode(renamed))
    #expect(archived == renamed)
    #expect(
      try ArchiveUpgrader(Renamed.self).upgrade(ArchiveEncoder().encode(renamed)) == ArchiveEncoder().encode(renamed))
    var merged = Renamed(title: "h")
    try adapter.merge(.json(Data(text.utf8)), into: &merged)
    #expect(merged == renamed)
    try merged.mergeValues(from: archived)
    #expect(merged == renamed)
    #expect(try adapter.encodeValue(renamed.copy()) == adapter.encodeValue(renamed))
  }
}

/// A model with a field that has one key in JSON and a former key in archives.
private struct Renamed: VersionedModel, Equatable {
  var title: String?
  var archivedUnknownFields = UnknownFields()

  static let schema = ModelSchema(
    Renamed.self, name: "RestRenamed", version: 1,
    fields: [FieldInfo("title", String?.self, formerly: ["caption"], json: "headline")], keepsUnknownFields: true)

  init(title: String?) { self.title = title }

  init(fields reader: inout ArchiveReader) throws {
    title = try reader.field(0)
    archivedUnknownFields = reader.readUnknownFields()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, title) }
}

extension ArchiveObject {
  /// The object, without `page` if its value is null, because the adapter omits such a null.
  fileprivate var withoutNullPage: ArchiveObject {
    ArchiveObject(entries.filter { !($0.key == "page" && $0.value.isNull) })
  }
}
