internal import Foundation

extension StoreTransaction {
  /// Undoes the last change of a key by saving the previous state as a new revision. Each additional call undoes one more change.
  ///
  /// Only saves, restores and deletions count as changes. Revisions added by undos and redos are skipped.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` if there is no earlier state, `notFound` if the key does not exist,
  ///   or `readOnly`.
  /// - Complexity: linear in the number of the key's revisions. Their rows are read, but their contents are not rebuilt from
  ///   deltas.
  @discardableResult
  public func undo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    try move(.undo, key, author, note, "no change can be undone because the key has no earlier state") { $0.earlier }
  }

  /// Redoes the last undone change of a key by saving the undone state as a new revision. A new save, restore or deletion
  /// discards the changes that could be redone.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` if no undone change is left, `notFound` if the key does not exist,
  ///   or `readOnly`.
  /// - Complexity: the same as ``undo(_:author:note:)``.
  @discardableResult
  public func redo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    try move(.redo, key, author, note, "no change can be redone because no undone change is left") { $0.undone }
  }

  /// Saves an earlier state of a key as a new revision.
  ///
  /// - Parameter problem: the message of the error that is thrown if `state` returns `nil`.
  private func move(
    _ action: StoreRevision.Action, _ key: String, _ author: String?, _ note: String?, _ problem: String,
    to state: (StoreTimeline) -> StoredRow?
  ) throws -> StoreRevision {
    guard let head = try begin(key, .always) else { throw StoreError.notFound("the key does not exist", key: key) }
    guard let row = state(StoreTimeline(try revisions(ofKey: head.key))) else {
      throw StoreError(.nothingToUndo, problem, key: key, revision: Int(head.row.seq))
    }
    return try repeated(row, as: action, key, head, author, note)
  }
}

/// Finds the state that an undo or a redo of a key restores. An undo or redo revision is treated as the earlier revision that it
/// repeats.
struct StoreTimeline {
  private let rows: [StoredRow]
  private let places: [Int64: Int]

  /// Creates a timeline.
  ///
  /// - Parameter rows: the revisions of a key, oldest first.
  init(_ rows: [StoredRow]) {
    self.rows = rows
    places = Dictionary(rows.enumerated().map { ($1.seq, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func isUndoOrRedo(_ place: Int) -> Bool { rows[place].action == .undo || rows[place].action == .redo }

  /// Returns the index in `rows` of the revision whose state the revision at index `place` repeats. Returns `place` if the revision
  /// repeats no state, or if the repeated revision was pruned.
  private func state(_ place: Int) -> Int {
    isUndoOrRedo(place) ? rows[place].origin.flatMap { places[$0] } ?? place : place
  }

  /// Returns the index in `rows` of the state that the revision at index `place` replaced, or `nil` for the first revision.
  /// Also returns `nil` for an undo or redo whose repeated revision was pruned, because the revision before an undo is the
  /// undone revision, not an earlier state.
  private func stateSavedOver(_ place: Int) -> Int? { place == 0 || isUndoOrRedo(place) ? nil : state(place - 1) }

  /// The state that an undo restores, or `nil` if there is none.
  var earlier: StoredRow? { rows.isEmpty ? nil : stateSavedOver(state(rows.count - 1)).map { rows[$0] } }

  /// The state that a redo restores, or `nil` if no undone change is left.
  var undone: StoredRow? {
    // All changes after the current state have been undone. Starts at the last save, restore or deletion and walks back to the change
    // directly after the current state. This is the change to redo.
    guard var place = rows.indices.last(where: { !isUndoOrRedo($0) }) else { return nil }
    let now = state(rows.count - 1)
    while place != now {
      guard let before = stateSavedOver(place), before < place else { return nil }
      if before == now { return rows[place] }
      place = before
    }
    return nil
  }
}
