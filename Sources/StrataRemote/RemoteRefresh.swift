internal import StrataStore

/// The result of a refresh.
public struct RemoteRefresh: Sendable, Hashable {
  /// The outcome of the request.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// The cached copy is still fresh by `Cache-Control` or `Expires`, so no request was sent.
    case fresh
    /// The server responded with 304, so no row was read or written.
    case notModified
    /// The response was merged into the rows.
    case merged
  }

  /// The outcome of the request.
  public let outcome: Outcome
  /// The ids of the records in the response, in the order and spelling of the response. Empty unless the response was
  /// merged.
  public internal(set) var ids: [String] = []
  /// The number of inserted rows, in all tables that the response affects.
  public internal(set) var inserted = 0
  /// The number of updated rows.
  public internal(set) var updated = 0
  /// The number of rows that the response did not change.
  public internal(set) var unchanged = 0
  /// The number of deleted rows.
  public internal(set) var deleted = 0
  /// The number of records that were skipped because a newer response had already been merged, or because the record
  /// was deleted locally.
  public internal(set) var passedOver = 0
  /// The number of rows that were kept although the server no longer has their records, because the rows have unsent
  /// changes or because other rows refer to them.
  public internal(set) var kept = 0
  /// The number of conflicts, which are values that both sides changed and that no merge policy resolves.
  public internal(set) var conflicts = 0
  /// The records that the model cannot read and that were skipped (``EntityMapper/Invalid/skip``).
  public internal(set) var invalid: [RemoteInvalid] = []
  /// The number of pages in the response.
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

/// A list element that the model could not read as a record.
public struct RemoteInvalid: Sendable, Hashable {
  /// The index of the record in the list, counted over all pages.
  public let index: Int
  /// The reason why the record cannot be read, without values of the record.
  public let reason: String
}

extension RemoteRefresh: CustomStringConvertible {
  /// One line, such as `2 inserted, 1 updated, 3 unchanged`, or the reason why no row was changed.
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
