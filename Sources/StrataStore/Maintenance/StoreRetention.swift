internal import Foundation
internal import StrataCore

/// A rule for the revisions that a prune keeps. A revision of a key is kept if any rule names it. The last revision of a key
/// and revisions with labels are always kept.
///
///     try await store.prune([.keepLast(20), .daily(7), .weekly(8)])
public enum RetentionRule: Sendable, Hashable {
  /// The last `n` revisions; none if `n` is 0 or less.
  case keepLast(Int)
  /// The last revision of each of the last `n` days (UTC) on which the key was saved.
  case daily(Int)
  /// The last revision of each of the last `n` weeks (from Monday, UTC) in which the key was saved.
  case weekly(Int)
  /// The revisions that are not older than this, by ``StoreOptions/clock``. Revisions with a time in the future are kept.
  case within(Duration)
}

/// The revisions that a prune removed, or would remove.
public struct StorePruneReport: Sendable {
  /// Whether nothing was removed, because only the report was requested.
  public let isDryRun: Bool
  /// The numbers of the removed revisions, by key. Keys that differ only in Unicode normalization share an entry.
  public internal(set) var removed: [String: [Int]] = [:]
  /// The number of revisions that remain of the keys with the prefix; in a dry run, the number that would remain.
  public internal(set) var kept = 0
  /// A finding for each key that was not pruned because it is damaged. None of its revisions were removed.
  public internal(set) var skipped: [StoreFinding] = []
  /// The number of bytes by which the file shrank; 0 in a dry run, and in the app's own database unless its
  /// `auto_vacuum` is incremental.
  public internal(set) var freedBytes = 0

  /// The number of revisions that were removed, or would be.
  public var removedCount: Int { removed.values.reduce(0) { $0 + $1.count } }
}

extension StorePruneReport: CustomStringConvertible {
  /// One line: `12 revisions of 3 keys removed, 40 kept, 8192 bytes freed`.
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
  /// Removes the revisions that no rule keeps, and frees their space.
  ///
  /// The last revision of each key and each revision with a label are always kept. Kept revisions keep their number and
  /// content: deltas of removed revisions are stored anew first. Each transaction handles one page of keys, or a part of a long
  /// history, and the file is shortened step by step, so that others can save meanwhile. The finished transactions of an
  /// interrupted or cancelled prune are kept, and another prune continues.
  ///
  /// - Parameters:
  ///   - rules: the rules for the revisions to keep.
  ///   - prefix: the prefix of the keys to prune; all keys if it is empty.
  ///   - dryRun: whether to create only the report.
  ///   - force: whether to prune even if the rules keep nothing, so that only last and labelled revisions remain.
  ///   - progress: called with the report so far after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `invalid` if the rules by themselves keep nothing, unless forced; `readOnly`,
  ///   `busy`, `full`; `CancellationError` if the task was cancelled. A key with a damaged revision is not an error: it is left
  ///   unchanged and listed in ``StorePruneReport/skipped``.
  /// - Complexity: linear in the number of revisions. Memory holds the history of one key without its content, and the numbers
  ///   of all removed revisions for the report.
  @discardableResult
  public func prune(
    _ rules: [RetentionRule], prefix: String = "", dryRun: Bool = false, force: Bool = false,
    progress: (@Sendable (StorePruneReport) -> Void)? = nil
  ) async throws -> StorePruneReport {
    try await StoreWork.run {
      try StorePruner(self, rules, prefix, isDryRun: dryRun, isForced: force, $0).run(progress)
    }
  }

  /// Like ``prune(_:prefix:dryRun:force:progress:)-([RetentionRule],_,_,_,_)``, for synchronous code.
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

  /// The indices of the revisions that the rules keep.
  ///
  /// - Parameters:
  ///   - times: the times of the revisions of a key in milliseconds, the first one first.
  ///   - now: the current time in milliseconds.
  func kept(_ times: [Int64], now: Int64) -> Set<Int> {
    var kept: Set<Int> = []
    for rule in self {
      switch rule {
      case .keepLast(let count): kept.formUnion(times.indices.suffix(Swift.max(0, count)))
      // The first of January 1970 was a Thursday.
      case .daily(let count): kept.formUnion(Self.lasts(times.map { $0.floored(by: Self.day) }, count))
      case .weekly(let count):
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

  /// The index of the last revision in each of the last `count` days or weeks. A day counts once, even if the clock was set
  /// back and revisions of other days lie in between.
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
