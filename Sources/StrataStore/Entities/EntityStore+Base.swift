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
  /// The row is merged with the object three ways, as `merge(_:base:options:)` of a model does: the object is the local
  /// side, and the row that of others. Elements of lists that the object has never seen stay. An object of a class takes what the row has.
  ///
  /// - Parameters:
  ///   - model: the object.
  ///   - base: what it was when it was fetched.
  ///   - conflicts: what becomes of values that both have changed and that no policy decides.
  /// - Throws: as ``save(_:matching:)-(E,_)``; ``EntityError`` with the code `conflict` where the row was deleted meanwhile, and, unless
  ///   `conflicts` says otherwise, where both have changed a value. Nothing was written then.
  @discardableResult
  public func save<E: Entity & Sendable>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail
  ) async throws -> EntityReport {
    do { return try await writer.write { db in try save(model, base: base, conflicts: conflicts, in: db) } } catch {
      throw EntityError.ofDatabase(error)
    }
  }

  /// As ``save(_:base:conflicts:)``, within a transaction of the app's own, also for objects that are not `Sendable`.
  @discardableResult
  public func save<E: Entity>(
    _ model: E, base: E, conflicts: MergeOptions.ConflictHandling = .fail, in db: Database
  ) throws -> EntityReport {
    guard let row = try current(of: base, db) else {
      throw EntityError(
        .conflict, "the row was deleted since the object was fetched; save the object without base: to make it again",
        entity: E.schema.name)
    }
    var merged = model
    do { try merged.merge(.model(row), base: base, options: MergeOptions(conflicts: conflicts)) } catch {
      let reason =
        (error as? ArchiveError)?.code == .mergeFailed
        ? "the row and the object have both changed since it was fetched" : "the object cannot be merged with the row"
      throw EntityError(.conflict, reason, entity: E.schema.name, underlying: error)
    }
    return try save(merged, in: db)
  }

  /// What the row of an object is now; `nil` where there is none.
  private func current<E: Entity>(of model: E, _ db: Database) throws -> E? {
    var nodes = try EntityNodes(.model(model), of: E.self, in: catalog, merges: false)
    try keys.run(&nodes, db)
    guard let root = nodes.roots.first else { return nil }
    let type = catalog.types[nodes.nodes[root].type]
    let table = catalog.tables[type.table]
    var request = E.all()
    for slot in table.primaryKey {
      guard let place = type.attributes.firstIndex(where: { $0.slot == slot }),
        let value = nodes.nodes[root].values[place]
      else {
        throw EntityError(
          .missingValue, "an object that was fetched has a value for its primary key; map it to a property",
          entity: type.name,
          table: table.name)
      }
      request = request.filter(
        Column(table.columns[slot].name) == (try type.stored(value, type.attributes[place], in: table)))
    }
    return try fetchOne(request, in: db)
  }
}
