import Foundation
import StrataTestSupport
import Testing

@Suite("Docs/Evolving.md")
struct EvolvingDocumentTests {
  @Test("The table lists the tested kinds of change and what each one needs")
  func table() throws {
    let text = try String(contentsOf: Repository.root.appendingPathComponent("Docs/Evolving.md"), encoding: .utf8)
    let section = try #require(text.components(separatedBy: "## What each change needs").last)
    let rows = section.components(separatedBy: "## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
      .dropFirst()
    let expected = Change.all.map { change in
      let need =
        switch change.need {
        case .nothing: "nothing"
        case .version: "a version"
        case .step: "a version and a step"
        }
      return "| \(change.name) | \(need) |"
    }
    #expect(rows.map(String.init) == expected)
  }
}
