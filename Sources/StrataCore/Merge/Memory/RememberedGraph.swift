/// Encodes the state of the server as records that can be archived inside a model. An object is stored inline, unless it is referenced
/// several times or would be nested too deeply.
enum RememberedGraph {
  /// Returns the keys of the fields that archives leave out, by type name.
  static func excludedKeys(_ catalog: SchemaCatalog) -> [String: [String]] {
    var keys: [String: [String]] = [:]
    for schema in catalog.schemas {
      let excluded = schema.fields.filter { $0.archive == .excluded && !$0.isLibraryField }.map(\.key)
      if !excluded.isEmpty { keys[schema.name] = excluded }
    }
    return keys
  }

  /// Objects at each multiple of this depth are stored separately, which limits how deeply records are nested.
  private static let deepest = 16

  /// Returns the records of the root and of the objects that are stored separately.
  ///
  /// - Parameters:
  ///   - canonical: returns the same number for all references to one object.
  ///   - record: returns the fields of an object.
  static func encoded(
    _ catalog: SchemaCatalog, _ root: ArchiveValue, canonical: (Int) -> Int = { $0 },
    record: (Int) throws -> ModelRecord
  ) throws -> (base: ModelRecord, objects: [ModelRecord]) {
    var counts: [Int: Int] = [:]
    var order: [(number: Int, depth: Int)] = []
    var rootRecord = ModelRecord(typeName: "", modelVersion: nil)
    var rootObject: Int?
    switch root {
    case .reference(let number):
      rootRecord = plain(try record(number), catalog)
      rootObject = canonical(number)
    case .record(let fields): rootRecord = plain(fields, catalog)
    default: break
    }
    var depths: [Int: Int] = [:]
    func visit(_ fields: ModelRecord, _ depth: Int) {
      ArchiveValue.record(fields).forEachReference { number in
        let object = canonical(number)
        counts[object, default: 0] += 1
        guard object != rootObject, depths[object] == nil else { return }
        depths[object] = depth
        order.append((number, depth))
      }
    }
    visit(rootRecord, 1)
    var fields: [Int: ModelRecord] = [:]
    var next = 0
    while next < order.count {
      let (number, depth) = order[next]
      next += 1
      let found = plain(try record(number), catalog)
      fields[canonical(number)] = found
      visit(found, depth + 1)
    }
    // The objects that are stored separately are numbered in the order of discovery.
    var apart: [Int: Int] = [:]
    var numbers: [Int] = []
    for (number, depth) in order where counts[canonical(number), default: 0] > 1 || depth % deepest == 0 {
      apart[canonical(number)] = apart.count + 1
      numbers.append(canonical(number))
    }
    func encoded(_ record: ModelRecord) -> ModelRecord {
      record.mapValues { value in
        value.mapReferences { number in
          let object = canonical(number)
          if object == rootObject { return MergeState.reference(0) }
          if let place = apart[object] { return MergeState.reference(place) }
          return fields[object].map { .record(encoded($0)) } ?? .null
        }
      }
    }
    return (encoded(rootRecord), numbers.compactMap { fields[$0].map(encoded) })
  }

  /// Returns the fields of a record that the base remembers. Merge states are left out, at any depth. Fields that contain a set of objects
  /// are also left out, because the members of the set cannot be distinguished.
  private static func plain(_ record: ModelRecord, _ catalog: SchemaCatalog) -> ModelRecord {
    var result = record
    if let schema = catalog[record.typeName], !schema.isEnumeration {
      for field in schema.fields where field.type is MergeState.Type { result[field.key] = nil }
    }
    for (key, value) in zip(result.keys, result.values) {
      result[key] = value.hasSetOfReferences ? nil : value.mapRecords { .record(plain($0, catalog)) }
    }
    return result
  }
}

extension ArchiveValue {
  fileprivate var hasSetOfReferences: Bool {
    if case .set = self { hasReferences } else { containsInside(where: \.hasSetOfReferences) }
  }
}
