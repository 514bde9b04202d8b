import Foundation

/// Checks the laws, and compares the failures with the known ones.
///
/// Options: `--rounds COUNT`, `--seed NUMBER` of the first round, `--known FILE`, `--record FILE`, `--exact yes` to fail as well
/// if a known failure is missing, `--show LAW` for the first failure of each type, `--brief yes` to stop at the first unknown
/// failure, `--part 0` or `--part 1` for one half of the types.
@main
struct Main {
  static func main() async throws {
    var options: [String: String] = [:]
    var arguments = CommandLine.arguments.dropFirst()
    while let option = arguments.popFirst(), let value = arguments.popFirst() { options[option] = value }
    let rounds = UInt64(options["--rounds"] ?? "") ?? 2
    let first = UInt64(options["--seed"] ?? "") ?? 0
    let part = options["--part"].flatMap { Int($0) }
    let holders = allHolders.enumerated().filter { part == nil || $0.offset % 2 == part }.map(\.element)

    var results = Results()
    for seed in first..<first + rounds {
      if part != 1 {
        var declared = DeclaredLaws(seed: seed)
        declared.run()
        results.add(declared.results)
        if options["--brief"] == "yes" { try endAtFailure(declared.results, options) }
      }
      for holder in holders {
        let found = await holder.run(seed)
        results.add(found)
        if options["--brief"] == "yes" { try endAtFailure(found, options) }
      }
    }
    print(summary(results))
    if let law = options["--show"] { print(failures(results, of: law)) }
    let found = KnownFailures(of: results)
    if let path = options["--record"] { try found.table.write(toFile: path, atomically: true, encoding: .utf8) }
    guard let path = options["--known"] else { return }
    let known = KnownFailures(table: try String(contentsOfFile: path, encoding: .utf8))
    let isExact = options["--exact"] == "yes"
    var unknown = 0
    for (key, count) in found.counts.sorted(by: { $0.key < $1.key }) {
      let allowed = known.counts[key] ?? 0
      guard isExact ? count > allowed : allowed == 0 else { continue }
      unknown += 1
      print("new failure: \(key.law) of \(key.pattern), \(count) types, known \(allowed)")
      for (place, outcome) in results.outcomes
      where place.law.rawValue == key.law && Pattern(of: place.type).text == key.pattern && outcome.failures > 0 {
        print("  \(place.type): \(outcome.first.prefix(1500))")
      }
    }
    var fewer = 0
    for (key, count) in known.counts.sorted(by: { $0.key < $1.key }) where isExact && count > found.counts[key] ?? 0 {
      fewer += 1
      print("fewer failures: \(key.law) of \(key.pattern), \(found.counts[key] ?? 0) types, known \(count)")
    }
    if fewer > 0 { print("Record the smaller counts: Tests/Scripts/laws --record") }
    let checks = results.outcomes.values.map(\.checks).reduce(0, +)
    print(
      "laws: \(checks) checks, \(found.sum) of \(results.outcomes.count) pairs of law and type fail, \(unknown) of them unknown"
    )
    if unknown + fewer > 0 { exit(1) }
  }

  /// Exits with an error if there is a failure that isn't among the known ones.
  private static func endAtFailure(_ results: Results, _ options: [String: String]) throws {
    guard let path = options["--known"] else { return }
    let known = KnownFailures(table: try String(contentsOfFile: path, encoding: .utf8)).counts
    let new = KnownFailures(of: results).counts.keys.filter { known[$0] == nil }.sorted()
    guard !new.isEmpty else { return }
    for key in new { print("new failure: \(key.law) of \(key.pattern)") }
    exit(1)
  }

  private static func summary(_ results: Results) -> String {
    var sums: [Law: (types: Int, checks: Int, failing: Int)] = [:]
    for (key, outcome) in results.outcomes {
      sums[key.law, default: (0, 0, 0)].types += 1
      sums[key.law, default: (0, 0, 0)].checks += outcome.checks
      sums[key.law, default: (0, 0, 0)].failing += outcome.failures == 0 ? 0 : 1
    }
    let rows = Law.allCases.map { law in
      let sum = sums[law] ?? (0, 0, 0)
      return [law.rawValue, "\(sum.types)", "\(sum.checks)", "\(sum.failing)"]
    }
    let table = [["law", "types", "checks", "failing types"]] + rows
    return table.map { row in
      row.enumerated().map {
        $0 == 0 ? $1.padding(toLength: 16, withPad: " ", startingAt: 0) : String($1.leftPadded(14))
      }.joined()
    }.joined(separator: "\n")
  }

  private static func failures(_ results: Results, of law: String) -> String {
    results.outcomes.filter { $0.key.law.rawValue == law && $0.value.failures > 0 }
      .sorted { $0.key.type < $1.key.type }
      .map { "\($0.key.type)\t\($0.value.failures) of \($0.value.checks)\t\($0.value.first)" }.joined(separator: "\n")
  }
}

extension String {
  fileprivate func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

/// A type-erased model whose laws can be checked.
struct AnyHolder: Sendable {
  let run: @Sendable (UInt64) async -> Results

  init<H: Holder & SendableMetatype>(_ type: H.Type) {
    run = { seed in
      var trial = Trial<H>(seed: seed)
      trial.run()
      await trial.remote()
      return trial.results
    }
  }
}
