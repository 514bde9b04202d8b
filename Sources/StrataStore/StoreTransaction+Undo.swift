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
    guard let head = try begin(key, .always) else { throw StoreError.notFound("such key", key: key) }
    let line = StoreTimeline(try revisions(ofKey: head.key))
    guard let state = line.current, let earlier = line.parent(of: state) else {
      throw StoreError(.nothingToUndo, "there is no state before this one", key: key, revision: Int(head.row.seq))
    }
    return try repeated(earlier, as: .undo, key, head, author, note)
  }

  /// Redoes the last undone change of a key, as a new revision. After another save there is nothing to redo.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` if nothing was undone, `notFound`, `readOnly`.
  /// - Complexity: as ``undo(_:author:note:)``.
  @discardableResult
  public func redo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    guard let head = try begin(key, .always) else { throw StoreError.notFound("such key", key: key) }
    let line = StoreTimeline(try revisions(ofKey: head.key))
    guard let later = line.undone else {
      throw StoreError(.nothingToUndo, "nothing was undone since the last save", key: key, revision: Int(head.row.seq))
    }
    return try repeated(later, as: .redo, key, head, author, note)
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

  /// The index of the revision whose state the revision at `place` repeats. If its origin was pruned, it is a state of its own.
  private func state(_ place: Int) -> Int {
    let row = rows[place]
    guard row.action == .undo || row.action == .redo, let origin = row.origin, let found = places[origin] else {
      return place
    }
    return found
  }

  /// The index of the state that the revision at `place` was saved over. An undo or redo whose origin was pruned has none: the
  /// revision before it is the one that it undid.
  private func parent(_ place: Int) -> Int? {
    place == 0 || rows[place].action == .undo || rows[place].action == .redo ? nil : state(place - 1)
  }

  /// The revision with the current state of the key.
  var current: StoredRow? { rows.isEmpty ? nil : rows[state(rows.count - 1)] }

  /// The state that a revision was saved over.
  func parent(of row: StoredRow) -> StoredRow? { places[row.seq].flatMap { parent($0) }.map { rows[$0] } }

  /// The state that was undone last and not redone since.
  var undone: StoredRow? {
    guard !rows.isEmpty else { return nil }
    let now = state(rows.count - 1)
    // All changes between the current state and the last save, restore or deletion were undone.
    guard var place = rows.lastIndex(where: { $0.action != .undo && $0.action != .redo }) else { return nil }
    while place != now {
      guard let parent = parent(place), parent < place else { return nil }
      if parent == now { return rows[place] }
      place = parent
    }
    return nil
  }
}
