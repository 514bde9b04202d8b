import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct KeyedArchives {
    let workspace: Workspace

    init() throws {
      workspace = try Workspace()
      try workspace.copy(Repository.fixtures.appending(path: "legacy"), to: "old")
    }

    @Test("inspect and verify read keyed archives and property lists")
    func reading() throws {
      let files = try Legacy.names
      let inspected = try workspace.strata("inspect", "old/bookmarks.plist")
      #expect(inspected.lines.contains("kind           keyed archive, binary"), "\(inspected.text)")
      let verified = try workspace.strata(["verify"] + files.map { "old/" + $0 })
      #expect(verified.lines.filter { $0.hasPrefix("intact") }.count == files.count, "\(verified.text)")
    }

    @Test("A keyed archive is converted to an archive")
    func convertingFiles() throws {
      try workspace.strata("convert", "old/bookmarks.plist", "-o", "bookmarks.strata")
      try workspace.strata("verify", "bookmarks.strata")
    }

    @Test("convert converts each file of a folder once and leaves the originals unchanged")
    func convertingFolders() throws {
      let first = try workspace.strata("convert", "old", "-o", "new", "--report", "report.json")
      #expect(first.lines.last?.hasPrefix("5 converted, 0 already converted") ?? false, "\(first.text)")
      let second = try workspace.strata("convert", "old", "-o", "new")
      #expect(second.lines.last?.hasPrefix("0 converted, 5 already converted") ?? false, "\(second.text)")
      #expect(
        FileManager.default.contentsEqual(
          atPath: workspace.scratch.path("old"), andPath: Repository.fixtures.appending(path: "legacy").path))
    }
  }
}

extension Legacy {
  /// The sorted names of the keyed archives and property lists.
  static var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: Repository.fixtures.appending(path: "legacy").path)
        .filter { !$0.hasSuffix(".json") }.sorted()
    }
  }
}
