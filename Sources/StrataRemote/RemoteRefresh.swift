internal import StrataStore

/// The result of requesting records from the server and merging them into the database.
public struct RemoteRefresh: Sendable, Hashable {
  /// How a refresh ended.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// An earlier response is still fresh according to `Cache-Control` or `Expires`, so no request was sent.
    case fresh
    /// The server responded with 304 (Not Modified), because nothing has changed since an earlier response. No row was
    /// read or written.
    case notModified
    /// The response was merged into the rows of the database.
    case merged
  }

  /// How the refresh ended.
  public let outcome: Outcome
  /// The server's ids of the records in the response, as text and in the order of the response. Empty unless the
  /// response was merged.
  public internal(set) var ids: [String] = []
  /// The number of inserted rows in all tables, including the rows of nested records.
  public internal(set) var inserted = 0
  /// The number of updated rows in all tables, including the rows of nested records.
  public internal(set) var updated = 0
  /// The number of rows that already had the values of the response.
  public internal(set) var unchanged = 0
  /// The number of rows that were deleted because the server no longer has their records.
  public internal(set) var deleted = 0
  /// The number of records that were skipped, either because a newer response had already been merged, or because the
  /// record had been deleted locally.
  public internal(set) var passedOver = 0
  /// The number of rows that were kept although the server no longer has their records. Such rows have unsent changes,
  /// or other rows refer to them.
  public internal(set) var kept = 0
  /// The number of conflicts: values that were changed both locally and on the server and that no merge policy of the
  /// model can merge.
  public internal(set) var conflicts = 0
  /// The records that were skipped because they could not be decoded (``EntityMapper/Invalid/skip``).
  public internal(set) var invalid: [RemoteInvalid] = []
  /// The number of pages in which the response arrived.
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

/// A record in the server's list that was skipped because it could not be decoded.
public struct RemoteInvalid: Sendable, Hashable {
  /// The zero-based index of the record in the whole list, counted over all pages.
  public let index: Int
  /// The reason why the record could not be decoded. It contains no values of the record.
  public let reason: String
}

extension RemoteRefresh: CustomStringConvertible {
  /// One line with the numbers of rows, such as `2 inserted, 1 updated, 3 unchanged`, or the reason why no row was
  /// changed.
  public var description: String {
    switch outcome {
    case .fresh: return "still fresh, no request sent"
    case .notModified: return "not modified"
    case .merged: break
    }
    let parts = [
      (inserted, "inserted"), (updated, "updated"), (unchanged, "unchanged"), (deleted, "deleted"),
      (invalid.count, "invalid"), (passedOver, "skipped"), (kept, "kept although missing on the server"),
      (conflicts, "in conflict"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return parts.isEmpty ? "no records" : parts.joined(separator: ", ")
  }
}
