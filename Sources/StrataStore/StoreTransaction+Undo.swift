internal import Foundation

extension StoreTransaction {
  /// Saves the state before the last change of a key again, as a new revision. Another call goes back one more change.
  ///
  /// Undos and redos are skipped: only saves, restores and deletions are undone.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` if there is no earlier state, `notFound`, `readOnly`.
  /// - Complexity: linear in the number of revisions of the key, whose rows are read without the bases of their deltas.
  @discardableResult
  public func undo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    try move(.undo, key, author, note, "there is no state before this one") { $0.earlier }
  }

  /// Redoes the last undone change of a key, as a new revision. After another save there is nothing to redo.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` if nothing was undone, `notFound`, `readOnly`.
  /// - Complexity: as ``undo(_:author:note:)``.
  @discardableResult
  public func redo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    try move(.redo, key, author, note, "nothing was undone since the last save") { $0.undone }
  }

  /// Saves another state of a key again, as a new revision.
  ///
  /// - Parameter problem: the reason of the error if there is no such state.
  private func move(
    _ action: StoreRevision.Action, _ key: String, _ author: String?, _ note: String?, _ problem: String,
    to state: (StoreTimeline) -> StoredRow?
  ) throws -> StoreRevision {
    guard let head = try begin(key, .always) else { throw StoreError.notFound("such key", key: key) }
    guard let row = state(StoreTimeline(try revisions(ofKey: head.key))) else {
      throw StoreError(.nothingToUndo, problem, key: key, revision: Int(head.row.seq))
    }
    return try repeated(row, as: action, key, head, author, note)
  }
}

/// The revisions of a key as states: an undo or a redo counts as the revision whose state it repeats.
struct StoreTimeline {
  private let rows: [StoredRow]
  private let places: [Int64: Int]

  /// - Parameter rows: the revisions of a key, the first one first.
  init(_ rows: [StoredRow]) {
    self.rows = rows
    places = Dictionary(rows.enumerated().map { ($1.seq, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func isUndoOrRedo(_ place: Int) -> Bool { rows[place].action == .undo || rows[place].action == .redo }

  /// The index of the revision whose state the revision at `place` repeats. If the original revision was pruned, `place` itself.
  private func state(_ place: Int) -> Int {
    isUndoOrRedo(place) ? rows[place].origin.flatMap { places[$0] } ?? place : place
  }

  /// The index of the state that the revision at `place` was saved over. An undo or redo whose origin was pruned has none: the
  /// revision before it is the one that it undid.
  private func stateSavedOver(_ place: Int) -> Int? { place == 0 || isUndoOrRedo(place) ? nil : state(place - 1) }

  /// The state before the current one.
  var earlier: StoredRow? { rows.isEmpty ? nil : stateSavedOver(state(rows.count - 1)).map { rows[$0] } }

  /// The state that was undone last and not redone since.
  var undone: StoredRow? {
    // All changes between the current state and the last save, restore or deletion were undone.
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
