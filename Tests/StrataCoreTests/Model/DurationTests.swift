import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Lap: DescribedModel, Equatable {
  var time: Duration
  var best: Duration?
  var total: Duration
  var splits: [Duration]
  static let fields = Fields(
    Lap.self, version: 1, Field("time", \.time), Field("best", \.best, merge: .min),
    Field("total", \.total, merge: .sumOfDeltas, default: .zero), Field("splits", \.splits, default: []),
    make: { Lap(time: $0, best: $1, total: $2, splits: $3) })
}

@Suite("Durations")
struct DurationTests {
  @Test("Every duration round-trips through archives and JSON")
  func roundTrip() throws {
    var random = SeededRandom(seed: 7)
    var durations: [Duration] = [
      .zero, .seconds(1), .milliseconds(-1500), .nanoseconds(1), Duration(attoseconds: 1), Duration(attoseconds: .max),
      Duration(attoseconds: .min), Duration(attoseconds: .min + 1), .seconds(Int64.max), .seconds(Int64.min),
    ]
    for bits in 0..<126 {
      let number = Int128(random.next()) << 63 | Int128(random.next())
      durations += [Duration(attoseconds: number >> Int128(bits)), Duration(attoseconds: -(number >> Int128(bits)))]
    }
    for duration in durations {
      let lap = Lap(time: duration, best: duration, total: duration, splits: [duration])
      #expect(try ArchiveDecoder().decode(Lap.self, from: ArchiveEncoder().encode(lap)) == lap)
      #expect(try Lap(fromJSON: lap.jsonData()) == lap)
    }
  }

  @Test("JSON uses seconds, and also accepts the pair that Codable encodes")
  func spelling() throws {
    let lap = Lap(time: .milliseconds(1500), best: nil, total: .zero, splits: [.seconds(2)])
    #expect(try String(decoding: lap.jsonData(), as: UTF8.self).contains(#""time":1.5"#))
    #expect(
      try Lap(fromJSON: Data(#"{"time": 0.1, "splits": [3, 2e3]}"#.utf8)).splits == [.seconds(3), .seconds(2000)])
    let pair = try JSONEncoder().encode([Duration.milliseconds(-1500)])
    let json = Data(#"{"time": 1, "splits": \#(String(decoding: pair, as: UTF8.self))}"#.utf8)
    #expect(try Lap(fromJSON: json).splits == [.milliseconds(-1500)])
    for wrong in [#""1""#, "true", "[1]", "[1, -1]", "1e-19", "1e21", "-1.8e20"] {
      let error = #expect(throws: ArchiveError.self, "\(wrong)") {
        try Lap(fromJSON: Data(#"{"time": \#(wrong)}"#.utf8))
      }
      #expect(error?.codingPath == [.key("time")])
    }
  }

  @Test("Merge policies for numbers apply to durations")
  func merging() throws {
    let base = Lap(time: .seconds(1), best: .seconds(5), total: .seconds(10), splits: [])
    var lap = base
    (lap.best, lap.total) = (.seconds(4), .seconds(11))
    var server = base
    (server.best, server.total) = (.seconds(3), .milliseconds(12_500))
    let report = try lap.merge(.json(server.jsonData()), base: base)
    #expect(lap.best == .seconds(3) && lap.total == .milliseconds(13_500) && report.conflicts.isEmpty)
  }
}
