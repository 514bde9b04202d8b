internal import Foundation
internal import StrataCore

/// Version 3 of the model of a GitHub issue or pull request.
struct Issue: Equatable {
  var number: Int
  var title: String
  var state: IssueState
  var stateReason: String?
  var body: String?
  var user: User?
  var labels: [Label]
  var assignees: [User]
  var milestone: Milestone?
  var isLocked: Bool
  var commentCount: Int
  var reactionCount: Int?
  var createdAt: Date
  var updatedAt: Date?
  var closedAt: Date?
  var closedBy: User?
  var url: URL?
}

extension Issue: DescribedModel {
  static let fields = Fields(
    Issue.self, version: 3,
    Field("number", \.number),
    Field("title", \.title),
    Field("state", \.state),
    Field("state_reason", \.stateReason),
    Field("body", \.body),
    Field("user", \.user),
    Field("labels", \.labels, merge: .byID("name", unlisted: .removeUnlessEdited), default: []),
    Field("assignees", \.assignees, merge: .byID("login", unlisted: .removeUnlessEdited), default: []),
    Field("milestone", \.milestone),
    Field("locked", \.isLocked, default: false),
    Field("comments", \.commentCount, default: 0),
    Field("reactions", \.reactionCount, json: "reactions.total_count"),
    Field("created_at", \.createdAt),
    Field("updated_at", \.updatedAt),
    Field("closed_at", \.closedAt),
    Field("closed_by", \.closedBy),
    Field("html_url", \.url),
    make: {
      Issue(
        number: $0, title: $1, state: $2, stateReason: $3, body: $4, user: $5, labels: $6, assignees: $7,
        milestone: $8, isLocked: $9, commentCount: $10, reactionCount: $11, createdAt: $12, updatedAt: $13,
        closedAt: $14, closedBy: $15, url: $16)
    })
}

extension Issue: Migratable {
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2,
      .rename("summary", to: "title"),
      .rename("text", to: "body"),
      .convert("created", .toDate),
      .rename("created", to: "created_at"),
      .convert("updated", .toDate),
      .rename("updated", to: "updated_at"),
      .drop("etag")),
    .step(
      from: 2, to: 3,
      .rename("status", to: "state"),
      .move("user_login", to: "user.login", creating: .init("User", version: 1)),
      .custom("create a Label for each name in labels") { record in
        guard let names = record["labels"]?.arrayValue else { return }
        record["labels"] = .array(
          names.map { .record(ModelRecord(typeName: "Label", modelVersion: 1, fields: [("name", $0)])) })
      },
      .rename("comment_count", to: "comments"),
      .convert("page", .toURL),
      .rename("page", to: "html_url"),
      .setDefault("locked", false)))
}
