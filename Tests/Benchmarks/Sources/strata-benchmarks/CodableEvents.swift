import Foundation

/// GitHub's webhook events as structs that are only Codable.
enum PlainGitHub {
  struct WebhookEvent: Codable, Equatable, Sendable {
    var action: String
    var issue: Issue?
    var assignee: Account?
    var repository: Repository
    var sender: Account
    var installation: Installation?
    var organization: Organization?
    var milestone: Milestone?
    var comment: Comment?
    var number: Int?
    var pull_request: Pull?
    var requested_reviewer: Account?
    var label: Label?
  }
  struct Issue: Codable, Equatable, Sendable {
    var url: URL
    var repository_url: URL
    var labels_url: String
    var comments_url: String
    var events_url: String
    var html_url: URL
    var id: Int
    var node_id: String
    var number: Int
    var title: String
    var user: Account
    var labels: [Label]?
    var state: String?
    var locked: Bool?
    var assignee: Account?
    var assignees: [Account]
    var milestone: Milestone?
    var comments: Int
    var created_at: Date
    var updated_at: Date
    var closed_at: Date?
    var author_association: String
    var active_lock_reason: String?
    var body: String
    var reactions: Reactions
    var draft: Bool
    var timeline_url: String?
  }
  struct Account: Codable, Equatable, Sendable {
    var login: String
    var id: Int
    var node_id: String
    var avatar_url: URL
    var gravatar_id: String
    var url: URL
    var html_url: URL
    var followers_url: String
    var following_url: String
    var gists_url: String
    var starred_url: String
    var subscriptions_url: String
    var organizations_url: String
    var repos_url: String
    var events_url: String
    var received_events_url: String
    var type: String
    var site_admin: Bool
  }
  struct Label: Codable, Equatable, Sendable {
    var id: Int
    var node_id: String
    var url: URL
    var name: String
    var color: String
    var `default`: Bool
    var description: String
  }
  struct Milestone: Codable, Equatable, Sendable {
    var url: URL
    var html_url: URL
    var labels_url: String
    var id: Int
    var node_id: String
    var number: Int
    var title: String
    var description: String
    var creator: Account
    var open_issues: Int
    var closed_issues: Int
    var state: String
    var created_at: Date
    var updated_at: Date
    var due_on: Date
    var closed_at: Date
  }
  struct Reactions: Codable, Equatable, Sendable {
    var url: URL
    var total_count: Int
    var laugh: Int
    var hooray: Int
    var confused: Int
    var heart: Int
    var rocket: Int
    var eyes: Int
  }
  struct Repository: Codable, Equatable, Sendable {
    var id: Int
    var node_id: String
    var name: String
    var full_name: String
    var `private`: Bool
    var owner: Account
    var html_url: URL
    var fork: Bool
    var url: URL
    var forks_url: String
    var keys_url: String
    var collaborators_url: String
    var teams_url: String
    var hooks_url: String
    var issue_events_url: String
    var events_url: String
    var assignees_url: String
    var branches_url: String
    var tags_url: String
    var blobs_url: String
    var git_tags_url: String
    var git_refs_url: String
    var trees_url: String
    var statuses_url: String
    var languages_url: String
    var stargazers_url: String
    var contributors_url: String
    var subscribers_url: String
    var subscription_url: String
    var commits_url: String
    var git_commits_url: String
    var comments_url: String
    var issue_comment_url: String
    var contents_url: String
    var compare_url: String
    var merges_url: String
    var archive_url: String
    var downloads_url: String
    var issues_url: String
    var pulls_url: String
    var milestones_url: String
    var notifications_url: String
    var labels_url: String
    var releases_url: String
    var deployments_url: String
    var created_at: Date
    var updated_at: Date
    var pushed_at: Date
    var git_url: String
    var ssh_url: String
    var clone_url: URL
    var svn_url: String
    var size: Int
    var stargazers_count: Int
    var watchers_count: Int
    var language: String?
    var has_issues: Bool
    var has_projects: Bool
    var has_downloads: Bool
    var has_wiki: Bool
    var has_pages: Bool
    var forks_count: Int
    var archived: Bool
    var disabled: Bool
    var open_issues_count: Int
    var forks: Int
    var open_issues: Int
    var watchers: Int
    var default_branch: String
    var is_template: Bool
    var visibility: String
    var web_commit_signoff_required: Bool
  }
  struct Installation: Codable, Equatable, Sendable {
    var id: Int
    var node_id: String
  }
  struct Organization: Codable, Equatable, Sendable {
    var login: String
    var id: Int
    var node_id: String
    var url: URL
    var repos_url: String
    var events_url: String
    var hooks_url: String
    var issues_url: String
    var members_url: String
    var public_members_url: String
    var avatar_url: URL
    var description: String
  }
  struct Comment: Codable, Equatable, Sendable {
    var url: URL
    var html_url: URL
    var issue_url: String
    var id: Int
    var node_id: String
    var user: Account
    var created_at: Date
    var updated_at: Date
    var author_association: String
    var body: String
    var reactions: Reactions
  }
  struct Pull: Codable, Equatable, Sendable {
    var url: URL
    var id: Int
    var node_id: String
    var html_url: URL
    var diff_url: URL
    var patch_url: URL
    var issue_url: String
    var number: Int
    var state: String
    var locked: Bool
    var title: String
    var user: Account
    var body: String
    var created_at: Date
    var updated_at: Date
    var merge_commit_sha: String?
    var assignees: [Account]
    var requested_reviewers: [Account]
    var labels: [Label]
    var commits_url: String
    var review_comments_url: String
    var review_comment_url: String
    var comments_url: String
    var statuses_url: String
    var head: Branch
    var base: Branch
    var _links: Links
    var author_association: String
    var draft: Bool
    var merged: Bool
    var mergeable: Bool?
    var rebaseable: Bool?
    var mergeable_state: String
    var comments: Int
    var review_comments: Int
    var maintainer_can_modify: Bool
    var commits: Int
    var additions: Int
    var deletions: Int
    var changed_files: Int
  }
  struct Branch: Codable, Equatable, Sendable {
    var label: String
    var ref: String
    var sha: String
    var user: Account
    var repo: Repository
  }
  struct Links: Codable, Equatable, Sendable {
    var html: Link
    var issue: Link
    var comments: Link
    var review_comments: Link
    var review_comment: Link
    var commits: Link
    var statuses: Link
  }
  struct Link: Codable, Equatable, Sendable {
    var href: String
  }
}
