internal import GRDB
internal import StrataCore

/// Migrates the rows of one table in batches, in the order of its primary key.
struct TableMigration {
  /// The number of bytes in texts and blobs after which a batch ends. The last row may exceed it.
  private static let bytes = 8 << 20

  let registered: [String: EntityMigrator.Registration]
  private let catalog: EntityCatalog
  /// The entity that names the class of each row.
  private let root: Int
  /// All classes of the rows, with their superclasses.
  private let schemas: [ModelSchema]
  private var table: EntityTable
  /// The columns that no mapping names.
  private let unused: [EntityTable.Column]
  /// The upgraders of the classes, for the versions of the last part.
  private var upgraders: [Int: RowUpgrader] = [:]
  private var versions: [String: Int] = [:]

  private typealias Part = EntityVersions.Part

  /// - Throws: ``EntityError`` with the code `invalidMapping` if several entities have rows in the table, and none names their classes.
  init(_ number: Int, _ catalog: EntityCatalog, _ registered: [String: EntityMigrator.Registration]) throws {
    self.catalog = catalog
    self.registered = registered
    table = catalog.tables[number]
    unused = table.unusedColumns
    let types = catalog.types.indices.filter { catalog.types[$0].table == number }
    let root = types.first { root in
      types.allSatisfy { number in
        let schema = catalog.types[root].schema
        return number == root || catalog.types[number].schema.superclasses.contains { $0 === schema }
      }
    }
    guard let root, types.count == 1 || catalog.types[root].mapping.subclass != nil else {
      throw EntityError(
        .invalidMapping,
        "several entities have rows in the table; migrate one of them, or let subclass: name the class of a row",
        table: table.name)
    }
    self.root = root
    var schemas: [ModelSchema] = []
    for schema in types.flatMap({ [catalog.types[$0].schema] + catalog.types[$0].schema.superclasses })
    where !schemas.contains(where: { $0 === schema }) { schemas.append(schema) }
    self.schemas = schemas
  }

  private var today: Part {
    Part(models: Dictionary(schemas.map { ($0.name, $0.modelVersion) }, uniquingKeysWith: { first, _ in first }))
  }

  // MARK: Versions

  /// Whether the rows have the current versions.
  ///
  /// - Throws: ``EntityError`` with the code `newerModel`, or `invalidMapping` if their version is not known.
  func isFinished(_ db: Database) throws -> Bool { try parts(db).allSatisfy(isCurrent) }

  /// Whether the current versions are recorded for all rows.
  func isRecorded(_ db: Database) throws -> Bool { try EntityVersions.parts(of: table.name, db) == [today] }

  /// Whether some rows are migrated and others are not.
  func isInterrupted(_ db: Database) throws -> Bool { try parts(db).count > 1 }

  private func isCurrent(_ part: Part) -> Bool {
    schemas.allSatisfy { part.version(of: $0).map(\.version) ?? $0.modelVersion == $0.modelVersion }
  }

  /// The parts of the table, as recorded or as registered.
  private func parts(_ db: Database) throws -> [Part] {
    var parts = try EntityVersions.parts(of: table.name, db)
    if parts.isEmpty { parts = [try unrecorded(db)] }
    for part in parts {
      for (name, _) in part.models where !schemas.contains(where: { $0.isNamed(name) }) {
        throw EntityError(
          .invalidMapping,
          "the table has rows of \(name), which no registered entity is; register it, or add the former name of a model that was renamed",
          table: table.name)
      }
      for schema in schemas {
        guard let version = part.version(of: schema)?.version, version > schema.modelVersion else { continue }
        throw EntityVersionCheck.newer(version, schema, table.name)
      }
    }
    return parts
  }

  private func unrecorded(_ db: Database) throws -> Part {
    let sql = "SELECT EXISTS (SELECT 1 FROM \(table.quotedName))"
    guard try Bool.fetchOne(db, sql: sql) ?? false else { return today }
    var part = today
    for schema in schemas {
      if let version = registered[schema.name]?.unrecorded {
        part.models[schema.name] = version
      } else if schema.migration?.steps.isEmpty == false {
        throw EntityError(
          .invalidMapping,
          "the version of the rows is not recorded, and the model has steps; register the model with unrecorded: and the version that wrote the rows",
          entity: schema.name, table: table.name)
      }
    }
    return part
  }

  /// An empty report.
  func report(_ db: Database) throws -> EntityMigrationReport.Table {
    let schema = catalog.types[root].schema
    let versions = try parts(db).compactMap { $0.version(of: schema)?.version }
    return .init(
      name: table.name, entity: schema.name, fromVersion: versions.min() ?? schema.modelVersion,
      toVersion: schema.modelVersion)
  }

  // MARK: Batches

  /// Migrates the next batch in the transaction of the caller. Records the versions of a table that has no rows to migrate.
  ///
  /// - Returns: whether all rows are migrated.
  mutating func advance(
    _ batch: Int, _ report: inout EntityMigrationReport.Table, _ db: Database
  ) throws -> Bool {
    var parts = try parts(db)
    repeat {
      // Another process may have migrated a part of the rows.
      guard let place = parts.firstIndex(where: { !isCurrent($0) }) else { break }
      try prepare(parts[place], db)
      let after = place > 0 ? parts[place - 1].last : nil
      let (rows, isLast) = try rows(after: after, upTo: parts[place].last, batch, db)
      for row in rows {
        let changes = try changes(row)
        try update(row, changes, db)
        report.add(row, changes, table)
      }
      let last = isLast ? parts[place].last : rows.last.map { row in table.primaryKey.map { row[$0] } }
      if isLast { parts.remove(at: place) }
      if place > 0 { parts.remove(at: place - 1) }
      parts.insert(Part(models: today.models, last: last), at: max(0, place - 1))
    } while table.hasHiddenKey
    let isFinished = parts.allSatisfy(isCurrent)
    try EntityVersions.make(db)
    try EntityVersions.set(isFinished ? [today] : parts, of: table.name, db)
    return isFinished
  }

  /// Reads all rows that are not migrated, without writing.
  mutating func dryRun(_ report: inout EntityMigrationReport.Table, _ db: Database) throws {
    let parts = try parts(db)
    for (place, part) in parts.enumerated() where !isCurrent(part) {
      try prepare(part, db)
      var after = place > 0 ? parts[place - 1].last : nil
      while true {
        let (rows, isLast) = try rows(after: after, upTo: part.last, 1000, db)
        for row in rows {
          do { report.add(row, try changes(row), table) } catch let error as EntityError
            where !error.primaryKey.isEmpty
          { report.add(error) }
        }
        if isLast { break }
        after = rows.last.map { row in table.primaryKey.map { row[$0] } }
      }
    }
  }

  /// The next rows after a primary key, by slot.
  ///
  /// - Returns: the rows, and whether they are the last ones.
  private func rows(
    after: [DatabaseValue]?, upTo last: [DatabaseValue]?, _ limit: Int, _ db: Database
  ) throws -> ([[DatabaseValue]], isLast: Bool) {
    let names = table.primaryKey.map { "t.\(table.quoted($0))" }.joined(separator: ", ")
    let marks = "(" + table.primaryKey.map { _ in "?" }.joined(separator: ", ") + ")"
    var conditions: [String] = []
    if after != nil { conditions.append("(\(names)) > \(marks)") }
    if last != nil { conditions.append("(\(names)) <= \(marks)") }
    let sql = """
      SELECT \(table.selection) FROM \(table.quotedName) AS t
      \(conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")) ORDER BY \(names) LIMIT \(limit)
      """
    let cursor = try StatementRow.fetchCursor(
      db.cachedStatement(sql: sql), arguments: StatementArguments((after ?? []) + (last ?? [])))
    var rows: [[DatabaseValue]] = [], bytes = 0
    while bytes < Self.bytes, let row = try cursor.next() {
      rows.append(
        try table.columns.indices.map { slot in
          guard let value = row.exactValue(slot, &bytes) else {
            throw EntityError(
              .notReadable, "the text has a NUL or is not UTF-8; correct it in a migration of the database",
              table: table.name, columns: [table.columns[slot].name])
          }
          return value
        })
    }
    return (rows, rows.count < limit && bytes < Self.bytes)
  }

  private func changes(_ row: [DatabaseValue]) throws -> [RowUpgrader.Change] {
    _ = try EntityWriter.PlainKey(row, table, 0)
    let type = try catalog.type(of: row, root)
    guard let upgrader = upgraders[type] else {
      throw EntityError(.invalidMapping, "the class of a row is not registered")
    }
    return try upgrader.changes(row)
  }

  /// Creates the upgraders for the versions of a part.
  private mutating func prepare(_ part: Part, _ db: Database) throws {
    guard part.models != versions else { return }
    versions = part.models
    for (number, type) in catalog.types.enumerated() where catalog.types[root].table == type.table {
      var former: [String: FormerColumn] = [:]
      for schema in type.schema.superclasses.reversed() + [type.schema] {
        let version = part.version(of: schema)?.version ?? schema.modelVersion
        for (key, column) in registered[schema.name]?.columns ?? [:] where version < column.version {
          former[key] = column
        }
      }
      upgraders[number] = try RowUpgrader(type, &table, unused: unused, part, former, db)
    }
  }

  private func update(_ row: [DatabaseValue], _ changes: [RowUpgrader.Change], _ db: Database) throws {
    guard !changes.isEmpty else { return }
    let key = table.primaryKey.map { row[$0] }
    let columns = changes.map { "\(table.quoted($0.slot)) = ?" }.joined(separator: ", ")
    let condition = table.primaryKey.map { "\(table.quoted($0)) = ?" }.joined(separator: " AND ")
    do {
      let sql = "UPDATE \(table.quotedName) SET \(columns) WHERE \(condition)"
      try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(changes.map(\.value) + key))
      guard db.changesCount == 1 else {
        throw EntityError(.constraint, "a trigger of the database prevents the update of the row")
      }
    } catch {
      let known = EntityError.ofDatabase(error)
      throw (known as? EntityError)?.located(table: table.name, primaryKey: key) ?? known
    }
  }
}
