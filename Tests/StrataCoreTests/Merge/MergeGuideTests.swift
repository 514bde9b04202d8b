import Foundation
import Strata
import StrataTestSupport
import Testing

/// The examples of Docs/Merging.md and Docs/Legacy.md that need a model called `Issue`.
private enum MergeExamples {
  // Merging.md:begin
  @Model(version: 1)
  struct Issue {
    let number: Int
    var title: String
    var merging = MergeState()
  }
  // Merging.md:end

  static func remember(_ response: Data, _ refresh: Data) throws -> Issue {
    // Merging.md:begin
    var issue = try Issue(fromJSON: response)
    issue.title = "My title"
    try issue.merge(.json(refresh))
    for conflict in issue.mergeConflicts {
      try issue.resolve(conflict, with: .server)
    }
    // Merging.md:end
    return issue
  }

  static func refresh(_ mine: Issue, _ refreshed: Issue, _ before: Issue) throws -> (
    issue: Issue, outcomes: [MergeReport.Outcome]
  ) {
    var issue = mine
    // Merging.md:begin
    let report = try issue.merge(.model(refreshed), base: before)
    // Merging.md:end
    return (issue, report.entries.map(\.outcome))
  }

  static func open(_ data: Data) throws -> (KeyedArchive, Issue, Data) {
    let archive = try KeyedArchive(data)
    // Legacy.md:begin
    let issue = try ArchiveDecoder().decode(Issue.self, fromKeyed: data)
    // Legacy.md:end
    let back = try ArchiveEncoder().encodeKeyed(issue)
    return (archive, issue, back)
  }
}

/// The example of Docs/MergingObjects.md.
private enum ObjectExamples {
  // MergingObjects.md:begin
  @Model(version: 1)
  final class Crew {
    var captain: Sailor?
    @Field(merge: .byID()) var sailors: [Sailor] = []
    init() {}
  }

  @Model(version: 1)
  final class Sailor {
    let id: Int
    var name: String
    var mail: String?
    var boss: Sailor?
    weak var crew: Crew?
    init(id: Int, name: String) { (self.id, self.name) = (id, name) }
  }
  // MergingObjects.md:end

  static func merge(_ crew: Crew, _ refreshed: Crew) throws {
    // MergingObjects.md:begin
    try crew.mergeValues(from: refreshed)
    // MergingObjects.md:end
  }
}

extension MergeExamples.Issue: LegacyModel {
  // Legacy.md:begin
  static var legacyNames: [String] { ["GHIssue", "App.Issue"] }
  // Legacy.md:end
}

@Suite("Examples in Merging.md, MergingObjects.md and Legacy.md")
struct MergeGuideTests {
  @Test("The examples for merging and for old archives have the documented results")
  func examples() throws {
    func json(_ title: String) -> Data { Data(#"{"number": 7, "title": "\#(title)"}"#.utf8) }
    #expect(try MergeExamples.remember(json("a"), json("a")).title == "My title")
    let resolved = try MergeExamples.remember(json("a"), json("theirs"))
    #expect(resolved.title == "theirs" && resolved.mergeConflicts.isEmpty)
    let issue = try MergeExamples.Issue(fromJSON: json("a"))
    var mine = issue
    mine.title = "mine"
    let theirs = try MergeExamples.Issue(fromJSON: json("theirs"))
    for (local, server, title, outcome) in [
      (mine, issue, "mine", .local), (issue, theirs, "theirs", .server), (mine, theirs, "mine", .conflict),
    ] as [(MergeExamples.Issue, MergeExamples.Issue, String, MergeReport.Outcome)] {
      let merged = try MergeExamples.refresh(local, server, issue)
      #expect(merged.issue.title == title && merged.outcomes == [outcome])
    }
    let (archive, opened, back) = try MergeExamples.open(ArchiveEncoder().encodeKeyed(issue))
    #expect(opened.title == "a" && archive.graph.objects.first?["title"] == "a")
    #expect(try MergeExamples.open(back).1.number == 7)
  }

  @Test("The example in Docs/MergingObjects.md has the documented results")
  func objects() throws {
    let crew = ObjectExamples.Crew(), refreshed = ObjectExamples.Crew()
    let (ada, bob) = (ObjectExamples.Sailor(id: 1, name: "Ada"), ObjectExamples.Sailor(id: 2, name: "Bob"))
    (crew.sailors, crew.captain) = ([ada, bob], ada)
    refreshed.sailors = [ObjectExamples.Sailor(id: 1, name: "Ada"), ObjectExamples.Sailor(id: 2, name: "Bob")]
    refreshed.captain = refreshed.sailors[1]
    try ObjectExamples.merge(crew, refreshed)
    #expect(crew.captain === bob && ada.name == "Ada" && crew.sailors[0] === ada)
    try crew.mergeValues(fromJSON: Data(#"{"captain": {"id": 2, "name": "Bob B."}}"#.utf8))
    #expect(crew.captain === bob && bob.name == "Bob B." && ada.name == "Ada")
  }

  @Test(
    "Each page contains the lines of its tested examples", arguments: ["Legacy.md", "Merging.md", "MergingObjects.md"])
  func pages(_ name: String) throws {
    let page = try Repository.text("Docs/\(name)")
    let parts = try Repository.examples(name)
    #expect(parts.count == (name == "Merging.md" ? 3 : 2))
    let lines = Self.lines(page[...])
    for part in parts {
      let example = Self.lines(part)
      #expect(!example.isEmpty && lines.contains(example), "\(name) does not have \(example)")
    }
  }

  /// The lines without indentation and without trailing comments.
  private static func lines(_ text: Substring) -> [String] {
    text.split(separator: "\n").map { line in
      line.replacing(/\s+\/\/ .*$/, with: "").trimmingCharacters(in: .whitespaces)
    }.filter { !$0.isEmpty }
  }
}
