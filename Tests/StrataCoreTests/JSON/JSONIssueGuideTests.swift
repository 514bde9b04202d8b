import Foundation
import Strata
import StrataTestSupport
import Testing

// The example for servers in Docs/JSON.md. A test compares and runs it.

// JSON:begin
@Model(version: 1)
struct GHIssue {
  let number: Int
  var title: String
  var body: String?
  @Field(
    json: .path("state", .cases(GHState.self, aliases: ["reopened": .open])))
  var state: GHState
  @Field(json: "user.login") let reporterLogin: String
  var assignee: GHUser?
  @Field(json: "html_url") let page: URL
  @Field(json: .readOnly("updated_at")) let updatedAt: Date
  @Field(json: .path("milestone.due_on", .date(format: "yyyy-MM-dd")))
  var dueOn: Date?
  @Field(json: .readOnly("labels[*].name")) var labels: [String] = []
  @Field(json: .none) var retrievedAt = Date.now
}

enum GHState: String, Archivable, CaseIterable { case open, closed }

@Model(version: 1)
struct GHUser {
  let login: String
  @Field(json: .firstOf("html_url", "url")) let page: URL
}

func close(_ response: Data) throws -> Data {
  let adapter = try JSONAdapter<GHIssue>()
  let issue = try adapter.decode(response)
  var closed = issue
  closed.state = .closed
  closed.assignee = nil
  return try adapter.jsonMergePatchData(from: issue, to: closed)  // {"state":"closed","assignee":null}
}
// JSON:end

@Suite("The JSON guide: issue example")
struct JSONIssueGuideTests {
  @Test("The issue example in the guide matches the tested code and has the documented results")
  func example() throws {
    let program = try #require(Repository.examples("JSON").first)
    #expect(try Repository.text("Docs/JSON.md").contains(program.trimmingCharacters(in: .whitespacesAndNewlines)))
    let response = """
      {"number": 7, "title": "Crash", "state": "reopened", "user": {"login": "ada"}, "html_url": "https://example.com/7",
       "assignee": {"login": "bob", "url": "https://example.com/bob"}, "updated_at": "2011-01-26T19:01:12Z",
       "milestone": {"due_on": "2011-02-01"}, "labels": [{"name": "bug"}]}
      """
    #expect(try String(decoding: close(Data(response.utf8)), as: UTF8.self) == #"{"state":"closed","assignee":null}"#)
    let issue = try JSONAdapter<GHIssue>().decode(Data(response.utf8))
    #expect(issue.labels == ["bug"] && issue.assignee?.page.path() == "/bob" && issue.state == .open)
    #expect(issue.dueOn == Date(timeIntervalSince1970: 1_296_518_400))
  }
}
