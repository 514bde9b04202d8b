import Foundation
import Strata
import Testing

@Suite("Merge previews")
struct MergePreviewTests {
  @Test func valuesStay() throws {
    var item = TodoItem(id: 1, title: "Milk")
    let before = item
    item.title = "Oat milk"
    item.views = 3
    let edited = item
    let source = MergeSource.json(Data(#"{"title": "Soy milk", "views": 5, "steps": [{"id": 1, "name": "Go"}]}"#.utf8))
    let preview = try item.mergePreview(source, base: before)
    #expect(item == edited)
    #expect(preview.conflicts.map(\.path.description) == ["title"])
    let report = try item.merge(source, base: before)
    #expect(preview.entries == report.entries && preview.changes == report.changes)
    #expect(item.views == 8 && item.steps.count == 1)
  }

  @Test func objectsStay() throws {
    let project = TeamProject(id: 1, name: "A")
    let ann = Teammate(id: 1, name: "Ann")
    project.members = [ann]
    project.lead = ann
    let source = MergeSource.json(
      Data(#"{"name": "B", "members": [{"id": 2, "name": "Bob"}, {"id": 1, "name": "Anna"}]}"#.utf8))
    let preview = try project.mergePreview(source)
    #expect(project.name == "A" && ann.name == "Ann" && project.members.count == 1)
    let report = try project.merge(source)
    #expect(project.members.count == 2 && project.members[1] === ann && ann.name == "Anna")
    #expect(preview.entries == report.entries && preview.changes == report.changes && preview.isEmpty == report.isEmpty)
  }

  @Test func mistakesAreThoseOfTheMerge() {
    let item = TodoItem(id: 1, title: "Milk")
    #expect(throws: ArchiveError.self) { try item.mergePreview(.json(Data(#"{"title": 5}"#.utf8))) }
    #expect(throws: ArchiveError.self) {
      try item.mergePreview(.json(Data("{}".utf8)), options: MergeOptions(keys: ["nowhere"]))
    }
  }
}
