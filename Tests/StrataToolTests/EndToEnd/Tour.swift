import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  @Suite struct Tour {
    @Test("The tour writes archives and a store that other commands can read")
    func tour() throws {
      let workspace = try Workspace()
      try workspace.strata("tour", "--output", "tour")
      let archives = try workspace.archives(in: "tour").map { "tour/" + $0 }
      #expect(archives.count == 4)
      let verified = try workspace.strata(["verify"] + archives)
      #expect(verified.lines.filter { $0.hasPrefix("intact") }.count == archives.count, "\(verified.text)")
      let check = try workspace.strata("store", "check", "tour/issues.store", "--full", "--json").object()
      #expect(check["clean"] as? Bool == true && check["checkedRevisions"] as? Int == 6)
    }

    @Test("Docs/Images/tour.svg shows the current output of the tour", .runsPython)
    func picture() throws {
      try Python.run(Repository.scripts.appending(path: "picture"), [Executable.path(), "--check"])
    }

    @Test("The manual page has a section for each command", .runsPython)
    func manual() throws {
      let page = try Python.run(Repository.scripts.appending(path: "manual"), [Executable.path()])
      #expect(page.lines.contains(".SS strata store save"), "\(page.text.prefix(400))")
    }
  }
}
