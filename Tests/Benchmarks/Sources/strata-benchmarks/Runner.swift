import Foundation

/// An error that ends the benchmarks.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Keeps the optimizer from removing work whose result is unused.
@inline(never)
func consume<T>(_ value: T) { withExtendedLifetime(value) {} }

/// Prints a line without buffering, even if the output is a pipe.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// A line of the report.
struct Row: Codable {
  let name: String
  /// Seconds per operation, or bytes if the row compares sizes.
  let ours: Double
  let theirs: Double
  let ratio: Double
  let minimum: Double
  let maximum: Double
}

/// Times the two sides of each comparison alternately and stores the results.
final class Runner {
  private let rounds: Int
  private let filter: String?
  private(set) var rows: [Row] = []
  private let clock = ContinuousClock()
  /// The minimum time, in seconds, that each side runs in each round.
  private let slice = 0.02

  init(rounds: Int, filter: String?) {
    self.rounds = rounds
    self.filter = filter
  }

  func wants(_ name: String) -> Bool { filter.map { name.contains($0) } ?? true }

  /// Times both sides in alternating order. The ratio of each round is theirs / ours, or ours / theirs if `inverted`.
  func time(
    _ name: String, inverted: Bool = false, oursPer: Int = 1, theirsPer: Int = 1, ours: () throws -> Void,
    theirs: () throws -> Void
  ) throws {
    guard wants(name) else { return }
    let oursOnce = try seconds(1, ours)
    let theirsOnce = try seconds(1, theirs)
    // The first call only warms up caches. The second one shows how many calls fill a slice.
    let oursCount = try count(oursOnce, ours)
    let theirsCount = try count(theirsOnce, theirs)
    let rounds = oursOnce + theirsOnce > 1 ? min(self.rounds, 3) : self.rounds
    var ourTimes: [Double] = []
    var theirTimes: [Double] = []
    for round in 0..<rounds {
      if round.isMultiple(of: 2) {
        ourTimes.append(try seconds(oursCount, ours) / Double(oursPer))
        theirTimes.append(try seconds(theirsCount, theirs) / Double(theirsPer))
      } else {
        theirTimes.append(try seconds(theirsCount, theirs) / Double(theirsPer))
        ourTimes.append(try seconds(oursCount, ours) / Double(oursPer))
      }
    }
    let ratios = zip(ourTimes, theirTimes).map { inverted ? $0 / $1 : $1 / $0 }
    add(
      Row(
        name: name, ours: median(ourTimes), theirs: median(theirTimes), ratio: median(ratios),
        minimum: ratios.min() ?? 0, maximum: ratios.max() ?? 0))
  }

  func size(_ name: String, ours: Int, theirs: Int) {
    guard wants(name) else { return }
    let ratio = Double(theirs) / Double(ours)
    add(
      Row(
        name: name, ours: Double(ours), theirs: Double(theirs), ratio: ratio, minimum: ratio, maximum: ratio))
  }

  private func add(_ row: Row) {
    rows.append(row)
    say(Report.line(row))
  }

  /// Returns the average number of seconds per call.
  private func seconds(_ count: Int, _ work: () throws -> Void) rethrows -> Double {
    let start = clock.now
    for _ in 0..<count { try work() }
    return (clock.now - start) / .seconds(1) / Double(count)
  }

  private func count(_ once: Double, _ work: () throws -> Void) rethrows -> Int {
    let estimate = once > slice ? once : try seconds(3, work)
    return max(1, Int((slice / max(estimate, 1e-9)).rounded(.up)))
  }

  private func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard let last = sorted.last else { return 0 }
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
      ? (sorted[middle - 1] + (middle < sorted.count ? sorted[middle] : last)) / 2
      : sorted[middle]
  }
}

/// The text of the report.
enum Report {
  static let head = [
    pad("row", 32), left("ours", 11), left("theirs", 11), left("ratio", 9), left("minimum", 9),
    left("maximum", 9),
  ].joined(separator: " ")

  static func line(_ row: Row) -> String {
    let isSize = row.name.hasPrefix("size/")
    return [
      pad(row.name, 32), left(quantity(row.ours, isSize), 11), left(quantity(row.theirs, isSize), 11),
      left(ratio(row.ratio), 9), left(ratio(row.minimum), 9), left(ratio(row.maximum), 9),
    ].joined(separator: " ")
  }

  private static func quantity(_ value: Double, _ isSize: Bool) -> String {
    if isSize { return "\(Int(value)) B" }
    if value < 1e-6 { return String(format: "%.1f ns", value * 1e9) }
    if value < 1e-3 { return String(format: "%.2f µs", value * 1e6) }
    return value < 1 ? String(format: "%.3f ms", value * 1e3) : String(format: "%.3f s", value)
  }

  private static func ratio(_ value: Double) -> String {
    String(format: value < 100 ? "%.2f" : "%.0f", value)
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func left(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
