import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct Report: Equatable {
  @Field(json: .readOnly("id")) var id: Int?
  var title = ""
  @Field(json: "user.login") var author: String?
  @Field(json: "user.site") var site: URL?
  @Field(json: .writeOnly("token")) var token: String?
  @Field(json: .path("due").writing(nulls: .omit)) var due: Date?
  var tags: [String] = []
  var unknownFields = UnknownFields()
}

@Model(version: 1)
private struct Kinds: Equatable {
  var date = Date(timeIntervalSince1970: 1_296_068_472)
  var url = URL(string: "http://a.b/c")
  var uuid = UUID(uuidString: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f")
  var data = Data([1, 2, 255])
  var float: Float = 0.1
  var byInteger = [7: "seven", -1: "minus"]
  var byText = ["b": true, "a": false]
  var set: Set<Int> = [3, 1]
  var decimal = Decimal(string: "8.33")
  var codable = Coordinate(latitude: 1, longitude: 2.5)
  var byID: [UUID: Int] = [:]
}

@Model(version: 1)
private struct Plant: Equatable {
  var name: String
  var note: String?
  var child: Branch?
  var table: [String: Branch] = [:]
}

@Model(version: 1)
private struct Branch: Equatable {
  var leaf: String?
  var numbers: [Int?] = []
}

@Suite("Writing JSON with an adapter")
struct AdapterWritingTests {
  private let adapter = try? JSONAdapter<Report>()

  private func written(_ ticket: Report, _ nulls: JSONNulls? = nil) throws -> String {
    try text(#require(adapter).encodeValue(ticket, nulls: nulls))
  }

  @Test("J-22, U-3: a call can include or exclude fields, and no empty container is written")
  func selection() throws {
    let adapter = try #require(adapter)
    let ticket = Report(id: 1, title: "t", author: "a")
    #expect(try text(adapter.encodeValue(ticket, fields: .only(["title"]))) == #"{"title":"t"}"#)
    #expect(
      try text(adapter.encodeValue(ticket, fields: .excluding(["author", "site", "tags", "token"])))
        == #"{"title":"t"}"#)
    #expect(
      try text(adapter.encodeValue(ticket, fields: .all, nulls: .omit))
        == #"{"title":"t","user":{"login":"a"},"tags":[]}"#)
    let error = archiveError { try adapter.encode(ticket, fields: .only(["titel"])) }
    #expect(error?.code == .unknownKey && error?.codingPath == [.key("titel")])
  }

  @Test("J-23: nested containers are created on demand and shared between fields")
  func containers() throws {
    let ticket = Report(title: "t", author: "a", site: URL(string: "http://s.t"), token: "x")
    #expect(
      try written(ticket)
        == #"{"title":"t","user":{"login":"a","site":"http://s.t"},"token":"x","tags":[]}"#)
  }

  @Test("J-24, U-3: nil is written as null or omitted, by call, adapter or field, without empty containers")
  func nulls() throws {
    #expect(
      try written(Report()) == #"{"title":"","user":{"login":null,"site":null},"token":null,"tags":[]}"#)
    #expect(try written(Report(), .omit) == #"{"title":"","tags":[]}"#)
    var omitting = try #require(adapter)
    omitting.nulls = .omit
    #expect(try text(omitting.encodeValue(Report())) == #"{"title":"","tags":[]}"#)
    #expect(try omitting.encodeValue(Report(), nulls: .null)["token"] == .null)
  }

  @Test("J-24: a nil produced by a transformer is null or omitted like any other, without empty containers")
  func transformedNulls() throws {
    let blank = ReversibleTransformer<String?, String?>({ $0 }, reverse: { $0 == "" ? nil : $0 })
    let adapter = try JSONAdapter(
      JSONMapping<Plant>(["name": "n", "note": .path("a.b.c", blank), "child": .path("a.child")]))
    let plant = Plant(name: "x", note: "", child: nil)
    #expect(try text(adapter.encodeValue(plant)) == #"{"n":"x","a":{"b":{"c":null},"child":null}}"#)
    #expect(try text(adapter.encodeValue(plant, nulls: .omit)) == #"{"n":"x"}"#)
    // The only field in the object `b` is omitted, so `b` is not created.
    let child = Plant(name: "x", note: "", child: Branch())
    #expect(try text(adapter.encodeValue(child, nulls: .omit)) == #"{"n":"x","a":{"child":{"numbers":[]}}}"#)
  }

  @Test("J-27: excluded fields are never written, whether nulls are written or omitted")
  func leftOut() throws {
    let adapter = try #require(adapter)
    for nulls in [JSONNulls.null, .omit] {
      let value = try adapter.encodeValue(Report(), fields: .excluding(["token", "author", "site"]), nulls: nulls)
      #expect(value.objectValue?.keys == ["title", "tags"])
    }
  }

  @Test("U-3: read-only fields are not written, and write-only fields are not read")
  func direction() throws {
    let adapter = try #require(adapter)
    let ticket = try adapter.decode(json(#"{"id": 7, "token": "secret", "title": "t"}"#))
    #expect(ticket.id == 7 && ticket.token == nil)
    #expect(try adapter.encodeValue(Report(id: 7, token: "x"))["id"] == nil)
    #expect(try adapter.encodeValue(Report(id: 7, token: "x"))["token"] == "x")
  }

  @Test("J-26: a field with several paths writes each part; nil writes a null at each path, or nothing")
  func severalPaths() throws {
    let adapter = try JSONAdapter<Spot>()
    #expect(
      try text(adapter.encodeValue(Spot(name: "x", span: Span(latitude: 1, longitude: 2))))
        == #"{"name":"x","at":{"lat":1.0,"lng":2.0}}"#)
    #expect(
      try text(adapter.encodeValue(Spot(name: "x", span: Span(latitude: 1)))) == #"{"name":"x","at":{"lat":1.0}}"#)
    #expect(try text(adapter.encodeValue(Spot(name: "x"))) == #"{"name":"x","at":{"lat":null,"lng":null}}"#)
    #expect(try text(adapter.encodeValue(Spot(name: "x"), nulls: .omit)) == #"{"name":"x"}"#)
  }

  @Test("J-28, X-5: every field type is encoded as standard JSON and decodes to an equal value")
  func forms() throws {
    let adapter = try JSONAdapter<Kinds>()
    let value = try adapter.encodeValue(Kinds())
    #expect(
      try text(value)
        == #"{"date":"2011-01-26T19:01:12Z","url":"http://a.b/c","uuid":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","#
        + #""data":"AQL/","float":0.1,"byInteger":{"7":"seven","-1":"minus"},"byText":{"a":false,"b":true},"set":[1,3],"#
        + #""decimal":8.33,"codable":{"latitude":1.0,"longitude":2.5},"byID":{}}"#)
    #expect(try adapter.decode(adapter.encode(Kinds())) == Kinds())
    let keyed = Kinds(byID: [UUID(): 1, UUID(): 2])
    #expect(try adapter.decode(adapter.encode(keyed)) == keyed)
  }

  @Test("J-29: values that JSON cannot represent and failing transformers throw with their path")
  func failures() throws {
    let error = archiveError { try JSONAdapter<[Exact]>().encode([Exact(), Exact(ratio: .nan)]) }
    #expect(error?.code == .notEncodable && error?.codingPath == [.index(1), .key("ratio")])
    let dates = try JSONAdapter(JSONMapping<Kinds>(["date": .path("meta.date", .iso8601)]))
    let refused = archiveError { try dates.encode(Kinds(date: Date(timeIntervalSince1970: 1e14))) }
    #expect(refused?.code == .rejected && refused?.codingPath == [.key("date")])
    #expect(refused?.jsonPath == [.key("meta"), .key("date")] && refused?.input is Date)
    struct Wide: Codable, Equatable { var numbers: [Double] }
    #expect(throws: ArchiveError.self) {
      try JSONAdapter<Exact>().encode(Exact(anything: ["deep": [.double(.infinity)]]))
    }
  }

  @Test("J-30: encodeArray keeps the order of the elements")
  func arrays() throws {
    let adapter = try #require(adapter)
    let data = try adapter.encodeArray([Report(title: "a"), Report(title: "b")], nulls: .omit)
    #expect(String(decoding: data, as: UTF8.self) == #"[{"title":"a","tags":[]},{"title":"b","tags":[]}]"#)
    #expect(try adapter.encodeArray([]) == Data("[]".utf8))
  }

  @Test("J-32, M-2: decoding and encoding returns the same JSON, including nested nulls")
  func roundTrips() throws {
    let adapter = try JSONAdapter<Member>()
    for document in [
      #"{"username":null,"count":"5","nested":{"name":null}}"#,
      #"{"username":"foo","count":"-2","nested":{"name":"bar"}}"#,
    ] {
      #expect(try text(adapter.encodeValue(adapter.decode(json(document)))) == document)
    }
  }

  @Test("X-4: equal models are encoded as identical bytes")
  func determinism() throws {
    let adapter = try JSONAdapter<Kinds>()
    let keys = (0..<50).map { ("k\($0)", $0.isMultiple(of: 2)) }
    let first = Kinds(byText: Dictionary(uniqueKeysWithValues: keys), set: Set(0..<50))
    let second = Kinds(byText: Dictionary(uniqueKeysWithValues: keys.reversed()), set: Set((0..<50).reversed()))
    #expect(try adapter.encode(first) == adapter.encode(second))
  }

  @Test("U-22: unknown keys are ignored, rejected, or captured, archived and written again")
  func unknownKeys() throws {
    let document = try json(#"{"title": "t", "later": {"a": [1, null]}, "user": {"login": "a", "id": 3}, "x": null}"#)
    let keeping = try JSONAdapter<Report>(unknownKeys: .capture)
    let ticket = try keeping.decode(document)
    #expect(ticket.unknownFields.object.keys == ["later", "user", "x"])
    #expect(ticket.unknownFields.object["user"] == ["id": 3])
    let again = try archived(ticket)
    #expect(again == ticket)
    let written = try keeping.encodeValue(again, nulls: .omit)
    #expect(written["later"] == ["a": [1, .null]] && written["x"] == .null && written["title"] == "t")
    var merged = ticket
    try keeping.merge(.json(json(#"{"x": 4, "y": 5}"#)), into: &merged)
    #expect(
      ArchiveValue.object(merged.unknownFields.object) == [
        "later": ["a": [1, .null]], "user": ["id": 3], "x": 4, "y": 5,
      ])
    // An adapter that does not capture unknown keys does not write the captured ones.
    #expect(try #require(adapter).encodeValue(ticket)["later"] == nil)

    let refusing = try JSONAdapter<Report>(unknownKeys: .refuse)
    let error = archiveError { try refusing.decode(document) }
    #expect(error?.code == .unknownKey && error?.codingPath == [.key("later")])
    #expect(
      archiveError { try refusing.decode(document, errors: .collectAll) }?.all.map(\.key) == ["later", "id", "x"])
    _ = try refusing.decode(json(#"{"title": "t", "user": {"login": "a"}, "id": 4}"#))
    let beside = archiveError { try refusing.decode(json(#"{"title": "t", "user": {"login": "a", "id": 3}}"#)) }
    #expect(beside?.code == .unknownKey && beside?.codingPath == [.key("user"), .key("id")])
    #expect(archiveError { try JSONAdapter<Spot>(unknownKeys: .capture) }?.code == .invalidMapping)
  }

  @Test("J-1, M-5: merging with a custom mapping changes only the document's keys, or nothing if it fails")
  func merging() throws {
    let adapter = try JSONAdapter<Report>(["title": "name", "author": "by", "id": .path("n").lenient(.numericString)])
    var ticket = Report(id: 1, title: "t", author: "a", tags: ["x"])
    let report = try adapter.merge(
      .json(Data(#"{"name": "u", "by": null, "title": "no", "tags": []}"#.utf8)), into: &ticket)
    #expect(ticket == Report(id: 1, title: "u", tags: ["x"]) && report.changedKeys == ["title", "author"])
    try adapter.merge(.json(json(#"{"n": "8"}"#)), into: &ticket)
    #expect(ticket.id == 8)
    let before = ticket
    let error = archiveError { try adapter.merge(.json(json(#"{"name": "v", "n": "x"}"#)), into: &ticket) }
    #expect(error?.codingPath == [.key("id")] && error?.jsonPath == [.key("n")] && ticket == before)
  }

  @Test("J-6, X-3: merging distinguishes absent, null and value, with transformers and null policies")
  func mergingStates() throws {
    let adapter = try JSONAdapter<Report>(["title": .path("t").null(.useDefault), "due": .path("d", .secondsSince1970)])
    var ticket = Report(title: "x", due: Date(timeIntervalSince1970: 1))
    try adapter.merge(.json(json("{}")), into: &ticket)
    #expect(ticket.title == "x" && ticket.due == Date(timeIntervalSince1970: 1))
    try adapter.merge(.json(json(#"{"t": null, "d": 5}"#)), into: &ticket)
    #expect(ticket.title == "" && ticket.due == Date(timeIntervalSince1970: 5))
    try adapter.merge(.json(json(#"{"d": null}"#)), into: &ticket)
    #expect(ticket.due == nil)
  }
}

@Suite("JSON merge patch")
struct MergePatchTests {
  @Test(
    "U-3: the examples of RFC 7396, appendix A, have the documented results",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
      (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"), (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
      (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
      ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func examples(original: String, patch: String, result: String) throws {
    #expect(try JSONMergePatch.apply(json(patch), to: json(original)) == json(result))
  }

  @Test("U-3: a merge patch contains only changes: null for removed keys, objects key by key, arrays whole")
  func changes() throws {
    let adapter = try JSONAdapter<Plant>()
    let old = Plant(name: "a", note: "n", child: Branch(leaf: "l", numbers: [1, nil]), table: ["x": Branch()])
    var new = old
    #expect(try text(adapter.jsonMergePatch(from: old, to: new)) == "{}")
    new.note = nil
    new.child?.numbers = [1]
    new.table["x"] = nil
    new.table["y"] = Branch(leaf: "z")
    #expect(
      try String(decoding: adapter.jsonMergePatchData(from: old, to: new), as: UTF8.self)
        == #"{"child":{"numbers":[1]},"table":{"y":{"leaf":"z","numbers":[]},"x":null},"note":null}"#)
  }

  @Test("U-3: applying a merge patch to the old JSON yields the new JSON")
  func law() throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed: \(seed)")
    var random = SeededRandom(seed: seed)
    let adapter = try JSONAdapter<Plant>()
    func branch() -> Branch? {
      guard Bool.random(using: &random) else { return nil }
      return Branch(
        leaf: Bool.random(using: &random) ? "l\(Int.random(in: 0..<3, using: &random))" : nil,
        numbers: (0..<Int.random(in: 0..<3, using: &random)).map { Bool.random(using: &random) ? $0 : nil })
    }
    func tree() -> Plant {
      var table: [String: Branch] = [:]
      for key in ["a", "b", "c"] { table[key] = branch() }
      return Plant(
        name: "\(Int.random(in: 0..<2, using: &random))", note: Bool.random(using: &random) ? "x" : nil,
        child: branch(), table: table)
    }
    for _ in 0..<500 {
      let (old, new) = (tree(), tree())
      let patch = try adapter.jsonMergePatch(from: old, to: new)
      let patched = try JSONMergePatch.apply(patch, to: adapter.encodeValue(old, nulls: .omit))
      let written = try adapter.encodeValue(new, nulls: .omit)
      try #require(patched == written)
      let read = try adapter.decode(patched)
      try #require(read == new)
    }
  }
}
