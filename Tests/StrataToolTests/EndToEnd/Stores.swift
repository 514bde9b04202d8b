import Foundation
import GRDB
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct Stores {
    let workspace: Workspace

    init() throws {
      workspace = try Workspace()
      try workspace.makeMergeSides()
      try workspace.strata("store", "init", "models.store")
    }

    @Test("The store history contains each save, undo and restore of a document")
    func history() throws {
      let saved = try workspace.strata(
        "store", "save", "models.store", "base", "base.json", "--author", "ci", "--json")
      #expect(try saved.object()["author"] as? String == "ci")
      try workspace.strata("store", "save", "models.store", "base", "server.json", "--if-revision", "1")
      try workspace.strata("store", "diff", "models.store", "base", code: 1)
      try workspace.strata("store", "undo", "models.store", "base")
      try workspace.strata("store", "restore", "models.store", "base", "1")
      let history = try workspace.strata("store", "history", "models.store", "base", "--json").object()
      #expect((history["revisions"] as? [Any])?.count == 4)
      let list = try workspace.strata("store", "list", "models.store", "--json").object()
      #expect((list["keys"] as? [NSDictionary])?.map { $0["key"] as? String } == ["base"])
      let shown = try workspace.strata("store", "show", "models.store", "base", "--json").object()
      #expect(shown["revision"] as? Int == 4)
      let pruned = try workspace.strata("store", "prune", "models.store", "--keep-last", "2", "--dry-run")
      #expect(pruned.text.hasPrefix("would remove  2 revisions"), "\(pruned.text)")
    }

    @Test("store export returns the bytes of a saved archive")
    func exporting() throws {
      try workspace.encode(to: "a.strata")
      try workspace.strata("store", "save", "models.store", "a", "a.strata")
      try workspace.strata("store", "export", "models.store", "a", "-o", "exported.strata")
      #expect(try workspace.scratch.data("exported.strata") == workspace.scratch.data("a.strata"))
    }

    @Test("A repeated store import saves each archive only once")
    func importing() throws {
      try workspace.strata("tour", "--output", "tour")
      try workspace.encode(to: "tour/a.strata")
      let arguments = ["store", "import", "models.store", "tour", "--prefix", "tour/"]
      let first = try workspace.strata(arguments)
      #expect(first.lines.last?.hasPrefix("5 saved, 0 unchanged") ?? false, "\(first.text)")
      let second = try workspace.strata(arguments)
      #expect(second.lines.last?.hasPrefix("0 saved, 5 unchanged") ?? false, "\(second.text)")
    }

    @Test("A store can be checked, upgraded, backed up and salvaged")
    func maintenance() throws {
      try workspace.strata("store", "save", "models.store", "base", "base.json")
      #expect(try workspace.strata("store", "check", "models.store", "--full").text.hasPrefix("clean  "))
      let status = try workspace.strata("store", "status", "models.store", "--json").object()
      #expect(status["keys"] as? Int == 1 && status["revisions"] as? Int == 1)
      let upgrade = try workspace.strata("store", "upgrade", "models.store", "--json").object()
      #expect(upgrade["old"] as? Int == 0 && upgrade["dryRun"] as? Bool == false)
      try workspace.strata("store", "backup", "models.store", "-o", "backup.store")
      try workspace.strata("store", "salvage", "backup.store", "-o", "salvaged.store")
      #expect(try workspace.strata("store", "check", "salvaged.store", "--full").text.hasPrefix("clean  "))
      let shown = try workspace.strata("store", "show", "salvaged.store", "base", "--json").object()
      #expect((shown["value"] as? NSDictionary)?["t"] as? String == "a")
      let queue = try DatabaseQueue(path: workspace.scratch.path("models.store"))
      #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }
  }
}
