public import GRDB
public import StrataCore

extension EntityStore {
  /// Saves only the changes made to an object since it was fetched and keeps concurrent changes to its row.
  ///
  ///     guard let fetched = try await entities.fetchOne(Todo.filter(key: id)) else { return }
  ///     var edited = fetched
  ///     edited.title = "Paint"                             // in a form that is open for an hour
  ///     try await entities.save(edited, base: fetched)     // writes the title, and no other column
  ///
  /// Each column and each list is merged three-way, with the object as the local side and the row as the remote side. If a value
  /// changed on both sides, the field's merge policy resolves the change. Without a merge policy, the change is a conflict. List
  /// elements that concurrent changes have added are kept. The object is not modified. If a type has a ``RowBase`` property, each
  /// fetched object stores its own base, and `save` without `base:` merges in the same way.
  ///
  /// - Parameters:
  ///   - model: the object.
  ///   - base: the object as it was fetched.
  ///   - conflicts: how to resolve a conflict if a value changed on both sides and the field has no merge policy.
  /// - Throws: the same errors as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``. With `conflicts: .fail`, throws
  ///   `conflict` if the row was deleted or a value changed on both sides. Unless `conflicts` is `.keepLocal`, throws
  ///   `conflict` if a row that the save would delete has changed. If the method throws, nothing is written.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, nil, .init(conflicts, base: base))
  }

  /// Saves the changes to an object like ``save(_:base:conflicts:)``, but within a transaction of the app.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, nil, .init(conflicts, base: base), db)
  }

  /// Saves an object and returns it as fetched after the save. The returned object includes concurrent changes and keys that the
  /// database has generated.
  ///
  ///     var todo = try await entities.saved(Todo(title: "Paint"))
  ///     todo.isDone = true
  ///     todo = try await entities.saved(todo)
  ///
  /// - Throws: the same errors as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)`` and ``fetchAll(_:including:)``.
  public func saved<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false
  ) async throws -> E {
    let report = try await save(model, matching: keys, conflicts: conflicts, overwriting: overwriting)
    do {
      let graph = try await writer.read { [catalog] db in try Self.graph(of: E.self, report, catalog, db) }
      return try Self.root(of: graph.models(of: E.self))
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Saves and fetches an object like ``saved(_:matching:conflicts:overwriting:)``, but within a transaction of the app.
  public func saved<E: Entity>(
    _ model: E, matching keys: [String]? = nil, conflicts: MergeOptions.ConflictHandling = .fail,
    overwriting: Bool = false, in db: Database
  ) throws -> E {
    let report = try save(model, matching: keys, conflicts: conflicts, overwriting: overwriting, in: db)
    do { return try Self.root(of: Self.graph(of: E.self, report, catalog, db).models(of: E.self)) } catch {
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
      throw EntityError(
        .conflict,
        "the row was deleted immediately after the save, so it cannot be returned", entity: E.schema.name)
    }
    return model
  }
}
