import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct Page: Equatable {
  var id = 0
  var createdAt: Date?
  var htmlURL: URL?
  var title = "untitled"
  var isLocked = false
}

private struct Note: DescribedModel, Equatable {
  var title: String
  var votes: Int
  static let fields = Fields(
    Note.self, version: 1, Field("title", \.title, default: ""), Field("votes", \.votes, default: 0),
    make: { Note(title: $0, votes: $1) })
  var double: Int { votes * 2 }
}

@Suite("JSON mapping")
struct MappingTests {
  @Test("J-1: fields that the mapping omits are neither read nor written")
  func explicit() throws {
    let adapter = try JSONAdapter<Page>(["title": "headline"])
    let page = try adapter.decode(json(#"{"headline": "x", "id": 7}"#))
    #expect(page == Page(title: "x"))
    #expect(try text(adapter.encodeValue(page)) == #"{"headline":"x"}"#)
  }

  @Test("J-1, H-7, U-19: identity and snake_case mappings can be combined with custom entries")
  func conventions() throws {
    #expect(JSONMapping<Page>.identity.fields.keys.sorted() == ["createdAt", "htmlURL", "id", "isLocked", "title"])
    let snake = try JSONAdapter<Page>(.snakeCase.merging(["title": "meta.title"]).removing("isLocked", "nothing"))
    let page = try snake.decode(
      json(
        #"{"id": 1, "created_at": "2011-01-26T19:01:12Z", "html_url": "http://a.b", "meta": {"title": "t"}, "is_locked": true}"#
      ))
    #expect(
      page
        == Page(
          id: 1, createdAt: Date(timeIntervalSince1970: 1_296_068_472), htmlURL: URL(string: "http://a.b"), title: "t"))
    #expect(
      try text(snake.encodeValue(page))
        == #"{"id":1,"created_at":"2011-01-26T19:01:12Z","html_url":"http://a.b","meta":{"title":"t"}}"#)
  }

  @Test("H-5, H-6: merging mappings overrides existing entries, and removing an unknown field has no effect")
  func composition() {
    let mapping = JSONMapping<Page>(["id": "a", "title": "b"])
    let merged = mapping.merging(["title": "c"])
    #expect(merged.fields["title"]?.source == .path("c") && merged.fields["id"]?.source == .path("a"))
    #expect(mapping.merging([:]).fields.count == 2)
    #expect(mapping.removing("x").fields.count == 2 && mapping.removing("id", "title").fields.isEmpty)
  }

  @Test("J-1: a mapping can include another model's entries for the fields that both models declare")
  func including() throws {
    let mapping = JSONMapping<Page>(["id": "number"]).including(JSONMapping<Note>(["title": "name", "votes": "v"]))
    #expect(mapping.fields.keys.sorted() == ["id", "title"])
    #expect(try JSONAdapter(mapping).decode(json(#"{"number": 3, "name": "n"}"#)) == Page(id: 3, title: "n"))
  }

  @Test("J-2, E-2, U-4: creating an adapter reports all mapping mistakes in one error")
  func mistakes() throws {
    let error = archiveError {
      try JSONAdapter<Page>([
        "nope": "x", "other": "y",
        "id": .path("user"), "title": .path("user.login"),
        "htmlURL": .path("page", .uuid),
        "isLocked": .path("locked", Transformer<String, Bool> { $0 == "Y" }),
      ])
    }
    #expect(error?.code == .invalidMapping)
    #expect(
      error?.all.map(\.codingPath)
        == [["nope"], ["other"], ["htmlURL"], ["isLocked"], ["title"]].map { $0.map { .key($0) } })
    #expect(error?.all.allSatisfy { $0.code == .invalidMapping && $0.all.count == 1 } == true)
    #expect(error?.description.contains("nope") == true && error?.description.contains("isLocked") == true)
  }

  @Test(
    "J-25, U-11: conflicting write paths are rejected when the adapter is created",
    arguments: [
      ["id": "user", "title": "user"], ["id": "user", "title": "user.login"], ["id": "user.login", "title": "user"],
      ["id": "a[0]", "title": "a.b"], ["id": "a[1]"], ["id": "a[0]", "title": "a[2]"], ["id": "labels[*].name"],
    ] as [[String: ValuePath]])
  func conflicts(paths: [String: ValuePath]) throws {
    let fields = paths.mapValues { JSONField.path($0) }
    #expect(archiveError { try JSONAdapter(JSONMapping<Page>(fields)) }?.code == .invalidMapping)
    // Read-only fields cannot conflict.
    _ = try JSONAdapter(JSONMapping<Page>(fields.mapValues { .readOnly($0) }))
  }

  @Test(
    "J-2: inapplicable options, empty path lists and ambiguous value tables throw invalidMapping")
  func otherMistakes() {
    let fields: [JSONField] = [
      .path("x").lenient(.numericString), .firstOf(), .paths(), .path("x").skippingInvalid,
      .path("x", .values(["a": "b", "a": "c"])),
      .path("x", ReversibleTransformer.date(format: "").then(ReversibleTransformer.iso8601.inverted)),
    ]
    for field in fields {
      #expect(archiveError { try JSONAdapter<Page>(["title": field]) }?.code == .invalidMapping)
    }
    #expect(archiveError { try JSONAdapter<Label>(["name": .path("x").null(.useDefault)]) }?.code == .invalidMapping)
  }

  @Test("J-2: mapping mistakes in nested models are reported")
  func nestedMistakes() {
    let error = archiveError { try JSONAdapter<[String: [Holder]]>() }
    #expect(error?.code == .invalidMapping && error?.typeName == "Wrong" && error?.codingPath == [.key("b")])
    #expect(archiveError { try Wrong(fromJSON: json("{}")) }?.code == .invalidMapping)
  }

  @Test("J-1: a mapping can name fields by key path; a key path to a non-field throws invalidMapping")
  func keyPaths() throws {
    let adapter = try JSONAdapter(JSONMapping<Note>.identity.setting(\.votes, "meta.votes"))
    #expect(try adapter.decode(json(#"{"meta": {"votes": 3}}"#)).votes == 3)
    #expect(
      archiveError { try JSONAdapter(JSONMapping<Note>.identity.setting(\.double, "x")) }?.code == .invalidMapping)
  }

  @Test("J-3, J-33: a type can have several adapters with different mappings, each reusable")
  func several() throws {
    let first = try JSONAdapter(Page.self, ["title": "name"])
    let second = try JSONAdapter(Page.self, ["title": "label.text"])
    for number in 0..<3 {
      let page = Page(title: "t\(number)")
      #expect(try first.decode(first.encodeValue(page)) == page)
      #expect(try second.decode(second.encodeValue(page)) == page)
    }
    #expect(try text(second.encodeValue(Page(title: "x"))) == #"{"label":{"text":"x"}}"#)
  }

  @Test("J-13: a mapping's transformer applies to all fields of its type")
  func perType() throws {
    let adapter = try JSONAdapter(JSONMapping<Page>.identity.transforming(by: ReversibleTransformer.secondsSince1970))
    #expect(try adapter.decode(json(#"{"createdAt": 5}"#)).createdAt == Date(timeIntervalSince1970: 5))
    #expect(try adapter.encodeValue(Page(createdAt: Date(timeIntervalSince1970: 5.5)))["createdAt"] == 5.5)
  }
}

@Model(version: 1)
private struct Label { var name: String }

@Model(version: 1)
private struct Wrong {
  @Field(json: "x") var a: String?
  @Field(json: "x.y") var b: String?
}

@Model(version: 1)
private struct Holder { var wrong: Wrong? }
