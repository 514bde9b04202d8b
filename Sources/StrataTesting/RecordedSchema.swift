package import Foundation
internal import StrataCore

/// The fields, the enum cases and the migration step of one version of a model, as recorded in a JSON file.
package struct RecordedSchema: Codable, Equatable {
  package enum Kind: String, Codable { case structure, object, enumeration }

  package struct Field: Codable, Equatable {
    /// The type of the field, in the text format of ``RecordedType``.
    package var type: String
    /// The default of the field as text; `nil` if there is none.
    package var initial: String?
    /// The former keys of the field; `nil` if there are none.
    package var formerly: [String]?
    /// The raw value of the field's `ArchiveBehavior`; `nil` if archives always contain the field.
    package var archive: String?
    /// The paths of the field in JSON, with a note if the field has a transformer; `nil` if the only path is the field's key and there is
    /// no transformer.
    package var json: String?

    private enum CodingKeys: String, CodingKey {
      case type, formerly, archive, json
      case initial = "default"
    }

    /// Whether data of older versions may lack the key, because the field has a default or is optional.
    var isOptional: Bool { initial != nil || RecordedType(parsing: type).isOptional }
    var isArchived: Bool { archive != ArchiveBehavior.excluded.rawValue }
  }

  package struct Case: Codable, Equatable {
    /// The types of the case's associated values, by the keys of the values.
    package var payload: [String: String]
    package var formerly: [String]?
  }

  package var name: String
  package var version: Int
  package var kind: Kind
  package var superclass: String?
  /// The types of inherited fields. Superclasses record these fields in their own schemas. The types are compared only if a field
  /// was moved or if the class has a different superclass.
  var inherited: [String: String]?
  var keepsUnknownFields: Bool?
  /// The oldest version that may read data of this version, and the oldest version that may also write it; `nil` if no older
  /// version may.
  var oldestReader: Int?
  var oldestWriter: Int?
  /// The fields that the model itself declares.
  package var fields: [String: Field]
  package var cases: [String: Case]?
  /// The versions of the nested models at the time when this version was recorded.
  var models: [String: Int]?
  /// The operations of the migration step to this version.
  package var steps: [String]
  /// The keys that the operations of the step change; `nil` if a closure may change any key.
  package var stepKeys: [String]?
  /// Hashes of the golden archives of older versions, after the model's own steps have upgraded them to this version. The hashes
  /// reveal whether a closure was changed, or whether its result depends on the machine.
  var upgraded: [String: String]?
  /// A hash of the golden archive; `nil` if there is none.
  package var archive: String?
  /// The reason why no golden archive exists; `nil` if there is one.
  var withoutArchive: String?
  /// A hash of all other properties. It reveals that the file was edited.
  package var checksum = ""

  init(_ schema: ModelSchema) {
    name = schema.name
    version = schema.modelVersion
    kind = schema.isObject ? .object : schema.isEnumeration ? .enumeration : .structure
    let parent = schema.superclasses.first
    superclass = parent?.name
    inherited = parent.map { parent in
      Dictionary(
        parent.fields.filter { !$0.isLibraryField }.map { ($0.key, RecordedType($0.type).text) },
        uniquingKeysWith: { first, _ in first })
    }
    keepsUnknownFields = schema.keepsUnknownFields ? true : nil
    (oldestReader, oldestWriter) = (schema.floors?.reader, schema.floors?.writer)
    fields = Dictionary(
      schema.fields.dropLast(parent?.fields.count ?? 0).filter { !$0.isLibraryField }.map { ($0.key, Field($0)) },
      uniquingKeysWith: { first, _ in first })
    cases =
      schema.cases.isEmpty
      ? nil : Dictionary(schema.cases.map { ($0.name, Case($0)) }, uniquingKeysWith: { first, _ in first })
    let inside = schema.inside.schemas.filter { $0 !== schema }
    models =
      inside.isEmpty ? nil : Dictionary(inside.map { ($0.name, $0.modelVersion) }, uniquingKeysWith: { max($0, $1) })
    steps = Self.steps(to: version, of: schema) ?? []
    let operations = schema.migration?.steps.first { $0.toVersion == schema.modelVersion }?.operations ?? []
    stepKeys = operations.changedKeys?.sorted()
  }

  /// Returns the operations of the migration step to a version; `nil` if there is no such step.
  static func steps(to version: Int, of schema: ModelSchema) -> [String]? {
    schema.migration?.steps.first { $0.toVersion == version }?.operations.map(\.recordedText)
  }

  /// Parses the contents of a schema's file.
  ///
  /// - Throws: a `DecodingError` if the text is not a recorded schema.
  package init(json: Data) throws { self = try JSONDecoder().decode(Self.self, from: json) }

  /// Returns the contents of the schema's file, including the checksum. Each key is on its own line, so that a merge conflict in version
  /// control shows what each branch changed.
  package func json() throws -> Data {
    var schema = self
    schema.checksum = try contentChecksum()
    return try schema.text(isPretty: true) + Data("\n".utf8)
  }

  package func contentChecksum() throws -> String {
    var schema = self
    schema.checksum = ""
    return try Self.checksum(schema.text(isPretty: false))
  }

  /// Returns the schema as JSON, with the same bytes on each platform. Foundation's encoder is not used, because it sorts keys
  /// differently on different platforms.
  private func text(isPretty: Bool) throws -> Data {
    try JSONWriter(isPretty: isPretty, sortsKeys: true).write(JSONReader().read(JSONEncoder().encode(self)))
  }

  /// Returns a 64-bit FNV-1a hash as hexadecimal digits.
  package static func checksum(_ bytes: Data) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension RecordedSchema.Field {
  init(_ field: FieldInfo) {
    type = RecordedType(field.type).text
    // `try?`, because a default throws only if it cannot be archived. That error is reported when the default is first encoded.
    let (one, other) = (try? field.makeDefault?(), try? field.makeDefault?())
    if let one, one == other, one.isLiteral {
      initial = one.isNull && field.shape.isOptional ? nil : one.recordedText
    } else {
      initial = field.makeDefault == nil ? nil : "a value"
    }
    formerly = field.formerly.isEmpty ? nil : field.formerly
    archive = field.archive == .always ? nil : field.archive.rawValue
    json = field.json.recordedText(field.key)
  }
}

extension ModelSchema.CaseInfo {
  /// The keys of the associated values in archives.
  var payloadKeys: [String] { labels.isEmpty ? payload.indices.map { "_\($0)" } : labels }
}

extension RecordedSchema.Case {
  init(_ info: ModelSchema.CaseInfo) {
    payload = Dictionary(
      zip(info.payloadKeys, info.payload.map { RecordedType($0).text }), uniquingKeysWith: { first, _ in first })
    formerly = info.formerly.isEmpty ? nil : info.formerly
  }
}

extension ArchiveValue {
  /// A description of the value that is the same in each run. For data, it contains a checksum, because the description of data contains
  /// only the first bytes.
  fileprivate var recordedText: String {
    guard isLiteral else { return "a value" }
    if case .data(let data) = self { return "\(self), \(RecordedSchema.checksum(data))" }
    return description
  }

  /// Whether the value is the same in each run. Dates and UUIDs usually differ between runs. Records are excluded as well,
  /// because they contain the version of another model.
  fileprivate var isLiteral: Bool {
    switch self {
    case .null, .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .string, .data, .url: true
    case .array(let elements), .set(let elements): elements.allSatisfy(\.isLiteral)
    case .object(let object): object.entries.allSatisfy(\.value.isLiteral)
    case .map(let entries): entries.allSatisfy { $0.key.isLiteral && $0.value.isLiteral }
    case .date, .uuid, .record, .graph, .reference: false
    }
  }
}

extension [MigrationOperation] {
  /// The keys that the operations change; `nil` if an operation may change any key.
  var changedKeys: Set<String>? {
    let effects = compactMap(\.effect)
    guard effects.count == count else { return nil }
    return Set(effects.flatMap { $0.sources + $0.targets }.compactMap(\.firstKey))
  }
}

extension MigrationOperation {
  /// The description of the operation, including its values. For a closure, the description that the program specifies.
  fileprivate var recordedText: String {
    switch self {
    case .rename(_, _, overwriting: let isOverwriting): description + (isOverwriting ? ", overwriting" : "")
    case .move(_, _, let record, overwriting: let isOverwriting):
      description + (record.map { ", creating \($0.typeName)@\($0.modelVersion)" } ?? "")
        + (isOverwriting ? ", overwriting" : "")
    case .drop: description
    case .custom(_, let keys, _): description + (keys.map { ", changing \($0.sorted().joined(separator: ", "))" } ?? "")
    case .setDefault(_, let value), .replaceNull(_, let value): "\(self): \(value.recordedText)"
    case .convert(let path, .mapping(let table, let otherwise)):
      "convert \(path) by " + table.map { "\($0.recordedText): \($1.recordedText)" }.sorted().joined(separator: ", ")
        + (otherwise.map { ", otherwise \($0.recordedText)" } ?? "")
    case .convert: description
    case .optional(let operation): "\(operation.recordedText), if present"
    }
  }
}

extension JSONField {
  /// Returns the JSON paths of a field as text, with a note if the field has a transformer. Returns `nil` if the only path is the
  /// field's key and there is no transformer.
  fileprivate func recordedText(_ key: String) -> String? {
    let paths =
      switch source {
      case .automatic: ""
      case .absent: "none"
      case .entireObject: "the entire object"
      case .path(let path): path == ValuePath(key: key) ? "" : "\(path)"
      case .firstOf(let paths): "first of " + paths.map(\.description).joined(separator: ", ")
      case .paths(let paths): "all of " + paths.map(\.description).joined(separator: ", ")
      }
    let text = [paths, transform == nil ? "" : "with a transformer"].filter { !$0.isEmpty }
    return text.isEmpty ? nil : text.joined(separator: ", ")
  }
}
