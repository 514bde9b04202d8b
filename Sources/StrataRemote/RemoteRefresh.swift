internal import StrataStore

/// What a refresh came to.
public struct RemoteRefresh: Sendable, Hashable {
  /// What became of the question.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The copy here may still be used by what the server said of it; nothing was asked.
    case fresh
    /// The server says that nothing has changed (304); no row was read or written.
    case notModified
    /// The answer was merged.
    case merged
  }

  /// What became of the question.
  public let outcome: Outcome
  /// The ids of the records in the answer, in its order, as the server spells them; empty unless it was merged.
  public internal(set) var ids: [String] = []
  /// The numbers of rows, of all tables that the answer is about.
  public internal(set) var inserted = 0
  /// Rows in which columns were set.
  public internal(set) var updated = 0
  /// Rows that the answer said nothing new about.
  public internal(set) var unchanged = 0
  /// Rows that were deleted.
  public internal(set) var deleted = 0
  /// Records that were left alone, since a newer answer counts or they were deleted here.
  public internal(set) var passedOver = 0
  /// Records that the server no longer has and that stay here: something of them has not been sent, or other rows lead to them.
  public internal(set) var kept = 0
  /// Values that both sides changed and no rule decides.
  public internal(set) var conflicts = 0
  /// The records that the model cannot read, and that were skipped (``EntityMapper/Invalid/skip``).
  public internal(set) var invalid: [RemoteInvalid] = []
  /// The number of pages.
  public internal(set) var pages = 0

  init(_ outcome: Outcome) { self.outcome = outcome }

  init(_ answer: AppliedAnswer, pages: Int) {
    outcome = .merged
    ids = answer.ids
    let total = answer.report.total
    (inserted, updated, unchanged, deleted) = (total.inserted, total.updated, total.unchanged, total.deleted)
    (passedOver, kept, conflicts) = (answer.passedOver, answer.kept, answer.conflicts)
    self.pages = pages
  }
}

/// A record of a list that the model cannot read.
public struct RemoteInvalid: Sendable, Hashable {
  /// Its index in the list, over all pages.
  public let index: Int
  /// The reason, without values of the record.
  public let reason: String
}

extension RemoteRefresh: CustomStringConvertible {
  /// One line: `2 inserted, 1 updated, 3 unchanged`, or why nothing was.
  public var description: String {
    switch outcome {
    case .fresh: return "still fresh, not asked"
    case .notModified: return "not modified"
    case .merged: break
    }
    let parts = [
      (inserted, "inserted"), (updated, "updated"), (unchanged, "unchanged"), (deleted, "deleted"),
      (invalid.count, "invalid"), (passedOver, "passed over"), (kept, "kept though the server has them no longer"),
      (conflicts, "in conflict"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return parts.isEmpty ? "no records" : parts.joined(separator: ", ")
  }
}
