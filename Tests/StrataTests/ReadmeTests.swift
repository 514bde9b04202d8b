import Foundation
import Strata
import StrataTestSupport
import Testing

// The program on the README's first screen. A test compares and runs it.

// README:begin
@Model(version: 2)
struct Bug {
  let id: Int
  var title: String
  var status: Status = .open
  @Field(json: "html_url") var url: URL
  @Field(merge: .byID()) var labels: [Tag] = []
}

enum Status: String, Archivable { case open, closed }

@Model(version: 1)
struct Tag {
  let id: Int
  var name: String
}

extension Bug: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("summary", to: "title"), .convert("url", .toURL)))
}

func run() throws {
  // Persist: a server's response becomes a model, and the model an archive.
  let response =
    #"{"id": 7, "title": "Crash", "html_url": "https://example.com/7", "labels": [{"id": 1, "name": "urgent"}]}"#
  var bug = try Bug(fromJSON: Data(response.utf8))
  let archive = try ArchiveEncoder().encode(bug)
  print(archive.count, "bytes,", try Stamp(of: archive).typeName, "version", try Stamp(of: archive).modelVersion ?? 0)

  // Upgrade: what version 1 wrote opens in today's model.
  let old = ModelRecord(
    typeName: "Bug", modelVersion: 1, fields: [("id", 3), ("summary", "Slow"), ("url", "https://example.com/3")])
  var report = DecodingReport()
  let upgraded = try ArchiveDecoder().decode(Bug.self, from: ArchiveEncoder().encode(old), report: &report)
  print(upgraded.title, upgraded.status, report.upgrades.map { "\($0.fromVersion) → \($0.toVersion)" })

  // Merge: only the keys that the server sent.
  let changes = try bug.mergeValues(fromJSON: Data(#"{"status": "closed"}"#.utf8))
  print(changes.changedKeys, bug.title, bug.status)
}
// README:end

@Suite("README")
struct ReadmeTests {
  @Test("The program of the README is this one, and runs")
  func program() throws {
    try run()
    let program = try #require(Repository.examples("README").first)
    #expect(try Repository.text("README.md").contains(program.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  @Test("The least versions of the systems are those of the package")
  func systems() throws {
    let package = try Repository.text("Package.swift")
    let readme = try Repository.text("README.md")
    let systems = package.matches(of: /\.(macOS|iOS|tvOS|watchOS|visionOS)\(\.v([0-9]+)\)/)
    #expect(systems.count == 5)
    for system in systems { #expect(readme.contains("\(system.output.1) \(system.output.2)")) }
  }
}
