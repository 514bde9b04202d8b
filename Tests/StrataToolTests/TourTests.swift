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
    #expect(run.text.contains("1 object of Issue upgraded from version 1 to 3"))
    #expect(run.text.contains("state: \"open\" → \"closed\""))
    #expect(!run.text.contains(" 0 bytes"))
    let names = ["1-version-1.strata", "2-version-3.strata", "3-merged.strata", "4-merged.strata"]
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names)
    #expect(Run(["verify"] + names.map { folder + "/" + $0 }).code == 0)
    let last = try ArchiveDecoder().decode(
      Issue.self, from: URL(fileURLWithPath: folder + "/4-merged.strata"))
    #expect(last.state == .closed && last.labels.map(\.name) == ["bug", "export"])
    #expect(last.labels.first?.color == "d73a4a" && last.milestone?.title == "2.4")
    // A second tour finds the same bytes.
    let before = try scratch.data("tour/4-merged.strata")
    #expect(Run("tour", "--output", folder).text == run.text)
    #expect(try scratch.data("tour/4-merged.strata") == before)
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
    #expect(run.text.contains("not in the response, untouched: state, state_reason, body, user"))
  }

  @Test(arguments: [
    ("[]", "array"), ("5", "integer"), ("{", "line 1"), (#"{"id": 1, "full_name": "a/b"}"#, "“number”"),
    (#"{"number": 1}"#, "“title”"), (issue.replacing("\"T\"", with: "7"), "title"),
    (issue.replacing("2020-01-01", with: "yesterday "), "created_at"),
    (issue.replacing("1,", with: "1.5,"), "“number” is no integer"),
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
