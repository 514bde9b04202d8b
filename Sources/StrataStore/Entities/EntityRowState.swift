internal import GRDB
internal import StrataCore

/// A row during a save, with its original and its new values.
struct EntityRowState {
  /// A column of another row, whose value a column takes.
  struct Reference: Hashable {
    let row: Int
    /// The slot in that row's table.
    let slot: Int
  }

  let table: Int
  /// The entity; `nil` for a row of a table of pairs.
  var type: Int?
  /// The values of the slots in the table; `nil` for a new row.
  var original: [DatabaseValue]?
  /// The new values of the slots; `nil` for a slot that is not set.
  var values: [DatabaseValue?]
  /// The slots that take their value from another row. They override `values`.
  var references: [Int: Reference] = [:]
  /// The slots for which a node after the first has a value.
  var slotsOfLaterNodes = Set<Int>()
  /// The first node of the row.
  var node: Int?
  /// Whether the row is in the table, with its original or new values.
  var isWritten: Bool
  /// The row whose list it leaves.
  var owner: Int?
  /// Whether it is to be deleted.
  var isDeleted = false
  /// The change that was written; `nil` if none.
  var outcome: EntityReport.Change.Kind?
  /// The slots that were set.
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

  /// Records that slots were set.
  mutating func note(_ slots: [Int], _ kind: EntityReport.Change.Kind) {
    guard !slots.isEmpty || kind == .inserted else { return }
    changed.formUnion(slots)
    if outcome == nil { outcome = kind }
  }
}
