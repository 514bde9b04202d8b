import Foundation
import Strata

// These models decode documents of real servers. An app would declare them in the same way.

@Model(version: 1)
struct GitHubUser: Equatable {
  var id: Int
  var login: String
  var type: String
  @Field(json: "avatar_url") var avatar: URL
  @Field(json: "html_url") var page: URL?
  @Field(json: "site_admin") var isSiteAdmin: Bool?
  var name: String?
  var company: String?
  var followers: Int?
  @Field(json: "created_at") var createdAt: Date?
}

@Model(version: 1)
struct GitHubLabel: Equatable {
  var id: Int
  var name: String
  var color: String
  @Field(json: "default") var isDefault = false
  var description: String?
}

enum IssueState: String, Archivable { case open, closed }

@Model(version: 1)
struct GitHubMilestone: Equatable {
  var id: Int
  var number: Int
  var title: String
  var state: IssueState
  var description: String?
  var creator: GitHubUser
  @Field(json: "open_issues") var openIssues: Int
  @Field(json: "closed_issues") var closedIssues: Int
  @Field(json: "due_on") var dueOn: Date?
  @Field(json: "closed_at") var closedAt: Date?
}

@Model(version: 1)
struct GitHubIssue: Equatable {
  var id: Int
  var number: Int
  var title: String
  /// The event of an unpinned issue does not contain this key.
  var state: IssueState?
  @Field(json: "state_reason") var stateReason: String?
  var body: String?
  @Field(json: "locked") var isLocked = false
  var user: GitHubUser
  var labels: [GitHubLabel] = []
  var assignees: [GitHubUser] = []
  var milestone: GitHubMilestone?
  var comments: Int?
  @Field(json: "reactions.total_count") var reactionCount: Int?
  @Field(json: "html_url") var page: URL
  @Field(json: "created_at") var createdAt: Date
  @Field(json: "updated_at") var updatedAt: Date
  @Field(json: "closed_at") var closedAt: Date?
}

@Model(version: 1)
struct GitHubRepository: Equatable {
  var id: Int
  var name: String
  @Field(json: "full_name") var fullName: String
  @Field(json: "owner.login") var ownerLogin: String
  @Field(json: "private") var isPrivate: Bool
  @Field(json: "fork") var isFork: Bool
  var description: String?
  var language: String?
  @Field(json: "html_url") var page: URL
  @Field(json: "license.key") var license: String?
  @Field(json: .path("created_at", .dateOfEitherForm)) var createdAt: Date?
  @Field(json: .path("pushed_at", .dateOfEitherForm)) var pushedAt: Date?
  @Field(json: "has_issues") var hasIssues: Bool?
  @Field(json: "has_wiki") var hasWiki: Bool?
  @Field(json: "stargazers_count") var stars: Int?
  @Field(json: "default_branch") var defaultBranch: String?
  var topics: [String]?
  @Field(json: "permissions.admin") var isAdmin: Bool?
}

extension ReversibleTransformer where Input == ArchiveValue, Output == Date {
  /// GitHub's push events contain a date as seconds. All other events contain it as text.
  static var dateOfEitherForm: Self {
    Self(
      { value in
        if case .string(let text) = value { return try ReversibleTransformer<String, Date>.iso8601.transform(text) }
        guard let seconds = value.intValue else { throw TransformError("neither text nor seconds", input: value) }
        return Date(timeIntervalSince1970: Double(seconds))
      }, reverse: { .string(try ReversibleTransformer<String, Date>.iso8601.reverse($0)) })
  }
}

@Model(version: 1)
struct GitHubRelease: Equatable {
  var id: Int
  @Field(json: "tag_name") var tag: String
  var name: String?
  var body: String?
  @Field(json: "draft") var isDraft: Bool
  @Field(json: "prerelease") var isPrerelease: Bool
  var author: GitHubUser
  @Field(json: "created_at") var createdAt: Date
  @Field(json: "published_at") var publishedAt: Date?
  @Field(json: .readOnly("assets[*].name")) var assetNames: [String]
}

@Model(version: 1)
struct GitHubCommit: Equatable {
  var sha: String
  @Field(json: "commit.message") var message: String
  @Field(json: "commit.author.name") var author: String
  @Field(json: "commit.author.date") var date: Date
  @Field(json: "commit.committer.name") var committer: String
  @Field(json: .readOnly("parents[*].sha")) var parents: [String]
  @Field(json: "stats.additions") var additions: Int?
}

@Model(version: 1)
struct GitHubPush: Equatable {
  var ref: String
  var before: String
  var after: String
  @Field(json: "deleted") var isDeleted: Bool
  var repository: GitHubRepository
  @Field(json: "pusher.name") var pusher: String
  var sender: GitHubUser
}

enum IssueAction: String, Archivable, CaseIterable, UnknownCaseRepresentable {
  case opened, closed, edited, labeled, created, deleted, other
  static var unknownCase: IssueAction { .other }
}

@Model(version: 1)
struct GitHubIssueEvent: Equatable {
  var action: String
  @Field(json: .readOnly("action")) var kind: IssueAction
  var issue: GitHubIssue
  @Field(json: "repository.full_name") var repository: String
  var sender: GitHubUser
  @Field(json: "comment.body") var comment: String?
  @Field(json: "label.name") var label: String?
}

@Model(version: 1)
struct MastodonAccount: Equatable {
  var id: String
  var username: String
  @Field(json: "acct") var address: String
  @Field(json: "display_name") var displayName: String
  @Field(json: "bot") var isBot: Bool
  @Field(json: "locked") var isLocked = false
  var note: String
  var url: URL
  @Field(json: "created_at") var createdAt: Date
  @Field(json: .path("last_status_at", .date(format: "yyyy-MM-dd"))) var lastStatus: Date?
  @Field(json: "followers_count") var followers: Int
  var fields: [ProfileField]
}

@Model(version: 1)
struct ProfileField: Equatable {
  var name: String
  var value: String
  @Field(json: "verified_at") var verifiedAt: Date?
}

enum Visibility: String, Archivable { case `public`, unlisted, `private`, direct }

@Model(version: 1)
struct MastodonStatus: Equatable {
  var id: String
  var content: String
  var visibility: Visibility
  var language: String?
  @Field(json: "sensitive") var isSensitive: Bool
  @Field(json: "in_reply_to_id") var replyTo: String?
  @Field(json: "created_at") var createdAt: Date
  @Field(json: "edited_at") var editedAt: Date?
  @Field(json: "favourites_count") var favourites: Int
  @Field(json: "reblogs_count") var reblogs: Int
  @Field(json: "bookmarked") var isBookmarked: Bool?
  var account: MastodonAccount
  @Field(json: .readOnly("tags[*].name")) var tags: [String] = []
}

@Model(version: 1)
struct TwitterUser: Equatable {
  var id: Int
  @Field(json: "id_str") var text: String
  var name: String
  @Field(json: "screen_name") var screenName: String
  var description: String?
  var url: String?
  @Field(json: "protected") var isProtected: Bool
  @Field(json: "followers_count") var followers: Int
  @Field(json: "created_at") var createdAt: String
}

@Model(version: 1)
final class Tweet {
  let id: Int
  let text: String
  @Field(json: .path("created_at", .twitter)) let createdAt: Date
  let user: TwitterUser
  @Field(json: "truncated") let isTruncated: Bool
  @Field(json: "retweet_count") let retweets: Int?
  @Field(json: "favorited") let isFavorited: Bool
  @Field(json: .readOnly("entities.hashtags[*].text")) let hashtags: [String]?
  @Field(json: "coordinates.coordinates[0]") let longitude: Double?
  @Field(json: "coordinates.coordinates[1]") let latitude: Double?
  @Field(json: "retweeted_status") let retweeted: Tweet?
}

extension ReversibleTransformer where Input == String, Output == Date {
  static let twitter = date(format: "EEE MMM dd HH:mm:ss Z yyyy")
}
