internal import GRDB
internal import StrataCore

/// Migrates the rows of one table in batches, in primary key order.
struct TableMigration {
  /// The limit on the size of a batch, in bytes of text and blobs. A batch ends with the row that reaches the limit.
  private static let bytes = 8 << 20

  private let registered: [String: EntityMigrator.Registration]
  private let catalog: EntityCatalog
  /// The index of the root entity in the catalog. The root entity's mapping selects the class of each row.
  private let root: Int
  /// The schemas of the classes of all rows, including superclasses.
  private let schemas: [ModelSchema]
  private var table: EntityTable
  /// The columns that are not part of any mapping.
  private let unused: [EntityTable.Column]
  /// The ranges of rows with the same model versions, as read when this `TableMigration` was created.
  private var parts: [Part] = []
  /// Whether the database records the current model versions for all rows.
  private(set) var isRecorded = false
  /// The upgraders for rows with the model versions in `versions`, by the entity's index in the catalog.
  private var upgraders: [Int: RowUpgrader] = [:]
  private var versions: [String: Int] = [:]

  private typealias Part = EntityVersions.Part

  /// Reads the model versions of the rows in a table.
  ///
  /// - Throws: ``EntityError`` with the code `newerModel`, or `invalidMapping` if the class or the version of a row is unknown.
  init(
    _ number: Int, _ catalog: EntityCatalog, _ registered: [String: EntityMigrator.Registration], _ db: Database
  ) throws {
    self.catalog = catalog
    self.registered = registered
    table = catalog.tables[number]
    unused = table.unusedColumns
    let types = catalog.types.filter { $0.table == number }
    let roots = types.filter { type in
      !types.contains { other in type.schema.superclasses.contains { $0 === other.schema } }
    }
    guard roots.count == 1, types.count == 1 || roots[0].mapping.subclass != nil else {
      throw EntityError(
        .invalidMapping,
        "several entities have rows in the table, so the class of a row is unknown; migrate only one of the "
          + "entities, or choose the class with the subclass closure of the mapping",
        table: table.name)
    }
    root = try catalog.known(roots[0].type)
    let classes = types.flatMap { [$0.schema] + $0.schema.superclasses }.map { ($0.name, $0) }
    schemas = Array(Dictionary(classes, uniquingKeysWith: { first, _ in first }).values)
    parts = try parts(db)
    isRecorded = try EntityVersions.parts(of: table.name, db) == [today]
  }

  private var today: Part { Part(models: Dictionary(uniqueKeysWithValues: schemas.map { ($0.name, $0.modelVersion) })) }

  // MARK: Versions

  private func isCurrent(_ part: Part) -> Bool { schemas.allSatisfy { part.version(of: $0) == $0.modelVersion } }

  var isOld: Bool { !parts.allSatisfy(isCurrent) }

  /// Whether an earlier migration stopped after it had migrated only some of the rows.
  var isInterrupted: Bool { isOld && parts.count > 1 }

  /// An empty report for this table.
  var report: EntityMigrationReport.Table {
    let schema = catalog.types[root].schema
    let version = parts.map { $0.version(of: schema) }.min() ?? schema.modelVersion
    return .init(name: table.name, entity: schema.name, fromVersion: version, toVersion: schema.modelVersion)
  }

  /// Returns the parts of the table, which are ranges of rows with the same model versions. If the database does not record the
  /// version of a model, uses the version that the app has registered. If there is none and the model has no migration steps, uses
  /// the current version.
  private func parts(_ db: Database) throws -> [Part] {
    var parts = try EntityVersions.parts(of: table.name, db)
    if parts.isEmpty {
      let sql = "SELECT EXISTS (SELECT 1 FROM \(table.quotedName))"
      parts = try Bool.fetchOne(db, sql: sql) == true ? [Part(models: [:])] : [today]
    }
    for place in parts.indices {
      for name in parts[place].models.keys where !schemas.contains(where: { $0.isNamed(name) }) {
        throw EntityError(
          .invalidMapping,
          "the table has rows of the unregistered entity “\(name)”; register the entity, or, if the model was renamed, "
            + "add its former name",
          table: table.name)
      }
      for schema in schemas {
        let version = parts[place].record(of: schema)?.modelVersion ?? registered[schema.name]?.unrecorded
        guard let version = version ?? (schema.migration?.steps.isEmpty ?? true ? schema.modelVersion : nil) else {
          throw EntityError(
            .invalidMapping,
            "the version of the rows is not recorded, but the model has migration steps; pass the version as the "
              + "argument 'unrecorded' when you register the model",
            entity: schema.name, table: table.name)
        }
        guard version <= schema.modelVersion else { throw EntityVersionCheck.newer(version, schema, table.name) }
        if parts[place].record(of: schema) == nil { parts[place].models[schema.name] = version }
      }
    }
    return parts
  }

  // MARK: Batches

  /// Migrates the next batch of rows, in the caller's transaction. If the table has no rows to migrate, only records the
  /// versions of the table.
  ///
  /// - Returns: whether all rows of the table have been migrated.
  mutating func advance(_ batch: Int, _ report: inout EntityMigrationReport.Table, _ db: Database) throws -> Bool {
    // Reads the parts again, because another process may have migrated rows in the meantime.
    var parts = try parts(db)
    while let place = parts.firstIndex(where: { !isCurrent($0) }) {
      try upgrade(&parts, place, batch, &report, writes: true, db)
      guard table.hasHiddenKey else { break }
    }
    let isFinished = parts.allSatisfy(isCurrent)
    try EntityVersions.set(isFinished ? [today] : parts, of: table.name, db)
    return isFinished
  }

  /// Upgrades all rows that have not been migrated yet, but only in memory. No row is written.
  mutating func dryRun(_ report: inout EntityMigrationReport.Table, _ db: Database) throws {
    var parts = parts
    while let place = parts.firstIndex(where: { !isCurrent($0) }) {
      try upgrade(&parts, place, 1000, &report, writes: false, db)
    }
  }

  /// Upgrades the next rows of a part and moves them to the preceding part, which contains the migrated rows.
  ///
  /// - Parameter writes: whether to update the rows and throw the first failure. If false, the rows are not written and failures
  ///   are added to the report.
  private mutating func upgrade(
    _ parts: inout [Part], _ place: Int, _ limit: Int, _ report: inout EntityMigrationReport.Table, writes: Bool,
    _ db: Database
  ) throws {
    try prepare(parts[place], db)
    let (rows, isLast) = try rows(
      after: place > 0 ? parts[place - 1].last : nil, upTo: parts[place].last, limit, db)
    for row in rows {
      do {
        let changes = try changes(row)
        if writes { try update(row, changes, db) }
        report.add(row, changes, table)
      } catch let error as EntityError where !writes && !error.primaryKey.isEmpty { report.add(error) }
    }
    let last = isLast ? parts[place].last : rows.last.map { row in table.primaryKey.map { row[$0] } }
    if isLast { parts.remove(at: place) }
    if place > 0 { parts.remove(at: place - 1) }
    parts.insert(Part(models: today.models, last: last), at: max(0, place - 1))
  }

  /// Returns the values of the next rows after a primary key.
  ///
  /// - Returns: the values of each row, by column index, and whether these are the last rows of the range.
  private func rows(
    after: [DatabaseValue]?, upTo last: [DatabaseValue]?, _ limit: Int, _ db: Database
  ) throws -> ([[DatabaseValue]], isLast: Bool) {
    let names = table.primaryKey.map { "t.\(table.quoted($0))" }.joined(separator: ", ")
    let marks = table.primaryKey.map { _ in "?" }.joined(separator: ", ")
    let sql = """
      SELECT \(table.selection) FROM \(table.quotedName) AS t
      WHERE \(after == nil ? "1" : "(\(names)) > (\(marks))") AND \(last == nil ? "1" : "(\(names)) <= (\(marks))")
      ORDER BY \(names) LIMIT \(limit)
      """
    let cursor = try StatementRow.fetchCursor(
      db.cachedStatement(sql: sql), arguments: StatementArguments((after ?? []) + (last ?? [])))
    var rows: [[DatabaseValue]] = [], bytes = 0
    while bytes < Self.bytes, let row = try cursor.next() {
      rows.append(
        try table.columns.indices.map { slot in
          guard let value = row.exactValue(slot, &bytes) else {
            throw EntityError(
              .notReadable, "the text contains NUL or is not valid UTF-8; correct the text in a database migration",
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
      throw EntityError(.invalidMapping, "the class of a row is not registered; register the class")
    }
    return try upgrader.changes(row)
  }

  /// Creates the upgraders for the model versions of a part, unless the current upgraders are for the same versions.
  private mutating func prepare(_ part: Part, _ db: Database) throws {
    guard part.models != versions else { return }
    versions = part.models
    for (number, type) in catalog.types.enumerated() where catalog.types[root].table == type.table {
      let former = (registered[type.name]?.columns ?? [:]).filter { part.version(of: type.schema) < $0.value.version }
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
        throw EntityError(.constraint, "a database trigger prevented the update of the row")
      }
    } catch {
      let known = EntityError.ofDatabase(error)
      throw (known as? EntityError)?.located(table: table.name, primaryKey: key) ?? known
    }
  }
}
