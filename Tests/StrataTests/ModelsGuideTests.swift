import Foundation
import Strata
import StrataTestSupport
import Testing

// The model of Docs/Models.md. A test compares it with the page.

// Models:begin
enum Stage: String, Archivable { case todo, doing, done }

@Model(version: 1)
struct Card: FieldHashable {
  let id: Int
  // An unknown case of a newer program, such as "paused", is decoded as todo.
  @Field(unknown: .useDefault) var stage = Stage.todo
  // Two cards that differ only in this property are equal.
  @Field(storage: .transitory) var isSelected = false
  // The unknown keys of a newer program are kept, and written again.
  var unknownFields = UnknownFields()
}
// Models:end

@Suite("The models guide")
struct ModelsGuideTests {
  @Test("The guide contains the code of this model")
  func example() throws {
    let program = try #require(Repository.examples("Models").first)
    #expect(try Repository.text("Docs/Models.md").contains(program.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  @Test("The comments in the guide's code are true")
  func card() throws {
    let newer = ModelRecord(
      typeName: "Card", modelVersion: 1, fields: [("id", 1), ("stage", "paused"), ("color", "red")])
    var card = try ArchiveDecoder().decode(Card.self, from: ArchiveEncoder().encode(newer))
    #expect(card.stage == .todo && card.unknownFields["color"] == "red")
    let again = try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(card))
    #expect(again["color"] == "red")
    let copy = card
    card.isSelected = true
    #expect(card == copy && card.hashValue == copy.hashValue)
    card.stage = .done
    #expect(card != copy)
  }
}
