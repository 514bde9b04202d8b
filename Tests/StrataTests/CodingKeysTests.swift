import Foundation
import Observation
import Strata
import StrataTestSupport
import Testing

/// A model that is also `Codable`, so that both encodings of a value can be compared.
@Model(version: 1)
private struct CodedIssue: Codable, Equatable {
  enum State: String, Codable, Archivable, CaseIterable { case open, closed }

  @Model(version: 1)
  struct Label: Codable, Equatable {
    var name: String
    var color: String?
    var isShown = true

    private enum CodingKeys: String, CodingKey { case name = "label.name", color }
  }

  let id: Int
  var title: String
  var `default`: Bool?
  var weight = 1.0
  var state = State.open
  var labels: [Label] = []
  var leader: Label?
  var counts: [String: Int] = [:]
  private(set) var isSelected = false
  var draft: String?
  var createdAt: Int

  enum CodingKeys: String, CodingKey {
    case id, weight
    case title = "issue_title"
    case `default` = "is[0].\"default\"\\"
    case state = "", labels = "label_list"
    case leader = "led\u{20}by"
    case counts
    case createdAt = "made_at"
  }

  /// Returns a random value. It has no integral doubles, because `JSONEncoder` writes them as integers.
  static func random(_ random: inout SeededRandom) -> CodedIssue {
    let texts = ["", "a", "é", "e\u{301}", "a\"b\\c/d", "\n\u{1}", "🜁", "label.name", "null"]
    func label() -> Label {
      Label(
        name: random.oneOf(texts), color: random.isOnce(in: 2) ? random.oneOf(texts) : nil,
        isShown: random.isOnce(in: 2))
    }
    return CodedIssue(
      id: random.oneOf([0, -1, .max, .min, random.below(1000)]), title: random.oneOf(texts),
      default: random.oneOf([nil, true, false]), weight: Double(random.below(1_000_000)) + 0.25,
      state: random.oneOf(State.allCases),
      labels: (0..<random.below(4)).map { _ in label() }, leader: random.isOnce(in: 2) ? label() : nil,
      counts: Dictionary((0..<random.below(3)).map { _ in (random.oneOf(texts), random.below(9)) }) { first, _ in first
      },
      isSelected: random.isOnce(in: 2), draft: random.isOnce(in: 2) ? random.oneOf(texts) : nil,
      createdAt: random.below(9))
  }

  /// The value without the properties that `CodingKeys` omits.
  var listed: CodedIssue {
    var result = self
    (result.isSelected, result.draft) = (false, nil)
    for place in result.labels.indices { result.labels[place].isShown = true }
    result.leader?.isShown = true
    return result
  }
}

@Model(version: 1)
private class CodedAnimal: Codable {
  var name = ""
  var age: Int?
  enum CodingKeys: String, CodingKey { case name = "animal_name" }
  init() {}
}

@Model(version: 1, superclass: CodedAnimal.self)
private final class CodedDog: CodedAnimal {
  var breed = ""
  var isGood = true
  private enum CodingKeys: String, CodingKey { case breed = "dog_breed", isGood }

  override init() { super.init() }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    breed = try container.decode(String.self, forKey: .breed)
    isGood = try container.decode(Bool.self, forKey: .isGood)
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    try super.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(breed, forKey: .breed)
    try container.encode(isGood, forKey: .isGood)
  }
}

@Observable
@Model(version: 1)
private final class CodedPlaylist: Codable {
  var title = ""
  var plays = 0
  var isOpen = false
  @ObservationIgnored var note = ""
  enum CodingKeys: String, CodingKey { case _title = "title", _plays = "play_count", note = "remark" }
}

@Suite("JSON keys from CodingKeys")
struct CodingKeysTests {
  /// Returns the document with its object keys sorted.
  private func sorted(_ json: Data) throws -> String {
    try String(decoding: JSONWriter(sortsKeys: true).write(JSONReader().read(json)), as: UTF8.self)
  }

  @Test("JSONEncoder and JSONDecoder are compatible with Strata's JSON, and archives keep every property")
  func sameAsCodable() throws {
    var random = SeededRandom(seed: 0xC0D1)
    var adapter = try JSONAdapter<CodedIssue>()
    adapter.nulls = .omit
    for _ in 0..<Effort.rounds(300, long: 20_000) {
      let issue = CodedIssue.random(&random)
      let coded = try JSONEncoder().encode(issue)
      let (own, other) = try (sorted(adapter.encode(issue)), sorted(coded))
      #expect(own == other)
      #expect(try JSONDecoder().decode(CodedIssue.self, from: issue.jsonData()) == issue.listed)
      #expect(try CodedIssue(fromJSON: coded) == issue.listed)
      #expect(try adapter.decode(coded) == issue.listed)
      #expect(try archived(issue) == issue)
    }
  }

  @Test("Archives use the property names as keys and ignore CodingKeys")
  func archiveKeys() throws {
    #expect(
      CodedIssue.schema.fields.map(\.key) == [
        "id", "title", "default", "weight", "state", "labels", "leader", "counts", "isSelected", "draft", "createdAt",
      ])
    let record = ModelRecord(
      typeName: CodedIssue.Label.schema.name, modelVersion: 1,
      fields: [("name", "a"), ("color", .null), ("isShown", false)])
    let label = CodedIssue.Label(name: "a", color: nil, isShown: false)
    #expect(try ArchiveEncoder().encode(label) == ArchiveEncoder().encode(record))
  }

  @Test("A merge uses the keys from CodingKeys and keeps properties that have no case")
  func merge() throws {
    var issue = CodedIssue(id: 1, title: "a", isSelected: true, draft: "b", createdAt: 3)
    let document = #"{"issue_title": "c", "title": "d", "isSelected": false, "draft": null, "made_at": 4}"#
    let report = try issue.mergeValues(fromJSON: Data(document.utf8))
    #expect(report.changedKeys == ["title", "createdAt"])
    #expect(issue == CodedIssue(id: 1, title: "c", isSelected: true, draft: "b", createdAt: 4))
  }

  @Model(version: 1)
  struct Dated: Codable, Equatable {
    var createdAt = 1
    var updatedAt = 2
    var closedAt = 3
    enum CodingKeys: String, CodingKey { case createdAt, updatedAt = "updatedAt" }
  }

  @Test("A naming convention applies to cases without a raw value")
  func convention() throws {
    let adapter = try JSONAdapter<Dated>(convention: .snakeCase)
    #expect(try String(decoding: adapter.encode(Dated()), as: UTF8.self) == #"{"created_at":1,"updatedAt":2}"#)
    let read = try adapter.decode(Data(#"{"created_at": 4, "updatedAt": 5, "closed_at": 6}"#.utf8))
    #expect(read == Dated(createdAt: 4, updatedAt: 5))
  }

  @Test("Each class of a hierarchy uses its own CodingKeys")
  func classes() throws {
    let dog = CodedDog()
    (dog.name, dog.age, dog.breed, dog.isGood) = ("Rex", 3, "mixed", false)
    let coded = try JSONEncoder().encode(dog)
    #expect(try sorted(dog.jsonData()) == sorted(coded))
    let read = try CodedDog(fromJSON: coded)
    #expect((read.name, read.breed, read.isGood) == ("Rex", "mixed", false))
    #expect(read.age == nil)
    #expect(try archived(dog).age == 3)
    let decoded = try JSONDecoder().decode(CodedDog.self, from: dog.jsonData())
    #expect((decoded.name, decoded.breed, decoded.isGood) == ("Rex", "mixed", false))
  }

  @Test("The CodingKeys of an @Observable class may name its underscored storage")
  func observable() throws {
    let playlist = CodedPlaylist()
    (playlist.title, playlist.plays, playlist.isOpen, playlist.note) = ("a", 4, true, "b")
    let coded = try JSONEncoder().encode(playlist)
    #expect(try sorted(playlist.jsonData()) == sorted(coded))
    #expect(try sorted(coded) == #"{"play_count":4,"remark":"b","title":"a"}"#)
    let read = try CodedPlaylist(fromJSON: coded)
    #expect((read.title, read.plays, read.isOpen, read.note) == ("a", 4, false, "b"))
    #expect(try archived(playlist).isOpen)
  }
}
