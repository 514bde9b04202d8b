internal import Foundation
internal import GRDB
public import StrataCore

/// A summary of what an upgrade of a store would do: how many revisions it would rewrite in the current model versions, and how
/// many it would not change.
public struct StoreUpgradePlan: Sendable {
  /// The effect of an upgrade on a group of revisions.
  public enum State: String, Sendable, Hashable {
    /// The revisions already have the current model versions, so the upgrade does not change them.
    case current
    /// The revisions have older model versions, so the upgrade rewrites them.
    case old
    /// The revisions were saved by a newer program, so the upgrade does not change them.
    case newer
    /// The type of the revisions was not passed to the upgrade, so the upgrade does not change them.
    case unknown
  }

  /// A group of revisions with the same type, model version and ``State``.
  public struct Part: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The model version of the revisions, or `nil` if the type is not a model.
    public let modelVersion: Int?
    /// The effect of an upgrade on these revisions.
    public let state: State
    /// The number of revisions.
    public internal(set) var revisions: Int
  }

  /// All revisions of the store except deletions, grouped by type, model version and ``State``.
  public internal(set) var parts: [Part] = []
  /// The number of old revisions that an earlier upgrade failed to rewrite. Later upgrades skip these revisions by default.
  public internal(set) var failed = 0

  /// The number of revisions to upgrade. These are the old revisions except those that an earlier upgrade failed to rewrite.
  public var pending: Int { max(0, parts.reduce(0) { $0 + ($1.state == .old ? $1.revisions : 0) } - failed) }
}

/// The progress and the results of an upgrade.
public struct StoreUpgradeReport: Sendable {
  /// The number of revisions that were rewritten in the current model versions.
  public internal(set) var upgraded = 0
  /// The number of revisions that were examined, but did not need to be rewritten.
  public internal(set) var unchanged = 0
  /// The first 10,000 revisions that could not be upgraded. The upgrade did not change them.
  public var failures: [StoreFinding] { findings.all }
  /// The number of failures beyond the first 10,000.
  public var omittedFailures: Int { findings.omitted }
  /// The number of revisions to upgrade, counted when the upgrade started.
  public internal(set) var total = 0
  var findings = StoreFindings()
}

extension StoreUpgradePlan.Part: CustomStringConvertible {
  /// One line, such as `Note 1: 12 revisions, old`.
  public var description: String {
    "\(typeName)\(modelVersion.map { " \($0)" } ?? ""): \(revisions.counting("revision")), \(state.rawValue)".onOneLine
  }
}

extension StoreUpgradePlan: CustomStringConvertible {
  /// One line with the number of revisions to upgrade, followed by ``parts``.
  public var description: String {
    (["\(pending.counting("revision")) to upgrade"]
      + (failed > 0 ? ["\(failed) skipped because an earlier upgrade failed"] : []) + parts.map(\.description)).joined(
        separator: "; ")
  }
}

extension StoreUpgradeReport: CustomStringConvertible {
  /// One line, such as `10 of 12 upgraded, 1 unchanged, 1 failed`.
  public var description: String {
    var parts = ["\(upgraded) of \(total) upgraded"]
    if unchanged > 0 { parts.append("\(unchanged) unchanged") }
    let failed = failures.count + omittedFailures
    if failed > 0 { parts.append("\(failed) failed") }
    return parts.joined(separator: ", ")
  }
}

extension SnapshotStore {
  /// Returns a summary of the revisions that `upgrade(_:retryFailed:progress:)` would rewrite. Reads only the store's counts,
  /// not the revisions.
  ///
  /// - Parameter types: the types of the current program. A model type also covers its optional type, and arrays, sets and
  ///   dictionaries of the model.
  /// - Throws: ``StoreError`` with the code `newerStore`, `damaged`, `busy` or `fileSystem`.
  /// - Complexity: linear in the number of definitions, plus the revisions that an earlier upgrade failed to rewrite.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) async throws -> StoreUpgradePlan {
    try await StoreWork.run { _ in try StoreUpgrader(self, types).plan() }
  }

  /// The synchronous variant of ``upgradePlan(_:)``.
  public func upgradePlan(_ types: [any (Archivable & SendableMetatype).Type]) throws -> StoreUpgradePlan {
    try StoreWork.runNow { _ in try StoreUpgrader(self, types).plan() }
  }

  /// Rewrites the revisions of a store in the current versions of their models.
  ///
  /// An upgrade is optional, because old revisions are upgraded whenever they are read. After an upgrade, the program no longer
  /// needs old migration steps and hooks. Revisions are decoded on all cores and rewritten in transactions of up to 512 revisions.
  /// Other tasks and processes can save between the transactions. The number, time, author, note and labels of a revision are kept.
  /// If a revision cannot be upgraded, it stays unchanged and is recorded with its error. If an upgrade is killed or cancelled, the
  /// next upgrade continues with the remaining revisions. If there is nothing to upgrade, the method does not write.
  ///
  /// - Parameters:
  ///   - types: the types of the current program. As in `upgradePlan(_:)`, a model type also covers optionals and collections of
  ///     the model.
  ///   - retryFailed: whether to retry the revisions that an earlier upgrade failed to rewrite.
  ///   - progress: a closure that is called after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `readOnly`, `busy`, `full` or `damaged`, or `CancellationError` if the task was
  ///   cancelled. Finished transactions are kept.
  /// - Complexity: linear in the number of revisions. Memory is bounded by the old and new bytes of one batch (8 MiB of
  ///   revisions, plus one revision) and by one decoded value per core.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) async throws -> StoreUpgradeReport {
    try await StoreWork.run { work in
      try StoreUpgrader(self, types).run(work, retryFailed: retryFailed, progress)
    }
  }

  /// The synchronous variant of `upgrade(_:retryFailed:progress:)`.
  @discardableResult
  public func upgrade(
    _ types: [any (Archivable & SendableMetatype).Type], retryFailed: Bool = false,
    progress: (@Sendable (StoreUpgradeReport) -> Void)? = nil
  ) throws -> StoreUpgradeReport {
    try StoreWork.runNow { try StoreUpgrader(self, types).run($0, retryFailed: retryFailed, progress) }
  }
}
