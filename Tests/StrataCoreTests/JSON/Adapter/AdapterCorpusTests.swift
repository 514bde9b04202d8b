import Foundation
import Strata
import StrataTestSupport
import Testing

/// A kind of document: the keys that identify it, and the functions that decode and encode it.
private struct Kind: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let folders: [String]
  let keys: Set<String>
  let atLeast: Int
  let check: @Sendable (ArchiveValue) throws -> ArchiveValue

  init<M: VersionedModel>(
    _ type: M.Type, in folders: [String], keys: Set<String>, atLeast: Int, same: @escaping @Sendable (M, M) -> Bool
  ) {
    testDescription = "\(type)"
    (self.folders, self.keys, self.atLeast) = (folders, keys, atLeast)
    check = { json in
      let adapter = try JSONAdapter<M>()
      let model = try adapter.decode(json)
      let written = try adapter.encodeValue(model, nulls: .omit)
      // The adapter does not write read-only fields, so their values are taken from the document.
      let all = JSONMergePatch.apply(written, to: json)
      guard same(try adapter.decode(all), model) else { throw Difference.found }
      return written
    }
  }

  init<M: VersionedModel & Equatable>(_ type: M.Type, in folders: [String], keys: Set<String>, atLeast: Int) {
    self.init(type, in: folders, keys: keys, atLeast: atLeast) { $0 == $1 }
  }
}

private enum Difference: Error { case found }

/// Searches a value and calls `found` for each object that has all of the given keys.
private func objects(in value: ArchiveValue, with keys: Set<String>, _ found: (ArchiveValue) throws -> Void) rethrows {
  switch value {
  case .object(let object):
    if keys.isSubset(of: object.keys) { try found(value) }
    for entry in object.entries { try objects(in: entry.value, with: keys, found) }
  case .array(let elements): for element in elements { try objects(in: element, with: keys, found) }
  default: break
  }
}

/// Whether the written value agrees with the document. Keys that both contain must have matching values. A key that only the written
/// value contains must have the value `false` or an empty array.
private func isConsistent(_ written: ArchiveValue, _ read: ArchiveValue?) -> Bool {
  switch (written, read) {
  case (.object(let written), .object(let read)?):
    return written.entries.allSatisfy { isConsistent($0.value, read[$0.key]) }
  case (.array(let written), .array(let read)?):
    return written.count == read.count && zip(written, read).allSatisfy { isConsistent($0, $1) }
  case (.array(let written), nil): return written.isEmpty
  case (.bool(let written), nil): return !written
  case (_, nil): return false
  case (.string(let written), .string(let read)?):
    if written == read { return true }
    let iso = ReversibleTransformer<String, Date>.iso8601
    return (try? iso.transform(written)) == (try? iso.transform(read)) && (try? iso.transform(read)) != nil
  case (.string(let written), .int(let seconds)?):
    return (try? ReversibleTransformer<String, Date>.iso8601.transform(written))?.timeIntervalSince1970
      == Double(seconds)
  case (_, let read?): return written == read
  }
}

@Suite("JSON adapter with real documents", .readsCorpus)
struct AdapterCorpusTests {
  private static let kinds: [Kind] = {
    let rest = ["github-rest", "github-webhook", "octokit-scenarios", "merge"]
    let social = ["mastodon", "merge"]
    return [
      Kind(GitHubUser.self, in: rest, keys: ["login", "id", "type", "avatar_url"], atLeast: 1500),
      Kind(GitHubLabel.self, in: rest, keys: ["id", "name", "color", "url", "default"], atLeast: 120),
      Kind(GitHubMilestone.self, in: rest, keys: ["number", "open_issues", "closed_issues"], atLeast: 30),
      Kind(
        GitHubIssue.self, in: rest, keys: ["number", "title", "state", "comments_url", "user"], atLeast: 290),
      Kind(GitHubRepository.self, in: rest, keys: ["full_name", "private", "owner", "html_url", "id"], atLeast: 400),
      Kind(GitHubRelease.self, in: rest, keys: ["tag_name", "assets", "draft", "prerelease"], atLeast: 50),
      Kind(GitHubCommit.self, in: rest, keys: ["sha", "commit", "parents"], atLeast: 3),
      Kind(GitHubPush.self, in: rest, keys: ["ref", "before", "after", "commits"], atLeast: 1),
      Kind(GitHubIssueEvent.self, in: rest, keys: ["action", "issue", "repository", "sender"], atLeast: 20),
      Kind(MastodonAccount.self, in: social, keys: ["acct", "username", "display_name"], atLeast: 100),
      Kind(MastodonStatus.self, in: social, keys: ["id", "content", "visibility", "account"], atLeast: 40),
      Kind(TwitterUser.self, in: ["tweets"], keys: ["screen_name", "id_str", "followers_count"], atLeast: 450),
      Kind(Tweet.self, in: ["tweets"], keys: ["id_str", "user", "text"], atLeast: 400) {
        $0.id == $1.id && $0.text == $1.text && $0.createdAt == $1.createdAt && $0.user == $1.user
          && $0.hashtags == $1.hashtags && $0.latitude == $1.latitude && $0.retweeted?.id == $1.retweeted?.id
      },
    ]
  }()

  @Test(
    "J-32: encoding a model decoded from a real document reproduces the document's values", .tags(.long),
    arguments: kinds)
  private func documents(kind: Kind) throws {
    var count = 0
    let paths = kind.folders.flatMap { Corpus.jsonFiles(in: "json/\($0)") }
    for path in Effort.sample(40, of: paths) {
      try objects(in: JSONReader().read(Corpus.data(path)), with: kind.keys) { json in
        count += 1
        do {
          let written = try kind.check(json)
          #expect(isConsistent(written, json), "\(path)")
        } catch { Issue.record("\(path): \(error)") }
      }
    }
    #expect(count >= kind.atLeast || !Effort.isLong, "only \(count) documents")
  }
}

// MARK: Sequences of responses for one thing

@Suite("Merging recorded JSON responses", .readsCorpus)
struct MergeSequenceTests {
  @Test(
    "X-3, MG-1: merging successive responses yields the server's latest state", .tags(.long),
    arguments: Effort.sample(6, of: RecordedSequence.all))
  private func merging(sequence: RecordedSequence) throws {
    let steps = try sequence.documents()
    #expect(steps.count == sequence.steps)
    let keys = Set(try #require(steps.first?.objectValue).keys)
    if keys.isSuperset(of: ["number", "title", "state", "comments_url", "user"]) {
      try fold(GitHubIssue.self, steps)
    } else if keys.isSuperset(of: ["full_name", "private", "owner", "id"]) {
      try fold(GitHubRepository.self, steps)
    } else if keys.isSuperset(of: ["number", "open_issues", "closed_issues"]) {
      try fold(GitHubMilestone.self, steps)
    } else if keys.isSuperset(of: ["name", "color", "default"]) {
      try fold(GitHubLabel.self, steps)
    } else if keys.isSuperset(of: ["tag_name", "assets"]) {
      try fold(GitHubRelease.self, steps)
    } else if keys.isSuperset(of: ["acct", "display_name"]) {
      try fold(MastodonAccount.self, steps)
    } else if keys.isSuperset(of: ["content", "visibility", "account"]) {
      try fold(MastodonStatus.self, steps)
    } else if keys.isSuperset(of: ["login", "avatar_url"]) {
      try fold(GitHubUser.self, steps)
    } else {
      // Projects, cards and gists have no model here and are merged as JSON.
      try foldValues(steps)
    }
  }

  private func fold<M: VersionedModel & Equatable>(_ type: M.Type, _ steps: [ArchiveValue]) throws {
    let adapter = try JSONAdapter<M>()
    var model = try adapter.decode(steps[0])
    var said = try #require(steps[0].objectValue)
    // The server's lists are complete, so elements that they don't list are removed.
    let options = MergeOptions(unlisted: .remove)
    for step in steps.dropFirst() {
      let report = try adapter.merge(.json(step), into: &model, options: options)
      for entry in try #require(step.objectValue).entries { said[entry.key] = entry.value }
      #expect(try model == adapter.decode(.object(said)))
      // The report lists every change, and a second merge changes nothing.
      #expect(try adapter.merge(.json(step), into: &model, options: options).isEmpty)
      #expect(Set(report.changedKeys).isSubset(of: report.mergedKeys))
    }
    #expect(try isConsistent(adapter.encodeValue(model, nulls: .omit), .object(said)))
  }

  private func foldValues(_ steps: [ArchiveValue]) throws {
    var current = steps[0]
    for step in steps.dropFirst() {
      let patch = JSONMergePatch.patch(from: current, to: step)
      current = JSONMergePatch.apply(patch, to: current)
      #expect(JSONMergePatch.patch(from: current, to: step) == [:])
    }
  }

  @Test("More than 50 recorded sequences are available")
  func sequencesAreThere() { #expect(RecordedSequence.all.count > 50) }
}
