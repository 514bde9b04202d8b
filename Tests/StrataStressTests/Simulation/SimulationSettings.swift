import Foundation

/// Settings that the simulations read from environment variables.
enum SimulationSettings {
  /// The only seed to run, to reproduce a failure.
  static let seed = number("STRATA_MERGE_SEED")
  /// The seed of the first round. Later rounds use the following numbers.
  static let firstSeed = number("STRATA_MERGE_FIRST")
  /// The number of rounds.
  static let rounds = number("STRATA_MERGE_ROUNDS").map(Int.init(clamping:))

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// The seeds of the rounds. The default seeds never change, so a different result means that the code has changed.
  /// `Tests/Scripts/merge-simulation` uses new seeds.
  static func seeds(_ count: Int) -> [UInt64] {
    if let seed { return [seed] }
    let first = firstSeed ?? 1
    return (0..<UInt64(rounds ?? count)).map { first &+ $0 }
  }
}

extension SimulationSettings {
  /// The number of kinds of failures that are shrunk and printed in full.
  static let stories = number("STRATA_MERGE_STORIES").map(Int.init(clamping:)) ?? 5
}
