import Foundation
import StrataCore
import Testing

private struct Doc: DescribedModel {
  var title: String
  var merging: MergeState
  static let fields = Fields(
    Doc.self, name: "DamagedState", version: 1, Field("title", \.title),
    Field("merging", \.merging, default: MergeState()), make: { Doc(title: $0, merging: $1) })
}

@Suite("Damaged merge state")
struct MergeStateDamageTests {
  private func decode(_ state: ArchiveValue) throws -> Doc {
    let record = ModelRecord(typeName: "DamagedState", modelVersion: 1, fields: [("title", "a"), ("merging", state)])
    return try ArchiveDecoder().decode(Doc.self, from: ArchiveEncoder().encode(record))
  }

  @Test(
    "A value of the wrong type in a merge state throws damaged instead of decoding as empty",
    arguments: [
      ["base": "text"], ["base": 3], ["base": ["title": "a"]], ["conflicts": "none"], ["conflicts": [:]],
      ["conflicts": 0], ["objects": 3], ["objects": [:]], ["objects": ["text"]], ["conflicts": ["text"]],
      ["conflicts": [["path": ["a"]]]], ["base": [.null], "conflicts": .null],
    ] as [ArchiveValue])
  func damaged(_ state: ArchiveValue) {
    let error = #expect(throws: ArchiveError.self) { try decode(state) }
    #expect(error?.code == .damaged && error?.codingPath.first == .key("merging"))
  }

  @Test("An absent or null merge state decodes as empty")
  func absent() throws {
    for state in [.null, [:], ["base": .null], ["base": .null, "conflicts": .null, "objects": .null]] as [ArchiveValue]
    {
      #expect(try decode(state).merging == MergeState())
    }
  }
}
