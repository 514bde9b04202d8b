internal import GRDB
internal import StrataCore

/// The state of a row during a save, with its original and its new values.
struct EntityRowState {
  /// A reference to a column of another row, whose value is copied to the column that has the reference.
  struct Reference: Hashable {
    let row: Int
    /// The slot of the referenced column, in the table of `row`.
    let slot: Int
  }

  let table: Int
  /// The index of the entity; `nil` for a row of a table of pairs.
  var type: Int?
  /// The existing values in the database, by slot; `nil` for a new row.
  var original: [DatabaseValue]?
  /// The new values, by slot; `nil` for a slot that is not set.
  var values: [DatabaseValue?]
  /// The slots whose values are copied from other rows. They override `values`.
  var references: [Int: Reference] = [:]
  /// The slots for which any node of the row except the first has a value.
  var slotsOfLaterNodes = Set<Int>()
  /// The first node that was assigned to the row; `nil` if there is none.
  var node: Int?
  /// Whether the row exists in the table, with its original or its new values.
  var isWritten: Bool
  /// The row that owns the list from which this row is removed.
  var owner: Int?
  /// Whether the row is to be deleted, or not to be inserted.
  var isDeleted = false
  /// The kind of change that was written; `nil` if none was.
  var outcome: EntityReport.Change.Kind?
  /// The slots that were written.
  private(set) var changed = Set<Int>()

  init(table: Int, type: Int?, new count: Int) {
    self.table = table
    self.type = type
    values = [DatabaseValue?](repeating: nil, count: count)
    isWritten = false
  }

  init(table: Int, type: Int?, _ original: [DatabaseValue]) {
    self.table = table
    self.type = type
    self.original = original
    values = original
    isWritten = true
  }

  var isNew: Bool { original == nil }

  var isChanged: Bool { outcome != nil }

  /// Records that slots were written.
  mutating func note(_ slots: [Int], _ kind: EntityReport.Change.Kind) {
    guard !slots.isEmpty || kind == .inserted else { return }
    changed.formUnion(slots)
    if outcome == nil { outcome = kind }
  }
}
