internal import GRDB
package import StrataCore

/// The entities of a store and their tables. The initializer checks the mappings of all entities against the tables.
package final class EntityCatalog: Sendable {
  package let tables: [EntityTable]
  package let types: [EntityType]
  private let numbers: [ObjectIdentifier: Int]
  /// Checks the model versions that are recorded for the rows. The check runs before each save and each fetch.
  let versions: EntityVersionCheck

  /// Checks the mappings of the given entities against their tables.
  ///
  /// - Parameter inserts: whether rows will be inserted. In that case, each `NOT NULL` column must have a property or a default
  ///   value.
  /// - Throws: ``EntityError``, whose reason lists all problems.
  init(_ types: [any Entity.Type], _ db: Database, inserts: Bool) throws {
    var builder = EntityCatalogBuilder(db)
    for type in types { builder.add(type) }
    builder.finish(inserts: inserts)
    if let error = builder.error { throw error }
    (tables, self.types, numbers) = (builder.tables, builder.types, builder.numbers)
    versions = EntityVersionCheck(tables, self.types)
  }

  /// Creates the catalog of a store. Also checks the model versions that are recorded for the rows.
  convenience init(_ types: [any Entity.Type], checked db: Database) throws {
    try self.init(types, db, inserts: true)
    try versions.run(db)
  }

  /// Returns the index of an entity in ``types``, or `nil` if the store does not contain the entity.
  package func number(of type: any VersionedModel.Type) -> Int? { numbers[ObjectIdentifier(type)] }

  package func table(of type: Int) -> EntityTable { tables[types[type].table] }

  /// Returns the index in ``types`` of a row's entity. If the mapping of `declared` has a `subclass` closure, the closure chooses the
  /// entity based on the row's values. Otherwise, returns `declared`.
  func type(of values: [DatabaseValue], _ declared: Int) throws -> Int {
    guard let choose = types[declared].mapping.subclass else { return declared }
    let table = table(of: declared)
    let row = EntityRow(
      table: table.name,
      values: Dictionary(
        zip(table.columns.map { $0.name.lowercased() }, values), uniquingKeysWith: { first, _ in first }))
    let type = try choose(row)
    let number = try known(type)
    guard types[number].table == types[declared].table else {
      throw EntityError(
        .invalidMapping,
        "the mapping's subclass closure returned a class that is mapped to a different table; return a class "
          + "of this table", entity: type.schema.name, table: table.name)
    }
    return number
  }

  /// Returns the index of an entity in ``types``.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping` if the store does not contain the entity.
  func known(_ type: any VersionedModel.Type) throws -> Int {
    guard let number = number(of: type) else {
      throw EntityError(
        .invalidMapping, "the entity is not registered; register it when you create the EntityStore",
        entity: type.schema.name)
    }
    return number
  }
}

/// Builds the contents of an ``EntityCatalog``. Checks all mappings against the models and tables. Collects all problems instead of
/// stopping at the first one.
struct EntityCatalogBuilder {
  private let db: Database
  private(set) var tables: [EntityTable] = []
  private(set) var types: [EntityType] = []
  private(set) var numbers: [ObjectIdentifier: Int] = [:]
  private var problems: [EntityError] = []
  /// The columns that store lists or list positions, each with the name of the relation that writes the column. A dictionary key
  /// consists of the table index and the column index.
  private var writers: [[Int]: String] = [:]
  private var waiting: [any Entity.Type] = []

  init(_ db: Database) { self.db = db }

  /// An error that lists all problems found so far, or `nil` if there are none.
  var error: EntityError? {
    guard let first = problems.first else { return nil }
    guard problems.count > 1 else { return first }
    let lines = problems.map { "\n- \($0)" }.joined()
    return EntityError(.invalidMapping, "the mappings have \(problems.count) mistakes:\(lines)")
  }

  mutating func add(_ type: any Entity.Type) {
    waiting.append(type)
    while let next = waiting.popLast() { addOne(next) }
  }

  private mutating func note(_ error: any Error, _ type: any Entity.Type, _ key: String? = nil) {
    let path: [ArchiveError.PathComponent] = key.map { [.key($0)] } ?? []
    let known =
      (error as? EntityError)
      ?? EntityError(
        .invalidMapping,
        "the mapping could not be checked because the model or the database threw an error", underlying: error)
    problems.append(known.located(entity: type.schema.name, path: path))
  }

  private mutating func addOne(_ type: any Entity.Type) {
    guard numbers[ObjectIdentifier(type)] == nil else { return }
    let (schema, mapping) = (type.schema, type.entityMapping)
    do {
      try schema.check()
      let table = try table(named: mapping.table)
      numbers[ObjectIdentifier(type)] = types.count
      types.append(EntityType(type, mapping, table: table))
    } catch { return note(error, type) }
    if schema.isEnumeration {
      note(
        invalid("an enum cannot be an entity; remove its conformance to Entity, and store the enum in a column"), type)
    }
    if schema.keepsUnknownFields, !mapping.dropsUnknownFields {
      note(
        invalid(
          "the model preserves unknown fields, but rows have no columns for them; pass dropsUnknownFields: "
            + "true to the EntityMapping"
        ),
        type)
    }
    for key in (Array(mapping.columns.keys) + Array(mapping.relations.keys)).sorted()
    where !schema.allKeys.contains(key) {
      note(invalid("the mapping uses the key “\(key)”, but the model has no such property"), type, key)
    }
    for key in mapping.columns.keys.sorted() where mapping.relations[key] != nil {
      note(invalid("the property is mapped to both a column and a relation; remove one of the two"), type, key)
    }
    // The entities to which relations refer are added as well, because a relation can be checked only if its target is in the
    // catalog.
    for field in schema.fields where mapping.relations[field.key] != nil {
      if let target = Self.shape(of: field.type).element as? any Entity.Type { waiting.append(target) }
    }
  }

  private mutating func table(named name: String) throws -> Int {
    if let known = tables.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) { return known }
    tables.append(try EntityTable(name, db))
    return tables.count - 1
  }

  private func invalid(_ reason: String, _ table: Int? = nil, _ columns: [String] = []) -> EntityError {
    EntityError(.invalidMapping, reason, table: table.map { tables[$0].name }, columns: columns)
  }

  // MARK: Fields

  mutating func finish(inserts: Bool) {
    for number in types.indices { addAttributes(number) }
    for number in types.indices { addRelations(number) }
    for number in types.indices {
      types[number].setShapes()
      addKeys(number)
    }
    for number in types.indices where inserts {
      let missing = tables[types[number].table].missingColumns
      guard !missing.isEmpty else { continue }
      note(
        invalid(
          "a NOT NULL column is not mapped to a property and has no default; map the column, or give it a default",
          types[number].table, missing), types[number].type)
    }
  }

  private mutating func addAttributes(_ number: Int) {
    let (type, table) = (types[number].type, types[number].table)
    let (schema, mapping) = (type.schema, types[number].mapping)
    for (place, field) in schema.fields.enumerated() where mapping.relations[field.key] == nil {
      let column = mapping.columns[field.key]
      if field.type is RowBase.Type {
        if column?.name != nil {
          note(invalid("a RowBase property cannot have a column; remove its column from the mapping"), type, field.key)
        }
        if types[number].rowBase != nil {
          note(invalid("a model can have only one RowBase property; remove this property"), type, field.key)
        }
        types[number].rowBase = place
        continue
      }
      guard let name = column?.name ?? (column == nil && field.archive != .excluded ? field.key : nil) else {
        if !field.isOptional {
          note(
            invalid(
              "the property has no column, so it needs a default; add a default, make the property optional, "
                + "or map it to a column"),
            type, field.key)
        }
        continue
      }
      do {
        guard !(field.type is any LibraryField.Type) else {
          throw invalid(
            "the property stores merge data that rows do not use; set its column to .none, and declare a "
              + "property of the type RowBase"
          )
        }
        let slot = try tables[table].slot(of: name)
        let form = column?.form ?? .automatic
        let coding = try ColumnCoding(field.type, form, tables[table].columns[slot].affinity)
        if case .archive(let inner) = coding.conversion { try checkValue(inner) }
        if column?.isWritten ?? true {
          if let other = types[number].attributes.first(where: { $0.slot == slot && $0.isWritten }) {
            throw invalid(
              "the properties “\(field.key)” and “\(schema.fields[other.place].key)” are mapped to the same "
                + "column; make one of them .readOnly", table, [name])
          }
        }
        types[number].attributes.append(
          .init(
            place: place, slot: slot, coding: coding, isWritten: column?.isWritten ?? true,
            isPlain: types[number].merging.part.isPlain[place], replacesUnknownCases: field.replacesUnknownCases))
      } catch { note(error, type, field.key) }
    }
  }

  /// Throws if values of the type can contain instances of model classes, because a column cannot preserve the identity of instances.
  private func checkValue(_ type: Any.Type) throws {
    let catalog = SchemaCatalog(of: type)
    guard catalog.objectTypes.isEmpty else {
      let names = catalog.objectTypes.keys.sorted().joined(separator: ", ")
      throw invalid(
        "objects of the class \(names) would lose their identity in a column; make the class an entity and "
          + "the property a relation, or use a struct instead of the class"
      )
    }
  }

  /// Registers a column that stores a list: the foreign key column of a `.toMany` relation, or the column with the positions of
  /// the elements. Throws if the column is already registered for a different list.
  ///
  /// `.toOne` relations and attributes are not registered. They may share a foreign key column with a list, because each save
  /// checks that their values agree. If several classes in a table inherit the same list, they all register it under the same
  /// name.
  private mutating func claim(_ table: Int, _ slot: Int, by writer: String) throws {
    let place = [table, slot]
    if let other = writers[place], other != writer {
      throw invalid(
        "the column already stores \(other); remove one of the two properties from the mapping, or use a different column",
        table,
        [tables[table].columns[slot].name])
    }
    writers[place] = writer
  }

  static func shape(of type: Any.Type) -> (element: Any.Type, shape: EntityType.Relation.Shape, isOptional: Bool) {
    let base = TypeShape.unwrapped(type)
    let isOptional = base != type
    switch TypeShape(of: base).kind {
    case .array(let element): return (element, .array, isOptional)
    case .set(let element): return (element, .set, isOptional)
    case .scalar, .untyped, .optional, .dictionary, .model, .rawValue, .opaque: return (base, .one, isOptional)
    }
  }

  // MARK: Relations

  private mutating func addRelations(_ number: Int) {
    let type = types[number].type
    for (place, field) in type.schema.fields.enumerated() {
      guard let relation = types[number].mapping.relations[field.key] else { continue }
      do {
        let (element, shape, isOptional) = Self.shape(of: field.type)
        guard let entity = element as? any Entity.Type, let target = numbers[ObjectIdentifier(entity)] else {
          throw invalid(
            "the relation's type \(element) is not an entity; conform the type to Entity, or remove the relation")
        }
        try checkPolicy(of: field, number, shape, isOptional)
        let cardinality = try cardinality(of: relation, field, number, target, shape, isOptional)
        types[number].relations.append(
          .init(
            place: place, key: field.key, target: target, cardinality: cardinality, shape: shape,
            isOptional: isOptional,
            keepsLocal: types[number].merging.part.keepsRelation(field)))
      } catch { note(error, type, field.key) }
    }
  }

  /// Throws if the field's merge policy is not supported for relations. Also throws if the model has merge hooks and the field is a
  /// non-optional to-one relation.
  private func checkPolicy(
    of field: FieldInfo, _ number: Int, _ shape: EntityType.Relation.Shape, _ isOptional: Bool
  ) throws {
    let merging = types[number].merging.part
    guard merging.keepsRelation(field) || merging.takesRelation(field) else {
      throw invalid(
        "the merge policy \(field.merge) is not supported for relations; use serverWins or keepLocal, and "
          + "specify the rule for removed rows with the argument 'removed'"
      )
    }
    if merging.hasHooks, shape == .one, !isOptional {
      throw invalid(
        "the hook mergeValue(forKey:from:) is called on a model without its relations, so the relation may "
          + "be nil; make the property optional"
      )
    }
  }

  private mutating func cardinality(
    of relation: EntityRelation, _ field: FieldInfo, _ own: Int, _ target: Int, _ shape: EntityType.Relation.Shape,
    _ isOptional: Bool
  ) throws -> EntityType.Relation.Cardinality {
    let (ownTable, targetTable) = (types[own].table, types[target].table)
    let name = "\(tables[ownTable].name).\(field.key)"
    if shape != .one, isOptional {
      throw invalid(
        "a list of rows can be empty but never nil; make the property an array or a set that is not optional")
    }
    switch relation.cardinality {
    case .toOne(let column, let references):
      guard shape == .one else { throw invalid("a .toOne relation cannot be used for a list; use .toMany") }
      let slot = try tables[ownTable].slot(of: column)
      let referenced = try referenced(
        references ?? tables[ownTable].reference(of: column, to: tables[targetTable].name), in: targetTable)
      let isTaken = types[own].relations.contains { if case .toOne(slot, _) = $0.cardinality { true } else { false } }
      if isTaken || types[own].attributes.contains(where: { $0.slot == slot && $0.isWritten }) {
        throw invalid(
          "the column is already written by another property; make that property .readOnly, or use a different column",
          ownTable, [column])
      }
      return .toOne(slot: slot, referenced: referenced)
    case .toMany(let column, let references, let order, let removed):
      if shape == .one, !isOptional {
        throw invalid("there may be no row whose foreign key refers to this row; make the property optional")
      }
      if shape == .one, removed == .keep {
        throw invalid(
          "the property can contain only one object, so a replaced row cannot be kept; specify removed: "
            + ".nullify or .delete")
      }
      let slot = try tables[targetTable].slot(of: column)
      let referenced = try referenced(
        references ?? tables[targetTable].reference(of: column, to: tables[ownTable].name), in: ownTable)
      try claim(targetTable, slot, by: name)
      if removed == .nullify, tables[targetTable].columns[slot].isNotNull {
        throw invalid(
          "the foreign key is NOT NULL, so removed: .nullify cannot set it to null; specify removed: .delete or .keep",
          targetTable, [column])
      }
      let isRequired = types[target].type.schema.fields.contains { other in
        guard case .toOne(let back, _)? = types[target].mapping.relations[other.key]?.cardinality else {
          return false
        }
        return back.lowercased() == column.lowercased() && !(other.type is any OptionalType.Type)
      }
      if removed == .nullify, isRequired {
        throw invalid(
          "the property on the other side of the relation is not optional, so removed: .nullify cannot set "
            + "it to nil; make that property optional, or specify removed: .delete or .keep"
        )
      }
      return .toMany(
        slot: slot, referenced: referenced,
        order: try self.order(order, shape, holder: targetTable, target: target, by: name), removed: removed)
    case .through(let pairs, let from, let to, let order, let removed):
      guard shape != .one else {
        throw invalid("a .through relation requires a list; make the property an array or a set")
      }
      let table = try table(named: pairs)
      let (fromSlot, toSlot) = (try tables[table].slot(of: from), try tables[table].slot(of: to))
      guard tables[table].uniqueKeys[[from.lowercased(), to.lowercased()].sorted()] != nil else {
        throw invalid(
          "the two foreign keys of the join table have no unique index; create a unique index over both columns", table,
          [from, to])
      }
      let kept = try self.order(order, shape, holder: table, target: target, by: name)
      let missing = tables[table].missingColumns
      guard missing.isEmpty else {
        throw invalid(
          "the join table has a NOT NULL column that a save cannot set; give the column a default", table, missing
        )
      }
      return .through(
        .init(
          table: table, from: fromSlot, to: toSlot,
          fromReferenced: try referenced(
            tables[table].reference(of: from, to: tables[ownTable].name), in: ownTable),
          toReferenced: try referenced(tables[table].reference(of: to, to: tables[targetTable].name), in: targetTable)),
        order: kept, removed: removed)
    }
  }

  /// Returns the index of the column that a foreign key references in the given table. If `column` is `nil`, the foreign key
  /// references the primary key.
  private mutating func referenced(_ column: String?, in table: Int) throws -> Int {
    if let column { return try tables[table].slot(of: column) }
    guard tables[table].primaryKey.count == 1 else {
      throw invalid(
        "the primary key has several columns, so the referenced column is unknown; declare the foreign key "
          + "in the table, or specify the column with the argument 'references'", table)
    }
    return tables[table].primaryKey[0]
  }

  private mutating func order(
    _ order: EntityRelation.Order?, _ shape: EntityType.Relation.Shape, holder: Int, target: Int, by name: String
  ) throws -> EntityType.Relation.Order? {
    guard shape == .array else {
      if order != nil {
        throw invalid("only an array can have an order; remove the argument 'order', or make the property an array")
      }
      return nil
    }
    switch order {
    case nil:
      throw invalid(
        "the order of the array is not specified; specify a column for the positions with order: .column(…) "
          + "or a column to sort by with order: .by(…), or make the property a set"
      )
    case .column(let column):
      let slot = try tables[holder].slot(of: column)
      try claim(holder, slot, by: "the order of \(name)")
      if let type = types.first(where: { $0.table == holder }),
        let attribute = type.attributes.first(where: { $0.slot == slot && $0.isWritten })
      {
        throw invalid(
          "the column for the list positions is also written by the property "
            + "\(type.name).\(type.schema.fields[attribute.place].key); make the column of that property "
            + ".readOnly, or specify order: .by(…)",
          holder, [column])
      }
      return .kept(slot)
    case .by(let column): return .sorted(try tables[types[target].table].slot(of: column), isDescending: false)
    case .byDescending(let column):
      return .sorted(try tables[types[target].table].slot(of: column), isDescending: true)
    }
  }

  // MARK: Keys

  private mutating func addKeys(_ number: Int) {
    let type = types[number].type
    let table = types[number].table
    var names = Set<String>()
    var keys: [EntityType.Key] = []
    for key in types[number].mapping.keys {
      do {
        guard names.insert(key.name).inserted else {
          throw invalid("the mapping has two keys with the name “\(key.name)”; rename one of them")
        }
        guard !key.fields.isEmpty else {
          throw invalid("the key “\(key.name)” has no properties; specify at least one property, or remove the key")
        }
        let slots = try key.fields.map { field in
          guard let slot = slot(of: field, number) else {
            throw invalid(
              "the key “\(key.name)” contains “\(field)”, which is neither a property with a column nor a "
                + ".toOne relation; remove it from the key")
          }
          return slot
        }
        let columns = slots.map { tables[table].columns[$0].name }
        guard let collations = tables[table].uniqueKeys[columns.map { $0.lowercased() }.sorted()] else {
          throw invalid(
            "the columns of the key “\(key.name)” have no unique index; create a unique index over these columns",
            table, columns)
        }
        keys.append(.init(name: key.name, slots: slots, collations: columns.map { collations[$0.lowercased()] }))
      } catch { note(error, type) }
    }
    let primary = tables[table].primaryKey
    let isHeld = primary.allSatisfy { slot in
      types[number].attributes.contains { $0.slot == slot }
        || types[number].relations.contains { if case .toOne(slot, _) = $0.cardinality { true } else { false } }
    }
    if isHeld, !keys.contains(where: { Set($0.slots) == Set(primary) }) {
      let names = primary.map { tables[table].columns[$0].name.lowercased() }
      let collations = tables[table].uniqueKeys[names.sorted()] ?? [:]
      keys.insert(.init(name: "primaryKey", slots: primary, collations: names.map { collations[$0] }), at: 0)
    }
    types[number].keys = keys
  }

  private func slot(of key: String, _ number: Int) -> Int? {
    let type = types[number]
    for attribute in type.attributes where type.schema.fields[attribute.place].key == key { return attribute.slot }
    for relation in type.relations where relation.key == key {
      if case .toOne(let slot, _) = relation.cardinality { return slot }
    }
    return nil
  }
}
