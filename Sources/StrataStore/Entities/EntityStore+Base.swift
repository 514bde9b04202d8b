public import GRDB
public import StrataCore

extension EntityStore {
  /// Saves what was changed of an object since it was fetched, and leaves alone what others have written meanwhile.
  ///
  ///     guard let fetched = try await entities.fetchOne(Todo.filter(key: id)) else { return }
  ///     var edited = fetched
  ///     edited.title = "Paint"                             // in a form that is open for an hour
  ///     try await entities.save(edited, base: fetched)     // writes the title, and no other column
  ///
  /// The row is merged with the object three ways, column by column and list by list: the object is the local side, and the row that of
  /// others. A value that changed on both sides follows the policy of the field, or is a conflict. Elements that others added to a list
  /// stay. The object stays as it is. A property of the type ``RowBase`` keeps what was fetched with the object.
  ///
  /// - Parameters:
  ///   - model: the object.
  ///   - base: what it was when it was fetched.
  ///   - conflicts: what becomes of values that both have changed and that no policy decides.
  /// - Throws: as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``; ``EntityError`` with the code `conflict` where the row was deleted
  ///   meanwhile, and, unless `conflicts` says otherwise, where both have changed a value. Nothing was written then.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, nil, .init(conflicts, base: base))
  }

  /// As ``save(_:base:conflicts:)``, within a transaction of the app's own.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, nil, .init(conflicts, base: base), db)
  }

  /// Saves an object, and returns it as the rows have it then: with the keys that the database chose, and what others have written.
  ///
  ///     var todo = try await entities.saved(Todo(title: "Paint"))
  ///     todo.isDone = true
  ///     todo = try await entities.saved(todo)
  ///
  /// - Throws: as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)`` and ``fetchAll(_:including:)``.
  public func saved<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> E {
    let report = try await save(model, matching: keys, conflicts: conflicts, overwriting: overwriting)
    do {
      let graph = try await writer.read { [catalog] db in try Self.graph(of: E.self, report, catalog, db) }
      return try Self.root(of: graph.make(E.self))
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// As ``saved(_:matching:conflicts:overwriting:)``, within a transaction of the app's own.
  public func saved<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> E {
    let report = try save(model, matching: keys, conflicts: conflicts, overwriting: overwriting, in: db)
    do { return try Self.root(of: Self.graph(of: E.self, report, catalog, db).make(E.self)) } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  private static func graph<E: Entity>(
    of type: E.Type, _ report: EntityReport, _ catalog: EntityCatalog, _ db: Database
  ) throws -> EntityGraph {
    let reader = try EntityReader(catalog, db)
    return try reader.graph(
      roots: reader.read(type: catalog.known(type), primaryKeys: report.roots).compactMap(\.self))
  }

  private static func root<E: Entity>(of models: [E]) throws -> E {
    guard let model = models.first else {
      throw EntityError(.conflict, "the row was deleted right after it was saved", entity: E.schema.name)
    }
    return model
  }
}
