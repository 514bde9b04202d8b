import Foundation
import StrataCore

extension Benchmark {
  /// Merges server documents into a model, into a list by identity, and with a base.
  static var merging: [Benchmark] {
    [
      Benchmark("merge/json-one", calls: 20) {
        let model = Small.make(number: 7)
        let text = try JSONWriter().write(model.changed())
        var merged = model
        let report = try merged.merge(.json(text))
        try check(merged == model.changed() && report.changedKeys == ["name", "score"], "a merge of JSON")
        return {
          var merged = model
          consume(try merged.merge(.json(text)))
        }
      },
      Benchmark("merge/json-list") {
        let models = Small.make(100)
        let text = try JSONWriter().write(models.changed())
        var merged = models
        let report = try merged.merge(.json(text))
        try check(merged == models.changed() && !report.isEmpty, "a merge of a list")
        return {
          var merged = models
          consume(try merged.merge(.json(text)))
        }
      },
      // Reads three archives and merges them like `strata merge`.
      Benchmark("merge/archive-base") {
        let models = Small.make(100)
        let encoder = ArchiveEncoder(compression: .none)
        let (base, local, server) = (
          try encoder.encode(models), try encoder.encode(models.changed("here", from: 3)),
          try encoder.encode(models.changed("there", from: 5))
        )
        let merger = Merger(options: MergeOptions(policies: [".": .byID("id")]))
        let decoder = ArchiveDecoder()
        func merged() throws -> (value: ArchiveValue, report: MergeReport) {
          try merger.merge(
            decoder.decodeValue(from: server), into: decoder.decodeValue(from: local),
            base: decoder.decodeValue(from: base))
        }
        let (value, report) = try merged()
        let both = models.changed("here", from: 3).changed("there", from: 5)
        let expected = try decoder.decodeValue(from: encoder.encode(both))
        try check(value == expected && report.conflicts.isEmpty, "a merge of archives")
        return { consume(try merged()) }
      },
    ]
  }
}
