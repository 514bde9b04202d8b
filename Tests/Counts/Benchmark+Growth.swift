import Foundation
import StrataCore

extension Benchmark {
  /// Calls on lists of a length, by names like `merge-list@500`: `counts --growth` compares a length with its double.
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
          consume(try merged.mergeValues(fromJSON: text))
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
