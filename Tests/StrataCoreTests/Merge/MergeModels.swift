import Foundation
import Strata

@Model(version: 2)
struct TodoItem: Equatable {
  let id: Int
  var title: String
  var isDone = false
  @Field(merge: .sumOfDeltas) var views = 0
  @Field(merge: .addWins) var tags: Set<String> = []
  @Field(merge: .lines) var text = ""
  @Field(merge: .byID()) var steps: [TodoStep] = []
  var place: TodoPlace?
  @Field(merge: .keepLocal) var draft: String?
  var extra: [String: Int] = [:]
}

@Model(version: 1)
struct TodoStep: Equatable {
  let id: Int
  var name: String
  var isDone = false
}

@Model(version: 1)
struct TodoPlace: Equatable {
  var city: String
  var street: String?
}

extension TodoItem: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("summary", to: "title")))
}

/// A task with a merge base.
@Model(version: 2)
struct TrackedTask: Equatable {
  let id: Int
  var title: String
  var stars = 0
  @Field(merge: .byID()) var steps: [TodoStep] = []
  var merging = MergeState()
}

extension TrackedTask: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("summary", to: "title")))
}

@Model(version: 1)
final class TeamProject {
  let id: Int
  var name: String
  @Field(merge: .byID()) var members: [Teammate] = []
  @Field(merge: .recursive) var lead: Teammate?

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

@Model(version: 1)
final class Teammate {
  let id: Int
  var name: String
  weak var project: TeamProject?

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}

extension Teammate: Validating {
  static let validation = Validation<Teammate>(.check("name", \.name, .nonEmpty))
}

@Model(version: 1)
struct DatedMemo: Equatable {
  let id: Int
  var text = ""
  var title = ""
  var changed: Date
}

extension DatedMemo: Mergeable {
  static let mergeRules = MergeRules(default: .lastWriter(by: "changed"), identity: "id")
}

@Model(version: 1)
struct MemoBook: Equatable {
  var notes: [DatedMemo] = []
}
