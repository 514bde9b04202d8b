import Foundation
import StrataCore

/// A model with a merge base and a list of lists, each of which has up to five models.
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

/// A list of issues by the same author. Each issue gives the author a different name.
private final class Tracker: DescribedModel {
  var issues: [Issue] = []

  static let fields = Fields(
    Tracker.self, version: 1, Field("issues", \.issues),
    make: {
      let tracker = Tracker()
      tracker.issues = $0
      return tracker
    })

  /// Returns a document with `count` issues. In each, the author's name ends with the next number, starting at `first`.
  static func document(_ count: Int, from first: Int) -> Data {
    let issues = (0..<count).map { #"{"id":\#($0),"author":{"id":1,"name":"name \#(first + $0)"}}"# }
    return Data(#"{"issues":[\#(issues.joined(separator: ","))]}"#.utf8)
  }
}

private final class Issue: DescribedModel {
  let id: Int
  var author: Reporter

  init(id: Int, author: Reporter) { (self.id, self.author) = (id, author) }

  static let fields = Fields(
    Issue.self, version: 1, Field("id", \.id), Field("author", \.author), make: { Issue(id: $0, author: $1) })
}

private final class Reporter: DescribedModel {
  let id: Int
  var name: String

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }

  static let fields = Fields(
    Reporter.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Reporter(id: $0, name: $1) })
}

extension Benchmark {
  /// Returns the benchmark for a name such as `merge-list@500`, where 500 is the length. `counts --growth` compares the cost at a
  /// length with the cost at twice that length.
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
      "repeated-objects",
      { count in
        let adapter = try JSONAdapter<Tracker>()
        let base = try adapter.decode(Tracker.document(count, from: 0))
        let server = Tracker.document(count, from: 1)
        return {
          let merged = try adapter.decode(Tracker.document(count, from: 0))
          merged.issues[0].author.name = "edited"
          consume(try merged.merge(.json(server), base: base))
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
