import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct Archives {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    @Test("An encoded JSON document can be decoded, inspected and verified")
    func roundTrip() throws {
      try workspace.encode(to: "a.strata")
      let original = try JSONSerialization.jsonObject(with: Data(contentsOf: Workspace.json)) as? NSDictionary
      #expect(try workspace.strata("decode", "a.strata").object() == original)
      #expect(try workspace.strata("inspect", "a.strata").text.contains("Document@3"))
      let stamp = try workspace.strata("inspect", "--json", "a.strata").object()["stamp"] as? NSDictionary
      #expect(stamp?["type"] as? String == "Document" && stamp?["modelVersion"] as? Int == 3)
      #expect(try workspace.strata("verify", "a.strata").text.hasPrefix("intact  a.strata"))
    }

    @Test("gunzip accepts an archive")
    func gunzip() throws {
      try workspace.encode(to: "a.strata")
      let path = workspace.scratch.path("a.strata")
      let run = try Executable.run("/bin/sh", ["-c", #"gunzip -t -c "$0""#, path], nil, in: nil)
      #expect(run.code == 0, "\(run.error)")
    }

    @Test("salvage reports an undamaged archive as complete")
    func salvagingCompleteArchives() throws {
      try workspace.encode(to: "a.strata")
      let salvaged = try workspace.strata("salvage", "a.strata", "-o", "rescued.strata")
      #expect(salvaged.text.hasPrefix("complete  "), "\(salvaged.text)")
      try workspace.strata("verify", "rescued.strata")
    }

    @Test("verify reports a truncated archive as damaged, and salvage fails")
    func truncatedArchives() throws {
      try workspace.encode(to: "a.strata")
      _ = try workspace.scratch.file("cut.strata", workspace.scratch.data("a.strata").prefix(100))
      #expect(try workspace.strata("verify", "cut.strata", code: 1).text.hasPrefix("damaged  cut.strata"))
      try workspace.strata("salvage", "cut.strata", "-o", "rescued.strata", code: 1)
    }
  }
}
