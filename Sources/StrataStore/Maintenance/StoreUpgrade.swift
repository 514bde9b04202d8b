internal import Foundation
internal import GRDB
public import StrataCore

/// The revisions that an upgrade would rewrite in the current versions.
public struct StoreUpgradePlan: Sendable {
  /// How an upgrade treats revisions.
  public enum State: String, Sendable, Hashable {
    /// They already have the current versions.
    case current
    /// They are upgraded.
    case old
    /// A newer program saved them. They are not changed.
    case newer
    /// Their type is not among those given. They are not changed.
    case unknown
  }

  /// The revisions of one type, version and state.
  public struct Part: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The version of the model; `nil` if the type is not a model.
    public let modelVersion: Int?
    /// How an upgrade treats them.
    public let state: State
    /// The number of revisions.
    public internal(set) var revisions: Int
  }

  /// The types and versions of the store.
  public internal(set) var parts: [Part] = []
  /// The number of old revisions that an earlier upgrade set aside, because it failed on them.
  public internal(set) var failed = 0

  /// The number of old revisions, without those that were set aside.
  public var pending: Int { max(0, parts.reduce(0) { $0 + ($1.state == .old ? $1.revisions : 0) } - failed) }
}

/// The progress and the results of an upgrade.
public struct StoreUpgradeReport: Sendable {
  /// The number of revisions rewritten in the current versions.
  public internal(set) var upgraded = 0
  /// The number of revisions that were read and did not have to be rewritten.
  public internal(set) var unchanged = 0
  /// The revisions that could not be upgraded and are unchanged; the first 10,000.
  public var failures: [StoreFinding] { findings.all }
  /// The number of further failures.
  public var omittedFailures: Int { findings.omitted }
  /// The number of revisions to upgrade at the start.
  public internal(set) var total = 0
  var findings = StoreFindings()
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
  /// Returns the plan of `upgrade(_:retryFailed:progress:)`. Reads only counts.
  ///
  /// - Parameter types: the types of the current program. A model includes its optional, and arrays, sets and dictionaries of it.
  /// - Throws: ``StoreError`` with the code `newerStore`, `damaged`, `busy`, `fileSystem`.
  /// - Complexity: linear in the number of definitions, and of revisions that an upgrade set aside.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) async throws -> StoreUpgradePlan {
    try await StoreWork.run { _ in try StoreUpgrader(self, types).plan() }
  }

  /// Like ``upgradePlan(_:)``, for synchronous code.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) throws -> StoreUpgradePlan {
    try StoreWork.runNow { _ in try StoreUpgrader(self, types).plan() }
  }

  /// Rewrites the revisions of a store in the current versions of their models.
  ///
  /// Old revisions can be read without an upgrade. After it, old migration steps and hooks are no longer needed. Each transaction rewrites up
  /// to 512 revisions, in the order of their keys and numbers. Rows are decoded on all cores while others read and save. Number, time, author,
  /// note and labels are kept. A revision that cannot be upgraded is left unchanged, and recorded with its error. An upgrade that was killed
  /// or cancelled leaves the remaining revisions to the next one. An upgrade with nothing to do writes nothing.
  ///
  /// - Parameters:
  ///   - types: as for the plan.
  ///   - retryFailed: whether to retry revisions that were set aside.
  ///   - progress: called after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `readOnly`, `busy`, `full`, `damaged`; `CancellationError` if the task was
  ///   cancelled. Finished transactions are kept.
  /// - Complexity: linear in the number of revisions. Memory holds the old and the new bytes of at most 8 MiB of revisions, of one
  ///   more, and of one value per core.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) async throws -> StoreUpgradeReport {
    try await StoreWork.run { work in
      try StoreUpgrader(self, types).run(work, retryFailed: retryFailed, progress)
    }
  }

  /// Like `upgrade(_:retryFailed:progress:)`, for synchronous code.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) throws -> StoreUpgradeReport {
    try StoreWork.runNow { try StoreUpgrader(self, types).run($0, retryFailed: retryFailed, progress) }
  }
}
