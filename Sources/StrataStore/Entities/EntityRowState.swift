internal import GRDB
internal import StrataCore

/// The original and the new values of a row during a save.
struct EntityRowState {
  /// A reference to a column of a different row. The value of that column is copied to the referring column.
  struct Reference: Hashable {
    let row: Int
    /// The slot of the referenced column, in the table of `row`.
    let slot: Int
  }

  let table: Int
  /// The index of the entity in the catalog, or `nil` for a row of a join table.
  var type: Int?
  /// The values that the row already has in the database, indexed by slot. `nil` for a new row.
  var original: [DatabaseValue]?
  /// The new values, indexed by slot. A value is `nil` if the save does not set the column.
  var values: [DatabaseValue?]
  /// The slots whose values are copied from other rows. These values take precedence over `values`.
  var references: [Int: Reference] = [:]
  /// The slots for which the row's second or a later node has a value. Used to report contradictory values
  /// of nodes that have the same row.
  var slotsOfLaterNodes = Set<Int>()
  /// The first node that was assigned to the row, or `nil` if there is none.
  var node: Int?
  /// Whether the row exists in the table, with its original or its new values. False for a new row that has
  /// not been inserted yet.
  var isWritten: Bool
  /// The index of the row that owns the list from which this row is removed, or `nil` if there is none.
  var owner: Int?
  /// Whether an existing row is to be deleted, or a new row is not to be inserted.
  var isDeleted = false
  /// The kind of change that was written, or `nil` if nothing was written.
  var outcome: EntityReport.Change.Kind?
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

  /// Records that the given slots were written.
  mutating func note(_ slots: [Int], _ kind: EntityReport.Change.Kind) {
    guard !slots.isEmpty || kind == .inserted else { return }
    changed.formUnion(slots)
    if outcome == nil { outcome = kind }
  }
}
