internal import GRDB
internal import StrataCore

/// Upgrades rows of one class from one version, without the database.
struct RowUpgrader {
  /// A key of the old version, with its column.
  private struct Source {
    let key: String
    let slot: Int
    let coding: ColumnCoding
    /// Whether null means that the key is absent, because the column is new and its property cannot be nil.
    var nullIsAbsent = false
    /// Whether the column has the value in today's form.
    var isCurrentForm: Bool {
      switch coding.kind {
      case .unconverted, .archive: false
      case .bool, .integer, .float, .double, .string, .data, .url, .uuid, .decimal, .date, .json, .transform: true
      }
    }
  }

  /// A new value of a column.
  typealias Change = (slot: Int, value: DatabaseValue)

  private let type: EntityType
  private let table: EntityTable
  private var sources: [Source] = []
  /// The columns of keys that the steps create, with their defaults. No row has another value there.
  private var created: [(slot: Int, initial: DatabaseValue)] = []
  private var shape: RecordShape
  /// The columns with values in today's form.
  private var currentForms: Set<Int> = []
  /// The number of keys that have no column; their values are null.
  private var absent = 0

  /// - Parameters:
  ///   - table: gets a slot for each column that is read.
  ///   - unused: the columns that no mapping names.
  ///   - part: the versions of the rows.
  ///   - former: the columns that the app names, by keys of the old version.
  /// - Throws: ``EntityError`` with the code `invalidMapping` if it is not known which column has the value of a key.
  init(
    _ type: EntityType, _ table: inout EntityTable, unused: [EntityTable.Column], _ part: EntityVersions.Part,
    _ former: [String: FormerColumn], _ db: Database
  ) throws {
    self.type = type
    let schema = type.schema
    let levels = schema.superclasses.compactMap { part.version(of: $0) }.map {
      ModelRecord.Superclass(typeName: $0.name, modelVersion: $0.version)
    }
    let own = part.version(of: schema) ?? (schema.name, schema.modelVersion)
    shape = RecordShape(typeName: own.name, modelVersion: own.version, keys: [], levels: levels)
    let history = Self.history(schema, part, unused)

    /// The fields with a column, by key.
    var columns: [(field: FieldInfo, slot: Int, coding: ColumnCoding)] = type.attributes.map {
      (schema.fields[$0.place], $0.slot, $0.coding)
    }
    for relation in type.relations {
      guard case .toOne(let slot, _) = relation.kind else { continue }
      columns.append((schema.fields[relation.place], slot, ColumnCoding(.unconverted, table.columns[slot].affinity)))
    }
    func coding(_ key: String, _ slot: Int) throws -> ColumnCoding {
      let affinity = table.columns[slot].affinity
      guard let last = history.destination(of: key), let target = columns.first(where: { $0.field.key == last }) else {
        return ColumnCoding(.unconverted, affinity)
      }
      switch target.coding.kind {
      // Steps see the records of an archive at their own versions.
      case .archive: return ColumnCoding(.archive(ArchiveValue.self), affinity)
      case .unconverted: return ColumnCoding(.unconverted, affinity)
      case .bool, .integer, .float, .double, .string, .data, .url, .uuid, .decimal, .date, .json, .transform:
        return try ColumnCoding(target.field.type, type.mapping.columns[last]?.form ?? .automatic, affinity)
      }
    }

    for (key, column) in former.sorted(by: { $0.key < $1.key }) {
      let slot = try table.slot(of: column.column.name ?? key)
      sources.append(Source(key: key, slot: slot, coding: try column.coding(table.columns[slot].affinity)))
    }
    let isKnown = { (key: String, sources: [Source]) in sources.contains { $0.key == key } }
    for (field, slot, _) in columns where !isKnown(field.key, sources) && history.mayExist(field.key) {
      sources.append(
        Source(
          key: field.key, slot: slot, coding: try coding(field.key, slot),
          nullIsAbsent: !field.shape.mayBeNull && !history.names(field.key)))
    }
    for column in unused where history.hasClosures || history.names(column.name) {
      let slot = try table.slot(of: column.name)
      guard !isKnown(column.name, sources), history.mayExist(column.name), !sources.contains(where: { $0.slot == slot })
      else { continue }
      sources.append(Source(key: column.name, slot: slot, coding: try coding(column.name, slot)))
    }
    for (field, slot, _) in columns where !isKnown(field.key, sources) {
      if let origin = history.origin(of: field.key), !isKnown(origin, sources) {
        // The column was renamed, unless another one can have the value.
        let others = unused.map(\.name).filter { name in !history.names(name) && former[name] == nil }
        guard others.isEmpty else {
          throw EntityError(
            .invalidMapping,
            "the table has no column \(origin), which the steps read, and one of \(others.joined(separator: ", ")) may have its values; name the column of \(origin) in columns:",
            entity: schema.name, path: [.key(origin)], table: table.name)
        }
        sources.append(Source(key: origin, slot: slot, coding: try coding(origin, slot)))
      } else if !sources.contains(where: { $0.slot == slot }) {
        created.append((slot, try table.initialValue(of: slot, db)))
      }
    }
    // The steps may rename the keys of lists, and of properties without a column.
    var keys = sources.map(\.key)
    for field in schema.fields where field.archive != .excluded && !field.isLibraryField {
      guard !columns.contains(where: { $0.field.key == field.key }),
        let key = history.mayExist(field.key) ? field.key : history.origin(of: field.key), !keys.contains(key)
      else { continue }
      keys.append(key)
      absent += 1
    }
    shape = shape.adding(keys)
    currentForms = Set(sources.filter(\.isCurrentForm).map(\.slot))
    self.table = table
  }

  /// The changes of the steps of each class whose rows are older. Former keys are renamed last.
  private static func history(
    _ schema: ModelSchema, _ part: EntityVersions.Part, _ unused: [EntityTable.Column]
  ) -> KeyHistory {
    var history = KeyHistory()
    for level in schema.superclasses.reversed() + [schema] {
      let version = part.version(of: level)?.version ?? level.modelVersion
      for step in level.migration?.steps ?? [] where step.fromVersion >= version {
        for operation in step.operations { history.add(operation) }
      }
    }
    for field in schema.fields {
      for key in field.formerly where unused.contains(where: { $0.name == key }) {
        history.addRename(key, to: field.key)
      }
    }
    return history
  }

  /// Returns the columns of a row that change.
  ///
  /// - Parameter row: the values by slot.
  /// - Throws: ``EntityError`` with the primary key of the row.
  func changes(_ row: [DatabaseValue]) throws -> [Change] {
    do { return try upgrade(row) } catch {
      let reason = "the row cannot be migrated"
      let code: EntityError.Code = (error as? ArchiveError)?.code == .invalid ? .invalid : .migrationFailed
      let known =
        EntityError.of(error, code, reason, entity: type.name) as? EntityError
        ?? EntityError(code, reason, underlying: error)
      throw known.located(entity: type.name, table: table.name, primaryKey: table.primaryKey.map { row[$0] })
    }
  }

  private func upgrade(_ row: [DatabaseValue]) throws -> [Change] {
    for (slot, initial) in created where !row[slot].isNull && !row[slot].isExactly(initial) {
      throw EntityError(
        .migrationFailed,
        "a step creates the value of the column, which already has one; if the old version had the key, name it in columns:",
        columns: [table.columns[slot].name])
    }
    let record = try record(row)
    let context = DecodingContext(includesExcluded: true)
    context.readsCompleteRecords = true
    let schema = type.schema
    let upgraded = try schema.upgraded(record, in: context)
    for (key, value) in upgraded.fields where !schema.takenKeys.contains(ExactKey(key)) && record[key] != value {
      guard !type.mapping.dropsUnknownFields else { break }
      throw EntityError(
        .migrationFailed, "a step writes the key, and the model has no such property", path: [.key(key)])
    }
    let fields = try schema.fields(of: upgraded, from: record, in: context).values
    var changes: [Change] = []
    var values: [ArchiveValue] = []
    for attribute in type.attributes {
      let (value, stored) = try value(of: attribute, fields[attribute.place], row, context)
      values.append(value)
      if let stored { changes.append((attribute.slot, stored)) }
    }
    for relation in type.relations {
      guard let value = fields[relation.place] else { continue }
      guard case .toOne(let slot, _) = relation.kind else {
        guard value.isNull || value == .array([]) || value == .set([]) else {
          throw EntityError(
            .migrationFailed, "a step fills a list, whose elements are rows of another table",
            path: [.key(relation.key)])
        }
        continue
      }
      let coding = ColumnCoding(.unconverted, table.columns[slot].affinity)
      let stored: DatabaseValue
      do { stored = try coding.stored(value) } catch {
        throw (error as? EntityError)?.located(path: [.key(relation.key)], columns: [table.columns[slot].name]) ?? error
      }
      if !stored.isExactly(row[slot]) { changes.append((slot, stored)) }
    }
    if let slot = changes.first(where: { table.primaryKey.contains($0.slot) })?.slot {
      throw EntityError(
        .migrationFailed, "a step changes the primary key; change it in a migration of the database",
        columns: [table.columns[slot].name])
    }
    // Without its relations, an object may not be created, and rules may refuse it.
    let entity = type.type
    if type.relations.isEmpty { try check(ModelRecord(shape: type.shape, values: values), entity) }
    return changes
  }

  private func record(_ row: [DatabaseValue]) throws -> ModelRecord {
    var values = try sources.map { source in
      do { return try source.coding.value(of: row[source.slot]) } catch {
        throw EntityError.of(
          (error as? EntityError)?.located(path: [.key(source.key)], columns: [table.columns[source.slot].name])
            ?? error,
          .notReadable, "the column cannot be read", entity: nil, path: [.key(source.key)],
          columns: [table.columns[source.slot].name])
      }
    }
    values.append(contentsOf: repeatElement(.null, count: absent))
    var record = ModelRecord(shape: shape, values: values)
    for source in sources where source.nullIsAbsent && row[source.slot].isNull { record[source.key] = nil }
    return record
  }

  /// Returns the value of a property in its type, and the value of its column if that changes.
  private func value(
    of attribute: EntityType.Attribute, _ value: ArchiveValue?, _ row: [DatabaseValue], _ context: DecodingContext
  ) throws -> (ArchiveValue, DatabaseValue?) {
    let field = type.schema.fields[attribute.place], old = row[attribute.slot]
    do {
      guard let value = try value ?? field.absentValue() else {
        throw EntityError(
          .missingValue, "the row has no value for the property; set one in a step, or give the property a default")
      }
      var typed = value
      do { typed = try ValueCoding.typed(value, as: field.type, ReferencedObjects(), in: context) } catch let error
        as ArchiveError where field.acceptsUnknownCase(error)
      {
        // The model takes the default when it is read, and the column keeps the case.
        if case .archive = attribute.coding.kind { return (value, nil) }
      }
      guard attribute.isWritten else {
        guard try attribute.coding.value(of: old) == typed else {
          throw EntityError(.notStorable, "a step changes the value, and the column is .readOnly")
        }
        return (typed, nil)
      }
      let stored = try type.stored(typed, attribute, in: table)
      // A value in an older form, such as an archive, is equal to its upgrade after decoding.
      let isSame =
        try currentForms.contains(attribute.slot) ? attribute.isSame(stored, old) : stored.isExactly(old)
      return (typed, isSame ? nil : stored)
    } catch {
      let path: [ArchiveError.PathComponent] = [.key(field.key)], columns = [table.columns[attribute.slot].name]
      if let error = error as? EntityError {
        throw error.located(path: error.path.isEmpty ? path : [], columns: columns)
      }
      throw EntityError.of(
        error, .migrationFailed, "the property cannot have the value", entity: nil, path: path, columns: columns)
    }
  }

  private func check<E: Entity>(_ record: ModelRecord, _ type: E.Type) throws {
    _ = try E.make(from: .record(record), in: DecodingContext(includesExcluded: true))
  }
}

extension TypeShape {
  fileprivate var mayBeNull: Bool {
    switch kind {
    case .optional, .untyped: true
    case .scalar, .array, .set, .dictionary, .model, .rawValue, .opaque: false
    }
  }
}

extension EntityTable {
  /// The default of a column. `ALTER TABLE` allows only constants.
  fileprivate func initialValue(of slot: Int, _ db: Database) throws -> DatabaseValue {
    let sql = "SELECT dflt_value FROM pragma_table_info(?) WHERE name = ?"
    guard let text = try String.fetchOne(db, sql: sql, arguments: [name, columns[slot].name]) else { return .null }
    let initial = try DatabaseValue.fetchOne(db, sql: "SELECT \(text)") ?? .null
    return (try? columns[slot].affinity.stored(initial)) ?? initial
  }
}
