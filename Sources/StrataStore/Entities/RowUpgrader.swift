internal import GRDB
internal import StrataCore

/// Upgrades rows of one class from one version to the current version, without accessing the database.
struct RowUpgrader {
  /// A key in the old version, and the column that contains its value.
  private struct Source {
    let key: String
    let slot: Int
    var coding: ColumnCoding
    /// Whether the column stores its value in the format of the current mapping.
    var isCurrent = false
    /// The current field whose type is used to decode the column; `nil` if a different type or no type is used.
    var field: FieldInfo?
    /// Whether null in the column means that the key is absent. This is the case if the property cannot be nil.
    var nullIsAbsent = false
  }

  /// A new value for a column.
  typealias Change = (slot: Int, value: DatabaseValue)

  private let type: EntityType
  private let table: EntityTable
  /// The fields that have a column: first the attributes, then the to-one relations.
  private let columns: [EntityType.Attribute]
  private let sources: [Source]
  /// The indices of the columns whose values are stored in the format of the current mapping.
  private let current: Set<Int>
  /// The columns for keys that migration steps create, each with its default value. A row cannot be migrated if such a column
  /// contains a value other than null and the default.
  private let created: [Change]
  private let shape: RecordShape

  /// Creates an upgrader for rows with the given model versions.
  ///
  /// - Parameters:
  ///   - table: the table. All columns to read are added to its `columns`.
  ///   - unused: the columns that are not part of any mapping.
  ///   - part: the model versions of the rows.
  ///   - former: the columns that the app has registered for older versions, by the field's key in the old version.
  /// - Throws: ``EntityError`` with the code `invalidMapping` if it is unclear which column has the value of a key.
  init(
    _ type: EntityType, _ table: inout EntityTable, unused: [EntityTable.Column], _ part: EntityVersions.Part,
    _ former: [String: FormerColumn], _ db: Database
  ) throws {
    let schema = type.schema, history = KeyHistory(schema, part, unused)
    var columns = type.attributes
    for relation in type.relations {
      guard case .toOne(let slot, _) = relation.cardinality else { continue }
      let coding = ColumnCoding(.unconverted, table.columns[slot].affinity)
      columns.append(.init(place: relation.place, slot: slot, coding: coding, isWritten: true, isPlain: true))
    }
    var sources = try former.map { key, column in
      let slot = try table.slot(of: column.column.name ?? key)
      return Source(key: key, slot: slot, coding: try column.coding(table.columns[slot].affinity))
    }
    var keys = Set(former.keys)
    func add(_ key: String, _ slot: Int) throws {
      guard history.mayExist(key), keys.insert(key).inserted else { return }
      var source = Source(key: key, slot: slot, coding: ColumnCoding(.unconverted, table.columns[slot].affinity))
      if let last = history.destination(of: key), let target = columns.first(where: { type.key(of: $0) == last }) {
        let field = schema.fields[target.place], form = type.mapping.columns[last]?.form ?? .automatic
        if case .archive = target.coding.conversion {
          // Migration steps must receive an archived record in its archived version. The archive is therefore decoded without the
          // type of the property, which would upgrade the record.
          source.coding = ColumnCoding(.archive(ArchiveValue.self), .none)
        } else if type.mapping.relations[last] == nil {
          source.coding = try ColumnCoding(field.type, form, source.coding.affinity)
          source.field = field
          source.isCurrent = true
        }
        // If decoding null fails, the property cannot be nil.
        let null = try? ValueCoding.typed(.null, as: field.type, ReferencedObjects(), in: DecodingContext())
        source.nullIsAbsent = null == nil && !history.mentions(key)
      }
      sources.append(source)
    }
    for column in columns { try add(type.key(of: column), column.slot) }
    for name in unused.map(\.name) where history.reads(name) { try add(name, try table.slot(of: name)) }
    var created: [Change] = []
    for column in columns where !keys.contains(type.key(of: column)) {
      if let origin = history.origin(of: type.key(of: column)), !keys.contains(origin) {
        // Assumes that the app has renamed the column together with the key, unless an unused column may contain the value.
        let others = unused.map(\.name).filter { !history.mentions($0) && !keys.contains($0) }
        guard others.isEmpty else {
          throw EntityError(
            .invalidMapping,
            "the migration steps read the field “\(origin)”, but the table has no column with this name; if "
              + "one of the columns \(others.joined(separator: ", ")) contains the values of the field, specify "
              + "that column for “\(origin)” in the argument 'columns'",
            entity: type.name, path: [.key(origin)], table: table.name)
        }
        try add(origin, column.slot)
      } else if !sources.contains(where: { $0.slot == column.slot }) {
        created.append((column.slot, try table.initialValue(of: column.slot, db)))
      }
    }
    // The record also needs the keys of lists and of properties without a column, because migration steps may rename these
    // keys.
    let held = columns.map { type.key(of: $0) }
    let absent = schema.allKeys.filter { !held.contains($0) }.compactMap { key in
      history.mayExist(key) ? key : history.origin(of: key)
    }
    let own = part.record(of: schema)
    shape = RecordShape(
      typeName: own?.typeName ?? schema.name, modelVersion: own?.modelVersion ?? schema.modelVersion,
      keys: sources.map(\.key) + absent.filter { keys.insert($0).inserted },
      levels: schema.superclasses.compactMap { part.record(of: $0).map(ModelRecord.Superclass.init) })
    current = Set(sources.filter(\.isCurrent).map(\.slot))
    (self.type, self.table, self.columns, self.sources, self.created) = (type, table, columns, sources, created)
  }

  /// Upgrades a row and returns the new values of the columns that change.
  ///
  /// - Parameter row: the values of the row, by column index.
  /// - Throws: ``EntityError`` with the primary key of the row.
  func changes(_ row: [DatabaseValue]) throws -> [Change] {
    do { return try upgrade(row) } catch {
      throw located(error).located(
        entity: type.name, table: table.name, primaryKey: table.primaryKey.map { row[$0] })
    }
  }

  private func located(
    _ error: any Error, _ code: EntityError.Code = .migrationFailed, key: String? = nil, slot: Int? = nil
  ) -> EntityError {
    let cause = error as? ArchiveError
    let known =
      error as? EntityError
      ?? EntityError(
        cause?.code == .invalid ? .invalid : code, "the row cannot be migrated", path: cause?.codingPath ?? [],
        underlying: error)
    return known.located(
      path: key.map { [.key($0)] } ?? [], columns: slot.map { [table.columns[$0].name] } ?? [])
  }

  private func refused(_ reason: String, key: String? = nil, slot: Int? = nil) -> EntityError {
    located(EntityError(.migrationFailed, reason), key: key, slot: slot)
  }

  private func upgrade(_ row: [DatabaseValue]) throws -> [Change] {
    for (slot, initial) in created where !row[slot].isNull && !row[slot].isExactly(initial) {
      throw refused(
        "a migration step would overwrite the existing value of the column; if the old version of the model "
          + "had the property, specify its column in the argument 'columns'",
        slot: slot)
    }
    let record = try record(row), context = DecodingContext(includesExcluded: true), schema = type.schema
    context.readsCompleteRecords = true
    let upgraded = try schema.upgraded(record, in: context)
    for key in upgraded.keys where !schema.takenKeys.contains(ExactKey(key)) && record[key] != upgraded[key] {
      guard !type.mapping.dropsUnknownFields else { break }
      throw refused(
        "a migration step writes the key “\(key)”, but the model has no such property; correct the key, or "
          + "pass dropsUnknownFields: true to the EntityMapping", key: key)
    }
    let fields = try schema.fields(of: upgraded, from: record, in: context).values
    for relation in type.relations where relation.removed != nil {
      guard let value = fields[relation.place], ![.null, .array([]), .set([])].contains(value) else { continue }
      throw refused(
        "a migration step adds elements to a list, but the elements are rows of a different table; add the "
          + "rows in a database migration", key: relation.key)
    }
    var changes: [Change] = []
    var values: [ArchiveValue] = []
    for column in columns {
      do {
        let (value, stored) = try value(of: column, fields[column.place], row[column.slot], context)
        values.append(value)
        if let stored { changes.append((column.slot, stored)) }
      } catch { throw located(error, key: type.key(of: column), slot: column.slot) }
    }
    if let slot = changes.first(where: { table.primaryKey.contains($0.slot) })?.slot {
      throw refused(
        "a migration step must not change the primary key; change the primary key in a database migration", slot: slot)
    }
    // Checks that the model can be created from the row. Entities with relations are not checked, because an object without its
    // relations may be incomplete or break validation rules.
    guard type.relations.isEmpty else { return changes }
    let whole = ModelRecord(shape: type.shape, values: values), entity = type.type
    func check<E: Entity>(_ type: E.Type) throws {
      _ = try E.decode(from: .record(whole), in: DecodingContext(includesExcluded: true))
    }
    try check(entity)
    return changes
  }

  private func record(_ row: [DatabaseValue]) throws -> ModelRecord {
    var values = [ArchiveValue](repeating: .null, count: shape.keys.count)
    for (place, source) in sources.enumerated() {
      do {
        do { values[place] = try source.coding.value(of: row[source.slot]) } catch let error as ArchiveError {
          // A value with unknown enum cases is passed to the migration steps as it is stored.
          guard let field = source.field, field.acceptsUnknownCase(error),
            let raw = try source.coding.raw(row[source.slot])
          else { throw error }
          values[place] = raw
        }
      } catch {
        throw located(error, .notReadable, key: source.key, slot: source.slot)
      }
    }
    var record = ModelRecord(shape: shape, values: values)
    for source in sources where source.nullIsAbsent && row[source.slot].isNull { record[source.key] = nil }
    return record
  }

  /// Returns the value of a property, converted to the property's type, and the new column value. The column value is `nil` if
  /// the column does not change.
  private func value(
    of column: EntityType.Attribute, _ value: ArchiveValue?, _ old: DatabaseValue, _ context: DecodingContext
  ) throws -> (ArchiveValue, DatabaseValue?) {
    let field = type.schema.fields[column.place]
    guard var value = try value ?? field.absentValue() else {
      throw EntityError(
        .missingValue,
        "the row has no value for the property; set a value in a migration step, or give the property a default")
    }
    // Foreign keys are not converted to the type of the property.
    if type.mapping.relations[field.key] == nil {
      do { value = try ValueCoding.typed(value, as: field.type, ReferencedObjects(), in: context) } catch let error
        as ArchiveError where field.acceptsUnknownCase(error)
      {
        // A column that stores JSON or an archive keeps unknown enum cases. They are replaced or skipped when the model is read.
        if let raw = try column.coding.raw(old) {
          guard raw == value else {
            throw EntityError(
              .notStorable,
              "a migration step changes a value but leaves an enum case in it that this program does not know; replace "
                + "the case in the step")
          }
          return (value, nil)
        }
      }
    }
    guard column.isWritten else {
      guard try column.coding.value(of: old) == value else {
        throw EntityError(
          .notStorable, "a migration step changes the value of a .readOnly column, which cannot be written")
      }
      return (value, nil)
    }
    let stored = try column.coding.stored(value)
    // An older archive and its upgraded form are equal after decoding, so comparing the decoded values would not find a change.
    // Values that are not in the current format are therefore compared exactly.
    let isSame = try current.contains(column.slot) ? column.isSame(stored, old) : stored.isExactly(old)
    return (value, isSame ? nil : stored)
  }
}

extension EntityTable {
  /// Returns the default value of a column. The default is a constant, because `ALTER TABLE` does not allow other defaults.
  fileprivate func initialValue(of slot: Int, _ db: Database) throws -> DatabaseValue {
    let column = try db.columns(in: name).first { $0.name == columns[slot].name }
    guard let text = column?.defaultValueSQL else { return .null }
    return try columns[slot].affinity.stored(DatabaseValue.fetchOne(db, sql: "SELECT \(text)") ?? .null)
  }
}
