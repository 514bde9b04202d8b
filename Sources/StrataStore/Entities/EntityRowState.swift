internal import GRDB
internal import StrataCore

/// A row during a save: as it is in the table, and as it will be.
struct EntityRowState {
  /// Another row, whose value a column has.
  struct Reference: Hashable {
    let row: Int
    /// The slot of that row's table.
    let slot: Int
  }

  let table: Int
  /// The entity; `nil` for a row of a table of pairs.
  var type: Int?
  /// The values of the slots in the table; `nil` for a new row.
  var original: [DatabaseValue]?
  /// The values that they will have; `nil` for what nobody has said anything about.
  var values: [DatabaseValue?]
  /// What slots have of other rows. They count over values.
  var references: [Int: Reference] = [:]
  /// The slots about which nodes after the first have said something.
  var said = Set<Int>()
  /// The first node that the row is of.
  var node: Int?
  /// Whether it is in the table, as it was or as it will be.
  var isWritten: Bool
  /// The row whose list it leaves.
  var owner: Int?
  /// Whether it is to be deleted.
  var isDeleted = false
  /// What was done to it.
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

  /// Notes that slots were set.
  mutating func note(_ slots: [Int], _ kind: EntityReport.Change.Kind) {
    guard !slots.isEmpty || kind == .inserted else { return }
    changed.formUnion(slots)
    if outcome == nil { outcome = kind }
  }
}
