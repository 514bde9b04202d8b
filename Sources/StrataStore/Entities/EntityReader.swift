internal import GRDB
internal import StrataCore

/// Reads rows and the rows that they refer to: one query for each relation and level.
final class EntityReader {
  private let db: Database
  private let catalog: EntityCatalog
  /// The keys of the relations that are read; `nil` for all.
  private let included: Set<String>?
  private var nodes: [Node] = []
  private var known: [EntityWriter.PlainKey: Int] = [:]
  /// The number of nodes whose links were read.
  private var linked = 0

  private struct Node {
    let type: Int
    let values: [DatabaseValue]
    /// In the order of the relations of the entity; `nil` for one that is not read.
    var links: [[Int]?]
  }

  /// - Throws: ``EntityError`` with the code `invalidMapping` if no entity has a relation of a given key.
  init(_ catalog: EntityCatalog, _ db: Database, including included: Set<String>? = nil) throws {
    self.catalog = catalog
    self.db = db
    self.included = included
    guard let included else { return }
    let known = Set(catalog.types.flatMap(\.relations).map(\.key))
    guard let other = included.subtracting(known).min() else { return }
    throw EntityError(
      .invalidMapping, "no entity has a relation \(other); there are \(known.sorted().joined(separator: ", "))")
  }

  // MARK: Rows

  /// The nodes of rows by primary key; `nil` if there is no row.
  func read(type: Int, primaryKeys: [[DatabaseValue]]) throws -> [Int?] {
    let table = catalog.table(of: type)
    var found = [Int?](repeating: nil, count: primaryKeys.count)
    try table.forEachRow(where: table.primaryKey, in: primaryKeys, db) { index, values in
      found[index] = try node(values, type)
    }
    return found
  }

  /// The nodes of the rows of a request.
  func read<E: Entity>(_ request: QueryInterfaceRequest<E>, atMost count: Int) throws -> [Int] {
    let type = try catalog.known(E.self)
    let table = catalog.table(of: type)
    let cursor = try Row.fetchCursor(db, request.select(table.columns.map { Column($0.name) }))
    var found: [Int] = []
    while found.count < count, let row = try cursor.next() { found.append(try node(table.values(row), type)) }
    return found
  }

  private func node(_ values: [DatabaseValue], _ declared: Int) throws -> Int {
    let table = catalog.table(of: declared)
    let key = try EntityWriter.PlainKey(values, table, catalog.types[declared].table)
    if let known = known[key] { return known }
    let type = try catalog.type(of: values, declared)
    known[key] = nodes.count
    nodes.append(Node(type: type, values: values, links: []))
    return nodes.count - 1
  }

  // MARK: Relations

  private func readLinks() throws {
    while linked < nodes.count {
      let wave = linked..<nodes.count
      linked = nodes.count
      for (type, numbers) in Dictionary(grouping: wave, by: { nodes[$0].type }).sorted(by: { $0.key < $1.key }) {
        let entity = catalog.types[type]
        let isRead = try entity.relations.map { try reads($0, of: entity) }
        for number in numbers { nodes[number].links = isRead.map { $0 ? [] : nil } }
        for (place, relation) in entity.relations.enumerated() where isRead[place] {
          try readLinks(place, relation, numbers)
        }
      }
    }
  }

  /// Whether a relation is read: it is included, or its property has no value for an unread one.
  private func reads(_ relation: EntityType.Relation, of entity: EntityType) throws -> Bool {
    guard let included, !included.contains(relation.key) else { return true }
    guard relation.isOptional || relation.shape != .one else { return true }
    guard entity.rowBase != nil else {
      throw EntityError(
        .invalidMapping,
        "the relation would not be read, and a save could not tell that from an empty one; include it, or declare a property of the type RowBase",
        entity: entity.name, path: [.key(relation.key)])
    }
    return false
  }

  private func readLinks(_ place: Int, _ relation: EntityType.Relation, _ numbers: [Int]) throws {
    let target = relation.target
    let table = catalog.table(of: target)
    func asking(_ slot: Int) -> (numbers: [Int], tuples: [[DatabaseValue]]) {
      let asking = numbers.filter { !nodes[$0].values[slot].isNull }
      return (asking, asking.map { [nodes[$0].values[slot]] })
    }
    switch relation.kind {
    case .toOne(let slot, let referenced):
      let (asking, tuples) = asking(slot)
      // Rows often share a foreign key, so each value is looked up once.
      var places: [ExactValue: Int] = [:]
      var distinct: [[DatabaseValue]] = []
      for tuple in tuples where places[ExactValue(tuple[0])] == nil {
        places[ExactValue(tuple[0])] = distinct.count
        distinct.append(tuple)
      }
      var found = [Int?](repeating: nil, count: distinct.count)
      try table.forEachRow(where: [referenced], in: distinct, db) { index, values in
        found[index] = try node(values, target)
      }
      for (number, tuple) in zip(asking, tuples) {
        nodes[number].links[place] = (places[ExactValue(tuple[0])].flatMap { found[$0] }).map { [$0] } ?? []
      }
    case .toMany(let slot, let referenced, let order, _):
      let (asking, tuples) = asking(referenced)
      try table.forEachRow(where: [slot], in: tuples, order: table.order(order), db) { index, values in
        let linked = try node(values, target)
        nodes[asking[index]].links[place]?.append(linked)
      }
    case .through(let pairs, let order, _):
      let (asking, tuples) = asking(pairs.fromReferenced)
      try forEachPair(pairs, order, target, tuples) { index, values in
        let linked = try node(values, target)
        nodes[asking[index]].links[place]?.append(linked)
      }
    }
  }

  /// Calls `body` with each row that a table of pairs joins to one of the tuples.
  private func forEachPair(
    _ pairs: EntityType.Relation.Pairs, _ order: EntityType.Relation.Order?, _ target: Int, _ tuples: [[DatabaseValue]],
    _ body: (Int, [DatabaseValue]) throws -> Void
  ) throws {
    let (table, pairTable) = (catalog.table(of: target), catalog.tables[pairs.table])
    // Positions are in the table of pairs; any other order is a column of the entities.
    let sorting =
      if case .kept(let slot)? = order { "p.\(pairTable.quoted(slot)), \(table.order(nil))" } else {
        table.order(order)
      }
    try table.forEachTuple(tuples, db) { values, arguments in
      let sql = """
        SELECT v.column1, \(table.selection(of: "t")) FROM \(values) AS v \
        CROSS JOIN \(pairTable.name.quotedDatabaseIdentifier) AS p ON p.\(pairTable.quoted(pairs.from)) = v.column2 \
        CROSS JOIN \(table.name.quotedDatabaseIdentifier) AS t ON t.\(table.quoted(pairs.toReferenced)) = p.\(pairTable.quoted(pairs.to)) \
        ORDER BY v.column1, \(sorting)
        """
      let cursor = try Row.fetchCursor(db, sql: sql, arguments: arguments)
      while let row = try cursor.next() { try body(row[0], table.values(row, from: 1)) }
    }
  }

  // MARK: Objects

  /// Returns the records of nodes, and of all nodes that they refer to.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable`.
  func graph(roots: [Int]) throws -> EntityGraph {
    try readLinks()
    let order = Postorder.numbers(from: roots) { nodes[$0].links.lazy.compactMap(\.self).flatMap(\.self) }
    var numbers = [Int](repeating: 0, count: nodes.count)
    for (place, number) in order.enumerated() { numbers[number] = place }
    // Each reference to a struct decodes it anew.
    var allowance = 0
    for number in order {
      for target in nodes[number].links.lazy.compactMap(\.self).joined()
      where !catalog.types[nodes[target].type].schema.isObject {
        allowance += catalog.types[nodes[target].type].schema.fields.count + 1
      }
    }
    let objects = try order.map { number in
      EntityGraph.Object(type: nodes[number].type, record: try record(number, numbers))
    }
    var fetched: FetchedRows?
    if order.contains(where: { catalog.types[nodes[$0].type].rowBase != nil }) {
      fetched = FetchedRows(
        order.map { number in
          let node = nodes[number]
          return .init(
            catalog.types[node.type], node.type, values: node.values, links: node.links.map { $0?.map { numbers[$0] } })
        })
    }
    return EntityGraph(
      objects: objects, roots: roots.map { numbers[$0] }, allowance: allowance, catalog: catalog, fetched: fetched)
  }

  private func record(_ number: Int, _ numbers: [Int]) throws -> ModelRecord {
    let node = nodes[number]
    let type = catalog.types[node.type]
    let table = catalog.tables[type.table]
    var values = [ArchiveValue](repeating: .null, count: type.recordShape.keys.count)
    if let place = type.recordPlaces.rowBase { values[place] = .int(Int64(numbers[number])) }
    for (attribute, place) in zip(type.attributes, type.recordPlaces.attributes) {
      values[place] = try type.value(of: attribute, node.values[attribute.slot], in: table)
    }
    for (place, index) in zip(type.relations.indices, type.recordPlaces.relations) {
      let (relation, links) = (type.relations[place], node.links[place] ?? [])
      switch relation.shape {
      case .one: values[index] = links.first.map { .reference(numbers[$0]) } ?? .null
      case .array: values[index] = .array(links.map { .reference(numbers[$0]) })
      case .set: values[index] = .set(links.map { .reference(numbers[$0]) })
      }
      if relation.shape == .one, links.count > 1 {
        throw EntityError(
          .notReadable, "several rows have the foreign key, and the property holds one; make it an array",
          entity: type.name, path: [.key(relation.key)])
      }
    }
    return ModelRecord(shape: type.recordShape, values: values)
  }
}

/// Creates a model from a single row, for GRDB's own fetching.
enum EntityRowCoding {
  static func model<E: Entity>(_ type: E.Type, of row: Row) throws -> E {
    let (schema, mapping) = (E.schema, E.entityMapping)
    guard mapping.relations.isEmpty else {
      throw EntityError(
        .invalidMapping,
        "a row alone does not have the relations of the entity, and a model without them would lose them when it is saved; fetch it with an EntityStore",
        entity: schema.name, table: mapping.table)
    }
    var slots = [ArchiveValue?](repeating: nil, count: schema.fields.count)
    for (place, field) in schema.fields.enumerated() {
      let column = mapping.columns[field.key]
      guard let name = column?.name ?? (column == nil && field.archive != .excluded ? field.key : nil),
        !(field.type is RowBase.Type)
      else { continue }
      func located(_ error: EntityError) -> EntityError {
        error.located(entity: schema.name, path: [.key(field.key)], table: mapping.table, columns: [name])
      }
      guard let stored = row[name] as DatabaseValue? else {
        throw located(EntityError(.notReadable, "the row has no such column; select it"))
      }
      do {
        slots[place] = try ColumnCoding(field.type, column?.form ?? .automatic, .none).value(of: stored)
      } catch let error as EntityError {
        throw located(error)
      } catch {
        throw located(EntityError(.notReadable, "the column holds what the property cannot be", underlying: error))
      }
    }
    let keys = zip(schema.allKeys, slots).compactMap { $1 == nil ? nil : $0 }
    let record = ModelRecord(
      shape: RecordShape(
        typeName: schema.name, modelVersion: schema.modelVersion, keys: keys, levels: schema.fullShape.levels),
      values: slots.compactMap(\.self))
    do { return try E.make(from: .record(record), in: DecodingContext(includesExcluded: true)) } catch {
      throw EntityError.of(
        error, .notReadable, "the row cannot be read as the model", entity: schema.name, table: mapping.table)
    }
  }
}
