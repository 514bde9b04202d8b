public import GRDB
public import StrataCore

/// Saves models, JSON and archives in tables of the app, and makes models of their rows, with all relations.
///
///     let entities = try EntityStore(pool, Blog.self)
///     try await entities.apply(.json(feed), to: Blog.self)
///     let blogs = try await entities.fetchAll(Blog.order(Column("pubDate")))
///
/// It keeps nothing but how the entities are kept, and can be used by any number of tasks at once. Docs/Entities.md is the guide.
public struct EntityStore: Sendable {
  /// The database.
  public let writer: any DatabaseWriter
  package let catalog: EntityCatalog
  /// The tables of servers, for all copies of the store.
  package let servers = EntityServers()

  /// Compares the mappings of entities with their models and tables.
  ///
  /// - Parameters:
  ///   - writer: the database, whose tables are there.
  ///   - entities: the entities; what they lead to is found. Subclasses have to be named.
  /// - Throws: ``EntityError`` with the code `invalidMapping`, whose reason has all that is wrong.
  public init(_ writer: any DatabaseWriter, _ entities: any Entity.Type...) throws {
    self.writer = writer
    do { catalog = try writer.read { db in try EntityCatalog(entities, db) } } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  // MARK: Saving

  /// Saves an object and all that it leads to.
  ///
  /// An object that was fetched, and whose type has a property of the type ``RowBase``, is merged with the row as
  /// ``save(_:base:conflicts:)`` does it. Any other is written as it is; the report lists the columns of each row. In tables that a
  /// `RemoteStore` refreshes, it may be older than its row: then it is refused.
  ///
  /// - Parameters:
  ///   - model: the object; it stays as it is.
  ///   - keys: the names of the keys that find rows (``EntityMapping/keys``); all unless given.
  ///   - conflicts: what becomes of values that both the row and a fetched object have changed, and that no policy decides.
  ///   - overwriting: writes the object as it is, without comparing it with the row.
  /// - Returns: what was written.
  /// - Throws: ``EntityError``, after which nothing was written: `clash` where keys, unique indexes or both sides of a relation name different rows, `notStorable`
  ///   where a column cannot hold a value, `missingValue`, `constraint` where the database refuses a row, `invalid` where a rule of the model is
  ///   broken, `conflict` where the row of a fetched object was changed or deleted meanwhile, `staleSave`, `busy`, `full`, `database`.
  /// - Complexity: linear in the number of objects; one query for each key and type, and one for each relation and level.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// Saves objects and all that they lead to, as one: all are written, or none.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// As ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``, within a transaction of the app's own: where it throws, that goes on as if it
  /// had not been called.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// As ``save(_:matching:conflicts:overwriting:)-([E],_,_,_)``, within a transaction of the app's own.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// Writes what a source says straight into rows: what it does not hold is left alone.
  ///
  /// - Parameters:
  ///   - source: JSON, an archive of any version, a record or models; a list of objects or one. A patch is not, since it is one of a model.
  ///   - type: the entity.
  ///   - path: where the objects are in a JSON document.
  ///   - adapter: how JSON holds them; what the model declares unless given.
  ///   - keys: the names of the keys that find rows; all unless given.
  /// - Returns: what was written.
  /// - Throws: as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``; `invalidSource` where the source cannot be read as the entity.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: JSONPath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil
  ) async throws -> EntityReport {
    try await write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys)
  }

  /// As ``apply(_:to:at:by:matching:)``, within a transaction of the app's own.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: JSONPath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil, in db: Database
  ) throws -> EntityReport {
    try write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys, .init(), db)
  }

  /// What becomes of each field of a source, without looking at rows or writing anything.
  ///
  /// - Throws: ``EntityError`` as ``apply(_:to:at:by:matching:)`` does before it looks at rows.
  public func trace<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: JSONPath? = nil, by adapter: JSONAdapter<E>? = nil
  ) throws -> [EntityTrace] {
    var found: [EntityNodes.Trace] = []
    _ = try EntityNodes(source, of: type, in: catalog, by: adapter, at: path) { found.append($0) }
    return found.map { field in
      let type = catalog.types[field.type]
      let table = catalog.tables[type.table]
      let attribute = type.attributes.first { $0.place == field.place && $0.isWritten }
      let merging = type.merging(isWhole: false)
      // What only a row can complete is shown as it came in.
      let value = attribute == nil ? field.value : field.value.map { (try? merging.completed($0)) ?? $0 }
      return EntityTrace(
        entity: type.name, path: field.path, key: type.schema.fields[field.place].key, source: field.source,
        raw: field.raw, value: value, column: attribute.map { table.columns[$0.slot].name },
        // As above: then nobody knows yet what is stored.
        stored: attribute.flatMap { attribute in value.flatMap { try? type.stored($0, attribute, in: table) } })
    }
  }

  /// How whole objects are written over rows.
  struct Saving: Sendable {
    let conflicts: MergeOptions.ConflictHandling
    let overwrites: Bool
    /// The base that the app passes.
    let base: EntityNodes?

    init(_ conflicts: MergeOptions.ConflictHandling = .fail, overwrites: Bool = false, base: EntityNodes? = nil) {
      (self.conflicts, self.overwrites, self.base) = (conflicts, overwrites, base)
    }
  }

  func write<E: Entity>(
    _ nodes: EntityNodes, _ type: E.Type, _ keys: [String]? = nil, _ saving: Saving = .init()
  ) async throws -> EntityReport {
    try check(keys, type)
    // The transaction is that of the save, and goes with it.
    do { return try await writer.write { [self] db in try written(nodes, keys, saving, db) } } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  func write<E: Entity>(
    _ nodes: EntityNodes, _ type: E.Type, _ keys: [String]? = nil, _ saving: Saving = .init(), _ db: Database
  ) throws -> EntityReport {
    try check(keys, type)
    do {
      var report = EntityReport()
      try db.inSavepoint {
        report = try written(nodes, keys, saving, db)
        return .commit
      }
      return report
    } catch { throw EntityError.ofDatabase(error) }
  }

  private func written(_ nodes: EntityNodes, _ keys: [String]?, _ saving: Saving, _ db: Database) throws -> EntityReport
  {
    var nodes = nodes
    let bases = try EntityBases(
      &nodes, given: saving.base, saving.conflicts, overwrites: saving.overwrites, catalog, servers, db)
    return try EntityWriter(nodes, catalog, matching: keys.map(Set.init), bases: bases, db).run()
  }

  private func check<E: Entity>(_ keys: [String]?, _ type: E.Type) throws {
    guard let keys else { return }
    let known = Set(catalog.types[try catalog.known(type)].keys.map(\.name))
    for key in keys where !known.contains(key) {
      throw EntityError(
        .invalidMapping, "there is no key \(key); there are \(known.sorted().joined(separator: ", "))",
        entity: type.schema.name)
    }
  }

  // MARK: Reading

  /// The entities of a request, with the entities of all their relations, or of some.
  ///
  ///     try await entities.fetchAll(Blog.filter(Column("userID") == "ann").order(Column("pubDate")))
  ///     try await entities.fetchAll(Blog.all(), including: ["author"])
  ///
  /// - Parameters:
  ///   - request: a request of GRDB.
  ///   - included: the keys of the relations that are read, of any entity that is met; all unless given. A relation that is not read is
  ///     empty or `nil` in the object. A save leaves it alone, and refuses an object in which it has been set. ``RowBase/unread`` names it. A
  ///     relation to one that is no optional is always read.
  /// - Throws: ``EntityError`` with the code `notReadable` where a column holds what its property cannot be, `invalid` where the rules of a
  ///   model refuse what the row is, `invalidMapping` where no entity has such a relation, or an entity with a relation that is not read has
  ///   no property of the type ``RowBase``, `busy`, `database`.
  /// - Complexity: linear in the rows that they lead to; one query for each relation and level.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> [E] {
    do {
      let graph = try await writer.read { [catalog] db in try Self.graph(request, catalog, db, including: included) }
      return try graph.make(E.self)
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// As ``fetchAll(_:including:)``, within a transaction of the app's own.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> [E] {
    do { return try Self.graph(request, catalog, db, including: included).make(E.self) } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// The first entity of a request, with all that it leads to; `nil` where there is none.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> E? {
    do {
      let graph = try await writer.read { [catalog] db in
        try Self.graph(request, catalog, db, including: included, atMost: 1)
      }
      return try graph.make(E.self).first
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// As ``fetchOne(_:including:)``, within a transaction of the app's own.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> E? {
    do { return try Self.graph(request, catalog, db, including: included, atMost: 1).make(E.self).first } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// Calls `body` with entities of a request, as many at a time as `count` says: a million need the memory of as many as these lead to.
  ///
  /// An object that entities of two parts lead to is one in each part.
  ///
  /// - Throws: as ``fetchAll(_:including:)``, and what `body` throws.
  public func forEach<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, batchSize count: Int = 1000,
    in db: Database, _ body: ([E]) throws -> Void
  ) throws {
    do {
      let type = try catalog.known(E.self)
      let table = catalog.table(of: type)
      let cursor = try Row.fetchCursor(db, request.select(table.primaryKey.map { Column(table.columns[$0].name) }))
      var keys: [[DatabaseValue]] = []
      func flush() throws {
        guard !keys.isEmpty else { return }
        let reader = try EntityReader(catalog, db, including: included)
        let roots = try reader.read(type: type, primaryKeys: keys).compactMap(\.self)
        keys.removeAll(keepingCapacity: true)
        try body(reader.graph(roots: roots).make(E.self))
      }
      while let row = try cursor.next() {
        keys.append(table.primaryKey.indices.map { row[$0] as DatabaseValue })
        if keys.count >= max(1, count) { try flush() }
      }
      try flush()
    } catch { throw EntityError.ofDatabase(error) }
  }

  package static func graph<E: Entity>(
    _ request: QueryInterfaceRequest<E>, _ catalog: EntityCatalog, _ db: Database,
    including included: Set<String>? = nil, atMost count: Int = .max
  ) throws -> EntityGraph {
    let reader = try EntityReader(catalog, db, including: included)
    return try reader.graph(roots: reader.read(request, atMost: count))
  }
}
