/// A mapping, worked out once: what reading and writing need of it.
package final class JSONPlan: Sendable {
  /// How one field is read and written.
  struct Entry: Sendable {
    enum Source: Sendable {
      case absent, entireObject
      /// One key of the object, which is also found through the table.
      case key(String)
      case path(JSONPath)
      case firstOf([JSONPath])
      case paths([JSONPath])
    }

    let place: Int
    let field: FieldInfo
    let json: JSONField
    let source: Source
    let isNullable: Bool
    /// Whether a value is taken as it is found.
    let isPlain: Bool

    /// The keys that lead to a value which is taken as it is found; `nil` for any other field.
    var keyPath: ValuePath? {
      guard json.isRead, isPlain else { return nil }
      switch source {
      case .key(let key): return ValuePath(key: key)
      case .path(let path):
        let keys = path.steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
        return keys.count == path.steps.count ? ValuePath(keys: keys) : nil
      default: return nil
      }
    }

    /// Where the field is looked for.
    var paths: [JSONPath] {
      switch source {
      case .absent, .entireObject: []
      case .key(let key): [JSONPath(key: key)]
      case .path(let path): [path]
      case .firstOf(let paths), .paths(let paths): paths
      }
    }

    /// Whether the field is at several paths at once.
    var isAll: Bool { if case .paths = source { true } else { false } }

    /// Where the field is written.
    var writtenPaths: [JSONPath] { if case .firstOf(let paths) = source { Array(paths.prefix(1)) } else { paths } }

    /// Where the field is looked for besides the place where it is written: paths of keys.
    var furtherPaths: [JSONPath] {
      guard case .firstOf(let paths) = source else { return [] }
      return paths.dropFirst().filter { $0.steps.allSatisfy(\.isKey) }
    }

    /// The part of a written value that is at one of the paths; `nil` where nothing is.
    ///
    /// - Throws: ``ArchiveError`` where the value of a field with several paths has no parts for them.
    func part(of value: ArchiveValue, at path: JSONPath) throws -> ArchiveValue? {
      guard case .paths(let paths) = source, !value.isNull else { return value }
      guard case .object(let object) = value else {
        throw ArchiveError.mismatch(expected: "an object with the paths as keys", found: value.kind)
      }
      let spellings = Set(paths.map(\.description))
      guard object.keys.allSatisfy(spellings.contains) else {
        throw ArchiveError(.unknownKey, "the transformer yields a path that the mapping does not name")
      }
      return object[path.description]
    }

    /// An error of the field, which says what to declare where it is about null.
    func naming(_ error: ArchiveError, remedyFor input: (any Sendable)?) -> ArchiveError {
      guard error.code == .typeMismatch, error.codingPath.isEmpty, !isNullable, json.transform == nil,
        json.nullPolicy == .fail, case .null? = input as? ArchiveValue
      else { return error }
      return error.changed(reason: nullReason)
    }

    /// Why null is no value of the field, and what would make it one.
    var nullReason: String {
      let remedy =
        field.makeDefault == nil
        ? "which value null means, with .null(.value(…)) in @Field(json:)"
        : "that null means the default, with .null(.useDefault) in @Field(json:), or a value, with .null(.value(…))"
      return "found null, and the field is no optional; make it one, or declare \(remedy)"
    }

    /// Where JSON holds the field, for errors.
    var components: [ArchiveError.PathComponent] {
      if case .absent = source { [.key(field.key)] } else { paths.first?.components ?? [] }
    }
  }

  package let typeName: String
  /// The model.
  let type: Any.Type
  let entries: [Entry]
  /// The fields that one key of the object holds.
  let table: [ExactKey: [Int]]
  /// What the paths lead to that are read.
  let read: JSONHeld
  /// What the paths lead to that are read or written.
  let held: JSONHeld
  /// What the paths lead to that are written. All else of a document is captured, or writing the model would lose it.
  private let written: JSONHeld
  let readsWhole: Bool
  /// Whether what is read must be an object.
  let needsObject: Bool
  /// Whether every field is found at one path of keys, and its value taken as it is found: what the fast path from
  /// the bytes can do.
  package let isPlain: Bool
  /// Where the fields that are taken as they are found are in a text.
  let keys: JSONKeys
  /// The first keys of the paths of all other fields that are read; `nil` where a path does not begin with a key.
  let otherKeys: Set<ExactKey>?
  let keepsUnknownFields: Bool
  let problem: ArchiveError?
  /// How records with today's keys are written.
  let layout: JSONLayout

  /// The plan of what the fields declare, or of another mapping of them.
  init(_ schema: ModelSchema, mapping: [String: JSONField]? = nil) {
    let (typeName, fields, keepsUnknownFields) = (schema.name, schema.fields, schema.keepsUnknownFields)
    self.typeName = typeName
    type = schema.type
    self.keepsUnknownFields = keepsUnknownFields
    var entries: [Entry] = []
    var table: [ExactKey: [Int]] = [:]
    for (place, field) in fields.enumerated() {
      let entry = Self.entry(place, field, mapping == nil ? field.json : mapping?[field.key] ?? .none)
      entries.append(entry)
      if entry.json.isRead, case .key(let key) = entry.source { table[ExactKey(key), default: []].append(place) }
    }
    self.entries = entries
    self.table = table
    let read = entries.filter(\.json.isRead)
    let firstKeys = Self.firstKeys(read)
    needsObject = firstKeys != nil
    self.read = JSONHeld(read.flatMap(\.paths))
    held = JSONHeld(read.flatMap(\.paths) + entries.filter(\.json.isWritten).flatMap(\.writtenPaths))
    written = JSONHeld(entries.filter(\.json.isWritten).flatMap(\.writtenPaths))
    readsWhole = read.contains { if case .entireObject = $0.source { true } else { false } }
    problem = JSONPlanCheck.problem(typeName, entries, mapping, fields)
    isPlain = problem == nil && entries.allSatisfy { $0.keyPath != nil && $0.json.isWritten && $0.json.nulls == nil }
    keys = JSONKeys(entries.map(\.keyPath))
    otherKeys = Self.firstKeys(read.filter { $0.keyPath == nil })
    layout = JSONLayout(fields.map(\.key), typeName, entries, problem)
  }

  /// What a document has beside what writing the model writes; `nil` for nothing.
  func rest(of json: ArchiveValue) throws -> ArchiveValue? {
    var rest = written.rest(of: json)
    // What was found at another path than the first moves there when it is written.
    for entry in entries where entry.json.isWritten {
      guard case .firstOf(let paths) = entry.source,
        let found = try paths.firstIndex(where: { try $0.value(in: json) != nil }),
        found > 0
      else { continue }
      rest = JSONHeld([paths[found]]).rest(of: rest ?? .null)
    }
    return rest
  }

  private static func entry(_ place: Int, _ field: FieldInfo, _ json: JSONField) -> Entry {
    let source: Entry.Source
    switch json.source {
    case .absent: source = .absent
    case .entireObject: source = .entireObject
    case .automatic: source = .key(field.key)
    case .path(let path):
      if path.steps.count == 1, case .key(let key)? = path.steps.first {
        source = .key(key)
      } else {
        source = path.steps.isEmpty ? .entireObject : .path(path)
      }
    case .firstOf(let paths): source = .firstOf(paths)
    case .paths(let paths): source = .paths(paths)
    }
    return Entry(
      place: place, field: field, json: json, source: source,
      isNullable: field.shape.isOptional,
      isPlain: json.transform == nil && json.coercions.isEmpty && json.nullPolicy == .fail && json.missing == nil
        && !json.skipsInvalid)
  }

  private static func firstKeys(_ entries: [Entry]) -> Set<ExactKey>? {
    var keys = Set<ExactKey>()
    for entry in entries {
      if case .entireObject = entry.source { return nil }
      for path in entry.paths {
        guard let key = path.firstKey else { return nil }
        keys.insert(key)
      }
    }
    return keys
  }

  /// An error of a field, with its place in the model and in JSON.
  func locate(_ error: any Error, _ place: Int, input: (any Sendable)? = nil) -> ArchiveError {
    guard entries.indices.contains(place) else { return ArchiveError.wrap(error).inType(typeName) }
    let entry = entries[place]
    let known = entry.naming(ArchiveError.wrap(error), remedyFor: input)
    // Of an array or an object the part counts that the error is about. A transformer's paths are its own.
    let value = entry.json.transform == nil ? input as? ArchiveValue : nil
    return known.about(value.map { $0.part(along: known.jsonPath) } ?? input).prefixed(
      by: .key(entry.field.key), json: entry.components
    )
    .inType(typeName)
  }
}
