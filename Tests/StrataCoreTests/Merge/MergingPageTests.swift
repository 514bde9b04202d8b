import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A row of a table in Docs/Merging.md.
private struct MergingPageRow: Sendable, CustomTestStringConvertible {
  let policy: String
  let cells: [String]

  var testDescription: String { "\(policy): \(cells.joined(separator: " | "))" }

  static let all: [MergingPageRow] = {
    guard let text = try? Repository.text("Docs/Merging.md") else { return [] }
    var policy: String?
    var rows: [MergingPageRow] = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#") { policy = line.hasPrefix("### `") ? String(line.dropFirst(5).dropLast()) : nil }
      guard let policy, line.hasPrefix("| "), !line.hasPrefix("| base") else { continue }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
      rows.append(MergingPageRow(policy: policy, cells: cells.map { $0.trimmingCharacters(in: .whitespaces) }))
    }
    return rows
  }()

  func value(_ cell: Int) throws -> ArchiveValue? {
    let text = cells[cell]
    return text == "–" ? nil : try JSONReader().read(Data(text.trimmingCharacters(in: ["`"]).utf8))
  }
}

@Suite("The tables in Docs/Merging.md")
struct MergingPageTests {
  @Test("The page has rows for all 18 named policies")
  func complete() {
    let policies = Set(MergingPageRow.all.map(\.policy))
    #expect(policies.count == 18 && MergingPageRow.all.count > 45)
    #expect(policies.allSatisfy { MergePolicy($0)?.description == $0 })
  }

  @Test("Merging the values of each table row gives the documented result", arguments: MergingPageRow.all)
  fileprivate func row(_ row: MergingPageRow) throws {
    let policy = try #require(MergePolicy(row.policy))
    let isUnknown = row.cells[0] == "unknown"
    let isTime = row.policy.hasPrefix("lastWriter")
    let options = MergeOptions(policies: isTime ? ["in.t": policy, "in.at": .max] : ["in": policy])
    func document(_ value: ArchiveValue?) -> ArchiveValue { value.map { ["in": $0] } ?? [:] }
    let (merged, report) = try Merger(options: options).merge(
      document(row.value(2)), into: document(row.value(1)), base: isUnknown ? nil : document(row.value(0)))
    #expect(try merged["in"] == row.value(3))
    #expect(report.entries.map(\.outcome.rawValue).joined(separator: ", ") == row.cells[4])
  }

  @Test("The table of laws matches the claims of each policy")
  func laws() throws {
    let text = try Repository.text("Docs/Merging.md")
    let section = try #require(text.components(separatedBy: "### Laws").last?.components(separatedBy: "\n## ").first)
    var count = 0
    for line in section.split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let claims: [MergePolicy.Claims] = [.commutative, .associative, .idempotent, .respectsBase]
      let expected = zip(claims, cells.dropFirst()).reduce(into: MergePolicy.Claims()) {
        if $1.1 == "✓" { $0.insert($1.0) }
      }
      for (place, name) in cells[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
      where place % 2 == 1 {
        #expect(MergePolicy(String(name))?.claims == expected, "\(name)")
        count += 1
      }
    }
    #expect(count == 15)
  }
}
