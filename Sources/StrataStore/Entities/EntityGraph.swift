internal import GRDB
package import StrataCore

/// Rows as the values of models, before any model is made: so they can be sent from a transaction to whoever wants the models.
package struct EntityGraph: Sendable, Equatable {
  package struct Object: Sendable, Hashable {
    package let type: Int
    /// The values of the fields, with references to other objects by number.
    package let record: ModelRecord
  }

  /// Each after those that it refers to, as far as cycles allow.
  let objects: [Object]
  /// The numbers of the objects that were asked for.
  let roots: [Int]
  /// How many values structures would have, each made anew for each reference.
  let allowance: Int
  let catalog: EntityCatalog
  /// The rows of the objects, where a type of theirs has a ``RowBase``.
  let fetched: FetchedRows?

  package static func == (left: EntityGraph, right: EntityGraph) -> Bool {
    left.roots == right.roots && left.objects == right.objects
  }

  /// The models of the roots, each object of a class made once.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` where a value is not what a property holds, and `invalid` where the rules of a
  ///   model are broken.
  package func make<E: Entity>(_ type: E.Type) throws -> [E] {
    do {
      let (table, context) = try table(finishing: .atOnce())
      return try roots.enumerated().map { place, number in
        do { return try table.object(number, as: E.self, in: context) } catch {
          throw ArchiveError.at(.index(place), error)
        }
      }
    } catch { throw Self.failure(error, E.schema.name) }
  }

  /// Runs the rules and hooks of the roots, and of nothing that they lead to.
  ///
  /// - Parameter body: called for each root with its place and the values of its fields afterwards, or what its rules or hooks said.
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
      isInvalid ? "the rules of the model refuse what the row is" : "the row cannot be read as the model",
      entity: known.typeName ?? entity)
  }

  private func table(finishing: Finishing) throws -> (ObjectTable, DecodingContext) {
    let context = DecodingContext(includesExcluded: true, finishing: finishing)
    let table = ObjectTable(types: [:], first: 0, count: objects.count)
    table.allowance = allowance
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
      func make<E: Entity>(_ type: E.Type) throws {
        let object = try E.make(from: object.record, in: context, isObjectFrame: true)
        if let identity = object._objectIdentity { places[identity] = rootPlaces[number] }
        table.append(object)
      }
      do { try make(type) } catch { throw rootPlaces[number].map { ArchiveError.at(.index($0), error) } ?? error }
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
