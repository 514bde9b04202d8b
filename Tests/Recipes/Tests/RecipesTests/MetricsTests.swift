import Foundation
import Metrics
import MetricsTestKit
import Strata
import Testing

@Model(version: 1)
private struct Metered: Equatable {
  var note = ""
}

@Suite("The Metrics trait")
struct MetricsTests {
  private static let metrics: TestMetrics = {
    let metrics = TestMetrics()
    MetricsSystem.bootstrap(metrics)
    return metrics
  }()

  @Test("Each operation records its duration and bytes, and each error its code")
  func work() throws {
    let metrics = Self.metrics
    let archive = try ArchiveEncoder().encode(Metered(note: "secret"))
    #expect(try ArchiveDecoder().decode(Metered.self, from: archive) == Metered(note: "secret"))
    #expect(throws: ArchiveError.self) { try ArchiveDecoder().decode(Metered.self, from: archive.dropLast()) }
    for work in ["encode", "decode"] {
      let dimensions = [("work", work), ("type", "Metered")]
      #expect(try metrics.expectTimer("strata_duration", dimensions).values.count == 1)
      #expect(try metrics.expectRecorder("strata_bytes", dimensions).values == [Double(archive.count)])
    }
    let errors = try metrics.expectCounter(
      "strata_errors", [("work", "decode"), ("type", "Metered"), ("code", "truncated")])
    #expect(errors.values == [1])
  }
}
