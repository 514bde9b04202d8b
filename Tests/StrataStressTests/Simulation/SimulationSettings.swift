import Foundation

/// What the environment asks of the simulations.
enum SimulationSettings {
  /// The one seed to run, to see a failure again.
  static let seed = number("STRATA_MERGE_SEED")
  /// The seed of the first round; those that follow are the next ones.
  static let firstSeed = number("STRATA_MERGE_FIRST")
  /// How many rounds to run.
  static let rounds = number("STRATA_MERGE_ROUNDS").map(Int.init(clamping:))

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// The seeds of the rounds, unless the environment says otherwise: always the same ones, so that a change is judged by what it
  /// changed. New ones are for `Tests/Scripts/merge-simulation`.
  static func seeds(_ count: Int) -> [UInt64] {
    if let seed { return [seed] }
    let first = firstSeed ?? 1
    return (0..<UInt64(rounds ?? count)).map { first &+ $0 }
  }
}

extension SimulationSettings {
  /// How many kinds of failures are made smaller and told in full.
  static let stories = number("STRATA_MERGE_STORIES").map(Int.init(clamping:)) ?? 5
}
