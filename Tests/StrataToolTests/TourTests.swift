import Foundation
import StrataCore
import Testing

@testable import StrataTool
import StrataTestSupport

struct TourTests {
  let scratch: Scratch
  let folder: String

  init() throws {
    scratch = try Scratch()
    folder = scratch.path("tour")
  }

  @Test func fixtures() throws {
    let run = Run("tour", "--output", folder)
    #expect(run.code == 0, "\(run.error)")
    #expect(run.text.contains("rename summary to title"))
    #expect(run.text.contains("upgraded 1 object of the type Issue from version 1 to 3"))
    #expect(run.text.contains("state: \"open\" → \"closed\""))
    #expect(!run.text.contains(" 0 bytes"))
    let names = ["1-version-1.strata", "2-version-3.strata", "3-merged.strata", "4-merged.strata"]
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names + ["issues.store"])
    #expect(Run(["verify"] + names.map { folder + "/" + $0 }).code == 0)
    let last = try ArchiveDecoder().decode(
      Issue.self, from: URL(fileURLWithPath: folder + "/4-merged.strata"))
    #expect(last.state == .closed && last.labels.map(\.name) == ["bug", "export"])
    #expect(last.title == "CSV export stops at midnight (edited)")
    #expect(run.text.contains("title: the user's edit is kept (changed only locally)"))
    #expect(last.labels.first?.color == "d73a4a" && last.milestone?.title == "2.4")
    // A second tour gives the same text and the same bytes.
    let before = try scratch.data("tour/4-merged.strata")
    #expect(Run("tour", "--output", folder).text == run.text)
    #expect(try scratch.data("tour/4-merged.strata") == before)
  }

  @Test("The embedded tour responses equal the files in Fixtures/json/tour")
  func embedded() throws {
    let source = Repository.fixtures.appending(path: "json/tour")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: source.path).sorted() == TourFixtures.responses.map(\.name))
    for response in TourFixtures.responses {
      #expect(try Data(contentsOf: source.appending(path: response.name)) == response.text)
    }
    let files = TourFixtures.responses.map { source.appending(path: $0.name).path }
    let named = Run(["tour"] + files + ["-o", folder])
    #expect(named.text.replacing(source.path + "/", with: "") == Run("tour", "-o", folder).text)
  }

  @Test("The tour works in a copied executable without source files")
  func installed() throws {
    try FileManager.default.createDirectory(atPath: scratch.path("bin"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: Executable.path(), toPath: scratch.path("bin/strata"))
    // The executable must not contain the path of the source files.
    let run = try Executable.shell(
      "./strata tour && grep -c Fixtures/json/tour strata", in: URL(fileURLWithPath: scratch.path("bin")))
    #expect(
      run.text.contains("Version 1 of the model archives 1-issue.json (2,894 bytes of JSON)"), "\(run.text)\(run.error)"
    )
    #expect(run.text.hasSuffix("\n0\n"), "\(run.text)")
  }

  @Test("The tour creates a store with each state, and store commands read it")
  func store() throws {
    let run = Run("tour", "--output", folder)
    let path = folder + "/issues.store"
    #expect(run.text.contains("5. A store keeps each state: \(path)\n   4 saves under the key issue/"), "\(run.text)")
    #expect(
      run.text.contains("restored revision 1 as revision 5; these fields differ from revision 4: title, "),
      "\(run.text)")
    let key = try #require(run.text.split(separator: " ").last?.dropLast(2)).description
    let history = try JSONReader().read(Run("store", "history", path, key, "--json").output)["revisions"]?.arrayValue
    #expect(history?.map { $0["action"] } == ["save", "save", "save", "save", "restore", "undo"])
    #expect(history?.map { $0["modelVersion"] } == [1, 3, 3, 3, 1, 3])
    for (revision, name) in ["1-version-1", "2-version-3", "3-merged", "4-merged", "1-version-1", "4-merged"]
      .enumerated()
    {
      let exported = Run("store", "export", path, key, "-o", "-", "--revision", "\(revision + 1)")
      #expect(try exported.output == scratch.data("tour/\(name).strata"), "\(revision + 1)")
    }
    // An unrelated file at the store's path is kept.
    _ = try scratch.file("tour/issues.store", Data(repeating: 1, count: 5000))
    let again = Run("tour", "--output", folder)
    #expect(again.code == 1 && again.error.contains("issues.store"))
    #expect(try scratch.data("tour/issues.store").count == 5000)
  }

  static let issue = """
    {"number": 1, "title": "T", "state": "odd", "user": null, "created_at": "2020-01-01T00:00:00Z", "body": null}
    """

  @Test func bareResponses() throws {
    let first = try scratch.file("1.json", Self.issue)
    let second = try scratch.file("2.json", #"{"number": 1, "title": "New"}"#)
    let run = Run("tour", first, second, "-o", folder)
    #expect(run.code == 0, "\(run.error)")
    #expect(run.text.contains(#"title: "T" → "New""#))
    #expect(run.text.contains("not in the response, so not changed: state, state_reason, body, user"))
  }

  @Test(arguments: [
    ("[]", "array"), ("5", "integer"), ("{", "line 1"), (#"{"id": 1, "full_name": "a/b"}"#, "“number”"),
    (#"{"number": 1}"#, "“title”"), (issue.replacing("\"T\"", with: "7"), "title"),
    (issue.replacing("2020-01-01", with: "yesterday "), "created_at"),
    (issue.replacing("1,", with: "1.5,"), "“number” is not an integer"),
  ])
  func whatIsNoIssue(text: String, fragment: String) throws {
    Run("tour", try scratch.file("x.json", text), "-o", folder).expectFailure("x.json: ", fragment)
    let first = try scratch.file("1.json", Self.issue)
    if !text.contains("created_at") || fragment == "title" {
      Run("tour", first, try scratch.file("x.json", text), "-o", folder).expectFailure("x.json: ", fragment)
    }
    #expect(try scratch.names == ["1.json", "x.json"])
  }

  @Test func responsesForDifferentIssues() throws {
    let first = try scratch.file("1.json", Self.issue)
    let second = try scratch.file("2.json", Self.issue.replacing("1,", with: "2,"))
    Run("tour", first, second, "-o", folder).expectFailure("2.json: ", "issue 2")
    Run("tour", first, scratch.path("missing"), "-o", folder).expectFailure("missing")
    Run("tour", first, "-o", second).expectFailure("2.json")
    #expect(try scratch.names == ["1.json", "2.json"])
  }
}
