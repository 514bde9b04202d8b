import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct Merging {
    let workspace: Workspace

    init() throws {
      workspace = try Workspace()
      try workspace.makeMergeSides()
    }

    @Test("Merging an archive with JSON combines the changes of both sides")
    func merging() throws {
      for side in ["base", "local"] {
        try workspace.strata("encode", "\(side).json", "-o", "\(side).strata", "--type", "T", "--model-version", "1")
      }
      try workspace.strata(
        "merge", "--local", "local.strata", "--base", "base.strata", "--server", "server.json", "--policy",
        "l=byID(id)", "-o", "merged.strata")
      try workspace.strata("diff", "merged.strata", "merged.json")
    }

    @Test("A merge with conflicts exits with 1 and lists the conflicts on standard error")
    func conflicting() throws {
      let run = try workspace.strata(
        "merge", "--local", "local.json", "--base", "base.json", "--server", "server.json", code: 1)
      #expect(run.error.contains("conflict"), "\(run.error)")
    }

    @Test("diff exits with 1 if the files differ")
    func differing() throws {
      #expect(try workspace.strata("diff", "base.json", "server.json", code: 1).lines.contains(#"~ t"#))
    }

    @Test("Applying a patch from diff gives the other document")
    func patching() throws {
      let patch = try workspace.strata("diff", "--patch", "base.json", "server.json", code: 1)
      let patched = try workspace.strata(
        ["merge", "-q", "--local", "base.json", "--server-patch", "-"], input: patch.output)
      try workspace.strata(["diff", "-", "server.json"], input: patched.output)
    }
  }
}

extension Workspace {
  /// Creates the three sides of a merge and its result.
  func makeMergeSides() throws {
    _ = try scratch.file("base.json", #"{"t": "a", "n": 1, "l": [{"id": 1, "x": 1}, {"id": 2}]}"#)
    _ = try scratch.file("local.json", #"{"t": "a", "n": 2, "l": [{"id": 1, "x": 2}, {"id": 2}]}"#)
    _ = try scratch.file("server.json", #"{"t": "b", "n": 1, "l": [{"id": 1, "x": 1}, {"id": 3}]}"#)
    _ = try scratch.file("merged.json", #"{"t": "b", "n": 2, "l": [{"id": 1, "x": 2}, {"id": 3}]}"#)
  }
}
