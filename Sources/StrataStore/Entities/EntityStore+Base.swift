public import GRDB
public import StrataCore

extension EntityStore {
  /// Saves only the changes made to an object since it was fetched, and keeps what others have written meanwhile.
  ///
  ///     guard let fetched = try await entities.fetchOne(Todo.filter(key: id)) else { return }
  ///     var edited = fetched
  ///     edited.title = "Paint"                             // in a form that is open for an hour
  ///     try await entities.save(edited, base: fetched)     // writes the title, and no other column
  ///
  /// This is a three-way merge of each column and list: the object is the local side, and the row is the remote side. A value that
  /// changed on both sides follows the policy of the field, or is a conflict. List elements added by others are kept. The object is not
  /// modified. A ``RowBase`` property stores the base in the object itself.
  ///
  /// - Parameters:
  ///   - model: the object.
  ///   - base: the object as it was fetched.
  ///   - conflicts: how to resolve a value that changed on both sides, if no policy decides.
  /// - Throws: the same errors as ``save(_:matching:conflicts:overwriting:)-(E,_,_,_)``. Nothing is written on a `conflict`: with
  ///   `conflicts: .fail`, if the row was deleted or a value changed on both sides; unless it is `.keepLocal`, if a row to delete has
  ///   changed.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail
  ) async throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try await write(nodes, E.self, nil, .init(conflicts, base: base))
  }

  /// Like ``save(_:base:conflicts:)``, within a transaction of the app.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail, in db: Database
  ) throws -> EntityReport {
    let nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    let base = try EntityNodes(.model(base), of: E.self, in: catalog, merges: false)
    return try write(nodes, E.self, nil, .init(conflicts, base: base), db)
  }

  /// Saves an object and returns it as read back from its rows, with keys chosen by the database and changes written by others.
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
      let graph = try await openDatabase().read { [catalog] db in try Self.graph(of: E.self, report, catalog, db) }
      return try Self.root(of: graph.models(of: E.self))
    } catch { throw EntityError.ofDatabase(error) }
  }

  /// Like ``saved(_:matching:conflicts:overwriting:)``, within a transaction of the app.
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
      throw EntityError(.conflict, "the row was deleted right after it was saved", entity: E.schema.name)
    }
    return model
  }
}
