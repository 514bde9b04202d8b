import Foundation
import Strata
import StrataTestSupport
import Testing

// The second part of Docs/FromCodable.md, with version 2 of the model. FromCodableGuideTests compares it with the page.

// FromCodable:begin
@Model(version: 2)
struct JournalEntry: Equatable {
  var id: UUID
  var title = ""
  var body: String
  var createdAt: Date
  var mood: JournalMood?
}

extension JournalEntry: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("text", to: "body")))
}

enum V1 {
  @Model(version: 1, name: "JournalEntry")
  struct JournalEntry: Codable {
    var id: UUID
    var text: String
    var createdAt: Date
    var mood: JournalMood?
  }
}

func entries(ofVersion1 json: Data) throws -> [JournalEntry] {
  let old = try JSONDecoder().decode([V1.JournalEntry].self, from: json)
  let archive = try ArchiveEncoder().encode(old)
  return try ArchiveDecoder().decode([JournalEntry].self, from: archive)
}
// FromCodable:end

enum JournalMood: String, Codable, Archivable { case good, bad }

@Suite("The Codable guide with a later model version")
struct FromCodableLaterTests {
  @Test("JSON of version 1 is upgraded by the steps for archives")
  func upgraded() throws {
    let json = #"[{"id":"8A5379BE-2461-4C23-B32E-65E9C832C6A7","mood":"good","createdAt":0.5,"text":"Rain"}]"#
    let id = try #require(UUID(uuidString: "8A5379BE-2461-4C23-B32E-65E9C832C6A7"))
    let entry = JournalEntry(id: id, body: "Rain", createdAt: Date(timeIntervalSinceReferenceDate: 0.5), mood: .good)
    #expect(try entries(ofVersion1: Data(json.utf8)) == [entry])
    #expect(throws: DecodingError.self) { try entries(ofVersion1: Data(#"[{"text":"Rain"}]"#.utf8)) }
  }
}
