import Foundation
import StrataTestSupport
import Testing

@Suite("Two clients and a server", .tags(.long))
struct SyncSimulationTests {
  private static let first = ProcessInfo.processInfo.environment["STRATA_SYNC_SEED"].flatMap(UInt64.init) ?? 1
  private static let rounds =
    ProcessInfo.processInfo.environment["STRATA_SYNC_ROUNDS"].flatMap(UInt64.init)
    ?? UInt64(Effort.rounds(12, long: 60))

  @Test("Every edit is sent once, waits, or is refused and listed, and failed responses have no effect")
  func rounds() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-sync-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // If this fails, the system removes the folder later.
    var (ran, kills, updates) = (0, 0, 0)
    defer { print("refreshing: \(ran) rounds from seed \(Self.first), \(kills) kills, \(updates) updates") }
    for seed in Self.first..<Self.first + Self.rounds {
      let simulation = SyncSimulation(seed: seed)
      do { try await simulation.run(in: folder) } catch {
        Issue.record("seed \(seed), \(simulation.traits): \(error)")
        return
      }
      (ran, kills, updates) = (ran + 1, kills + simulation.kills, updates + simulation.updates)
    }
  }
}
