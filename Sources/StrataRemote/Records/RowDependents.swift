internal import GRDB
internal import StrataStore

/// Finds the rows that refer to a row through foreign keys. If the row were deleted, SQLite would delete or change
/// these rows, or refuse the deletion.
struct RowDependents {
  private let catalog: RemoteCatalog
  private let changes: LocalChanges
  private let db: Database
  private let links: [Link]

  /// A foreign key of a table. Each of its columns is paired with the referenced column of the other table.
  private struct Link {
    let table: String
    let target: String
    var columns: [(origin: String, destination: String)]
    let action: String
  }

  /// The identity of a row in any table: the name of the table and the values of all columns.
  private struct RowIdentity: Hashable {
    let table: String
    let values: [ExactValue]
  }

  init(_ catalog: RemoteCatalog, _ changes: LocalChanges, _ db: Database) throws {
    (self.catalog, self.changes, self.db) = (catalog, changes, db)
    // If SQLite does not enforce foreign keys, they neither prevent deletions nor change other rows.
    guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false else {
      links = []
      return
    }
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT m.name, k.id, k."table", k."from", k."to", k.on_delete, k.seq
        FROM main.sqlite_master AS m, pragma_foreign_key_list(m.name) AS k WHERE m.type = 'table' ORDER BY m.name, k.id, k.seq
        """)
    var links: [Link] = []
    for row in rows {
      let target: String = row[2]
      // A foreign key that does not name the referenced columns refers to the primary key of the other table.
      let place: Int = row[6]
      let primary = try row[4] == nil && db.tableExists(target) ? db.primaryKey(target).columns : []
      let destination: String? = row[4] ?? (primary.indices.contains(place) ? primary[place] : nil)
      if place == 0 { links.append(.init(table: row[0], target: target.lowercased(), columns: [], action: row[5])) }
      links[links.count - 1].columns.append((row[3], destination ?? "rowid"))
    }
    self.links = links
  }

  /// Whether a row must be kept although the server no longer has its record. It is kept if it has unsent changes, if a record with
  /// unsent changes refers to it, or if a foreign key prevents its deletion.
  func keeps(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    try changes.kind(entity, record) != nil || isNeeded(entity, record) || isHeld(entity, record)
  }

  /// Whether a record with unsent changes refers to a row. If the row were deleted, a foreign key could also delete
  /// that record.
  private func isNeeded(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    guard !changes.isEmpty else { return false }
    for other in catalog.entities {
      for field in other.fields where field.target == entity.number {
        let sql = """
          SELECT 1 FROM strata_remote_changes AS c JOIN \(other.quotedTable) AS t
            ON t.\(other.keyColumn.quotedDatabaseIdentifier) = c.record
          WHERE c.entity = ? AND t.\(field.column.quotedDatabaseIdentifier) = ?
          """
        if try db.exists(sql, [other.name, record]) { return true }
      }
    }
    return false
  }

  /// Whether the database would refuse to delete a row (immediately or at the end of the transaction), or would also delete or change a
  /// record with unsent changes.
  func isHeld(_ entity: MappedEntity, _ record: DatabaseValue) throws -> Bool {
    guard links.contains(where: { $0.target == entity.table.name.lowercased() }) else { return false }
    let sql = "SELECT * FROM \(entity.quotedTable) WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ?"
    guard let row = try Row.fetchOne(db, sql: sql, arguments: [record]) else { return false }
    var seen: Set<RowIdentity> = [identity(of: row, in: entity.table.name)]
    var waiting = [(entity.table.name, row)]
    while let (table, row) = waiting.popLast() {
      for link in links where link.target == table.lowercased() {
        for child in try children(of: row, link) where seen.insert(identity(of: child, in: link.table)).inserted {
          let isRefused = link.action == "NO ACTION" || link.action == "RESTRICT"
          if try isRefused || hasChanges(child, link.table) { return true }
          if link.action == "CASCADE" { waiting.append((link.table, child)) }
        }
      }
    }
    return false
  }

  private func children(of row: Row, _ link: Link) throws -> [Row] {
    let values = link.columns.map { row[$0.destination] as DatabaseValue? ?? .null }
    guard !values.contains(where: \.isNull) else { return [] }
    let match = link.columns.map { "\($0.origin.quotedDatabaseIdentifier) = ?" }.joined(separator: " AND ")
    return try Row.fetchAll(
      db.cachedStatement(sql: "SELECT * FROM \(link.table.quotedDatabaseIdentifier) WHERE \(match)"),
      arguments: StatementArguments(values))
  }

  private func identity(of row: Row, in table: String) -> RowIdentity {
    RowIdentity(table: table.lowercased(), values: row.databaseValues.map { ExactValue($0) })
  }

  private func hasChanges(_ row: Row, _ table: String) throws -> Bool {
    for entity in catalog.entities where entity.table.name.lowercased() == table.lowercased() {
      guard let record = row[entity.keyColumn] as DatabaseValue? else { continue }
      if try changes.kind(entity, record) != nil { return true }
    }
    return false
  }
}
