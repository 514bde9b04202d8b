import Foundation
import StrataTestSupport
import Testing

@Suite("Simulation: replicas and a server", .tags(.long))
struct SimulationTests {
  @Test("In the oracle alone, all replicas reach the server's state after conflicts are resolved")
  func oracle() {
    for seed in SimulationSettings.seeds(Effort.rounds(15, long: 60)) {
      let round = SimulationRound(seed: seed)
      if let failure = round.failure(isOracleAlone: true) { Issue.record("\(failure), seed \(seed)") }
    }
  }

  @Test(
    "MG-9, MG-10, MG-15, MG-16, MG-17: the library agrees with the oracle in random simulations"
  )
  func rounds() throws {
    let seeds = SimulationSettings.seeds(Effort.rounds(20, long: 200))
    var failures: [String: [(seed: UInt64, failure: SimulationFailure)]] = [:]
    for seed in seeds {
      guard let failure = SimulationRound(seed: seed).failure() else { continue }
      failures[failure.signature, default: []].append((seed, failure))
    }
    let count = failures.values.reduce(0) { $0 + $1.count }
    let range = "\(seeds.first ?? 0)…\(seeds.last ?? 0)"
    print("simulation: \(seeds.count) rounds, seeds \(range), \(count) failures of \(failures.count) kinds")
    let frequent = failures.sorted { ($0.value.count, $1.key) > ($1.value.count, $0.key) }
    for (signature, cases) in frequent { print("  \(cases.count) × \(signature), seed \(cases[0].seed)") }
    for (signature, cases) in frequent.prefix(SimulationSettings.stories) {
      let round = SimulationRound(seed: cases[0].seed).shrunk(cases[0].failure)
      Issue.record("\(signature), \(cases.count) times; STRATA_MERGE_SEED=\(round.seed)\n\(round.story)")
    }
    #expect(count == 0, "\(count) of \(seeds.count) rounds")
  }
}
