import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct Lenient: Equatable {
  @Field(json: .path("n").lenient(.numericString, .wholeNumber)) var number: Int?
  @Field(json: .path("d").lenient(.numericString)) var ratio: Double?
  @Field(json: .path("b").lenient(.booleanNumber, .booleanString)) var flag: Bool?
  @Field(json: .path("s").lenient(.stringFromNumber, .emptyStringAsNull)) var text: String?
  @Field(json: .path("t").lenient(.singleElement)) var tags: [String] = []
}

@Model(version: 1)
private struct Nulls: Equatable {
  @Field(json: .path("plain")) var plain = 1
  @Field(json: .path("default").null(.useDefault)) var fallback = 2
  @Field(json: .path("value").null(.value(33))) var value = 3
  @Field(json: .path("missing").missing("44")) var missing = "4"
  @Field(json: .path("custom", .nullAware)) var custom: String? = "default"
}

extension ReversibleTransformer where Input == String?, Output == String? {
  fileprivate static var nullAware: Self { Self({ $0 ?? "was null" }, reverse: { $0 == "was null" ? nil : $0 }) }
}

@Model(version: 1)
private struct Point: Equatable {
  @Field(json: "coordinates[0]") var longitude: Double
  @Field(json: "coordinates[1]") var latitude: Double
}

@Model(version: 1)
private struct Alternatives: Equatable {
  @Field(json: .firstOf("id", "_id", "meta.id")) var id: Int?
  @Field(json: .readOnly("labels[*].name")) var names: [String] = []
  @Field(json: "dotted\\.key") var dotted: String?
  @Field(json: "@type") var type: String?
  @Field(json: .readOnly(.entireObject)) var raw: ArchiveValue?
}

@Model(version: 1)
private struct Team: Equatable {
  var members: [Member] = []
  @Field(json: .path("numbers").skippingInvalid) var numbers: [Int] = []
}

@Suite("Reading JSON with an adapter")
struct AdapterReadingTests {
  let members = try? JSONAdapter<Member>()

  private func member(_ text: String) throws -> Member { try #require(members).decode(json(text)) }

  @Test("J-4: unknown keys are ignored at any depth, whatever their values")
  func unknownKeys() throws {
    let read = try member(#"{"username": "a", "x": null, "nested": {"name": "b", "y": [1]}, "z": {"username": 1}}"#)
    #expect(read == Member(name: "a", nestedName: "b"))
  }

  @Test("J-5: a path through null yields nil; a path through any other non-object throws with the full path")
  func walking() throws {
    #expect(try member(#"{"nested": null}"#).nestedName == nil)
    // Null replaces the default. An absent key keeps it.
    let spare = try JSONAdapter<Nulls>(["custom": "a.b"])
    #expect(try spare.decode(json(#"{"a": null}"#)).custom == nil)
    #expect(try spare.decode(json(#"{"a": {}}"#)).custom == "default")
    for text in [#"{"nested": "bar"}"#, #"{"nested": [{"name": "x"}]}"#, #"{"nested": 3}"#] {
      let error = archiveError { try member(text) }
      #expect(error?.code == .typeMismatch && error?.codingPath == [.key("nestedName")])
      #expect(error?.jsonPath == [.key("nested")] && error?.typeName == "Member")
    }
  }

  @Test("J-6, U-18, X-3: an absent key keeps the default and skips the transformer; null is a value")
  func absence() throws {
    #expect(try member("{}") == Member())
    let adapter = try JSONAdapter<Nulls>()
    #expect(try adapter.decode(json("{}")) == Nulls(missing: "44"))
    let nulls = try adapter.decode(json(#"{"default": null, "value": null, "custom": null}"#))
    #expect(nulls == Nulls(fallback: 2, value: 33, missing: "44", custom: "was null"))
    #expect(try adapter.encodeValue(nulls)["custom"] == .null)
    #expect(try member(#"{"username": null}"#).name == nil)
  }

  @Test("M-7, KV-9, U-2: null for a non-optional field throws typeMismatch with the path")
  func nullPolicy() throws {
    let error = archiveError { try JSONAdapter<Nulls>().decode(json(#"{"plain": null}"#)) }
    #expect(error?.code == .typeMismatch && error?.codingPath == [.key("plain")])
  }

  @Test("J-7, U-18: a field with several paths distinguishes null from absent, and is absent if all paths are")
  func severalPaths() throws {
    let adapter = try JSONAdapter<Spot>()
    #expect(
      try adapter.decode(json(#"{"name": "x", "at": {"lat": 1.5}}"#)).span == Span(latitude: 1.5, longitude: nil))
    #expect(try adapter.decode(json(#"{"name": "x"}"#)).span == nil)
    #expect(try adapter.decode(json(#"{"name": "x", "at": {}}"#)).span == nil)
    #expect(try adapter.decode(json(#"{"name": "x", "at": {"lat": null}}"#)).span == Span())
    let error = archiveError { try adapter.decode(json(#"{"name": "x", "at": 3}"#)) }
    #expect(error?.codingPath == [.key("span")] && error?.jsonPath == [.key("at")])
  }

  @Test("J-8: several paths without a transformer decode to an object of the values that are present")
  func untransformedPaths() throws {
    let adapter = try JSONAdapter<Exact>(["anything": .paths("a.b", "c")])
    let value = try adapter.decode(json(#"{"a": {"b": 1}, "c": null}"#))
    #expect(value.anything == ["a.b": 1, "c": .null])
    #expect(try text(adapter.encodeValue(value)) == #"{"a":{"b":1},"c":null}"#)
    // An archive contains these keys, so they are spelled exactly like the paths.
    let special = try JSONAdapter<Exact>(["anything": .paths("a=b]", #"c\.d\[0]"#)])
    let found = try special.decode(json(#"{"a=b]": 1, "c.d[0]": 2}"#))
    #expect(found.anything == ["a=b]": 1, #"c\.d\[0]"#: 2])
    #expect(try text(special.encodeValue(found)) == #"{"a=b]":1,"c.d[0]":2}"#)
  }

  @Test("J-9: decoding a model from a non-object throws typeMismatch", arguments: ["null", "[]", "3", #""x""#])
  func topLevel(document: String) throws {
    let error = archiveError { try member(document) }
    #expect(error?.code == .typeMismatch && error?.typeName == "Member" && error?.codingPath == [])
    #expect(error?.reason.contains("Member") == true)
  }

  @Test("J-9, J-11, U-13: decodeArray throws at the first bad element, or skips bad elements and reports each error")
  func arrays() throws {
    let adapter = try #require(members)
    let document = try json(#"[{"username": "a"}, "x", {"count": "y"}, {"username": "b"}]"#)
    let error = archiveError { try adapter.decodeArray(document) }
    #expect(error?.codingPath == [.index(1)] && error?.code == .typeMismatch)
    let all = archiveError { try adapter.decodeArray(document, errors: .collectAll) }
    #expect(all?.all.map(\.codingPath) == [[.index(1)], [.index(2), .key("count")]])
    var failures: [ArchiveError] = []
    #expect(try adapter.decodeArray(document, onInvalid: { failures.append($0) }).map(\.name) == ["a", "b"])
    #expect(failures.map(\.codingPath.first) == [.index(1), .index(2)])
    #expect(archiveError { try adapter.decodeArray(json(#"{"a": 1}"#)) }?.code == .typeMismatch)
    #expect(archiveError { try adapter.decodeArray(json("null"), onInvalid: { _ in }) }?.code == .typeMismatch)
  }

  @Test("U-11: models and arrays are decoded at a path, including array indices")
  func wrapped() throws {
    let adapter = try #require(members)
    let document = try json(#"{"data": {"items": [{"username": "a"}], "item": {"count": true}}}"#)
    #expect(try adapter.decodeArray(document, at: "data.items").map(\.name) == ["a"])
    #expect(try adapter.decode(document, at: "data.items[0]").name == "a")
    #expect(
      archiveError { try adapter.decode(document, at: "data.item") }?.codingPath == [
        .key("data"), .key("item"), .key("count"),
      ]
    )
    #expect(archiveError { try adapter.decode(document, at: "data.none") }?.code == .missingValue)
    for index in [-1, 5, .max] {
      let path = ValuePath([.key("list"), .index(index)]), text = Data(#"{"list": [1, 2]}"#.utf8)
      #expect(archiveError { try adapter.decode(text, at: path) }?.code == .missingValue)
      #expect(archiveError { try adapter.decode(JSONReader().read(text), at: path) }?.code == .missingValue)
    }
    #expect(archiveError { try adapter.decode(document, at: "data.items.x") }?.code == .typeMismatch)
    #expect(try JSONAdapter<Exact>(["number": .readOnly("[1]")]).decode(json("[5, 6]")).number == 6)
  }

  @Test("J-13, J-17: nested models in arrays are decoded, and a null optional model is nil")
  func selection() throws {
    let friend = try JSONAdapter<Friend>().decode(json(#"{"login": "a", "groups": [{"name": "g", "owner": null}]}"#))
    #expect(friend.name == "a" && friend.groups.map(\.name) == ["g"] && friend.groups[0].owner == nil)
  }

  @Test("J-13: a field's transformer overrides the mapping's, which overrides the type's default form")
  func precedence() throws {
    let document = try json(#"{"at": 5, "when": 7.5, "url": "http://a.b"}"#)
    let mapping = JSONMapping<Timed>.model.transforming(by: ReversibleTransformer.secondsSince1970)
    let timed = try JSONAdapter(mapping).decode(document)
    #expect(timed.at == Date(timeIntervalSince1970: 0.005) && timed.when == Date(timeIntervalSince1970: 7.5))
    #expect(timed.url == URL(string: "http://a.b"))
    let plain = try JSONAdapter<Timed>().decode(json(#"{"at": 5, "when": "1970-01-01T00:00:07.5Z"}"#))
    #expect(plain.at == timed.at && plain.when == timed.when)
  }

  @Test("J-14, M-2: a computed property takes part only if it is declared as a field")
  func computed() throws {
    let adapter = try JSONAdapter<Linked>()
    let linked = try adapter.decode(json(#"{"host": "a.b", "name": "x", "link": "http://c.d/"}"#))
    #expect(linked == Linked(host: "a.b"))
    #expect(try text(adapter.encodeValue(linked)) == #"{"host":"a.b","link":"http://a.b/"}"#)
    #expect(archiveError { try adapter.decode(json(#"{"host": "a.b", "link": 3}"#)) }?.codingPath == [.key("link")])
  }

  @Test("J-16, J-17: a nested model is nil for null, and throws typeMismatch for any other non-object")
  func nestedModels() throws {
    let adapter = try JSONAdapter<Group>()
    #expect(try adapter.decode(json(#"{"name": "g", "owner": null}"#)).owner == nil)
    for owner in ["3", "[]", #""x""#, "true"] {
      let error = archiveError { try adapter.decode(json(#"{"name": "g", "owner": \#(owner)}"#)) }
      #expect(error?.code == .typeMismatch && error?.codingPath == [.key("owner")] && error?.typeName == "Friend")
    }
  }

  @Test("J-10, J-12: an error thrown by the model's own code becomes the underlying error, with its path")
  func ownErrors() throws {
    let error = archiveError { try JSONAdapter<[Picky]>().decode(json(#"[{"number": 1}, {"number": 13}]"#)) }
    #expect(error?.code == .rejected && error?.codingPath == [.index(1)] && error?.typeName == "Picky")
    #expect(error?.underlyingError as? Picky.Refusal == Picky.Refusal(number: 13))
    let all = archiveError {
      try JSONAdapter<[Picky]>().decode(json(#"[{"number": 13}, {"number": "x"}]"#), errors: .collectAll)
    }
    #expect(all?.all.map(\.codingPath) == [[.index(0)], [.index(1), .key("number")]])
  }

  @Test("U-9: type names in a document are ordinary keys and never select a type")
  func closedWorld() throws {
    let document = try json(#"{"username": "a", "$class": "Group", "@type": "Friend", "__proto__": {}, "isa": "x"}"#)
    #expect(try #require(members).decode(document) == Member(name: "a"))
  }

  @Test("J-19: recursive models are decoded and encoded to the depth of the document")
  func recursion() throws {
    let adapter = try JSONAdapter<Friend>()
    let document = try json(
      #"{"login": "a", "groups": [{"name": "g", "owner": {"login": "b", "groups": [{"name": "h", "owner": null}]}}]}"#)
    let friend = try adapter.decode(document)
    #expect(friend.groups[0].owner?.groups[0].name == "h")
    #expect(try adapter.encodeValue(friend) == document)
  }

  @Test(
    "J-15, U-10, KV-2, X-5: a value of the wrong type is rejected without coercion",
    arguments: [
      (#"{"text": 666}"#, "text"), (#"{"flag": "Potentially"}"#, "flag"), (#"{"flag": 1}"#, "flag"),
      (#"{"number": true}"#, "number"), (#"{"number": 3.9}"#, "number"), (#"{"number": "3"}"#, "number"),
      (#"{"number": 9223372036854775808}"#, "number"), (#"{"small": 128}"#, "small"), (#"{"small": true}"#, "small"),
      (#"{"unsigned": -1}"#, "unsigned"), (#"{"ratio": true}"#, "ratio"), (#"{"ratio": "1"}"#, "ratio"),
    ])
  func exactness(document: String, key: String) throws {
    let error = archiveError { try JSONAdapter<Exact>().decode(json(document)) }
    #expect(error?.code == .typeMismatch && error?.codingPath == [.key(key)])
    // The input of the error is the value, but the description of the error does not contain it.
    #expect(try error?.input as? ArchiveValue == json(document)[key])
    #expect(error?.description.contains("Potentially") == false)
  }

  @Test("J-15, X-5: integers keep all digits, and an untyped field accepts any value")
  func numbers() throws {
    let exact = try JSONAdapter<Exact>().decode(
      json(
        #"{"number": 9007199254740993, "unsigned": 18446744073709551615, "small": -128, "ratio": 0.8333333, "anything": {"a": [true]}}"#
      ))
    #expect(exact.number == 9_007_199_254_740_993 && exact.unsigned == .max && exact.small == -128)
    #expect(exact.ratio == 0.8333333 && exact.anything == ["a": [true]])
    #expect(
      try text(JSONAdapter<Exact>().encodeValue(exact, nulls: .omit))
        == #"{"number":9007199254740993,"small":-128,"unsigned":18446744073709551615,"ratio":0.8333333,"anything":{"a":[true]}}"#
    )
  }

  @Test("J-15, U-10: coercion applies only to the fields and forms that declare it")
  func coercion() throws {
    let adapter = try JSONAdapter<Lenient>()
    let read = try adapter.decode(
      json(#"{"n": "12", "d": "-1.5e3", "b": 1, "s": 12, "t": "only"}"#))
    #expect(read == Lenient(number: 12, ratio: -1500, flag: true, text: "12", tags: ["only"]))
    #expect(try adapter.decode(json(#"{"n": 3.0, "b": "false", "s": ""}"#)) == Lenient(number: 3, flag: false))
    #expect(
      try text(adapter.encodeValue(read)) == #"{"n":12,"d":-1500.0,"b":true,"s":"12","t":["only"]}"#)
    for text in [
      #"{"n": "12x"}"#, #"{"n": ""}"#, #"{"n": "1.5"}"#, #"{"n": 3.5}"#, #"{"n": true}"#, #"{"d": "nan"}"#,
      #"{"d": "0x1p3"}"#,
      #"{"d": " 1"}"#, #"{"b": 2}"#, #"{"b": "yes"}"#, #"{"s": true}"#, #"{"t": 1}"#, #"{"n": "99999999999999999999"}"#,
    ] {
      #expect(archiveError { try adapter.decode(json(text)) }?.code == .typeMismatch, "\(text)")
    }
  }

  @Test("J-18, E-3, T-4: a failing transformer reports its input, its path and the underlying error")
  func transformerFailure() throws {
    let error = archiveError { try member(#"{"count": "many"}"#) }
    #expect(error?.code == .rejected && error?.codingPath == [.key("count")] && error?.input as? String == "many")
    #expect((error?.underlyingError as? TransformError)?.reason == "the text is no number")
    #expect(error?.description.contains("many") == false)
    let mismatch = archiveError { try member(#"{"count": 666}"#) }
    #expect(mismatch?.code == .typeMismatch && mismatch?.input as? ArchiveValue == 666)
  }

  @Test("E-8, U-4: errors contain the full property and JSON paths through models, arrays and dictionaries")
  func paths() throws {
    let adapter = try JSONAdapter<[String: Team]>()
    let error = archiveError {
      try adapter.decode(json(#"{"a": {"members": [{}, {"nested": {"name": 3}}]}}"#))
    }
    #expect(error?.codingPath == [.key("a"), .key("members"), .index(1), .key("nestedName")])
    #expect(error?.jsonPath == [.key("a"), .key("members"), .index(1), .key("nested"), .key("name")])
    #expect(error?.pathDescription == "a.members[1].nestedName")
    #expect(error?.description.contains("in JSON at a.members[1].nested.name") == true)
  }

  @Test("U-4, V-8: collectAll reports all errors in schema order, including those of nested models")
  func collecting() throws {
    let document = try json(
      #"{"ratio": "x", "text": 1, "number": 2.5, "anything": 1}"#)
    let error = archiveError { try JSONAdapter<Exact>().decode(document, errors: .collectAll) }
    #expect(error?.all.map(\.key) == ["text", "number", "ratio"])
    let team = try json(#"{"members": [{"count": 1}, {"username": 5, "nested": 1, "count": "x"}, {}], "numbers": 3}"#)
    let nested = archiveError { try JSONAdapter<Team>().decode(team, errors: .collectAll) }
    #expect(
      nested?.all.map(\.pathDescription) == [
        "members[0].count", "members[1].name", "members[1].count", "members[1].nestedName", "numbers",
      ])
    #expect(archiveError { try JSONAdapter<Team>().decode(team) }?.pathDescription == "members[0].count")
    #expect(
      archiveError { try JSONAdapter<Spot>().decode(json("{}"), errors: .collectAll) }?.all.map(\.key) == ["name"])
  }

  @Test("U-13: skippingInvalid omits the invalid elements of an array field")
  func skippingElements() throws {
    let team = try JSONAdapter<Team>().decode(json(#"{"numbers": [1, "x", 2.5, 3, null]}"#))
    #expect(team.numbers == [1, 3])
    #expect(archiveError { try JSONAdapter<Team>().decode(json(#"{"numbers": 1}"#)) }?.code == .typeMismatch)
  }

  @Test("U-11: paths support alternative keys, every element, dots and @ in keys, and the whole object")
  func alternatives() throws {
    let adapter = try JSONAdapter<Alternatives>()
    let document = try json(
      #"{"_id": 4, "id2": 5, "labels": [{"name": "a"}, {"name": "b"}], "dotted.key": "d", "@type": "t"}"#)
    let read = try adapter.decode(document)
    #expect(read.id == 4 && read.names == ["a", "b"] && read.dotted == "d" && read.type == "t" && read.raw == document)
    #expect(try text(adapter.encodeValue(read)) == #"{"id":4,"dotted.key":"d","@type":"t"}"#)
    // A key whose value is null counts as present.
    #expect(try adapter.decode(json(#"{"id": null, "_id": 4}"#)).id == nil)
    #expect(try adapter.decode(json(#"{"meta": {"id": 9}}"#)).id == 9)
    let error = archiveError { try adapter.decode(json(#"{"labels": [{"name": "a"}, {}]}"#)) }
    #expect(error?.code == .missingValue && error?.jsonPath == [.key("labels"), .index(1)])
  }

  @Test("U-11: array indices in paths are read and written")
  func indices() throws {
    let adapter = try JSONAdapter<Point>()
    let document = try json(#"{"coordinates": [8.5, 47.25]}"#)
    let point = try adapter.decode(document)
    #expect(point == Point(longitude: 8.5, latitude: 47.25))
    #expect(try adapter.encodeValue(point) == document)
    let error = archiveError { try adapter.decode(json(#"{"coordinates": [1.5, "x"]}"#)) }
    #expect(error?.jsonPath == [.key("coordinates"), .index(1)] && error?.codingPath == [.key("latitude")])
    #expect(archiveError { try adapter.decode(json(#"{"coordinates": [1.5]}"#)) }?.code == .missingValue)
    #expect(archiveError { try adapter.decode(json(#"{"coordinates": {"0": 1}}"#)) }?.code == .typeMismatch)
  }

  @Test("P-10, P-11: an adapter works as a transformer for a model or an array, and nulls keep their positions")
  func modelTransformers() throws {
    let adapter = try #require(members)
    let one = ReversibleTransformer.model(adapter)
    #expect(try one.transform(["username": "a"]) == Member(name: "a"))
    #expect(try one.optional.transform(nil) == nil)
    #expect(throws: TransformError.self) { try one.transform(3) }
    let many = ReversibleTransformer<ArchiveValue, [Member?]>.models(adapter)
    let document = ArchiveValue.array((0..<10).map { $0 == 2 ? .null : ["username": .string("\($0)")] })
    let models = try many.transform(document)
    #expect(models.count == 10 && models[2] == nil && models[9]?.name == "9")
    #expect(try many.reverse(models).arrayValue?[2] == .null)
    let error = #expect(throws: TransformError.self) { try many.transform([["username": "a"], 3]) }
    #expect(error?.path == [.index(1)])
  }

  @Test("U-21: an object keyed by identifier decodes as an array whose elements contain the identifier")
  func keyedElements() throws {
    let adapter = try JSONAdapter(
      JSONMapping<Team>(["members": .path("by_name", .keyedElements("username"))]))
    let document = try json(#"{"by_name": {"b": {"count": "2"}, "a": {"count": "1"}}}"#)
    let team = try adapter.decode(document)
    #expect(team.members.map(\.name) == ["b", "a"] && team.members.map(\.count) == [2, 1])
    #expect(try adapter.decode(adapter.encodeValue(team)) == team)
    #expect(try adapter.encodeValue(team)["by_name"]?["a"]?["count"] == "1")
  }

  @Test("J-31, U-20: using(_:) decodes and encodes nested models with a custom mapping")
  func using() throws {
    let nested = try JSONAdapter<Member>(["name": "n"])
    let adapter = try JSONAdapter<Team>().using(nested)
    let document = try json(#"{"members": [{"n": "x"}], "numbers": []}"#)
    let team = try adapter.decode(document)
    #expect(team.members == [Member(name: "x")])
    #expect(try adapter.encodeValue(team) == document)
    #expect(try JSONAdapter<Team>().decode(document).members == [Member()])
    #expect(try JSONAdapter<[Team]>().using(nested).decode(.array([document])).first == team)
  }
}

@Model(version: 1)
private struct Timed {
  @Field(json: .path("at", .millisecondsSince1970)) var at: Date?
  var when: Date?
  var url: URL?
}

private struct Linked: DescribedModel, Equatable {
  var host: String
  var name: String { host }
  var link: URL? { URL(string: "http://\(host)/") }
  static let fields = Fields(
    Linked.self, version: 1, Field("host", \.host), Field("link", \.link), make: { host, _ in Linked(host: host) })
}

private struct Picky: DescribedModel {
  struct Refusal: Error, Equatable { let number: Int }

  var number: Int
  static let fields = Fields(
    Picky.self, version: 1, Field("number", \.number),
    make: { number in
      guard number != 13 else { throw Refusal(number: number) }
      return Picky(number: number)
    })
}
