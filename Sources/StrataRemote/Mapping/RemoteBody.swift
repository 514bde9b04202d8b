internal import Foundation
internal import StrataCore
internal import StrataStore

/// The records in the body of a response.
struct RemoteBody: Sendable {
  /// The records, in the order in which they appear in the body.
  let records: [ArchiveValue]
  /// Whether the body is a list. If it is not, the body is a single record.
  let isList: Bool

  /// Parses a body: a list of records, an object with the records under one of the entity's keys (`task` or `tasks`), or an object that
  /// is itself a record.
  ///
  /// An object with one of these keys is usually an envelope around the records, even if it has an id of its own. It is itself a record
  /// in two cases: if it has an id and the model reads a property from this key, or if a single record was requested and the object has
  /// an id and at least one other property of the model.
  ///
  /// - Parameter isOne: whether a single record was requested.
  /// - Throws: ``RemoteError`` with the code `invalidBody` if the body is empty, is not JSON, or is neither a list nor
  ///   an object.
  init(_ body: Data, of entity: MappedEntity, isOne: Bool = false) throws {
    guard !body.isEmpty else {
      throw RemoteError(
        .invalidBody, "the response is empty, so nothing was merged; for an empty list, the server must send []",
        entity: entity.name)
    }
    let value: ArchiveValue
    do {
      value = try entity.decoder?(body) ?? JSONReader.refusingDuplicates(limits: ArchiveLimits()).read(body)
    } catch {
      throw RemoteError(
        .invalidBody,
        entity.decoder == nil
          ? "the response is not valid JSON"
          : "the configured decoder cannot decode the response", entity: entity.name, underlying: error)
    }
    switch value {
    case .array(let records): (self.records, isList) = (records, true)
    case .object:
      let keys = entity.mapper.bodyKeys
      let hasID = entity.values(of: entity.idKey, in: value).contains { !$0.isNull }
      let isRecord =
        isOne && hasID
        && entity.type.schema.fields.contains {
          $0.key != entity.idKey && !entity.values(of: $0.key, in: value).isEmpty
        }
      func content(_ key: String) -> ArchiveValue? { isRecord || hasID && entity.reads(key) ? nil : value[key] }
      if case .array(let records)? = content(keys.many) {
        (self.records, isList) = (records, true)
      } else if case .object(let record)? = content(keys.one) {
        (records, isList) = ([.object(record)], false)
      } else {
        (records, isList) = ([value], false)
      }
    default:
      throw RemoteError(
        .invalidBody, "the response must be a list or an object; found \(value.kind)", entity: entity.name)
    }
  }
}

/// The records of a response, decoded and ready to be written to the store.
struct ReadRecords: Sendable {
  let nodes: EntityNodes
  /// The records that the response marks as deleted.
  let deleted: EntityNodes
  var invalid: [RemoteInvalid] = []
  /// The JSON of the first record that is neither deleted nor invalid, as the server sent it.
  let first: ArchiveValue?
}

extension MappedEntity {
  /// Returns the values in a record's JSON from which a property can be read. There can be several, because a property
  /// can have several JSON paths.
  fileprivate func values(of key: String, in json: ArchiveValue) -> [ArchiveValue] {
    // `try?` ignores the error if a value on the path is not an object, because the property is then absent.
    adapter.places(ofField: key)?.read.compactMap { try? $0.value(in: json) } ?? []
  }

  /// Whether any property of the model is read from the given top-level key of a record's JSON.
  fileprivate func reads(_ key: String) -> Bool {
    type.schema.fields.contains { field in
      adapter.places(ofField: field.key)?.read.contains { $0.components.first == .key(key) } ?? false
    }
  }

  /// Decodes the records of a response. An id that refers to another record is decoded as a nested record that has only
  /// this id.
  ///
  /// - Throws: ``RemoteError`` with the code `invalidBody` if one of the records cannot be decoded.
  func nodes(of records: [ArchiveValue], _ catalog: RemoteCatalog) throws -> EntityNodes {
    do {
      return try adapter.nodes(of: .array(records.map { withReferences($0, catalog) }), in: catalog.store.catalog)
    } catch {
      throw RemoteError(
        .invalidBody,
        "a record in the response cannot be decoded, so nothing was merged", entity: name, underlying: error)
    }
  }

  /// Decodes the records of a response and sorts them into existing records, records that the server marks as deleted, and records that
  /// cannot be decoded.
  ///
  /// - Throws: the errors of ``nodes(of:_:)``. If the mapper skips invalid records, an error is thrown only for a
  ///   deleted record that cannot be decoded.
  func read(_ records: [ArchiveValue], _ catalog: RemoteCatalog) throws -> ReadRecords {
    let deleted = mapper.deleted == nil ? [] : records.indices.filter { isDeleted(records[$0]) }
    let gone = Set(deleted)
    let live = gone.isEmpty ? Array(records.indices) : records.indices.filter { !gone.contains($0) }
    func nodes(_ places: [Int]) throws -> EntityNodes {
      let nodes = try self.nodes(of: places.map { records[$0] }, catalog)
      guard mapper.invalid == .skip else { return nodes }
      let hasIDs = nodes.roots.allSatisfy { nodes.nodes[$0].values[id.attribute].map { !$0.isNull } ?? false }
      guard hasIDs else { throw RemoteError(.invalidBody, "a record in the response has no id", entity: name) }
      return nodes
    }
    let left = try self.nodes(of: deleted.map { records[$0] }, catalog)
    do {
      return ReadRecords(nodes: try nodes(live), deleted: left, first: live.first.map { records[$0] })
    } catch  where mapper.invalid == .skip {
      var (valid, invalid): ([Int], [RemoteInvalid]) = ([], [])
      for place in live {
        do {
          _ = try nodes([place])
          valid.append(place)
        } catch { invalid.append(RemoteInvalid(index: place, reason: StoreError.wording(of: error))) }
      }
      return ReadRecords(
        nodes: try nodes(valid), deleted: left, invalid: invalid, first: valid.first.map { records[$0] })
    }
  }

  /// Whether a record in a response is marked as deleted.
  private func isDeleted(_ record: ArchiveValue) -> Bool {
    // If the path does not exist in the record, the record is not marked as deleted, so `try?` ignores the error.
    guard let path = mapper.deleted, let found = try? path.value(in: record) else { return false }
    return !found.isNull && found != false
  }

  /// Returns a copy of a record's JSON in which each id of another record is replaced with an object that contains only this id. The
  /// object is then decoded like a nested record.
  func withReferences(_ value: ArchiveValue, _ catalog: RemoteCatalog) -> ArchiveValue {
    guard case .object = value else { return value }
    var result = value
    for relation in type.relations {
      guard let target = catalog.entity(ofType: relation.target),
        let path = adapter.places(ofField: relation.key)?.read.first
      else { continue }
      let isReference = mapper.references[relation.key] != nil
      func element(_ found: ArchiveValue) -> ArchiveValue {
        switch found {
        case .object: target.withReferences(found, catalog)
        case .array, .null: found
        default: isReference ? target.reference(found) : found
        }
      }
      result = Self.replacing(result, path.components[...]) { found in
        switch found {
        case .array(let elements): .array(elements.map(element))
        case .null where relation.shape != .one: .array([])
        // Some servers encode a list with one element as the bare element, so it is wrapped in an array.
        default: relation.shape == .one ? element(found) : .array([element(found)])
        }
      }
    }
    return result
  }

  /// Returns the JSON of a record that contains only the given id.
  private func reference(_ id: ArchiveValue) -> ArchiveValue {
    guard let path = adapter.places(ofField: idKey)?.read.first else { return id }
    return path.components.reversed().reduce(id) { value, step in
      guard case .key(let key) = step else { return value }
      return .object(ArchiveObject([.init(key: key, value: value)]))
    }
  }

  private static func replacing(
    _ value: ArchiveValue, _ steps: ArraySlice<ValuePath.Component>, _ change: (ArchiveValue) -> ArchiveValue
  ) -> ArchiveValue {
    guard let step = steps.first else { return change(value) }
    guard case .key(let key) = step, case .object(var object) = value, let inner = object[key] else { return value }
    object[key] = replacing(inner, steps.dropFirst(), change)
    return .object(object)
  }
}
