internal import StrataCore
internal import StrataStore

/// What a mapper knows of the type of its entity.
protocol EntityMapperBox: Sendable {
  /// The entity in the catalog of a store; `nil` where it is not there.
  func number(in catalog: EntityCatalog) -> Int?
  /// The adapter for an entity of a catalog, with those of other entities wherever these are met.
  func adapter(of number: Int, with others: [any EntityMapperBox]) throws -> any EntityAdapter
  func extended<Root>(_ adapter: JSONAdapter<Root>) -> JSONAdapter<Root>
}

/// JSON of an entity, both ways.
protocol EntityAdapter: Sendable {
  /// What records in JSON say, before any row is looked at.
  func nodes(of records: ArchiveValue, in catalog: EntityCatalog) throws -> EntityNodes
  /// The JSON of some fields.
  func json(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue
  func places(ofField key: String) -> (read: [JSONPath], written: [JSONPath])?
}

struct TypedEntityMapper<E: Entity>: EntityMapperBox {
  let keys: JSONMapping<E>

  func number(in catalog: EntityCatalog) -> Int? { catalog.number(of: E.self) }

  private func own() throws -> JSONAdapter<E> { try JSONAdapter(JSONMapping<E>.model.merging(keys)) }

  func adapter(of number: Int, with others: [any EntityMapperBox]) throws -> any EntityAdapter {
    var adapter = try own()
    for other in others { adapter = other.extended(adapter) }
    return TypedEntityAdapter(adapter: adapter)
  }

  func extended<Root>(_ adapter: JSONAdapter<Root>) -> JSONAdapter<Root> {
    // A mapper whose keys do not fit is told of by itself.
    (try? own()).map { adapter.using($0) } ?? adapter
  }
}

struct TypedEntityAdapter<E: Entity>: EntityAdapter {
  let adapter: JSONAdapter<E>

  func nodes(of records: ArchiveValue, in catalog: EntityCatalog) throws -> EntityNodes {
    try EntityNodes(.json(records), of: E.self, in: catalog, by: adapter)
  }

  func json(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue {
    try adapter.value(of: record, fields: fields)
  }

  func places(ofField key: String) -> (read: [JSONPath], written: [JSONPath])? { adapter.places(ofField: key) }
}
