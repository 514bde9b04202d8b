internal import Foundation

extension StoreTransaction {
  /// Goes back to the state before the last change of a key, as a new revision. Again goes back one more.
  ///
  /// Revisions that undo and redo are passed over: what is undone is always a save, a restore or a deletion.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` where there is no earlier state, `notFound`, `readOnly`.
  /// - Complexity: linear in the number of revisions of the key, whose rows are read and not what they are deltas of.
  @discardableResult
  public func undo(_ key: String, author: String? = nil, note: String? = nil) throws -> StoreRevision {
    guard let head = try begin(key, .always) else { throw StoreError.notFound("such key", key: key) }
    let line = StoreTimeline(try revisions(ofKey: head.key))
    guard let state = line.current, let earlier = line.parent(of: state) else {
      throw StoreError(.nothingToUndo, "there is no state before this one", key: key, revision: Int(head.row.seq))
    }
    return try repeated(earlier, as: .undo, key, head, author, note)
  }

  /// Takes the last undo of a key back, as a new revision. A save in between ends what can be redone.
  ///
  /// - Throws: ``StoreError`` with the code `nothingToUndo` where nothing was undone, `notFound`, `readOnly`.
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

/// The revisions of a key as states: one that undoes or redoes counts as the one whose state it repeats.
struct StoreTimeline {
  private let rows: [StoredRow]
  private let places: [Int64: Int]

  /// - Parameter rows: the revisions of a key, the first one first.
  init(_ rows: [StoredRow]) {
    self.rows = rows
    places = Dictionary(rows.enumerated().map { ($1.seq, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The index of the revision whose state the one at an index repeats. One whose origin was pruned is a state of its own.
  private func state(_ place: Int) -> Int {
    let row = rows[place]
    guard row.action == .undo || row.action == .redo, let origin = row.origin, let found = places[origin] else {
      return place
    }
    return found
  }

  /// The index of the state that the revision at an index was saved over. One that undid or redid what was pruned tells none: what
  /// comes before it is what it undid.
  private func parent(_ place: Int) -> Int? {
    place == 0 || rows[place].action == .undo || rows[place].action == .redo ? nil : state(place - 1)
  }

  /// The revision whose state the key has.
  var current: StoredRow? { rows.isEmpty ? nil : rows[state(rows.count - 1)] }

  /// The state that a revision was saved over.
  func parent(of row: StoredRow) -> StoredRow? { places[row.seq].flatMap { parent($0) }.map { rows[$0] } }

  /// The state that was undone last and not redone since.
  var undone: StoredRow? {
    guard !rows.isEmpty else { return nil }
    let now = state(rows.count - 1)
    // From the last change that was no undo and no redo back to the state of now, all was undone.
    guard var place = rows.lastIndex(where: { $0.action != .undo && $0.action != .redo }) else { return nil }
    while place != now {
      guard let parent = parent(place), parent < place else { return nil }
      if parent == now { return rows[place] }
      place = parent
    }
    return nil
  }
}
