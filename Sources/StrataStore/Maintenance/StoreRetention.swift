internal import Foundation
internal import StrataCore

/// A rule that determines which revisions a prune keeps. A revision is kept if at least one rule applies to the revision. The
/// last revision of each key and revisions with labels are always kept.
///
///     try await store.prune([.keepLast(20), .daily(7), .weekly(8)])
public enum RetentionRule: Sendable, Hashable {
  /// Keeps the last `n` revisions of each key. Keeps none if `n` is 0 or less.
  case keepLast(Int)
  /// Keeps the last revision of each of the last `n` days (UTC) on which the key was saved.
  case daily(Int)
  /// Keeps the last revision of each of the last `n` weeks (beginning on Monday, UTC) in which the key was saved.
  case weekly(Int)
  /// Keeps revisions that are not older than the given duration, measured with ``StoreOptions/clock``. Revisions with a future
  /// time are kept as well.
  case within(Duration)
}

/// A report of the revisions that a prune removed, or would remove in a dry run.
public struct StorePruneReport: Sendable {
  /// Whether this is the report of a dry run, which removes nothing.
  public let isDryRun: Bool
  /// The numbers of the removed revisions, by key. Keys that differ only in Unicode normalization share an entry.
  public internal(set) var removed: [String: [Int]] = [:]
  /// The number of revisions that the prune kept, or would keep in a dry run. Only keys with the prefix that was passed to the
  /// prune are counted.
  public internal(set) var kept = 0
  /// A finding for each key that was skipped because it is damaged. ``removed`` contains the revisions that were removed before the
  /// damage was found.
  public internal(set) var skipped: [StoreFinding] = []
  /// The number of bytes by which the file was shortened. Always 0 in a dry run. In the app's own database, always 0 unless the
  /// database uses incremental `auto_vacuum`.
  public internal(set) var freedBytes = 0

  /// The number of revisions that were removed, or that would be removed in a dry run.
  public var removedCount: Int { removed.values.reduce(0) { $0 + $1.count } }
}

extension StorePruneReport: CustomStringConvertible {
  /// One line, such as `12 revisions of 3 keys removed, 40 kept, 8192 bytes freed`.
  public var description: String {
    let keys = removed.count.counting("key")
    var parts = [
      "\(removedCount.counting("revision")) of \(keys) \(isDryRun ? "would be removed" : "removed")", "\(kept) kept",
    ]
    if !skipped.isEmpty { parts.append("\(skipped.count.counting("key")) skipped") }
    if freedBytes > 0 { parts.append("\(freedBytes.counting("byte")) freed") }
    return parts.joined(separator: ", ")
  }
}

extension SnapshotStore {
  /// Removes the revisions that no rule keeps, and frees their space in the file.
  ///
  /// The last revision of each key and each revision with a label are always kept. The numbers and contents of kept revisions
  /// do not change. If a kept revision is stored as a delta of a removed revision, the kept revision is first stored again
  /// without this delta. Each transaction processes a page of keys or a part of a long history, and the file is shortened in
  /// steps. Other tasks and processes can save between the transactions. If a prune is interrupted or cancelled, its finished
  /// transactions are kept, and the next prune continues.
  ///
  /// - Parameters:
  ///   - rules: the rules for the revisions to keep.
  ///   - prefix: the prefix of the keys to prune. If it is empty, all keys are pruned.
  ///   - dryRun: whether to create only the report and remove nothing.
  ///   - force: whether to prune even if the rules do not keep any revision, in which case only last and labelled revisions
  ///     remain.
  ///   - progress: a closure that is called with the current report after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `invalid` if the rules do not keep any revision and `force` is false, `readOnly`,
  ///   `busy` or `full`, or `CancellationError` if the task was cancelled. No error is thrown for a key with a damaged
  ///   revision. The key is skipped and listed in ``StorePruneReport/skipped``.
  /// - Complexity: linear in the number of revisions. Memory is bounded by the metadata of one key's history, plus the numbers
  ///   of all removed revisions, which the report contains.
  @discardableResult
  public func prune(
    _ rules: [RetentionRule], prefix: String = "", dryRun: Bool = false, force: Bool = false,
    progress: (@Sendable (StorePruneReport) -> Void)? = nil
  ) async throws -> StorePruneReport {
    try await StoreWork.run {
      try StorePruner(self, rules, prefix, isDryRun: dryRun, isForced: force, $0).run(progress)
    }
  }

  /// The synchronous variant of ``prune(_:prefix:dryRun:force:progress:)-([RetentionRule],_,_,_,_)``.
  @discardableResult
  public func prune(
    _ rules: [RetentionRule], prefix: String = "", dryRun: Bool = false, force: Bool = false,
    progress: (@Sendable (StorePruneReport) -> Void)? = nil
  ) throws -> StorePruneReport {
    try StoreWork.runNow {
      try StorePruner(self, rules, prefix, isDryRun: dryRun, isForced: force, $0).run(progress)
    }
  }
}

extension [RetentionRule] {
  private static let day: Int64 = 86_400_000

  /// Returns the indices in `times` of the revisions that the rules keep.
  ///
  /// - Parameters:
  ///   - times: the times of a key's revisions in milliseconds since 1970, oldest revision first.
  ///   - now: the current time in milliseconds since 1970.
  func kept(_ times: [Int64], now: Int64) -> Set<Int> {
    var kept: Set<Int> = []
    for rule in self {
      switch rule {
      case .keepLast(let count): kept.formUnion(times.indices.suffix(Swift.max(0, count)))
      case .daily(let count): kept.formUnion(Self.lasts(times.map { $0.floored(by: Self.day) }, count))
      case .weekly(let count):
        // Day 0 (January 1, 1970) was a Thursday. Adding 3 to the day makes weeks begin on Monday.
        kept.formUnion(Self.lasts(times.map { ($0.floored(by: Self.day) + 3).floored(by: 7) }, count))
      case .within(let duration):
        let (seconds, attoseconds) = duration.components
        let milliseconds = Double(seconds) * 1000 + Double(attoseconds) / 1e15
        let least = Double(now) - milliseconds
        kept.formUnion(times.indices.filter { Double(times[$0]) >= least })
      }
    }
    return kept
  }

  /// Returns the index of the last revision of each of the last `count` days or weeks that have revisions. `spans` contains the
  /// number of the day or week of each revision. A day or week is used only once, even if its revisions are not consecutive
  /// because the clock was set back.
  private static func lasts(_ spans: [Int64], _ count: Int) -> [Int] {
    var seen: Set<Int64> = []
    var indices: [Int] = []
    for index in spans.indices.reversed() where seen.count < count {
      if seen.insert(spans[index]).inserted { indices.append(index) }
    }
    return indices
  }
}

extension Int64 {
  fileprivate func floored(by divisor: Int64) -> Int64 {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
  }
}
