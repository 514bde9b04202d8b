import Foundation
import StrataCore
import Testing

private struct BeforeGoal: DescribedModel {
  var goal: Int?
  var name: String?
  static let fields = Fields(
    BeforeGoal.self, name: "Goal", version: 1, Field("goal", \.goal), Field("name", \.name),
    make: { BeforeGoal(goal: $0, name: $1) })
}

private struct Goal: DescribedModel, Migratable, Equatable {
  var goal = 10
  var name: String?
  static let fields = Fields(
    Goal.self, name: "Goal", version: 2, Field("goal", \.goal, default: 10), Field("name", \.name),
    make: { Goal(goal: $0, name: $1) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .replaceNull("goal", with: 10)))
}

@Suite("Steps that replace null")
struct ReplaceNullTests {
  @Test(
    "A null optional becomes the default of a field that is no longer optional",
    arguments: [(nil, 10), (3, 3), (0, 0)] as [(Int?, Int)])
  func optional(old: Int?, new: Int) throws {
    let data = try ArchiveEncoder().encode(BeforeGoal(goal: old, name: nil))
    let goal = try ArchiveDecoder().decode(Goal.self, from: data)
    #expect(goal == Goal(goal: new, name: nil))
    #expect(try ArchiveUpgrader(Goal.self).upgrade(data) == ArchiveEncoder().encode(goal))
  }

  @Test(
    "Only null is replaced, also in nested objects, and absent keys stay absent",
    arguments: [
      ("a", ["a": .null], ["a": 1]), ("a", ["a": 2], ["a": 2]), ("a", ["b": .null], ["b": .null]),
      ("a.b", ["a": ["b": .null, "c": .null]], ["a": ["b": 1, "c": .null]]), ("a.b", ["a": .null], ["a": .null]),
      ("a.b", ["a": [:]], ["a": [:]]), ("a.b", [:], [:]),
    ] as [(ValuePath, ArchiveValue, ArchiveValue)])
  func values(path: ValuePath, old: ArchiveValue, new: ArchiveValue) throws {
    func record(_ value: ArchiveValue, _ version: Int) -> ModelRecord {
      ModelRecord(
        typeName: "T", modelVersion: version, fields: value.objectValue?.entries.map { ($0.key, $0.value) } ?? [])
    }
    let plan = MigrationPlan(.step(from: 1, to: 2, .replaceNull(path, with: 1)))
    #expect(try plan.upgrade(record(old, 1)) == record(new, 2))
    #expect(plan.steps.map(\.description) == ["1 → 2: replace null of \(path)"])
  }
}
