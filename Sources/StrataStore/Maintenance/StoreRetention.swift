internal import Foundation
internal import StrataCore

/// Which revisions of a key are kept by a prune: those that any of the rules names. The last revision of a key and those with
/// labels are kept whatever the rules say.
///
///     try await store.prune([.keepLast(20), .daily(7), .weekly(8)])
public enum RetentionRule: Sendable, Hashable {
  /// The last `n` revisions; none where `n` is 0 or less.
  case keepLast(Int)
  /// Of each of the last `n` days (UTC) on which something was saved, the last revision.
  case daily(Int)
  /// Of each of the last `n` weeks (from Monday, UTC) in which something was saved, the last revision.
  case weekly(Int)
  /// Those that are not older than this, by ``StoreOptions/clock``. A revision whose time is in the future is kept.
  case within(Duration)
}

/// What a prune removed, or would remove.
public struct StorePruneReport: Sendable {
  /// Whether nothing was removed, since only the report was asked for.
  public let isDryRun: Bool
  /// The numbers of the revisions that were removed, by key. Keys that differ in their Unicode normalization alone share an entry.
  public internal(set) var removed: [String: [Int]] = [:]
  /// How many revisions there still are, of the keys that begin with the prefix; of a dry run, how many there would be.
  public internal(set) var kept = 0
  /// A finding for each key that was not pruned, because a revision that stays and has to be stored anew is damaged. None of its
  /// revisions were removed.
  public internal(set) var skipped: [StoreFinding] = []
  /// The bytes by which the file became shorter; 0 of a dry run, and inside of a database of the app's own unless its
  /// `auto_vacuum` is incremental.
  public internal(set) var freedBytes = 0

  /// How many revisions were removed, or would be.
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
  /// Removes the revisions that no rule keeps, and gives their space back.
  ///
  /// The last revision of each key is always kept, and each one with a label. Those that are kept keep their numbers, and
  /// their content stays as it is: what was stored as a difference from a removed one is stored anew before that goes. Each
  /// transaction takes one page of keys, or a part of a long history, and the file is shortened step by step, so that others go
  /// on saving; a prune that is cut off or cancelled has removed what its finished transactions did, and another one goes on.
  ///
  /// - Parameters:
  ///   - rules: what is kept.
  ///   - prefix: what the keys begin with; all keys where it is empty.
  ///   - dryRun: whether only the report is made.
  ///   - force: whether to go on where the rules keep nothing, so that only last revisions and labels stay.
  ///   - progress: called with what was done so far, after each transaction, on any thread.
  /// - Throws: ``StoreError`` with the code `invalid` where the rules would keep nothing by themselves, unless forced;
  ///   `readOnly`, `busy`, `full`; `CancellationError` where the task was cancelled. A key with a damaged revision is no error:
  ///   it is left as it is and among those skipped.
  /// - Complexity: linear in the number of revisions. Memory holds the history of one key without its content,
  ///   and the numbers of all removed revisions for the report.
  @discardableResult
  public func prune(
    _ rules: [RetentionRule], prefix: String = "", dryRun: Bool = false, force: Bool = false,
    progress: (@Sendable (StorePruneReport) -> Void)? = nil
  ) async throws -> StorePruneReport {
    try await StoreWork.run { [core] in
      try StorePruner(core, rules, prefix, isDryRun: dryRun, isForced: force, $0).run(progress)
    }
  }

  /// As ``prune(_:prefix:dryRun:force:progress:)-([RetentionRule],_,_,_,_)``, where there is no concurrency.
  @discardableResult
  public func prune(
    _ rules: [RetentionRule], prefix: String = "", dryRun: Bool = false, force: Bool = false,
    progress: (@Sendable (StorePruneReport) -> Void)? = nil
  ) throws -> StorePruneReport {
    try StoreWork.runNow {
      try StorePruner(core, rules, prefix, isDryRun: dryRun, isForced: force, $0).run(progress)
    }
  }
}

extension [RetentionRule] {
  private static let day: Int64 = 86_400_000

  /// The indices of the revisions that the rules keep.
  ///
  /// - Parameters:
  ///   - times: when the revisions of a key were saved, the first one first, in milliseconds.
  ///   - now: the time now.
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

  /// The index of the last revision in each of the last `count` days or weeks. A day counts once, also where the clock was set
  /// back and revisions of other days lie between.
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
