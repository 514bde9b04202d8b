import Foundation
import StrataCore
import Testing

@Suite("Descriptions of reports and similar types")
struct DescriptionTests {
  private struct Memo: DescribedModel {
    var id = 0
    var text = ""
    var merging = MergeState()
    static let fields = Fields(
      Memo.self, name: "DescribedMemo", version: 3, Field("id", \.id, default: 0), Field("text", \.text, default: ""),
      Field("merging", \.merging, default: MergeState()), make: { Memo(id: $0, text: $1, merging: $2) })
  }

  @Test("The description of a stamp has the type, count and size")
  func stamps() throws {
    let data = try ArchiveEncoder().encode([Memo(id: 1, text: "secret"), Memo()])
    let stamp = try Stamp(of: data)
    #expect("\(stamp)" == "archive of [DescribedMemo]@3, 2 models, \(stamp.plainSize) bytes inflated")
    #expect("\(try Stamp(of: ArchiveEncoder().encode("secret")))".hasPrefix("archive of String, 1 model, "))
  }

  @Test("The description of a decoding report lists upgrades, missing versions and defaults")
  func decoding() throws {
    var report = DecodingReport()
    #expect("\(report)" == "nothing was upgraded")
    let old = ModelRecord(typeName: "DescribedMemo", modelVersion: 1, fields: [("text", "secret")])
    let bare = ModelRecord(typeName: "DescribedMemo", modelVersion: nil)
    let data = try ArchiveEncoder().encode(ArchiveValue.array([.record(old), .record(old), .record(bare)]))
    _ = try ArchiveDecoder().decode([Memo].self, from: data, report: &report)
    #expect("\(report.upgrades)" == "[DescribedMemo 1 → 3, 2 objects, DescribedMemo 0 → 3, 1 object]")
    #expect(
      "\(report)"
        == "DescribedMemo 1 → 3, 2 objects; DescribedMemo 0 → 3, 1 object; types without a version: DescribedMemo; "
        + "defaults for DescribedMemo.id, DescribedMemo.merging, DescribedMemo.text")
  }

  @Test("Descriptions of patches and differences list operations and paths, but no values")
  func patches() throws {
    let patch = try JSONPatch(
      parsing: Data(
        #"""
        [{"op": "replace", "path": "/text", "value": "secret"}, {"op": "remove", "path": "/a~1b/0"},
         {"op": "move", "from": "/a", "path": "/c"}, {"op": "copy", "from": "/a", "path": "/c"},
         {"op": "add", "path": "/c", "value": "secret"}, {"op": "test", "path": "", "value": "secret"}]
        """#.utf8))
    #expect(
      "\(patch)" == "replace /text, remove /a~1b/0, move /a to /c, copy /a to /c, add /c, test the whole document")
    #expect("\(JSONPatch())" == "no operations")
    let difference = ValueDifference(from: ["a": "secret", "b": 1], to: ["a": "other", "c": 2])
    #expect("\(difference)" == "changed a, removed b, added c")
    #expect("\(ValueDifference(from: 1, to: 1))" == "no differences")
  }

  @Test("Descriptions of merge reports and merge states list keys and reasons, but no values")
  func merges() throws {
    var memo = try Memo(fromJSON: Data(#"{"text": "secret"}"#.utf8))
    memo.text = "mine and secret"
    let report = try memo.mergeValues(fromJSON: Data(#"{"id": 4, "text": "theirs and secret"}"#.utf8))
    #expect(report.changes.map { "\($0)" } == ["id changed"])
    #expect(
      report.entries.map { "\($0)" } == [
        "id: server (changed only by the server)", "text: conflict (changed by both sides)",
      ])
    #expect("\(memo.merging)" == "base of type DescribedMemo, 1 conflict: text")
    #expect("\(MergeState())" == "no merge recorded")
  }

  @Test("The description of unknown fields lists their keys, but no values")
  func unknown() {
    #expect("\(UnknownFields(["a": "secret", "b": 1]))" == "2 unknown keys: a, b")
    #expect("\(UnknownFields())" == "no unknown keys")
  }
}
