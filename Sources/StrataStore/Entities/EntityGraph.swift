internal import GRDB
package import StrataCore

/// Fetched rows in the form of records, from which models are created after the transaction. Unlike models, an `EntityGraph` is
/// `Sendable`, so it can be passed out of the database queue.
package struct EntityGraph: Sendable, Equatable {
  package struct Object: Sendable, Hashable {
    package let type: Int
    /// The values of the object's fields. A reference contains the index of the referenced object in ``EntityGraph/objects``.
    package let record: ModelRecord
  }

  /// The objects in postorder: each object follows the objects to which it refers, except in cycles.
  let objects: [Object]
  /// The indices of the requested objects in `objects`.
  let roots: [Int]
  /// The number of values in referenced structs, counted once for each reference. A struct is decoded again for each reference to
  /// it, so the limit on decoded values is raised by this number.
  let extraSubstitutes: Int
  let catalog: EntityCatalog
  /// The rows from which the objects were fetched; `nil` if no object has a property of type ``RowBase``.
  let fetched: FetchedRows?

  package static func == (left: EntityGraph, right: EntityGraph) -> Bool {
    left.roots == right.roots && left.objects == right.objects
  }

  /// Returns the models of the requested objects. If several models refer to the same row and the row's entity is a class, they
  /// share one instance.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if a property cannot represent a value, or `invalid` if an object
  ///   breaks a rule of its model.
  package func models<E: Entity>(of type: E.Type) throws -> [E] {
    do {
      let (table, context) = try table(finishing: .atOnce())
      return try roots.enumerated().map { place, number in
        do { return try table.object(number, as: E.self, in: context) } catch {
          throw ArchiveError.at(.index(place), error)
        }
      }
    } catch { throw Self.failure(error, E.schema.name) }
  }

  /// Runs the validation rules and hooks of the requested objects, but not of the objects to which they refer.
  ///
  /// - Parameter body: called for each requested object with its index in `roots`, and with the resulting record or the error
  ///   that a rule or hook has thrown.
  func finishRoots(_ body: (Int, Result<ModelRecord, any Error>) throws -> Void) throws {
    let (table, context) = try table(finishing: .never)
    for (place, number) in roots.enumerated() {
      func finished<E: Entity>(_ type: E.Type) throws -> ModelRecord {
        var model = try table.object(number, as: E.self, in: context)
        try E.finish(&model, in: DecodingContext(source: .merge, includesExcluded: true))
        return try model.shallowRecord(ReferencedObjects())
      }
      let type = catalog.types[objects[number].type].type
      try body(place, Result { try finished(type) })
    }
  }

  private static func failure(_ error: any Error, _ entity: String) -> any Error {
    guard let known = error as? ArchiveError else { return error }
    let isInvalid = known.code == .invalid
    return EntityError.of(
      known, isInvalid ? .invalid : .notReadable,
      isInvalid ? "the row violates the model's validation rules" : "the row cannot be decoded as the model",
      entity: known.typeName ?? entity)
  }

  private func table(finishing: Finishing) throws -> (ObjectTable, DecodingContext) {
    let context = DecodingContext(includesExcluded: true, finishing: finishing)
    let table = ObjectTable(types: [:], first: 0, count: objects.count)
    table.extraSubstitutes = extraSubstitutes
    context.objects = table
    context.options = fetched
    var places: [ObjectIdentifier: Int] = [:]
    let rootPlaces = Dictionary(zip(roots, roots.indices), uniquingKeysWith: { first, _ in first })
    let types = catalog.types.map { (type: $0.type, isObject: $0.schema.isObject) }
    for (number, object) in objects.enumerated() {
      let (type, isObject) = types[object.type]
      guard isObject else {
        table.append(.record(object.record))
        continue
      }
      func append<E: Entity>(_ type: E.Type) throws {
        let object = try E.decode(from: object.record, in: context, isObjectFrame: true)
        if let identity = object._objectIdentity { places[identity] = rootPlaces[number] }
        table.append(object)
      }
      do { try append(type) } catch { throw rootPlaces[number].map { ArchiveError.at(.index($0), error) } ?? error }
    }
    try table.setWaiting(in: context)
    if context.finishesModels {
      try table.finish(in: context) { object in
        object._objectIdentity.flatMap { places[$0] }.map { [.index($0)] } ?? []
      }
    }
    return (table, context)
  }
}
