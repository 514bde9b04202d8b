import Foundation
import StrataCore

/// A list of lists with up to five models each, and a merge base.
private struct Rows: DescribedModel {
  var rows: [[Small]] = []
  var merging = MergeState()

  static let fields = Fields(
    Rows.self, version: 1, Field("rows", \.rows, default: []), Field("merging", \.merging, default: MergeState()),
    make: { Rows(rows: $0, merging: $1) })

  init(rows: [[Small]], merging: MergeState = MergeState()) { (self.rows, self.merging) = (rows, merging) }

  init(_ models: [Small]) {
    rows = stride(from: 0, to: models.count, by: 5).map { Array(models[$0..<min($0 + 5, models.count)]) }
  }
}

extension Benchmark {
  /// Returns the call for a name such as `merge-list@500`. `counts --growth` compares a length with twice that length.
  static func growing(_ name: String) -> Benchmark? {
    let parts = name.split(separator: "@")
    guard parts.count == 2, let count = Int(parts[1]) else { return nil }
    return growing.first { $0.name == parts[0] }.map { growing in Benchmark(name) { try growing.prepare(count) } }
  }

  static let growing: [(name: String, prepare: @Sendable (Int) throws -> () throws -> Void)] = [
    (
      "merge-json",
      { count in
        let models = Small.make(count)
        let text = try JSONWriter().write(models.changed())
        return {
          var merged = models
          consume(try merged.merge(.json(text)))
        }
      }
    ),
    (
      "merge-list-with-base",
      { count in
        let models = Small.make(count)
        let (local, server) = (models.changed("here", from: 3), models.changed("there", from: 5))
        return {
          var merged = local
          consume(try merged.mergeValues(from: server, base: models))
        }
      }
    ),
    (
      "merge-lists-of-lists",
      { count in
        let models = Small.make(count)
        let document = try Rows(models.changed()).jsonData()
        return {
          var merged = Rows(models)
          consume(try merged.merge(.json(document)))
        }
      }
    ),
    (
      "conflicts-in-lists-of-lists",
      { count in
        let models = Small.make(count)
        var known = try Rows(fromJSON: Rows(models).jsonData())
        known.rows = Rows(models.changed("here", from: 3)).rows
        let first = try Rows(models.changed("there", from: 3)).jsonData()
        try known.merge(.json(first))
        try check(known.mergeConflicts.count >= count / 10, "conflicts")
        let second = try Rows(models.changed("again", from: 3)).jsonData()
        let merging = known
        return {
          var merged = merging
          consume(try merged.merge(.json(second)))
        }
      }
    ),
    (
      "report",
      { count in
        let models = Small.make(count)
        let (local, server) = (models.changed("here", from: 3), models.changed("there", from: 3))
        var merged = local
        let report = try merged.mergeValues(from: server, base: models)
        try check(report.conflicts.count >= count / 10, "a report of conflicts")
        return {
          consume(report.conflicts.map(\.path.description))
          consume(report.description)
        }
      }
    ),
  ]
}
