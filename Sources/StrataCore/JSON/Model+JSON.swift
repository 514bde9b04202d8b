public import Foundation

extension Model {
  /// Makes the model of a JSON object: each field is read at its JSON path, dates in ISO 8601, URLs and UUIDs as text.
  ///
  /// A path that leads nowhere counts as absent: the field takes its default. Numbers are exact, `true` is not 1, and
  /// nothing is converted between text and number.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON, `typeMismatch` where a value is
  ///   not what the field holds, and `missingValue` where a field without a default is absent;
  ///   `invalid` where it breaks a rule of the model (see ``Validating``), unless `validates` is false.
  ///   A key that a field reads may stand once: twice is `invalidJSON`. Errors carry the path in the model and the place
  ///   in the text.
  public init(fromJSON json: Data, validates: Bool = true) throws {
    self = try JSONReader().read(Self.self, from: json, validates: validates)
  }

  /// Makes the model of a JSON object that was read before.
  public init(fromJSON json: Value, validates: Bool = true) throws {
    self = try Self.make(fromJSON: json, in: DecodingContext(source: .json, validates: validates))
  }

  /// The model as a JSON object, as ``JSONWriter`` writes it.
  ///
  /// - Throws: ``ArchiveError`` as ``JSONWriter``, such as `notEncodable` for a number that is not finite.
  public func jsonData(isPretty: Bool = false, sortsKeys: Bool = false) throws -> Data {
    try JSONWriter(isPretty: isPretty, sortsKeys: sortsKeys).write(self)
  }

  package static func make(fromJSON json: Value, in context: DecodingContext) throws -> Self {
    try schema.check()
    return try make(slots: schema.slots(ofJSON: json), in: context)
  }
}

extension ModelSchema {
  /// The values of the fields in a JSON object, in the order of the schema; `nil` where a path leads nowhere.
  package func slots(ofJSON json: Value) throws -> [Value?] {
    guard case .object(let object) = json else {
      throw ArchiveError.mismatch(expected: "a JSON object for \(name)", found: json.kind).inType(name)
    }
    // Most paths are one key long; a table finds them at once in the wide objects of real servers.
    let table = Dictionary(object.entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    return try fields.map { field in
      let keys = field.jsonPath.keys
      var current = table[keys[0]]
      for (place, key) in keys.dropFirst().enumerated() {
        switch current {
        case .object(let nested)?: current = nested[key]
        case nil, .null?: return current
        case let other?:
          throw ArchiveError(
            .typeMismatch, "found \(other.kind) where an object is expected",
            path: keys.prefix(place + 1).map { .key($0) }, typeName: name)
        }
      }
      return current
    }
  }

  /// The keys of the fields that a JSON object holds.
  package func keys(inJSON json: Value) throws -> Set<String> {
    Set(zip(fields, try slots(ofJSON: json)).compactMap { $1 == nil ? nil : $0.key })
  }

  /// A record with what JSON holds in place of the target's values, in the types of the fields.
  package func record(
    overlaying json: Value, on target: Record, _ neighbours: ObjectNeighbours
  ) throws -> Record {
    var result = target
    for (field, value) in zip(fields, try slots(ofJSON: json)) {
      guard let value else { continue }
      do { result[field.key] = try field.typed(json: value, over: target[field.key], neighbours) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(name)
      }
    }
    return result
  }
}

extension FieldInfo {
  /// A JSON value in the type of the field.
  func typed(json: Value, over target: Value?, _ neighbours: ObjectNeighbours) throws -> Value {
    var nested = target?.recordValue
    if case .reference(let number)? = target {
      nested = try neighbours.objects[number].shallowRecord(neighbours)
    }
    // A nested object may be partial only where it is merged key by key.
    if case .recursive = merge, case .object = json, let nested {
      var catalog = SchemaCatalog()
      (type as? any Archivable.Type)?.collectSchemas(into: &catalog)
      if let schema = catalog[nested.typeName] {
        return .record(try schema.record(overlaying: json, on: nested, neighbours))
      }
    }
    // Objects inside are finished with the result of the merge.
    let context = DecodingContext(source: .json, finishesModels: false)
    if let type = type as? any Archivable.Type {
      return try type.make(from: json, in: context).archivedValue(includingExcluded: true, neighbours: neighbours)
    }
    if let type = type as? any Decodable.Type {
      return try ValueCoding.value(of: ValueCoding.make(type, from: json, in: context))
    }
    return json
  }
}
