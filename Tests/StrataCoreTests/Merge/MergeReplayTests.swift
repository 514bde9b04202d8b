import Foundation
import Strata
import StrataTestSupport
import Testing

@Model(version: 1)
private struct TrackedIssue: Equatable {
  var id: Int
  var number: Int
  var title: String?
  var state: IssueState?
  var body: String?
  @Field(json: "locked") var isLocked = false
  var user: GitHubUser
  @Field(merge: .byID()) var labels: [GitHubLabel] = []
  @Field(merge: .byID()) var assignees: [GitHubUser] = []
  var milestone: GitHubMilestone?
  var comments: Int?
  @Field(json: "updated_at") var updatedAt: Date?
  @Field(json: "closed_at") var closedAt: Date?
  var merging = MergeState()
}

@Model(version: 1)
private struct TrackedRepository: Equatable {
  var id: Int
  var name: String?
  var description: String?
  var language: String?
  @Field(json: "has_issues") var hasIssues: Bool?
  @Field(json: "has_wiki") var hasWiki: Bool?
  @Field(json: "stargazers_count") var stars: Int?
  @Field(json: .path("updated_at", .dateOfEitherForm)) var updatedAt: Date?
  @Field(json: .path("pushed_at", .dateOfEitherForm)) var pushedAt: Date?
  var topics: [String]?
  var merging = MergeState()
}

@Suite(
  "Refreshing models that remember their base, with edits in between", .readsCorpus)
struct MergeReplayTests {
  /// The recorded sequences whose first document has these keys.
  private static func sequences(_ keys: Set<String>) -> [RecordedSequence] {
    RecordedSequence.all.filter { sequence in
      // Skips sequences that cannot be read. Another test counts the sequences and fails if any are missing.
      let first = try? sequence.documents().first?.objectValue
      return keys.isSubset(of: first?.keys ?? [])
    }
  }

  private static let issues = sequences(["number", "title", "state", "comments_url", "user"])
  private static let repositories = sequences(["full_name", "private", "owner", "id"])

  @Test("The recorded issue and repository sequences are available")
  func areThere() { #expect(Self.issues.count >= 14 && Self.repositories.count >= 19) }

  @Test(
    "U-1: edits survive every refresh, the server's changes are merged, and conflicts remain",
    arguments: issues + repositories)
  private func replay(_ recording: RecordedSequence) throws {
    let documents = try recording.documents()
    #expect(documents.count == recording.steps && documents.count > 1)
    if Self.issues.contains(where: { $0.seq == recording.seq }) {
      try replay(TrackedIssue.self, documents, \.merging, texts: [\.title, \.body], dates: [\.updatedAt, \.closedAt]) {
        issue in
        issue.labels.append(GitHubLabel(id: -1, name: "edited here", color: "fff"))
      } isThere: { issue in
        issue.labels.contains { $0.id == -1 }
      } undo: { issue in
        issue.labels.removeAll { $0.id == -1 }
      }
    } else {
      try replay(
        TrackedRepository.self, documents, \.merging, texts: [\.name, \.description, \.language],
        dates: [\.updatedAt, \.pushedAt]
      ) { _ in
      } isThere: { _ in
        true
      } undo: { _ in
      }
    }
  }

  private func replay<M: VersionedModel & Equatable>(
    _ type: M.Type, _ documents: [ArchiveValue], _ memory: WritableKeyPath<M, MergeState>,
    texts: [WritableKeyPath<M, String?>], dates: [WritableKeyPath<M, Date?>],
    edit: (inout M) -> Void, isThere: (M) -> Bool, undo: (inout M) -> Void
  ) throws {
    // The server's state after each response. A response may contain only a part of the state.
    var said = try #require(documents[0].objectValue)
    let servers = try documents.map { document in
      for entry in try #require(document.objectValue).entries { said[entry.key] = entry.value }
      return try M(fromJSON: .object(said))
    }
    var model = try M(fromJSON: documents[0])
    let edited = texts.filter { text in servers.allSatisfy { $0[keyPath: text] == servers[0][keyPath: text] } }
    #expect(!edited.isEmpty)
    for text in edited { model[keyPath: text] = "edited here" }
    edit(&model)
    let mark = Date(timeIntervalSince1970: 1)
    var contested = Set<WritableKeyPath<M, Date?>>()
    for (place, document) in documents.enumerated().dropFirst() {
      for date in dates where servers[place][keyPath: date] != servers[place - 1][keyPath: date] {
        model[keyPath: date] = mark
        contested.insert(date)
      }
      try model.merge(.json(document))
      #expect(edited.allSatisfy { model[keyPath: $0] == "edited here" } && isThere(model))
      #expect(contested.allSatisfy { model[keyPath: $0] == mark } && model.mergeConflicts.count == contested.count)
      // Merging the same response again changes nothing.
      #expect(try model.merge(.json(document)).isEmpty && model.mergeConflicts.count == contested.count)
      let opened = try archived(model)
      #expect(opened == model && opened.mergeConflicts == model.mergeConflicts)
      model = opened
      // Apart from the edits, the model equals the server's state.
      var plain = model
      for text in edited { plain[keyPath: text] = servers[place][keyPath: text] }
      for date in contested { plain[keyPath: date] = servers[place][keyPath: date] }
      undo(&plain)
      plain[keyPath: memory] = servers[place][keyPath: memory]
      #expect(plain == servers[place])
    }
    for conflict in model.mergeConflicts { try model.resolve(conflict, with: .server) }
    #expect(model.mergeConflicts.isEmpty)
    let last = try #require(servers.last)
    #expect(contested.allSatisfy { model[keyPath: $0] == last[keyPath: $0] })
  }
}
