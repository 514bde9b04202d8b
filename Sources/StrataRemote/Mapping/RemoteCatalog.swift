internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// The checked mappers of a configuration, and the store that contains the mapped entities.
struct RemoteCatalog: Sendable {
  let configuration: RemoteConfiguration
  let entities: [MappedEntity]
  let store: EntityStore
  private let names: [String: Int]
  private let numbers: [Int: Int]

  /// Checks a configuration against the entities and tables of a store.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration`, whose message lists all mistakes.
  init(_ configuration: RemoteConfiguration, _ store: EntityStore, _ db: Database) throws {
    var builder = RemoteCatalogBuilder(configuration, store.catalog, db)
    try builder.run()
    self.configuration = configuration
    self.store = store
    let entities = builder.entities
    self.entities = entities
    names = Dictionary(entities.indices.map { (entities[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    numbers = Dictionary(entities.indices.map { (entities[$0].number, $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(name: String) -> MappedEntity? { names[name].map { entities[$0] } }

  /// Returns the entity with the given number in the store's catalog, or `nil` if the configuration has no mapper for
  /// the entity.
  func entity(ofType number: Int) -> MappedEntity? { numbers[number].map { entities[$0] } }

  /// Returns the checked mapper of an entity.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration` if the configuration has no mapper for the entity.
  func known(_ type: any Entity.Type) throws -> MappedEntity {
    guard let number = store.catalog.number(of: type), let entity = entity(ofType: number) else {
      throw RemoteError(
        .invalidConfiguration, "the entity has no mapper; add one to the configuration", entity: type.schema.name)
    }
    return entity
  }

  func known(_ name: String) throws -> MappedEntity {
    guard let entity = self[name] else {
      throw RemoteError(
        .invalidConfiguration,
        "the entity is unknown; the known entities are \(entities.map(\.name).sorted().joined(separator: ", "))",
        entity: name)
    }
    return entity
  }
}

/// Checks the mappers of a configuration. Collects all mistakes instead of stopping at the first one.
private struct RemoteCatalogBuilder {
  private let configuration: RemoteConfiguration
  private let catalog: EntityCatalog
  private let db: Database
  private(set) var entities: [MappedEntity] = []
  private var problems: [RemoteError] = []
  /// The mapper of each entity, by the entity's number in the store's catalog.
  private var mappers: [Int: EntityMapper] = [:]

  init(_ configuration: RemoteConfiguration, _ catalog: EntityCatalog, _ db: Database) {
    self.configuration = configuration
    self.catalog = catalog
    self.db = db
  }

  private mutating func note(_ reason: String, _ mapper: EntityMapper? = nil, _ cause: (any Error)? = nil) {
    problems.append(RemoteError(.invalidConfiguration, reason, entity: mapper?.name, underlying: cause))
  }

  mutating func run() throws {
    let url = configuration.baseURL
    if !["http", "https"].contains(url.scheme?.lowercased() ?? "") || (url.host ?? "").isEmpty {
      note("the base URL must use http or https and must contain a host")
    }
    if configuration.mappers.isEmpty {
      note("the configuration has no mappers; add a mapper for each entity that the server has")
    }
    if configuration.sizeLimit < 1 || configuration.pageLimit < 1 || configuration.timeout <= .zero
      || configuration.requestsAtOnce < 1
    {
      note("sizeLimit, pageLimit, timeout and requestsAtOnce must be greater than zero")
    }
    var names = Set<String>()
    for mapper in configuration.mappers {
      if !names.insert(mapper.name).inserted {
        note(
          "two mappers have the same name; remove one of them, or specify a different name with the parameter "
            + "'name'", mapper)
      }
      guard let number = mapper.box.number(in: catalog) else {
        note("the entity is not registered; register it when you create the EntityStore", mapper)
        continue
      }
      if mappers[number] != nil {
        note("two mappers map the same entity; remove one of them", mapper)
        continue
      }
      mappers[number] = mapper
      if let other = mappers.first(where: {
        $0.key != number && catalog.table(of: $0.key).name == catalog.table(of: number).name
      }) {
        note(
          "the entity has the same table as \(other.value.name), so it is unclear to which entity a changed "
            + "row belongs; map only the common superclass",
          mapper)
      }
      if mapper.path.split(separator: "/").isEmpty { note("the path of the mapper is empty; specify a path", mapper) }
      if let problem = mapper.deleted?.problem { note(problem, mapper) }
    }
    for mapper in configuration.mappers { try add(mapper) }
    guard let first = problems.first else { return }
    guard problems.count > 1 else { throw first }
    let lines = problems.map { "\n- \($0)" }.joined()
    throw RemoteError(.invalidConfiguration, "the configuration has \(problems.count) mistakes:\(lines)")
  }

  private mutating func add(_ mapper: EntityMapper) throws {
    guard let number = mapper.box.number(in: catalog), mappers[number]?.name == mapper.name else { return }
    let (type, table) = (catalog.types[number], catalog.table(of: number))
    let adapter: any EntityAdapter
    do { adapter = try self.adapter(mapper, number) } catch {
      return note("the JSON keys of the mapper do not match the model", mapper, error)
    }
    guard table.primaryKey.count == 1,
      let keyAttribute = type.attributes.firstIndex(where: { $0.slot == table.primaryKey[0] })
    else {
      return note(
        "the table must have a primary key of a single column, and that column must be mapped to a property", mapper)
    }
    guard let id = idAttribute(mapper, type, adapter) else {
      return note(
        mapper.id.map {
          "the mapper's id “\($0)” is not a property with a writable column; specify a property whose column "
            + "is not .readOnly"
        }
          ?? "no property has the JSON key id, _id, identifier, url or URL; specify the property for the "
          + "server's id with the mapper's parameter 'id'", mapper
      )
    }
    let idSlot = type.attributes[id].slot
    let idColumn = table.columns[idSlot].name
    if idSlot != table.primaryKey[0], !(try isUnique(idColumn, table)) {
      note(
        "the column “\(idColumn)” for the server's id has no unique index; create a unique index for the column", mapper
      )
    }
    if mapper.ids == .server, idSlot == table.primaryKey[0], table.rowID == idSlot,
      type.schema.fields[type.attributes[id].place].isOptional
    {
      note(
        "the table “\(table.name)” generates primary keys that the server may assign to different records; "
          + "make the property “\(type.schema.fields[type.attributes[id].place].key)” non-optional and set it to "
          + "newKey(), or store the server's id in a separate column",
        mapper)
    }
    for name in mapper.references.keys.sorted() {
      if !type.relations.contains(where: { $0.key == name }) {
        note("the mapper's parameter 'references' contains “\(name)”, which is not a relation; remove this key", mapper)
      }
    }
    let fields =
      try attributeFields(mapper, type, table, adapter, except: [table.primaryKey[0], idSlot])
      + relationFields(mapper, type, table, adapter)
    let paths: EntityPaths
    do { paths = try EntityPaths(mapper, keys: Set(fields.map(\.key))) } catch let error as RemoteError {
      return note(error.reason, mapper)
    }
    entities.append(
      MappedEntity(
        mapper: mapper, adapter: adapter, decoder: configuration.decoder, number: number, type: type, table: table,
        key: (table.primaryKey[0], keyAttribute), id: (idSlot, id), fields: fields, paths: paths))
  }

  private func adapter(_ mapper: EntityMapper, _ number: Int) throws -> any EntityAdapter {
    let others = configuration.mappers.map(\.box).filter { $0.number(in: catalog) != number }
    return try mapper.box.adapter(with: others)
  }

  private func isUnique(_ column: String, _ table: EntityTable) throws -> Bool {
    try db.indexes(on: table.name).contains { index in
      index.isUnique && index.columns.map { $0.lowercased() } == [column.lowercased()]
    }
  }

  private func idAttribute(_ mapper: EntityMapper, _ type: EntityType, _ adapter: any EntityAdapter) -> Int? {
    func attribute(_ key: String) -> Int? {
      type.attributes.firstIndex { type.schema.fields[$0.place].key == key && $0.isWritten }
    }
    if let name = mapper.id {
      return attribute(name)
    }
    for path in ["id", "_id", "identifier", "url", "URL"] {
      let found = type.attributes.firstIndex { attribute in
        attribute.isWritten
          && adapter.places(ofField: type.schema.fields[attribute.place].key)?.read.contains(ValuePath(key: path))
            ?? false
      }
      if let found { return found }
    }
    return nil
  }

  private mutating func attributeFields(
    _ mapper: EntityMapper, _ type: EntityType, _ table: EntityTable, _ adapter: any EntityAdapter, except: [Int]
  ) throws -> [MappedEntity.Field] {
    let foreignKeys = try db.foreignKeys(on: table.name)
    var fields: [MappedEntity.Field] = []
    for (place, attribute) in type.attributes.enumerated() {
      let key = type.schema.fields[attribute.place].key
      guard attribute.isWritten, !except.contains(attribute.slot), let places = adapter.places(ofField: key),
        !places.read.isEmpty || !places.written.isEmpty
      else { continue }
      let column = table.columns[attribute.slot].name
      let target = foreignKeys.first {
        $0.mapping.count == 1 && $0.mapping[0].origin.lowercased() == column.lowercased()
      }
      .flatMap { key in
        // A foreign key that refers to a column other than the primary key is treated as an ordinary value, not as a
        // reference to a record.
        mappers.keys.sorted().first { number in
          let table = catalog.table(of: number)
          return table.name.lowercased() == key.destinationTable.lowercased() && table.primaryKey.count == 1
            && table.columns[table.primaryKey[0]].name.lowercased() == key.mapping[0].destination.lowercased()
        }
      }
      if let target, let other = mappers[target], !idIsKey(other, target) {
        note(
          "the property “\(key)” contains the primary key of \(other.name), which is not the server's id; "
            + "make the property a relation, and specify its JSON path with the mapper's parameter 'references'",
          mapper)
      }
      fields.append(
        .init(
          source: .attribute(place), slot: attribute.slot, column: column, key: key, isSent: !places.written.isEmpty,
          target: target, referencePath: nil))
    }
    return fields
  }

  /// Whether the server's id of an entity is stored in the primary key.
  private mutating func idIsKey(_ mapper: EntityMapper, _ number: Int) -> Bool {
    let (type, table) = (catalog.types[number], catalog.table(of: number))
    // `try?` ignores an error in the keys, because the error is reported when the mapper is added.
    guard let adapter = try? adapter(mapper, number) else { return true }
    return idAttribute(mapper, type, adapter).map { table.primaryKey == [type.attributes[$0].slot] } ?? true
  }

  private mutating func relationFields(
    _ mapper: EntityMapper, _ type: EntityType, _ table: EntityTable, _ adapter: any EntityAdapter
  ) -> [MappedEntity.Field] {
    var fields: [MappedEntity.Field] = []
    for (place, relation) in type.relations.enumerated() {
      let places = adapter.places(ofField: relation.key) ?? ([], [])
      let isUsed = !places.read.isEmpty || !places.written.isEmpty
      guard isUsed else { continue }
      guard mappers[relation.target] != nil else {
        note(
          "the relation “\(relation.key)” refers to the entity \(catalog.types[relation.target].name), which "
            + "has no mapper; add a mapper, or exclude the relation from JSON",
          mapper)
        continue
      }
      switch relation.cardinality {
      case .toOne(let slot, let referenced):
        if !places.written.isEmpty, [referenced] != catalog.table(of: relation.target).primaryKey {
          note(
            "the relation “\(relation.key)” refers to a column of \(catalog.types[relation.target].name) "
              + "that is not the primary key, so its changes cannot be sent; refer to the primary key, or make "
              + "the relation .readOnly in JSON",
            mapper)
        }
        fields.append(
          .init(
            source: .relation(place), slot: slot, column: table.columns[slot].name, key: relation.key,
            isSent: !places.written.isEmpty, target: relation.target,
            referencePath: mapper.references[relation.key] ?? places.written.first ?? places.read.first))
      case .toMany(let slot, _, _, _):
        let other = catalog.types[relation.target]
        let isHeld =
          other.attributes.contains { $0.slot == slot && $0.isWritten }
          || other.relations.contains { if case .toOne(slot, _) = $0.cardinality { true } else { false } }
        if !isHeld, !places.written.isEmpty {
          note(
            "no property of \(other.name) is mapped to the foreign key of the list “\(relation.key)”, so "
              + "changes of the list cannot be sent; add such a property, or make the list .readOnly in JSON",
            mapper)
        }
      case .through:
        if !places.written.isEmpty {
          note(
            "changes of the list “\(relation.key)” cannot be sent because it is stored in a join table; make "
              + "the list .readOnly in JSON",
            mapper)
        }
      }
    }
    return fields
  }
}
