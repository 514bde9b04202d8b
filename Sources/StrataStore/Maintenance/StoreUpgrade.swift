internal import Foundation
internal import GRDB
public import StrataCore

/// Which revisions an upgrade would bring to today's versions.
public struct StoreUpgradePlan: Sendable {
  /// What becomes of revisions.
  public enum State: String, Sendable, Hashable {
    /// They have today's versions.
    case current
    /// They are upgraded.
    case old
    /// A newer program saved them; they stay as they are.
    case newer
    /// Their type is none of those given; they stay as they are.
    case unknown
  }

  /// The revisions of a type in a version that have the same state.
  public struct Part: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The version of the model; `nil` for what is no model.
    public let modelVersion: Int?
    /// What becomes of them.
    public let state: State
    /// How many there are.
    public internal(set) var revisions: Int
  }

  /// The types and versions of the store.
  public internal(set) var parts: [Part] = []
  /// How many of the old revisions an upgrade set aside before.
  public internal(set) var failed = 0

  /// How many revisions are not of today's versions, without those that were set aside.
  public var pending: Int { max(0, parts.reduce(0) { $0 + ($1.state == .old ? $1.revisions : 0) } - failed) }
}

/// How far an upgrade is, and what it did.
public struct StoreUpgradeReport: Sendable {
  /// How many revisions were rewritten in today's versions.
  public internal(set) var upgraded = 0
  /// How many were read and are as today's program would write them.
  public internal(set) var unchanged = 0
  /// Those that could not be upgraded, which stay as they are; the first 10,000 of them.
  public internal(set) var failures: [StoreFinding] = []
  /// How many failures there are beyond those.
  public internal(set) var omittedFailures = 0
  /// How many revisions there were to upgrade when this began.
  public internal(set) var total = 0

  mutating func add(_ failure: StoreFinding) {
    if failures.count < StoreFindings.most { failures.append(failure) } else { omittedFailures += 1 }
  }
}

extension StoreUpgradePlan.Part: CustomStringConvertible {
  /// `Note 1: 12 revisions, old`
  public var description: String {
    "\(typeName)\(modelVersion.map { " \($0)" } ?? ""): \(revisions.counting("revision")), \(state.rawValue)".onOneLine
  }
}

extension StoreUpgradePlan: CustomStringConvertible {
  /// One line: how many revisions would be upgraded, and the parts.
  public var description: String {
    (["\(pending) to upgrade"] + (failed > 0 ? ["\(failed) set aside"] : []) + parts.map(\.description)).joined(
      separator: "; ")
  }
}

extension StoreUpgradeReport: CustomStringConvertible {
  /// One line: `10 of 12 upgraded, 1 unchanged, 1 failed`.
  public var description: String {
    var parts = ["\(upgraded) of \(total) upgraded"]
    if unchanged > 0 { parts.append("\(unchanged) unchanged") }
    let failed = failures.count + omittedFailures
    if failed > 0 { parts.append("\(failed) failed") }
    return parts.joined(separator: ", ")
  }
}

extension SnapshotStore {
  /// What `upgrade(_:retryFailed:progress:)` would do. Reads counts alone.
  ///
  /// - Parameter types: the types of today's program. A model includes its optional, and arrays, sets and dictionaries of it.
  /// - Throws: ``StoreError`` with the code `newerStore`, `damaged`, `busy`, `fileSystem`.
  /// - Complexity: linear in the number of definitions, and of revisions that an upgrade set aside.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) async throws -> StoreUpgradePlan {
    try await StoreWork.run { [core] _ in try StoreUpgrader(core, types).plan() }
  }

  /// As ``upgradePlan(_:)``, where there is no concurrency.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) throws -> StoreUpgradePlan {
    try StoreWork.runNow { _ in try StoreUpgrader(core, types).plan() }
  }

  /// Brings the revisions of a store to today's versions of their models.
  ///
  /// Every row opens without this; it ends the need for old steps and hooks. Each transaction takes a page of keys, each with
  /// its whole history, or a part of one of more than 512 revisions: rows are decoded on all cores while others read and save, and written only if they are still those
  /// that were read; else the key is upgraded within the transaction. Number, time, author, note and labels stay. A revision
  /// that cannot be upgraded stays as it is, and is noted with its error. An upgrade that was killed or cancelled goes on
  /// where its last transaction ended, and one with nothing to do writes nothing.
  ///
  /// - Parameters:
  ///   - types: as for the plan.
  ///   - retryFailed: whether revisions are tried again that were set aside.
  ///   - progress: called after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `readOnly`, `busy`, `full`, `damaged`; `CancellationError` where the task was
  ///   cancelled. What was done until then stays.
  /// - Complexity: linear in the number of revisions. Memory holds the histories of some keys, and at most 8 MiB
  ///   and one revision of a longer one, which takes several transactions.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) async throws -> StoreUpgradeReport {
    try await StoreWork.run { [core] work in
      try StoreUpgrader(core, types).run(work, retryFailed: retryFailed, progress)
    }
  }

  /// As `upgrade(_:retryFailed:progress:)`, where there is no concurrency.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) throws -> StoreUpgradeReport {
    try StoreWork.runNow { try StoreUpgrader(core, types).run($0, retryFailed: retryFailed, progress) }
  }
}
