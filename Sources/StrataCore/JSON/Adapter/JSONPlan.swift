/// A model's JSON mapping, prepared once for reading and writing.
package final class JSONPlan: Sendable {
  /// How one field is read and written.
  struct Entry: Sendable {
    let place: Int
    let field: FieldInfo
    /// The mapping of the field. If the field declares no path, its key is used as the path. An empty path is replaced with `entireObject`.
    let json: JSONField
    let isNullable: Bool
    /// Whether the field uses the JSON value unchanged.
    let isPlain: Bool

    var source: JSONField.Source { json.source }

    /// The path of the field, if the path consists only of keys and the field uses the value at the path unchanged; otherwise `nil`.
    var keyPath: ValuePath? {
      guard json.isRead, isPlain, case .path(let path) = source, path.components.allSatisfy(\.isKey) else { return nil }
      return path
    }

    /// The paths that the field is read from.
    var paths: [ValuePath] {
      switch source {
      case .automatic, .absent, .entireObject: []
      case .path(let path): [path]
      case .firstOf(let paths), .paths(let paths): paths
      }
    }

    /// Whether the field combines the values at several paths.
    var isAll: Bool { if case .paths = source { true } else { false } }

    /// The paths that the field is written to.
    var writtenPaths: [ValuePath] { if case .firstOf(let paths) = source { Array(paths.prefix(1)) } else { paths } }

    /// The fallback paths, which are only read and never written. Only paths that consist entirely of keys are included.
    var furtherPaths: [ValuePath] {
      guard case .firstOf(let paths) = source else { return [] }
      return paths.dropFirst().filter { !$0.components.isEmpty && $0.components.allSatisfy(\.isKey) }
    }

    /// Returns the part of the field's value that is written to `path`; `nil` if nothing is written there.
    ///
    /// - Throws: ``ArchiveError`` if the value of a field with several paths is not an object with these paths as keys.
    func part(of value: ArchiveValue, at path: ValuePath) throws -> ArchiveValue? {
      guard case .paths(let paths) = source, !value.isNull else { return value }
      guard case .object(let object) = value else {
        throw ArchiveError.mismatch(expected: "an object whose keys are the paths of the field", found: value.kind)
      }
      let spellings = Set(paths.map(\.memberKey))
      guard object.keys.allSatisfy(spellings.contains) else {
        throw ArchiveError(
          .unknownKey,
          "the transformer returned a key that is not a path of the field; the paths are "
            + "\(paths.map(\.memberKey).joined(separator: ", "))")
      }
      return object[path.memberKey]
    }

    /// Returns the given error. If the cause is a null, the message is replaced with one that suggests a fix.
    func naming(_ error: ArchiveError, remedyFor input: (any Sendable)?) -> ArchiveError {
      guard error.code == .typeMismatch, error.codingPath.isEmpty, !isNullable, json.transform == nil,
        json.nullPolicy == .fail, case .null? = input as? ArchiveValue
      else { return error }
      return error.changed { $0.reason = nullReason }
    }

    /// The error message for a null if the field is not optional, with a suggested fix.
    var nullReason: String {
      let remedy = field.makeDefault == nil ? ".null(.value(…))" : ".null(.useDefault) or .null(.value(…))"
      return "the value is null, but the field is not optional; make the field optional, or declare a replacement for "
        + "null with \(remedy) in @Field(json:)"
    }

    /// The path of the field in JSON, for the paths of errors. If the field has several paths, this is the first path.
    var components: [ArchiveError.PathComponent] {
      if case .absent = source { [.key(field.key)] } else { paths.first?.errorPath ?? [] }
    }
  }

  package let typeName: String
  let type: Any.Type
  let entries: [Entry]
  /// The parts of a document that fields read.
  let read: JSONPathCover
  /// The parts of a document that fields read or write.
  let held: JSONPathCover
  /// The parts of a document that fields write. With `unknownKeys: .capture`, all other parts are stored in the model, because
  /// writing the model would otherwise lose them.
  private let written: JSONPathCover
  let readsWhole: Bool
  /// Whether the document must be an object.
  let needsObject: Bool
  /// The lookup table for fields that use their JSON values unchanged.
  let keys: JSONKeys
  /// The first keys of the paths of all fields that are read but are not in `keys`; `nil` if one of these fields is mapped to the entire
  /// object, or has a path that does not begin with a key.
  let otherKeys: Set<ExactKey>?
  let keepsUnknownFields: Bool
  let problem: ArchiveError?
  /// The JSON layout of records that have the model's current keys.
  let layout: JSONLayout

  /// Creates a plan from `mapping`, or from the declarations of the fields if `mapping` is `nil`.
  init(_ schema: ModelSchema, mapping: [String: JSONField]? = nil) {
    let (typeName, fields, keepsUnknownFields) = (schema.name, schema.fields, schema.keepsUnknownFields)
    self.typeName = typeName
    type = schema.type
    self.keepsUnknownFields = keepsUnknownFields
    let entries = fields.enumerated().map { place, field in
      Self.entry(place, field, mapping == nil ? field.json : mapping?[field.key] ?? .none)
    }
    self.entries = entries
    let read = entries.filter(\.json.isRead)
    let firstKeys = Self.firstKeys(read)
    needsObject = firstKeys != nil
    self.read = JSONPathCover(read.flatMap(\.paths))
    held = JSONPathCover(read.flatMap(\.paths) + entries.filter(\.json.isWritten).flatMap(\.writtenPaths))
    written = JSONPathCover(entries.filter(\.json.isWritten).flatMap(\.writtenPaths))
    readsWhole = read.contains { if case .entireObject = $0.source { true } else { false } }
    problem = JSONPlanCheck.problem(typeName, entries, mapping, fields)
    keys = JSONKeys(entries.map(\.keyPath))
    otherKeys = Self.firstKeys(read.filter { $0.keyPath == nil })
    layout = JSONLayout(fields.map(\.key), typeName, entries, problem)
  }

  /// Returns the parts of a document that writing the model would lose; `nil` if there are none.
  func rest(of json: ArchiveValue) -> ArchiveValue? {
    var rest = written.rest(of: json)
    // A value that was read from a fallback path is not lost, because it is written to the first path. Errors are ignored here, because
    // reading the field throws the same error if a path does not fit the document.
    for entry in entries where entry.json.isWritten && entry.json.isRead {
      guard case .firstOf(let paths) = entry.source,
        let found = try? paths.firstIndex(where: { try $0.value(in: json) != nil }),
        found > 0
      else { continue }
      rest = JSONPathCover([paths[found]]).rest(of: rest ?? .null)
    }
    return rest
  }

  private static func entry(_ place: Int, _ field: FieldInfo, _ declared: JSONField) -> Entry {
    var json = declared
    if case .automatic = json.source { json.source = .path(ValuePath(key: field.key)) }
    if case .path(let path) = json.source, path.components.isEmpty { json.source = .entireObject }
    return Entry(
      place: place, field: field, json: json, isNullable: field.shape.isOptional,
      isPlain: json.transform == nil && json.coercions.isEmpty && json.nullPolicy == .fail && json.missing == nil
        && !json.skipsInvalid)
  }

  private static func firstKeys(_ entries: [Entry]) -> Set<ExactKey>? {
    var keys = Set<ExactKey>()
    for entry in entries {
      if case .entireObject = entry.source { return nil }
      for path in entry.paths {
        guard let key = path.firstKey else { return nil }
        keys.insert(ExactKey(key))
      }
    }
    return keys
  }

  /// Adds a field's path in the model and its path in the JSON to an error.
  func locate(_ error: any Error, _ place: Int, input: (any Sendable)? = nil) -> ArchiveError {
    guard entries.indices.contains(place) else { return ArchiveError.wrap(error).inType(typeName) }
    let entry = entries[place]
    let known = entry.naming(ArchiveError.wrap(error), remedyFor: input)
    // With a transformer, the path of the error is not a path in the input, so the whole input is reported. Otherwise, the part of the
    // input at that path is reported.
    let value = entry.json.transform == nil ? input as? ArchiveValue : nil
    return known.about(value.map { $0.part(along: known.jsonPath) } ?? input).prefixed(
      by: .key(entry.field.key), json: entry.components
    )
    .inType(typeName)
  }
}
