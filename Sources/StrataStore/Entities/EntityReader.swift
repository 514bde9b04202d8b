internal import GRDB
internal import StrataCore

/// Reads rows and all related rows, with one query for each relation at each depth of the object graph.
final class EntityReader {
  private let db: Database
  private let catalog: EntityCatalog
  /// The keys of the relations to read, or `nil` to read all relations.
  private let included: Set<String>?
  // Skips the exclusivity check: only one task uses a reader, and the check for each row would take longer than reading a column.
  @exclusivity(unchecked) private var nodes: [Node] = []
  /// For each table, a map from primary keys to the indices of nodes. Contains only rows whose primary key is a single integer. All
  /// other rows are in `known`.
  @exclusivity(unchecked) private var integers: [[Int64: Int]]
  @exclusivity(unchecked) private var known: [EntityWriter.PlainKey: Int] = [:]
  @exclusivity(unchecked) private var plans: [Plan?]
  /// The number of nodes for which the related rows have been read. These nodes are at the beginning of `nodes`.
  private var linked = 0

  private struct Node {
    let type: Int
    /// The values of the node's record. The value of a relation is null until the related rows have been read.
    var values: [ArchiveValue]
    /// For each relation, the value of the column that identifies the related rows.
    let keys: [DatabaseValue]
    /// All column values if any entity has a ``RowBase``, otherwise empty.
    let columns: [DatabaseValue]
    /// The indices of the nodes that each relation refers to, in the order of the entity's relations. `nil` for a relation that
    /// is not read.
    var links: [[Int]?] = []
  }

  /// Precomputed indices for converting the rows of one entity to nodes.
  private final class Plan {
    let number: Int
    let table: EntityTable
    let tableNumber: Int
    /// The index of the primary key column, or `nil` if the key has several columns.
    let key: Int?
    /// Whether the class of a row depends on its columns.
    let hasSubclasses: Bool
    let shape: RecordShape
    /// The relations, each with the index of its value in the record.
    let relations: [(relation: EntityType.Relation, place: Int)]
    let rowBase: Int?
    private let type: EntityType
    /// The attributes, each with the index of its value in the record, sorted by that index.
    private let attributes: [(attribute: EntityType.Attribute, place: Int)]
    private let keys: [Int]
    private let keepsColumns: Bool

    init(_ number: Int, _ catalog: EntityCatalog) {
      self.number = number
      type = catalog.types[number]
      table = catalog.tables[type.table]
      tableNumber = type.table
      hasSubclasses = type.mapping.subclass != nil
      shape = type.recordShape
      relations = Array(zip(type.relations, type.recordPlaces.relations))
      rowBase = type.recordPlaces.rowBase
      key = table.primaryKey.count == 1 ? table.primaryKey[0] : nil
      attributes = zip(type.attributes, type.recordPlaces.attributes).map { (attribute: $0, place: $1) }.sorted {
        $0.place < $1.place
      }
      keepsColumns = catalog.types.contains { $0.rowBase != nil }
      keys = type.relations.map(\.slot)
    }

    /// Returns a node with the column values of a row.
    ///
    /// - Parameter start: the index in the row at which the table's columns begin.
    func node(_ row: StatementRow, from start: Int) throws -> Node {
      var values: [ArchiveValue] = []
      values.reserveCapacity(shape.keys.count)
      for index in attributes.indices {
        // Inserts placeholders for relations and the `RowBase`. They are replaced once the related rows have been read.
        while values.count < attributes[index].place { values.append(.null) }
        let slot = attributes[index].attribute.slot
        values.append(try type.fetchedValue(of: attributes[index].attribute, row.value(start + slot), in: table))
      }
      while values.count < shape.keys.count { values.append(.null) }
      return Node(
        type: number, values: values, keys: keys.isEmpty ? [] : keys.map { row.value(start + $0) },
        columns: keepsColumns ? table.values(row, from: start) : [])
    }
  }

  /// Creates a reader. Checks the recorded model versions of the rows.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping` if `included` contains a key that is not the key of a relation.
  init(_ catalog: EntityCatalog, _ db: Database, including included: Set<String>? = nil) throws {
    self.catalog = catalog
    self.db = db
    self.included = included
    integers = Array(repeating: [:], count: catalog.tables.count)
    plans = Array(repeating: nil, count: catalog.types.count)
    try catalog.versions.run(db)
    guard let included else { return }
    let known = Set(catalog.types.flatMap(\.relations).map(\.key))
    guard let other = included.subtracting(known).min() else { return }
    throw EntityError(
      .invalidMapping,
      "no entity has the relation “\(other)”; the known relations are \(known.sorted().joined(separator: ", "))")
  }

  // MARK: Rows

  /// Returns the nodes of the rows with the given primary keys. The result is `nil` for a key without a row.
  func read(type: Int, primaryKeys: [[DatabaseValue]]) throws -> [Int?] {
    let table = catalog.table(of: type)
    var found = [Int?](repeating: nil, count: primaryKeys.count)
    try table.forEachStatementRow(where: table.primaryKey, in: primaryKeys, db) { index, row in
      found[index] = try node(row, from: 1, type)
    }
    return found
  }

  /// Returns the nodes of the first `count` rows of a request.
  func read<E: Entity>(_ request: QueryInterfaceRequest<E>, atMost count: Int) throws -> [Int] {
    let type = try catalog.known(E.self)
    let table = catalog.table(of: type)
    let cursor = try StatementRow.fetchCursor(db, request.select(table.columns.map { Column($0.name) }))
    var found: [Int] = []
    while found.count < count, let row = try cursor.next() { found.append(try node(row, from: 0, type)) }
    return found
  }

  /// Returns the node of a row. Creates the node if the row has none yet.
  ///
  /// - Parameter start: the index in the row at which the table's columns begin.
  private func node(_ row: StatementRow, from start: Int, _ declared: Int) throws -> Int {
    let plan = plan(declared)
    if let known = try note(row, from: start, plan) { return known }
    // Reads all columns first, because the class of a row may depend on any of them.
    let own =
      plan.hasSubclasses ? self.plan(try catalog.type(of: plan.table.values(row, from: start), declared)) : plan
    nodes.append(try own.node(row, from: start))
    return nodes.count - 1
  }

  private func plan(_ type: Int) -> Plan {
    if let known = plans[type] { return known }
    let plan = Plan(type, catalog)
    plans[type] = plan
    return plan
  }

  /// Returns the existing node of a row. If the row has no node, registers the index of the next node for the row and returns `nil`.
  private func note(_ row: StatementRow, from start: Int, _ plan: Plan) throws -> Int? {
    if let slot = plan.key, let key = row.integer(start + slot) {
      guard let known = integers[plan.tableNumber].updateValue(nodes.count, forKey: key) else { return nil }
      integers[plan.tableNumber][key] = known
      return known
    }
    let key = try EntityWriter.PlainKey(plan.table.values(row, from: start), plan.table, plan.tableNumber)
    guard let known = known.updateValue(nodes.count, forKey: key) else { return nil }
    self.known[key] = known
    return known
  }

  // MARK: Relations

  private func readLinks() throws {
    while linked < nodes.count {
      let wave = linked..<nodes.count
      linked = nodes.count
      for (type, entity) in catalog.types.enumerated() where !entity.relations.isEmpty {
        let numbers = wave.filter { nodes[$0].type == type }
        guard !numbers.isEmpty else { continue }
        let isRead = try entity.relations.map { try reads($0, of: entity) }
        for number in numbers { nodes[number].links = isRead.map { $0 ? [] : nil } }
        for (place, relation) in entity.relations.enumerated() where isRead[place] {
          try readLinks(place, relation, numbers)
        }
      }
    }
  }

  /// Returns whether a relation is read. If the caller listed the relations to read, no other relations are read, except to-one
  /// relations whose property is not optional.
  ///
  /// - Throws: ``EntityError`` with the code `invalidMapping` if the relation is not read and its entity has no ``RowBase``
  ///   property.
  private func reads(_ relation: EntityType.Relation, of entity: EntityType) throws -> Bool {
    guard let included, !included.contains(relation.key) else { return true }
    guard relation.isOptional || relation.shape != .one else { return true }
    guard entity.rowBase != nil else {
      throw EntityError(
        .invalidMapping,
        "the relation was not fetched, so a save would treat it as empty; include the relation in the fetch, or "
          + "declare a property of the type RowBase",
        entity: entity.name, path: [.key(relation.key)])
    }
    return false
  }

  private func readLinks(_ place: Int, _ relation: EntityType.Relation, _ numbers: [Int]) throws {
    // Queries each distinct key only once, because many rows may have the same foreign key.
    var places: [ExactValue: Int] = [:]
    var keys: [DatabaseValue] = []
    var asking: [[Int]] = []
    for number in numbers {
      let key = nodes[number].keys[place]
      guard !key.isNull else { continue }
      if let known = places[ExactValue(key)] {
        asking[known].append(number)
      } else {
        places[ExactValue(key)] = keys.count
        keys.append(key)
        asking.append([number])
      }
    }
    var found = [[Int]](repeating: [], count: keys.count)
    try catalog.forEachLink(relation, keys, db) { index, row in
      let linked = try node(row, from: 1, relation.target)
      // The column that a to-one relation references need not be unique, so several rows may be found. Only the last one is
      // kept.
      if relation.removed == nil { found[index] = [linked] } else { found[index].append(linked) }
    }
    for (numbers, links) in zip(asking, found) { for number in numbers { nodes[number].links[place] = links } }
  }

  // MARK: Objects

  /// Returns the records of the given nodes and of all nodes that are reachable from them.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable`.
  func graph(roots: [Int]) throws -> EntityGraph {
    try readLinks()
    let order = Postorder.numbers(from: roots) { number in
      var targets: [Int] = []
      for case let links? in nodes[number].links { targets.append(contentsOf: links) }
      return targets
    }
    var numbers = [Int](repeating: 0, count: nodes.count)
    for (place, number) in order.enumerated() { numbers[number] = place }
    // A struct is decoded again for each foreign key that refers to it, so the limit on substituted values is raised by the number of
    // values in these structs.
    let sizes = catalog.types.map { $0.schema.isObject ? 0 : $0.schema.fields.count + 1 }
    var extraSubstitutes = 0
    for number in order {
      for case let links? in nodes[number].links {
        for target in links { extraSubstitutes += sizes[nodes[target].type] }
      }
    }
    var fetched: FetchedRows?
    if order.contains(where: { catalog.types[nodes[$0].type].rowBase != nil }) {
      fetched = FetchedRows(
        order.map { number in
          let node = nodes[number]
          return .init(
            catalog.types[node.type], node.type, values: node.columns, links: node.links.map { $0?.map { numbers[$0] } }
          )
        })
    }
    let objects = try order.map { number in
      EntityGraph.Object(type: nodes[number].type, record: try record(number, numbers))
    }
    return EntityGraph(
      objects: objects, roots: roots.map { numbers[$0] }, extraSubstitutes: extraSubstitutes, catalog: catalog,
      fetched: fetched)
  }

  /// Returns the record of a node. Moves the values out of the node to avoid a copy.
  private func record(_ number: Int, _ numbers: [Int]) throws -> ModelRecord {
    let plan = plan(nodes[number].type)
    var values: [ArchiveValue] = []
    swap(&values, &nodes[number].values)
    if let place = plan.rowBase { values[place] = .int(Int64(numbers[number])) }
    for (place, (relation, index)) in plan.relations.enumerated() {
      let links = nodes[number].links[place] ?? []
      switch relation.shape {
      case .one: values[index] = links.first.map { .reference(numbers[$0]) } ?? .null
      case .array: values[index] = .array(links.map { .reference(numbers[$0]) })
      case .set: values[index] = .set(links.map { .reference(numbers[$0]) })
      }
      if relation.shape == .one, links.count > 1 {
        throw EntityError(
          .notReadable,
          "several rows have the same foreign key, but the property can hold only one row; make the property an array",
          entity: catalog.types[nodes[number].type].name, path: [.key(relation.key)])
      }
    }
    return ModelRecord(shape: plan.shape, values: values)
  }
}

/// Creates models from single rows, for fetches that use GRDB directly.
enum EntityRowCoding {
  static func model<E: Entity>(_ type: E.Type, of row: Row) throws -> E {
    let (schema, mapping) = (E.schema, E.entityMapping)
    guard mapping.relations.isEmpty else {
      throw EntityError(
        .invalidMapping,
        "a single row does not contain the entity's relations, so saving the model would lose them; fetch the model "
          + "with an EntityStore",
        entity: schema.name, table: mapping.table)
    }
    var slots = [ArchiveValue?](repeating: nil, count: schema.fields.count)
    for (place, field) in schema.fields.enumerated() {
      let column = mapping.columns[field.key]
      guard let name = column?.name ?? (column == nil && field.archive != .excluded ? field.key : nil),
        !(field.type is RowBase.Type)
      else { continue }
      do {
        guard let stored = row[name] as DatabaseValue? else {
          throw EntityError(
            .notReadable, "the fetched row does not include the column; add the column to the selection")
        }
        slots[place] = try ColumnCoding(field.type, column?.form ?? .automatic, .none).value(of: stored, for: field)
      } catch {
        let known =
          error as? EntityError
          ?? EntityError(.notReadable, "the column's value cannot be decoded as the property's type", underlying: error)
        throw known.located(entity: schema.name, path: [.key(field.key)], table: mapping.table, columns: [name])
      }
    }
    let keys = zip(schema.allKeys, slots).compactMap { $1 == nil ? nil : $0 }
    let record = ModelRecord(
      shape: RecordShape(
        typeName: schema.name, modelVersion: schema.modelVersion, keys: keys, levels: schema.fullShape.levels),
      values: slots.compactMap(\.self))
    do { return try E.decode(from: .record(record), in: DecodingContext(includesExcluded: true)) } catch {
      throw EntityError.of(
        error, .notReadable, "the row cannot be decoded as the model", entity: schema.name, table: mapping.table)
    }
  }
}
