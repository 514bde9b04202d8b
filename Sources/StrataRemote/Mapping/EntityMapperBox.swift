internal import StrataCore
internal import StrataStore

/// A type-erased mapper. It lets code that does not know the entity's type call the operations that need this type.
protocol EntityMapperBox: Sendable {
  /// Returns the number of the entity in the given catalog, or `nil` if the catalog does not contain the entity.
  func number(in catalog: EntityCatalog) -> Int?
  /// Returns the JSON adapter of the entity. The adapter uses the mappers in `others` for nested records of other entities.
  func adapter(with others: [any EntityMapperBox]) throws -> any EntityAdapter
  func extended<Root>(_ adapter: JSONAdapter<Root>) -> JSONAdapter<Root>
}

/// Converts an entity's records from and to JSON.
protocol EntityAdapter: Sendable {
  /// Decodes an array of JSON records. This does not read the database, so it can run before a transaction begins.
  func nodes(of records: ArchiveValue, in catalog: EntityCatalog) throws -> EntityNodes
  func json(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue
  func places(ofField key: String) -> (read: [ValuePath], written: [ValuePath])?
}

struct TypedEntityMapper<E: Entity>: EntityMapperBox {
  let keys: JSONMapping<E>

  func number(in catalog: EntityCatalog) -> Int? { catalog.number(of: E.self) }

  private func own() throws -> JSONAdapter<E> { try JSONAdapter(JSONMapping<E>.model.merging(keys)) }

  func adapter(with others: [any EntityMapperBox]) throws -> any EntityAdapter {
    var adapter = try own()
    for other in others { adapter = other.extended(adapter) }
    return adapter
  }

  func extended<Root>(_ adapter: JSONAdapter<Root>) -> JSONAdapter<Root> {
    // `try?` ignores an error in this mapper's keys, because the error is reported when this mapper creates its own adapter.
    (try? own()).map { adapter.using($0) } ?? adapter
  }
}

extension JSONAdapter: EntityAdapter where Root: Entity {
  func nodes(of records: ArchiveValue, in catalog: EntityCatalog) throws -> EntityNodes {
    try EntityNodes(.json(records), of: Root.self, in: catalog, by: self)
  }

  func json(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue {
    try value(of: record, fields: fields)
  }
}
