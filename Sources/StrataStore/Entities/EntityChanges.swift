internal import GRDB
internal import StrataCore

/// Writes the changed, new and deleted rows of a save to the database.
///
/// The order of the writes is found by trial and error. If an operation violates a constraint, such as a foreign key or a unique index,
/// it is tried again after the other operations.
struct EntityChanges {
  private let writer: EntityWriter
  private var db: Database { writer.db }
  private var waiting: [Operation] = []

  private struct Operation {
    enum Action { case update, delete, insert }

    let action: Action
    let row: Int
    /// The error of the last attempt, if SQLite refused the operation because of a constraint; otherwise `nil`.
    var error: DatabaseError?
  }

  init(_ writer: EntityWriter) { self.writer = writer }

  mutating func run() throws {
    let rows = writer.rows.indices
    waiting += rows.filter { !writer.rows[$0].isNew && !writer.rows[$0].isDeleted && !writer.changedSlots($0).isEmpty }
      .map { .init(action: .update, row: $0) }
    waiting += rows.filter {
      !writer.rows[$0].isNew && writer.rows[$0].isDeleted && writer.rows[$0].outcome != .deleted
    }
    .map { .init(action: .delete, row: $0) }
    let new = rows.filter { writer.rows[$0].isNew && !writer.rows[$0].isDeleted }
    let ordered = Postorder.numbers(from: new) { row in
      writer.rows[row].references.sorted { $0.key < $1.key }.map(\.value.row).filter { writer.rows[$0].isNew }
    }
    waiting += ordered.map { .init(action: .insert, row: $0) }
    var isRelaxed = false
    var deletes = false
    var forces = false
    var parked = Set<Int>()
    while !waiting.isEmpty {
      var left: [Operation] = []
      var hasMoved = false
      // Deletions run last, because rows may first have to be moved out of the lists of a row to be deleted.
      let moving = Set(waiting.lazy.filter { $0.action == .update }.map(\.row))
      for var operation in waiting where operation.action != .delete || deletes {
        // The deletion waits, because it could cascade to rows that this save still has to move to other lists.
        if operation.action == .delete, !forces,
          writer.rowsLeavingLists[operation.row]?.contains(where: moving.contains) ?? false
        {
          left.append(operation)
          continue
        }
        do {
          if try perform(operation, isRelaxed: isRelaxed) {
            hasMoved = true
          } else if operation.action == .insert, writer.rows[operation.row].isWritten {
            // The row was inserted without some foreign keys. An update sets them once the referenced rows exist.
            left.append(.init(action: .update, row: operation.row))
            hasMoved = true
          } else {
            left.append(operation)
          }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
          operation.error = error
          left.append(operation)
        }
      }
      if !deletes { left += waiting.filter { $0.action == .delete } }
      // The order is reversed for the next attempt, because an operation often depends on the one after it.
      waiting = left.reversed()
      guard !hasMoved else {
        (isRelaxed, deletes, forces) = (false, false, false)
        continue
      }
      guard deletes || !waiting.contains(where: { $0.action == .delete }) else {
        deletes = true
        continue
      }
      if try park(&parked) { continue }
      guard isRelaxed else {
        isRelaxed = true
        continue
      }
      guard forces || !waiting.contains(where: { $0.action == .delete }) else {
        forces = true
        continue
      }
      throw failure(waiting)
    }
    count()
  }

  // MARK: Rows

  /// Throws an error with the code `missingValue` if a foreign key of the row refers to a column that is null in the referenced
  /// row.
  private func checkReferences(_ row: Int) throws {
    for (slot, reference) in writer.rows[row].references where writer.resolved(row, slot)?.isNull ?? false {
      let table = writer.table(of: reference.row)
      throw writer.located(
        EntityError(
          .missingValue, "a relation refers to a row whose referenced column is null; set a value for that column",
          table: table.name, columns: [table.columns[reference.slot].name]), row, key: writer.key(of: slot, row))
    }
  }

  /// Attempts to run an operation.
  ///
  /// - Returns: `true` if the operation is complete, or `false` if it must wait until another row is written.
  private mutating func perform(_ operation: Operation, isRelaxed: Bool) throws -> Bool {
    switch operation.action {
    case .update: return try update(operation.row)
    case .delete:
      try delete(operation.row)
      return true
    case .insert: return try insert(operation.row, isRelaxed: isRelaxed)
    }
  }

  private func update(_ row: Int) throws -> Bool {
    let table = writer.table(of: row)
    let references = writer.rows[row].references
    guard references.allSatisfy({ writer.resolved(row, $0.key) != nil }) else { return false }
    try checkReferences(row)
    var slots: [Int] = []
    for slot in table.columns.indices {
      guard let value = writer.resolved(row, slot) else { continue }
      writer.rows[row].values[slot] = value
      if !value.isExactly(writer.rows[row].original?[slot]) { slots.append(slot) }
    }
    if !slots.isEmpty { try write(slots.map { ($0, writer.rows[row].values[$0] ?? .null) }, row) }
    for slot in references.keys { writer.rows[row].references[slot] = nil }
    writer.rows[row].note(slots, .updated)
    return true
  }

  private func write(_ values: [(slot: Int, value: DatabaseValue)], _ row: Int) throws {
    let table = writer.table(of: row)
    let settings = values.map { "\(table.quoted($0.slot)) = ?" }.joined(separator: ", ")
    let key = table.primaryKey.map { "\(table.quoted($0)) = ?" }.joined(separator: " AND ")
    let statement = try db.cachedStatement(
      sql: "UPDATE \(table.quotedName) SET \(settings) WHERE \(key)")
    let original = writer.rows[row].original ?? []
    try statement.execute(arguments: StatementArguments(values.map(\.value) + table.primaryKey.map { original[$0] }))
    guard db.changesCount == 1 else {
      throw EntityError(
        .constraint, "a database trigger or constraint prevented the update of the row", table: table.name)
    }
    for (slot, value) in values { writer.rows[row].original?[slot] = value }
  }

  private func delete(_ row: Int) throws {
    let table = writer.table(of: row)
    let key = table.primaryKey.map { "\(table.quoted($0)) = ?" }.joined(separator: " AND ")
    let statement = try db.cachedStatement(sql: "DELETE FROM \(table.quotedName) WHERE \(key)")
    let original = writer.rows[row].original ?? []
    let arguments = StatementArguments(table.primaryKey.map { original[$0] })
    try statement.execute(arguments: arguments)
    // If no row was deleted, an earlier deletion may have cascaded to this row.
    if db.changesCount == 0 {
      let sql = "SELECT 1 FROM \(table.quotedName) WHERE \(key)"
      guard try Row.fetchOne(db, sql: sql, arguments: arguments) == nil else {
        throw EntityError(
          .constraint, "a database trigger prevented the deletion of the row", table: table.name)
      }
    }
    writer.rows[row].outcome = .deleted
  }

  private func insert(_ row: Int, isRelaxed: Bool) throws -> Bool {
    let table = writer.table(of: row)
    try checkReferences(row)
    var slots: [Int] = []
    var later: [Int] = []
    for slot in table.columns.indices {
      if let value = writer.resolved(row, slot) {
        writer.rows[row].values[slot] = value
        slots.append(slot)
      } else if writer.rows[row].references[slot] != nil {
        guard isRelaxed, !table.columns[slot].isNotNull else { return false }
        later.append(slot)
      }
    }
    let name = table.quotedName
    let columns = slots.map(table.quoted).joined(separator: ", ")
    let marks = Array(repeating: "?", count: slots.count).joined(separator: ", ")
    var sql = "INSERT INTO \(name) DEFAULT VALUES"
    if !slots.isEmpty { sql = "INSERT INTO \(name) (\(columns)) VALUES (\(marks))" }
    let isSupplied = isSupplied(row)
    // A table without rowids has no last inserted rowid, so the inserted row is read with RETURNING.
    if isSupplied, !table.hasRowID {
      sql += " RETURNING \(table.columns.indices.map(table.quoted).joined(separator: ", "))"
    }
    let statement = try db.cachedStatement(sql: sql)
    let arguments = StatementArguments(slots.map { writer.rows[row].values[$0] ?? .null })
    var supplied: Row?
    if isSupplied, !table.hasRowID {
      supplied = try Row.fetchOne(statement, arguments: arguments)
    } else {
      try statement.execute(arguments: arguments)
    }
    guard db.changesCount == 1 else {
      throw EntityError(
        .constraint, "a database trigger or constraint prevented the insertion of the row", table: table.name)
    }
    if isSupplied, table.hasRowID {
      supplied = try Row.fetchOne(
        db.cachedStatement(sql: "SELECT \(table.selection) FROM \(name) AS t WHERE t.rowid = ?"),
        arguments: [db.lastInsertedRowID])
    }
    readBack(row, supplied)
    for slot in writer.rows[row].references.keys where !later.contains(slot) { writer.rows[row].references[slot] = nil }
    writer.rows[row].note(slots, .inserted)
    return later.isEmpty
  }

  /// Returns whether SQLite itself sets any column of a new row, apart from the rowid. It sets generated columns, and columns with a
  /// default value for which the save has no value.
  private func isSupplied(_ row: Int) -> Bool {
    let (table, state) = (writer.table(of: row), writer.rows[row])
    return table.columns.indices.contains { slot in
      guard slot != table.rowID, table.columns[slot].hasDefault else { return false }
      return state.values[slot] == nil && state.references[slot] == nil
    }
  }

  /// Adds the values that the database has generated for an inserted row, such as the rowid and column defaults, to the state of
  /// the row.
  private func readBack(_ row: Int, _ supplied: Row?) {
    let table = writer.table(of: row)
    var values = writer.rows[row].values
    if let slot = table.rowID, values[slot]?.isNull ?? true { values[slot] = db.lastInsertedRowID.databaseValue }
    if let supplied {
      for (slot, value) in table.values(supplied).enumerated() where values[slot] == nil { values[slot] = value }
    }
    writer.rows[row].values = values
    writer.rows[row].original = values.map { $0 ?? .null }
    writer.rows[row].isWritten = true
  }

  /// Frees unique values so that rows can exchange them, by temporarily setting the unique columns of some rows to null or to numbers
  /// that no other row has.
  ///
  /// - Returns: whether any column was set, so that the other operations can be tried again.
  private func park(_ parked: inout Set<Int>) throws -> Bool {
    guard waiting.contains(where: { $0.error?.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE }) else { return false }
    // Tries the rows whose updates violated a constraint first, and then the rows whose updates wait for other rows.
    let updates = waiting.filter { $0.action == .update && !parked.contains($0.row) }
    for group in [updates.filter { $0.error != nil }, updates.filter { $0.error == nil }] {
      var isDone = false
      for operation in group where try parked.insert(operation.row).inserted && park(operation.row) { isDone = true }
      if isDone { return true }
    }
    return false
  }

  private func park(_ row: Int) throws -> Bool {
    let table = writer.table(of: row)
    let settings: [(slot: Int, value: DatabaseValue)] = table.uniqueSlots.subtracting(table.primaryKey).sorted()
      .compactMap { slot in
        let state = writer.rows[row]
        guard state.references[slot] != nil || !(state.values[slot]?.isExactly(state.original?[slot]) ?? true) else {
          return nil
        }
        if !table.columns[slot].isNotNull { return (slot, .null) }
        guard case .int64? = state.original?[slot].storage, state.references[slot] == nil else { return nil }
        return (slot, (Int64.min + Int64(row)).databaseValue)
      }
    guard !settings.isEmpty else { return false }
    do { try write(settings, row) } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      return false
    }
    return true
  }

  // MARK: Errors and report

  private func failure(_ left: [Operation]) -> any Error {
    guard let first = left.first(where: { $0.error != nil }), let error = first.error else {
      return writer.located(
        EntityError(
          .constraint,
          "new rows refer to each other in a cycle, and none of their foreign keys is nullable; make one of "
            + "the foreign keys nullable"), left[0].row
      )
    }
    guard let failure = EntityError.ofDatabase(error) as? EntityError else { return error }
    let table = writer.table(of: first.row)
    let key = failure.columns.first.flatMap { name in
      table.columns.firstIndex { $0.name.lowercased() == name.lowercased() }.flatMap { writer.key(of: $0, first.row) }
    }
    return writer.located(failure, first.row, key: key)
  }

  private func count() {
    writer.report.changes = []
    for table in writer.report.tables { writer.report[table] = .init() }
    for row in writer.rows.indices {
      let state = writer.rows[row]
      let table = writer.table(of: row)
      let kind: EntityReport.Change.Kind
      switch state.outcome {
      case .inserted:
        kind = .inserted
        writer.report[table.name].inserted += 1
      case .updated:
        kind = .updated
        writer.report[table.name].updated += 1
      case .deleted:
        kind = .deleted
        writer.report[table.name].deleted += 1
      case nil:
        if state.node != nil, !state.isNew { writer.report[table.name].unchanged += 1 }
        continue
      }
      writer.report.changes.append(
        .init(
          table: table.name, entity: state.type.map { writer.catalog.types[$0].name },
          primaryKey: table.primaryKey.map { state.values[$0] ?? .null }, kind: kind,
          columns: kind == .deleted ? [] : state.changed.sorted().map { table.columns[$0].name }))
    }
  }
}
