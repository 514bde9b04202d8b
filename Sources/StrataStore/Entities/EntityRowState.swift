internal import GRDB
internal import StrataCore

/// The original and the new values of a row during a save.
struct EntityRowState {
  /// A reference to a column of a different row. That column's value is copied to the referring column.
  struct Reference: Hashable {
    let row: Int
    /// The index of the referenced column in the table of `row`.
    let slot: Int
  }

  let table: Int
  /// The index of the entity in the catalog, or `nil` for a row of a join table.
  var type: Int?
  /// The values of the row in the database, by column index. `nil` for a new row.
  var original: [DatabaseValue]?
  /// The new values, by column index. A value is `nil` if the save does not set the column.
  var values: [DatabaseValue?]
  /// The columns whose values are copied from other rows, such as foreign keys, by column index. They take precedence over `values`.
  var references: [Int: Reference] = [:]
  /// The indices of the columns for which an object other than the row's first object has a value. If several objects represent the
  /// same row, these indices are used to report contradictory values.
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

  /// Records that the columns with the given indices were written.
  mutating func note(_ slots: [Int], _ kind: EntityReport.Change.Kind) {
    guard !slots.isEmpty || kind == .inserted else { return }
    changed.formUnion(slots)
    if outcome == nil { outcome = kind }
  }
}
