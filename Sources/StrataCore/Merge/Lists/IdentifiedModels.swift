/// Finds the models in a list or a set, including models nested in lists, dictionaries and enum cases, but not models inside other models.
struct ModelFinder {
  let catalog: SchemaCatalog
  let graph: MergeGraph
  /// The key that identifies models; `nil` to use the identity of each type.
  let key: IdentityKey?

  /// Returns the key that identifies models of a record's type; `nil` if there is none.
  func key(of record: ModelRecord) -> IdentityKey? {
    guard let schema = catalog[record.typeName], !schema.isEnumeration else { return nil }
    return key ?? graph.identityKey(of: schema)
  }

  /// Returns the identity of a model together with the key that identifies the model; `nil` for a model without an identity.
  func identity(of record: ModelRecord) -> (key: IdentityKey, value: ArchiveValue)? {
    key(of: record).flatMap { key in record[key].flatMap { $0.isNull ? nil : (key, $0) } }
  }

  /// Returns the identity key of the record's type if the record lacks an identity; otherwise `nil`. An identity is missing only if its
  /// default is different for each new model, as in `var id = UUID()`.
  func keyOfMissingIdentity(of record: ModelRecord) -> IdentityKey? {
    guard let key = key(of: record), catalog[record.typeName]?.isIdentityMissing(key, in: record) ?? false else {
      return nil
    }
    return key
  }

  /// Whether a value contains a model that lacks its identity. Models whose default identity is always the same are not counted.
  func findsMissingIdentity(in value: ArchiveValue) -> Bool {
    guard case .record(let record) = value, let schema = catalog[record.typeName], !schema.isEnumeration else {
      return value.containsInside(where: findsMissingIdentity)
    }
    return keyOfMissingIdentity(of: record) != nil
  }

  /// Calls `replacement` with each model that has an identity, and returns the value with these models replaced by the results. Map keys
  /// are not changed.
  ///
  /// - Parameter anonymous: returns the replacement for a model without an identity.
  /// - Throws: any error that `replacement` or `anonymous` throws. The path of the error begins with the steps to the model.
  func map(
    _ value: ArchiveValue, _ replacement: (ModelRecord, IdentifiedModels.Position) throws -> ArchiveValue,
    anonymous: (ModelRecord) throws -> ArchiveValue = { .record($0) }
  ) throws -> ArchiveValue {
    var occurrences: [IdentifiedModels.Position: Int] = [:]
    func map(_ value: ArchiveValue, in container: [ArchiveValue]) throws -> ArchiveValue {
      switch value {
      case .record(let record):
        guard let id = identity(of: record) else {
          guard catalog[record.typeName]?.isEnumeration ?? false else { return try anonymous(record) }
          return try inside(value, container)
        }
        var place = IdentifiedModels.Position(
          id: .array([.string(record.typeName), id.value]), container: container)
        let occurrence = occurrences[place, default: 0]
        occurrences[place] = occurrence + 1
        place.occurrence = occurrence
        return try replacement(record, place)
      case .set: return try .set(ofMerged: inside(value, container).arrayValue ?? [])
      case .array, .object: return try inside(value, container)
      case .map(let entries):
        return .map(
          try entries.map { entry in
            do { return .init(key: entry.key, value: try map(entry.value, in: container + [entry.key])) } catch {
              throw ArchiveError.at(.key(entry.key.stringValue ?? "(key)"), error)
            }
          })
      default: return value
      }
    }
    func inside(_ value: ArchiveValue, _ container: [ArchiveValue]) throws -> ArchiveValue {
      try value.mapSteps { value, step in
        guard let step, value.holdsValues else { return value }
        do {
          if case .record = value { return try map(value, in: container) }
          return try map(value, in: container + [step.value])
        } catch { throw ArchiveError.at(step, error) }
      }
    }
    return try map(value, in: [])
  }

  /// Returns all models with an identity inside a value.
  func models(in value: ArchiveValue) throws -> IdentifiedModels {
    var models = IdentifiedModels()
    _ = try map(value) { record, place in
      models.add(record, place)
      return .null
    }
    return models
  }

  /// Returns a copy of the value in which each model with an identity is reduced to its type and identity. The copy shows how the models
  /// are arranged, regardless of their other fields.
  func structure(of value: ArchiveValue) throws -> ArchiveValue {
    try map(value) { .record(ModelRecord(shape: Self.shape, values: [$1.id, .string($0.typeName)])) }
  }

  private static let shape = RecordShape(
    typeName: "strata.identity", modelVersion: nil, keys: ["id", "type"])
}

/// The models of one list or set, with lookup by identity.
struct IdentifiedModels {
  struct Position: Hashable {
    /// The type and the identity of the model.
    let id: ArchiveValue
    /// The path from the list or set to the inner container that holds the model; empty if the list holds it directly. If the container is
    /// a map, the path ends with the key of the model.
    let container: [ArchiveValue]
    /// The number of preceding models in the container that have the same identity.
    var occurrence = 0
  }

  private(set) var all: [(place: Position, record: ModelRecord)] = []
  private var records: [Position: ModelRecord] = [:]
  private var places: [ArchiveValue: [Position]] = [:]

  var isEmpty: Bool { records.isEmpty }

  mutating func add(_ record: ModelRecord, _ place: Position) {
    all.append((place, record))
    records[place] = record
    places[place.id, default: []].append(place)
  }

  func isRepeated(_ id: ArchiveValue) -> Bool { places[id]?.count ?? 0 > 1 }

  /// Returns the model with the same identity as the model at a position in another list. If either list has several models with this
  /// identity (`isRepeated`), the positions must also be the same.
  func counterpart(of place: Position, isRepeated: Bool) -> ModelRecord? {
    guard let found = places[place.id] else { return nil }
    return !isRepeated && found.count == 1 ? records[found[0]] : records[place]
  }
}

extension ArchiveError.PathComponent {
  fileprivate var value: ArchiveValue {
    switch self {
    case .key(let key): .string(key)
    case .index(let index): .integer(index)
    }
  }
}
