import Foundation
import StrataCore
import StrataTestSupport
import Testing

private let badJSON = Data(#"{"id": 0, "title": "", "note": "too long", "stars": 3, "start": 2, "end": 1}"#.utf8)
private let allFailures = [
  "id: must be in the range 1...", "title: must not be empty", "note: must have at most 5 characters", "stars: odd",
  "end: it ends before it starts",
]

@Suite("Validation")
struct ValidationTests {
  @Test("V-8, U-17: all failures are reported in the order of the schema, then those of model-wide rules")
  func allInOrder() {
    #expect(failures { try Entry(fromJSON: badJSON) } == allFailures)
  }

  @Test("V-2, V-5, V-7: decoding, merging and copying validate the whole model")
  func everyWayIn() throws {
    let bad = Entry(id: 0, title: "", note: "too long", stars: 3, start: 2, end: 1)
    let data = try ArchiveEncoder().encode(bad)
    #expect(failures { try ArchiveDecoder().decode(Entry.self, from: data) } == allFailures)
    let old = ModelRecord(
      typeName: "Entry", modelVersion: 1,
      fields: [("id", 0), ("headline", ""), ("note", "too long"), ("stars", 3), ("start", 2), ("end", 1)])
    let oldData = try ArchiveEncoder().encode(old)
    #expect(failures { try ArchiveDecoder().decode(Entry.self, from: oldData) } == allFailures)
    #expect(failures { try Entry(dictionary: bad.dictionaryValue) } == allFailures)
    var target = goodEntry
    #expect(failures { try target.mergeValues(from: bad) } == allFailures)
    #expect(target == goodEntry)
    #expect(failures { try target.merge(.json(badJSON)) } == allFailures)
    #expect(target == goodEntry)
    #expect(failures { try goodEntry.copy(updating: ["id": 0]) } == ["id: must be in the range 1..."])
    #expect(failures { try goodEntry.copy(updating: \.title, to: "") } == ["title: must not be empty"])
    #expect(failures { try goodEntry.copy { $0.end = -1 } } == ["end: it ends before it starts"])
  }

  @Test("V-2: reading a stream validates each model, unless validation is off")
  func stream() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "tags.strata")
      var writer = try ArchiveStreamWriter<EntryTag>(creating: url)
      try writer.append(EntryTag(name: ""))
      try writer.finish()
      await #expect(throws: ArchiveError.self) { for try await _ in ArchiveSequence(EntryTag.self, from: url) {} }
      var count = 0
      for try await _ in ArchiveSequence(EntryTag.self, from: url, validates: false) { count += 1 }
      #expect(count == 1)
    }
  }

  @Test("V-7: `validates: false` skips validation in decoding, merging and copying")
  func optOut() throws {
    let bad = Entry(id: 0, title: "", stars: 3)
    let data = try ArchiveEncoder().encode(bad)
    #expect(try ArchiveDecoder(validates: false).decode(Entry.self, from: data) == bad)
    #expect(try Entry(fromJSON: badJSON, validates: false).stars == 3)
    #expect(try Entry(dictionary: bad.dictionaryValue, validates: false) == bad)
    var target = goodEntry
    try target.mergeValues(from: bad, validates: false)
    #expect(target.id == 0)
    #expect(try goodEntry.copy(updating: ["id": 0], validates: false).id == 0)
    #expect(try goodEntry.copy(validates: false) { $0.title = "" }.title.isEmpty)
  }

  @Test("V-1, V-3: a rule can replace a value when decoding, merging and in validate()")
  func replacement() throws {
    #expect(try Entry(fromJSON: Data(#"{"id": 1, "title": "a", "stars": -4}"#.utf8)).stars == 0)
    var entry = goodEntry
    entry.stars = -2
    try entry.validate()
    #expect(entry.stars == 0)
    entry.stars = -2
    #expect(entry.isValid)
    #expect(entry.stars == -2)
    #expect(try entry.validated().stars == 0)
    try entry.mergeValues(fromJSON: Data(#"{"stars": -8}"#.utf8))
    #expect(entry.stars == 0)
  }

  @Test("V-3: a rule can supply a missing value")
  func replacementOfNil() throws {
    #expect(try Named(fromJSON: Data("{}".utf8)).name == "foobar")
  }

  @Test("V-4, V-10: the error that a rule throws is available as the underlying error")
  func ownErrors() throws {
    let error = try #require(throws: ArchiveError.self) { try Named(dictionary: ["name": "this is too long a name"]) }
    #expect(error.code == .invalid)
    #expect(error.underlyingError as? Blame == .tooLong(23))
    #expect(error.failures.first?.error as? Blame == .tooLong(23))
    let json = Data(#"{"name": "this is too long a name"}"#.utf8)
    let other = try #require(throws: ArchiveError.self) { try Named(fromJSON: json) }
    #expect(other.underlyingError as? Blame == .tooLong(23))
    #expect(try Named(dictionary: ["name": "short"]).name == "short")
  }

  @Test("V-5: the rules of a model detect a missing key")
  func missingKey() throws {
    let error = try #require(throws: ArchiveError.self) { try Required(fromJSON: Data("{}".utf8)) }
    #expect(error.failures.map(\.description) == ["name: nameMissing", "owner: a value is required"])
    #expect((error.failures.last?.error as? InvalidValue)?.code == .required)
  }

  @Test("V-6: each decode, merge or copy runs the rules once per object")
  func once() throws {
    let source = Counted(count: 0, inner: [Counted(count: 0)])
    let expected = Counted(count: 1, inner: [Counted(count: 1)])
    #expect(try ArchiveDecoder().decode(Counted.self, from: ArchiveEncoder().encode(source)) == expected)
    #expect(try Counted(fromJSON: Data(#"{"count": 0, "inner": [{"count": 0, "inner": []}]}"#.utf8)) == expected)
    #expect(try Counted(dictionary: source.dictionaryValue) == expected)
    var target = Counted(count: 7)
    try target.mergeValues(from: source)
    #expect(target == expected)
    target = Counted(count: 7)
    try target.mergeValues(fromJSON: Data(#"{"count": 0, "inner": [{"count": 0, "inner": []}]}"#.utf8))
    #expect(target == expected)
    // A copy does not validate nested models again if it does not change them.
    #expect(try source.copy(updating: ["count": 4]) == Counted(count: 5, inner: [Counted(count: 0)]))
    #expect(try source.copy(updating: ["inner": [["count": 2]]]) == Counted(count: 1, inner: [Counted(count: 3)]))
  }

  @Test("V-9, E-1: a rule for an unknown key throws invalidSchema")
  func unknownKey() throws {
    let error = try #require(throws: ArchiveError.self) { try Misdeclared(dictionary: ["name": "a"]) }
    #expect(error.code == .invalidSchema)
    #expect(error.description.contains("nmae") && error.description.contains("name"))
  }

  @Test("E-8, U-4: the path of a failure includes the nested model and the field")
  func nestedPath() throws {
    let json = Data(#"{"id": 1, "title": "a", "tags": [{"name": "x"}, {"name": ""}]}"#.utf8)
    let error = try #require(throws: ArchiveError.self) { try Entry(fromJSON: json) }
    #expect(error.pathDescription == "tags[1].name")
    #expect(error.key == "name")
    #expect(error.typeName == "Tag")
    #expect(error.failures.map(\.pathDescription) == ["tags[1].name"])
    #expect(error.description == "the value is invalid (at tags[1].name) [Tag]: must not be empty")
    let archive = try ArchiveEncoder().encode(["k": Entry(id: 1, title: "a", tags: [EntryTag(name: "")])])
    #expect(
      failures { try ArchiveDecoder().decode([String: Entry].self, from: archive) }
        == ["k.tags[0].name: must not be empty"])
    var target = goodEntry
    #expect(failures { try target.merge(.json(json)) } == ["tags[1].name: must not be empty"])
    #expect(target == goodEntry)
    #expect(failures { try goodEntry.copy { $0.tags = [EntryTag(name: "")] } } == ["tags[0].name: must not be empty"])
  }

  @Test("U-4, U-17: all failures of nested models are reported after those of the outer model")
  func everywhere() throws {
    let tags = #"[{"name": ""}, {"name": "x"}, {"name": ""}]"#
    let json = Data(#"{"id": 0, "title": "a", "tags": \#(tags)}"#.utf8)
    let expected = [
      "id: must be in the range 1...", "tags[0].name: must not be empty", "tags[2].name: must not be empty",
    ]
    let bad = Entry(id: 0, title: "a", tags: [EntryTag(name: ""), EntryTag(name: "x"), EntryTag(name: "")])
    #expect(failures { try Entry(fromJSON: json) } == expected)
    #expect(failures { try Entry(dictionary: bad.dictionaryValue) } == expected)
    let data = try ArchiveEncoder().encode([goodEntry, bad])
    let error = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode([Entry].self, from: data) }
    #expect(error.failures.map(\.description) == expected.map { "[1]." + $0 })
    #expect(error.failures.map(\.typeName) == ["Entry", "Tag", "Tag"])
    #expect(error.pathDescription == "[1]")
    var target = goodEntry
    #expect(failures { try target.mergeValues(from: bad) } == expected)
    #expect(failures { try target.merge(.json(json)) } == expected)
    #expect(target == goodEntry)
    target = bad
    #expect(failures { try target.validate() } == expected)
    #expect(failures { try goodEntry.copy { $0 = bad } } == expected)
    #expect(failures { try goodEntry.copy(updating: bad.dictionaryValue) } == expected)
    #expect(failures { try Crate(dictionary: Crate.bad.dictionaryValue) } == Crate.failures)
  }

  @Test("A decoding error takes precedence over validation failures")
  func undecodable() throws {
    let json = Data(#"{"id": 1, "title": "a", "tags": [{"name": ""}, {"name": 7}]}"#.utf8)
    let error = try #require(throws: ArchiveError.self) { try Entry(fromJSON: json) }
    #expect(error.code == .typeMismatch)
    #expect(error.pathDescription == "tags[1].name")
  }

  @Test("Several failures are listed on one line of the description")
  func description() throws {
    let error = try #require(throws: ArchiveError.self) { try Entry(fromJSON: Data(#"{"id": 0, "title": ""}"#.utf8)) }
    #expect(
      error.description == "2 values are invalid [Entry]: id: must be in the range 1...; title: must not be empty")
    #expect(error.codingPath.isEmpty)
    let list = try ArchiveEncoder().encode([Entry(id: 0, title: "")])
    let inList = try #require(throws: ArchiveError.self) { try ArchiveDecoder().decode([Entry].self, from: list) }
    #expect(
      inList.description
        == "2 values are invalid [Entry]: [0].id: must be in the range 1...; [0].title: must not be empty")
    #expect(inList.pathDescription == "[0]")
  }

  @Test("V-3: validate() includes nested models, and changes nothing if a rule fails")
  func byHand() throws {
    var entry = Entry(id: 1, title: "a", tags: [EntryTag(name: "x"), EntryTag(name: "")])
    #expect(failures { try entry.validate() } == ["tags[1].name: must not be empty"])
    #expect(!entry.isValid)
    entry = Entry(id: 0, title: "a", stars: -2)
    #expect(failures { try entry.validate() } == ["id: must be in the range 1..."])
    #expect(entry.stars == -2)
    #expect(goodEntry.isValid)
    // `Box` has no rules of its own.
    #expect(failures { try Box(tag: EntryTag(name: "")).validated() } == ["tag.name: must not be empty"])
  }

  @Test("V-1: an object keeps its values if a rule fails")
  func objectUnchanged() throws {
    var meter = Meter(level: -1, name: "")
    #expect(failures { try meter.validate() } == ["name: must not be empty"])
    #expect(meter.level == -1)
    #expect(!meter.isValid)
    meter.name = "a"
    #expect(meter.isValid)
    #expect(meter.level == -1)
    try meter.validate()
    #expect(meter.level == 0)
  }

  @Test("MG-7: a merge validates its result, and an invalid result leaves the model unchanged")
  func merge() throws {
    var entry = Entry(id: 1, title: "a", start: 1, end: 5)
    #expect(
      failures { try entry.mergeValues(fromJSON: Data(#"{"start": 6}"#.utf8)) } == ["end: it ends before it starts"])
    #expect(entry.start == 1)
    let report = try entry.mergeValues(fromJSON: Data(#"{"start": 6, "end": 7, "stars": -2}"#.utf8))
    #expect(report.changedKeys == ["start", "end"])
  }

  @Test("X-35: the upgrader validates like a decoder, unless validation is off")
  func upgrader() throws {
    let old = ModelRecord(typeName: "Entry", modelVersion: 1, fields: [("id", 0), ("headline", "")])
    let archive = try ArchiveEncoder().encode(old)
    let error = #expect(throws: ArchiveError.self) { try ArchiveUpgrader(Entry.self).upgrade(archive) }
    #expect(error?.code == .invalid)
    let data = try ArchiveUpgrader(Entry.self, validates: false).upgrade(archive)
    #expect(try ArchiveDecoder().decodeValue(from: data)["title"] == "")
  }
}

@Suite("Checks")
struct CheckTests {
  @Test(
    "Predefined checks on strings report each failure",
    arguments: [
      ("", ["must not be empty"]), ("abcdef", ["must have 1 to 5 characters"]), ("ABC", ["must match the pattern"]),
      ("abcx", ["ends with x"]), ("abc", []),
    ])
  func texts(text: String, expected: [String]) {
    #expect(failures { try Word(dictionary: ["text": .string(text)]) } == expected.map { "text: \($0)" })
  }

  @Test(
    "Range checks support integers, floating-point numbers and counts",
    arguments: [(-1, false), (0, true), (9, true), (10, false)])
  func ranges(number: Int, isRight: Bool) {
    #expect(Ranged(number: number, ratio: 0.5).isValid == isRight)
    #expect(!Ranged(number: 1, ratio: .nan).isValid)
    #expect(!Ranged(number: 1, ratio: 1).isValid)
    #expect(!Ranged(number: 1, ratio: 0.5, list: [1, 2, 3]).isValid)
  }
}

private struct Word: DescribedModel, Validating {
  var text: String
  static let fields = Fields(Word.self, version: 1, Field("text", \.text), make: { Word(text: $0) })
  static let validation = Validation<Word>(
    .check("text", \.text, .nonEmpty, .length(1...5), .matches(/[a-z]+/), .that("ends with x") { !$0.hasSuffix("x") }))
}

private struct Ranged: DescribedModel, Validating {
  var number: Int
  var ratio: Double
  var list: [Int]? = nil
  static let fields = Fields(
    Ranged.self, version: 1, Field("number", \.number), Field("ratio", \.ratio), Field("list", \.list),
    make: { Ranged(number: $0, ratio: $1, list: $2) })
  static let validation = Validation<Ranged>(
    .check("number", \.number, .range(0...9), .range(..<10), .range(0...)), .check("ratio", \.ratio, .range(0..<1)),
    .check("list", \.list, .count(..<3)))
}

/// Counts how often its rule ran.
private struct Counted: DescribedModel, Validating, Equatable {
  var count: Int
  var inner: [Counted] = []
  static let fields = Fields(
    Counted.self, version: 1, Field("count", \.count), Field("inner", \.inner, default: []),
    make: { Counted(count: $0, inner: $1) })
  static let validation = Validation<Counted>(.replace("count", \.count) { $0 + 1 })
}

private struct Named: DescribedModel, Validating {
  var name: String?
  static let fields = Fields(Named.self, version: 1, Field("name", \.name), make: { Named(name: $0) })
  static let validation = Validation<Named>(
    .replace("name", \.name) { $0 ?? "foobar" },
    .check("name", \.name) { name in
      if let name, name.count >= 10 { throw Blame.tooLong(name.count) }
    })
}

private struct Required: DescribedModel, Validating {
  var name: String?
  var owner: Int?
  static let fields = Fields(
    Required.self, version: 1, Field("name", \.name), Field("owner", \.owner),
    make: { Required(name: $0, owner: $1) })
  static let validation = Validation<Required>(
    .check("name", \.name) { if $0 == nil { throw Blame.nameMissing } }, .required("owner", \.owner))
}

private struct Misdeclared: DescribedModel, Validating {
  var name: String
  static let fields = Fields(Misdeclared.self, version: 1, Field("name", \.name), make: { Misdeclared(name: $0) })
  static let validation = Validation<Misdeclared>(.check("nmae", \.name, .nonEmpty))
}

private struct Box: DescribedModel {
  var tag: EntryTag
  static let fields = Fields(Box.self, version: 1, Field("tag", \.tag), make: { Box(tag: $0) })
}

/// Contains models in every kind of container.
private struct Crate: DescribedModel {
  var byName: [String: EntryTag]
  var byNumber: [Int: EntryTag]
  var one: EntryTag?
  static let fields = Fields(
    Crate.self, version: 1, Field("byName", \.byName), Field("byNumber", \.byNumber), Field("one", \.one),
    make: { Crate(byName: $0, byNumber: $1, one: $2) })
  static let bad = Crate(byName: ["k": EntryTag(name: "")], byNumber: [3: EntryTag(name: "")], one: EntryTag(name: ""))
  static let failures = [
    "byName.k.name: must not be empty", "byNumber[0].name: must not be empty", "one.name: must not be empty",
  ]
}

private final class Meter: DescribedModel, Validating {
  var level: Int
  var name: String
  init(level: Int, name: String) { (self.level, self.name) = (level, name) }
  static let fields = Fields(
    Meter.self, version: 1, Field("level", \.level), Field("name", \.name), make: { Meter(level: $0, name: $1) })
  static let validation = Validation<Meter>(
    .replace("level", \.level) { max(0, $0) }, .check("name", \.name, .nonEmpty))
}

private struct Doubled: DescribedModel, Validating {
  var name: String
  static let fields = Fields(
    Doubled.self, version: 1, Field("name", \.name), Field("name", \.name), make: { name, _ in Doubled(name: name) })
  static let validation = Validation<Doubled>(.check("name", \.name, .nonEmpty))
}

private struct Refused: DescribedModel, Validating {
  var name: String
  var stars: Int?
  var parts: [Refused] = []
  static let fields = Fields(
    Refused.self, name: "RefusedValues", version: 1, Field("name", \.name), Field("stars", \.stars),
    Field("parts", \.parts, default: []), make: { Refused(name: $0, stars: $1, parts: $2) })
  static let validation = Validation<Refused>(
    .check("name", \.name, .nonEmpty, .length(...3)), .check("stars", \.stars, .range(0...5)),
    .required("stars", \.stars), .check("parts", \.parts) { if $0.count > 1 { throw InvalidValue("too many") } },
    .replace("name", \.name) {
      if $0 == "bad" { throw InvalidValue("is bad") }
      return $0
    },
    .model("is odd", at: "name") { $0.name != "odd" })
}

@Suite("Rejected inputs")
struct RefusedValueTests {
  @Test("Validating a model with a duplicate key in its schema throws invalidSchema")
  func doubled() {
    #expect { try Doubled(name: "a").validated() } throws: { ($0 as? ArchiveError)?.code == .invalidSchema }
    #expect(!Doubled(name: "a").isValid)
  }

  private func failures(_ text: String) throws -> [ValidationFailure] {
    let error = #expect(throws: ArchiveError.self) { try Refused(fromJSON: Data(text.utf8)) }
    #expect(error?.input as? ArchiveValue == error?.failures.first?.input as? ArchiveValue)
    #expect(error.map { "\($0)" }?.contains("secret") == false)
    return error?.failures ?? []
  }

  @Test("S-29: a validation failure has the rejected value as its input, but not in its message")
  func inputs() throws {
    #expect(try failures(#"{"name": "secret", "stars": 9}"#).map { $0.input as? ArchiveValue } == ["secret", 9])
    #expect(try failures(#"{"name": "bad"}"#).map { $0.input as? ArchiveValue } == ["bad", .null])
    // If a rule for the whole model names a field, the input is the field's value. A list of models has no single input.
    #expect(try failures(#"{"name": "odd", "stars": 1}"#).map { $0.input as? ArchiveValue } == ["odd"])
    let two = #"{"name": "a", "stars": 1, "parts": [{"name": "b", "stars": 1}, {"name": "", "stars": 7}]}"#
    #expect(try failures(two).map { $0.input as? ArchiveValue } == [nil, "", 7])
    let archived = #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decode(Refused.self, from: ArchiveEncoder().encode(Refused(name: "secret", stars: 1)))
    }
    #expect(archived?.input as? ArchiveValue == "secret")
  }
}
