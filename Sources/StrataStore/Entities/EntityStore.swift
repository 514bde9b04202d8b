public import GRDB
public import StrataCore

/// Saves models, JSON and archives in the app's tables, and reads rows back as models with all their relations.
///
///     let entities = try EntityStore(pool, Blog.self)
///     try await entities.apply(.json(feed), to: Blog.self)
///     let blogs = try await entities.fetchAll(Blog.order(Column("pubDate")))
///
/// It holds the checked mappings and no rows. Any number of tasks can use it at once. Docs/Entities.md is the guide.
public struct EntityStore: Sendable {
  /// The database.
  ///
  /// - Precondition: the store was not created in a transaction.
  public var writer: any DatabaseWriter {
    guard let database else { preconditionFailure("an EntityStore that was created in a transaction has no writer") }
    return database
  }
  private let database: (any DatabaseWriter)?
  package let catalog: EntityCatalog
  /// The tables whose records a server also has, shared by all copies of the store.
  package let servers = EntityServers()

  /// Checks the mappings of entities against their models and tables.
  ///
  /// - Parameters:
  ///   - writer: the database, in which the tables already exist.
  ///   - entities: the entities. Those that their relations refer to are found; subclasses must be listed.
  /// - Throws: ``EntityError`` with the code `invalidMapping`, whose reason lists every problem; `newerModel` or `unmigrated` if
  ///   an ``EntityMigrator`` has recorded another version of the rows.
  public init(_ writer: any DatabaseWriter, _ entities: any Entity.Type...) throws {
    database = writer
    do { catalog = try writer.read { db in try EntityCatalog(entities, checked: db) } } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// Creates a store in a transaction, for instance in a migration of GRDB. Only calls with `in: db` can use it; all others throw, and
  /// ``writer`` traps.
  public init(in db: Database, _ entities: any Entity.Type...) throws {
    database = nil
    do { catalog = try EntityCatalog(entities, checked: db) } catch { throw EntityError.ofDatabase(error) }
  }

  /// - Throws: ``EntityError`` with the code `database` if the store was created in a transaction.
  func openDatabase() throws -> any DatabaseWriter {
    guard let database else {
      throw EntityError(.database, "the store was created in a transaction; use the calls with in: db")
    }
    return database
  }

  // MARK: Saving

  /// Saves an object and all objects that it refers to.
  ///
  /// A fetched object whose type has a ``RowBase`` property is merged with its row, like in ``save(_:base:conflicts:)``. Any other
  /// object overwrites its row; the report lists the columns. In tables that a `RemoteStore` refreshes, such an object may be older
  /// than its row, so a save that would change the row throws `staleSave`.
  ///
  /// - Parameters:
  ///   - model: the object. Its values are not changed.
  ///   - keys: the names of the keys (``EntityMapping/keys``) that find the rows of `E`; all keys by default.
  ///   - conflicts: how to resolve a value that changed both in the row and in a fetched object, if no policy decides.
  ///   - overwriting: whether to write the object without comparing it with the row.
  /// - Returns: a report of the written rows.
  /// - Throws: ``EntityError``, and nothing is written: `clash` if keys, unique indexes or both sides of a relation name different rows,
  ///   `notStorable` if a column cannot hold a value, `missingValue`, `constraint` if the database refuses a row, `invalid` if a rule of
  ///   the model is broken, `conflict` if the row of a fetched object was changed or deleted meanwhile, `staleSave`, `unreadRelation`,
  ///   `invalidMapping` for an unknown key, `busy`, `full`, `database`.
  /// - Complexity: linear in the number of objects; one query per key and type, and one per relation and level.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// Saves objects and all objects that they refer to in one transaction.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// Like ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``, within a transaction of the app. If it throws, its changes are rolled back
  /// and the transaction can continue.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// Like ``save(_:matching:conflicts:overwriting:)-([E],_,_,_)``, within a transaction of the app.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// Merges a source directly into rows. Fields that the source lacks stay unchanged.
  ///
  /// - Parameters:
  ///   - source: JSON, an archive of any version, a record or models; one object or a list. Patches are not accepted, because they apply to
  ///     models.
  ///   - type: the entity.
  ///   - path: the path of the objects in a JSON document.
  ///   - adapter: the JSON mapping; the model's own by default.
  ///   - keys: the names of the keys that find the rows of `E`; all keys by default.
  /// - Returns: a report of the written rows.
  /// - Throws: the same errors as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``; `invalidSource` if the source cannot be read as
  ///   the entity.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil
  ) async throws -> EntityReport {
    try await write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys)
  }

  /// Like ``apply(_:to:at:by:matching:)``, within a transaction of the app.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil, in db: Database
  ) throws -> EntityReport {
    try write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys, .init(), db)
  }

  /// Traces each field of a source to its column, without reading rows or writing anything.
  ///
  /// - Throws: ``EntityError``, like ``apply(_:to:at:by:matching:)`` before it reads rows.
  public func trace<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil
  ) throws -> [EntityTrace] {
    var found: [EntityTrace] = []
    _ = try EntityNodes(source, of: type, in: catalog, by: adapter, at: path) { found.append($0) }
    return found
  }

  /// The options for saving whole objects.
  struct Saving: Sendable {
    let conflicts: MergeOptions.ConflictHandling
    let overwrites: Bool
    /// The base passed by the app.
    let base: EntityNodes?

    init(_ conflicts: MergeOptions.ConflictHandling = .fail, overwrites: Bool = false, base: EntityNodes? = nil) {
      (self.conflicts, self.overwrites, self.base) = (conflicts, overwrites, base)
    }
  }

  func write<E: Entity>(
    _ nodes: EntityNodes, _ type: E.Type, _ keys: [String]? = nil, _ saving: Saving = .init()
  ) async throws -> EntityReport {
    try check(keys, type)
    // This call opens the transaction, so an error rolls it back.
    do { return try await openDatabase().write { [self] db in try written(nodes, keys, saving, db) } } catch {
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
        .invalidMapping, "there is no key \(key); the keys are \(known.sorted().joined(separator: ", "))",
        entity: type.schema.name)
    }
  }

  // MARK: Reading

  /// Returns the entities of a request, with all of their relations or only some.
  ///
  ///     try await entities.fetchAll(Blog.filter(Column("userID") == "ann").order(Column("pubDate")))
  ///     try await entities.fetchAll(Blog.all(), including: ["author"])
  ///
  /// - Parameters:
  ///   - request: a GRDB request.
  ///   - included: the keys of the relations to read, in all entities reached; all relations by default. A relation that is not read is
  ///     empty or `nil` in the object, and ``RowBase/unread`` lists it. A save leaves it unchanged, and throws if it was set. A to-one
  ///     relation whose property is not optional is always read.
  /// - Throws: ``EntityError`` with the code `notReadable` if a column holds a value that its property cannot represent, `invalid` if the
  ///   rules of a model refuse a row, `invalidMapping` if no entity has such a relation, or an entity with a relation that is not read has
  ///   no ``RowBase`` property, `busy`, `database`.
  /// - Complexity: linear in the number of rows read; one query per relation and level.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> [E] {
    try await read(request, included, atMost: .max)
  }

  /// Like ``fetchAll(_:including:)``, within a transaction of the app.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> [E] {
    try read(request, included, atMost: .max, in: db)
  }

  /// Returns the first entity of a request with its relations, or `nil` if there is none.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> E? {
    try await read(request, included, atMost: 1).first
  }

  /// Like ``fetchOne(_:including:)``, within a transaction of the app.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> E? {
    try read(request, included, atMost: 1, in: db).first
  }

  private func read<E: Entity>(
    _ request: QueryInterfaceRequest<E>, _ included: Set<String>?, atMost count: Int
  ) async throws -> [E] {
    do {
      let graph = try await openDatabase().read { [catalog] db in
        try Self.graph(request, catalog, db, including: included, atMost: count)
      }
      return try graph.models(of: E.self)
    } catch { throw EntityError.ofDatabase(error) }
  }

  private func read<E: Entity>(
    _ request: QueryInterfaceRequest<E>, _ included: Set<String>?, atMost count: Int, in db: Database
  ) throws -> [E] {
    do { return try Self.graph(request, catalog, db, including: included, atMost: count).models(of: E.self) } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// Calls `body` with the entities of a request in batches. Memory is bounded by one batch and the objects it references.
  ///
  /// An object referenced from two batches is decoded in each.
  ///
  /// - Throws: the same errors as ``fetchAll(_:including:)``, and the errors of `body`.
  public func forEach<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, batchSize count: Int = 1000,
    in db: Database, _ body: ([E]) throws -> Void
  ) throws {
    var bodyError: (any Error)?
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
        let entities = try reader.graph(roots: roots).models(of: E.self)
        do { try body(entities) } catch {
          bodyError = error
          throw error
        }
      }
      while let row = try cursor.next() {
        keys.append(table.primaryKey.indices.map { row[$0] as DatabaseValue })
        if keys.count >= max(1, count) { try flush() }
      }
      try flush()
    } catch { throw bodyError ?? EntityError.ofDatabase(error) }
  }

  package static func graph<E: Entity>(
    _ request: QueryInterfaceRequest<E>, _ catalog: EntityCatalog, _ db: Database,
    including included: Set<String>? = nil, atMost count: Int = .max
  ) throws -> EntityGraph {
    let reader = try EntityReader(catalog, db, including: included)
    return try reader.graph(roots: reader.read(request, atMost: count))
  }
}
