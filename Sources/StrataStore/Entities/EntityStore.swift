public import GRDB
public import StrataCore

/// A store that saves models, JSON and archives as rows of the app's tables and reads rows as models with all their relations.
///
///     let entities = try EntityStore(pool, Blog.self)
///     try await entities.apply(.json(feed), to: Blog.self)
///     let blogs = try await entities.fetchAll(Blog.order(Column("pubDate")))
///
/// An `EntityStore` contains only the checked mappings, not rows. Any number of tasks can use it at once. See the guide in
/// Docs/Entities.md.
public struct EntityStore: Sendable {
  /// The database that was passed to the initializer.
  ///
  /// - Throws: ``EntityError`` with the code `database` if the store was created in a transaction (``init(in:_:)``).
  public var writer: any DatabaseWriter {
    get throws {
      guard let database else {
        throw EntityError(
          .database,
          "the store was created in a transaction and cannot start a new one; use the methods with the parameter 'in'")
      }
      return database
    }
  }
  private let database: (any DatabaseWriter)?
  package let catalog: EntityCatalog
  /// The tables that are synchronized with a server. All copies of this store share the same `EntityServers` instance.
  package let servers = EntityServers()

  /// Creates a store. Checks the mappings of the entities against their models and tables.
  ///
  /// - Parameters:
  ///   - writer: the database, in which the tables already exist.
  ///   - entities: the entities. Entities that are reachable through relations need not be listed, but subclasses must be.
  /// - Throws: ``EntityError`` with the code `invalidMapping`, whose reason lists every problem. If the row version that an
  ///   ``EntityMigrator`` has recorded differs from the model's version, the code is `newerModel` or `unmigrated`.
  public init(_ writer: any DatabaseWriter, _ entities: any Entity.Type...) throws {
    database = writer
    do { catalog = try writer.read { db in try EntityCatalog(entities, checked: db) } } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// Creates a store for use within a transaction, such as a GRDB migration. With this store, only methods that have an `in: db`
  /// parameter can be used. All other methods and ``writer`` throw an error.
  public init(in db: Database, _ entities: any Entity.Type...) throws {
    database = nil
    do { catalog = try EntityCatalog(entities, checked: db) } catch { throw EntityError.ofDatabase(error) }
  }

  // MARK: Saving

  /// Saves an object and all objects that it refers to.
  ///
  /// A fetched object whose type has a ``RowBase`` property is merged with its row, as described for
  /// ``save(_:base:conflicts:)``. Any other object overwrites its row, and the report lists the overwritten columns. In tables
  /// that a `RemoteStore` refreshes, an object without a base may be older than its row. A save that would change such a row
  /// throws `staleSave`.
  ///
  /// - Parameters:
  ///   - model: the object. It is not modified.
  ///   - keys: the names of the keys (``EntityMapping/keys``) that may be used to find existing rows of `E`. The default is all
  ///     keys.
  ///   - conflicts: how to resolve a conflict if a value has changed both in the row and in a fetched object, and the field has
  ///     no merge policy.
  ///   - overwriting: whether to overwrite the row without a merge, even if the row may be newer than the object.
  /// - Returns: a report of the written rows.
  /// - Throws: ``EntityError``, in which case nothing is written: `clash` if keys, unique indexes or the two sides of a
  ///   relation identify different rows, `notStorable` if a column cannot hold a value, `missingValue`, `constraint` if the
  ///   database refuses a row, `invalid` if the object breaks a rule of its model, `conflict` if the row was changed or deleted
  ///   after the object was fetched, `staleSave`, `unreadRelation`, `invalidMapping` for an unknown key, `busy`, `full` or
  ///   `database`.
  /// - Complexity: linear in the number of objects, with one query for each key of each type, and one query for each relation
  ///   at each depth of the object graph.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// Saves several objects and all objects that they refer to, in one transaction.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting))
  }

  /// Saves an object like ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``, but within a transaction of the app. If this method
  /// throws, its changes are rolled back, and the app's transaction can continue.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// Saves several objects like ``save(_:matching:conflicts:overwriting:)-([E],_,_,_)``, but within a transaction of the app.
  @discardableResult
  public func save<E: Entity>(
    _ models: [E], matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.models(models), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, keys, .init(conflicts, overwrites: overwriting), db)
  }

  /// Merges JSON, an archive or models directly into rows, without fetching objects. If the source does not contain a field,
  /// the field's column keeps its value.
  ///
  /// - Parameters:
  ///   - source: JSON, an archive of any version, a record or models, containing one object or a list. Patches are refused,
  ///     because they apply to models, not to rows.
  ///   - type: the entity.
  ///   - path: the path of the objects in a JSON document. The default is the root.
  ///   - adapter: the JSON mapping. The default is the model's own mapping.
  ///   - keys: the names of the keys that may be used to find existing rows of `E`. The default is all keys.
  /// - Returns: a report of the written rows.
  /// - Throws: the same errors as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``, or `invalidSource` if the source
  ///   cannot be decoded as the entity.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil
  ) async throws -> EntityReport {
    try await write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys)
  }

  /// Merges a source into rows like ``apply(_:to:at:by:matching:)``, but within a transaction of the app.
  @discardableResult
  public func apply<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil,
    matching keys: [String]? = nil, in db: Database
  ) throws -> EntityReport {
    try write(EntityNodes(source, of: type, in: catalog, by: adapter, at: path), type, keys, .init(), db)
  }

  /// Returns the column to which each field of a source would be saved, without reading or writing rows.
  ///
  /// - Throws: the errors that ``apply(_:to:at:by:matching:)`` throws before it reads rows.
  public func trace<E: Entity>(
    _ source: MergeSource, to type: E.Type, at path: ValuePath? = nil, by adapter: JSONAdapter<E>? = nil
  ) throws -> [EntityTrace] {
    var found: [EntityTrace] = []
    _ = try EntityNodes(source, of: type, in: catalog, by: adapter, at: path) { found.append($0) }
    return found
  }

  /// The options for saving complete objects.
  struct Saving: Sendable {
    let conflicts: MergeOptions.ConflictHandling
    let overwrites: Bool
    /// The base that the app passed to ``save(_:base:conflicts:)``, or `nil` for other saves.
    let base: EntityNodes?

    init(_ conflicts: MergeOptions.ConflictHandling = .fail, overwrites: Bool = false, base: EntityNodes? = nil) {
      (self.conflicts, self.overwrites, self.base) = (conflicts, overwrites, base)
    }
  }

  func write<E: Entity>(
    _ nodes: EntityNodes, _ type: E.Type, _ keys: [String]? = nil, _ saving: Saving = .init()
  ) async throws -> EntityReport {
    try check(keys, type)
    // No savepoint is needed, because this call begins the transaction and an error rolls the transaction back.
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
        .invalidMapping, "the entity has no key “\(key)”; its keys are \(known.sorted().joined(separator: ", "))",
        entity: type.schema.name)
    }
  }

  // MARK: Reading

  /// Fetches the entities of a request, with all or some of their relations.
  ///
  ///     try await entities.fetchAll(Blog.filter(Column("userID") == "ann").order(Column("pubDate")))
  ///     try await entities.fetchAll(Blog.all(), including: ["author"])
  ///
  /// - Parameters:
  ///   - request: a GRDB request.
  ///   - included: the keys of the relations to read, in the fetched entities and all related entities. The default is all relations. A
  ///     relation that was not read is empty or `nil`, and ``RowBase/unread`` lists its key. Saving the object leaves this relation
  ///     unchanged. If the app has set the relation, the save throws an error. A to-one relation whose property is not optional is
  ///     always read.
  /// - Throws: ``EntityError`` with the code `notReadable` if a column has a value that its property cannot represent,
  ///   `invalid` if a row breaks a rule of its model, `invalidMapping` if no entity has a relation with a given key, or if an
  ///   entity with an unread relation has no ``RowBase`` property, `busy` or `database`.
  /// - Complexity: linear in the number of rows read, with one query for each relation at each depth of the object graph.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> [E] {
    try await read(request, included, atMost: .max)
  }

  /// Fetches entities like ``fetchAll(_:including:)``, but within a transaction of the app.
  public func fetchAll<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> [E] {
    try read(request, included, atMost: .max, in: db)
  }

  /// Fetches the first entity of a request with its relations. Returns `nil` if the request has no rows.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil
  ) async throws -> E? {
    try await read(request, included, atMost: 1).first
  }

  /// Fetches an entity like ``fetchOne(_:including:)``, but within a transaction of the app.
  public func fetchOne<E: Entity>(
    _ request: QueryInterfaceRequest<E>, including included: Set<String>? = nil, in db: Database
  ) throws -> E? {
    try read(request, included, atMost: 1, in: db).first
  }

  private func read<E: Entity>(
    _ request: QueryInterfaceRequest<E>, _ included: Set<String>?, atMost count: Int
  ) async throws -> [E] {
    do {
      let graph = try await writer.read { [catalog] db in
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

  /// Calls `body` with the entities of a request in batches. Only one batch, with the objects to which it refers, is in memory at
  /// a time.
  ///
  /// If two batches refer to the same object, it is decoded twice, as two separate objects.
  ///
  /// - Throws: the same errors as ``fetchAll(_:including:)``, and any error that `body` throws.
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
