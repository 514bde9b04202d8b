internal import Foundation
internal import StrataCore

/// The shape of one version of a model, as a file records it.
struct RecordedSchema: Codable, Equatable {
  enum Kind: String, Codable { case structure, object, enumeration }

  struct Field: Codable, Equatable {
    /// The type, as ``RecordedType`` spells it.
    var type: String
    /// The default as text; `nil` if there is none.
    var initial: String?
    /// The treatment by archives; `nil` if they always have the field.
    var archive: String?
    /// The paths in JSON; `nil` if it is the key alone.
    var json: String?

    private enum CodingKeys: String, CodingKey {
      case type, archive, json
      case initial = "default"
    }

    /// Whether data of older versions may lack the key.
    var isOptional: Bool { initial != nil || type.hasSuffix("?") }
    var isArchived: Bool { archive != ArchiveBehavior.excluded.rawValue }
  }

  var name: String
  var version: Int
  var kind: Kind
  var superclass: String?
  var keepsUnknownFields: Bool?
  /// The fields that the model itself declares. The fields of a superclass are in the schema of that class.
  var fields: [String: Field]
  /// The associated values of each case.
  var cases: [String: [String: String]]?
  /// The steps that lead to this version.
  var steps: [String]
  /// A hash of the golden archive; `nil` if there is none.
  var archive: String?
  /// Why there is no golden archive.
  var withoutArchive: String?
  /// A hash of all properties above, which shows that the file was edited.
  var checksum = ""

  init(_ schema: ModelSchema) {
    name = schema.name
    version = schema.modelVersion
    kind = schema.isObject ? .object : schema.isEnumeration ? .enumeration : .structure
    superclass = schema.superclasses.first?.name
    keepsUnknownFields = schema.keepsUnknownFields ? true : nil
    let inherited = schema.superclasses.first?.fields.count ?? 0
    fields = Dictionary(
      schema.fields.dropLast(inherited).filter { !$0.isLibraryField }.map { ($0.key, Field($0)) },
      uniquingKeysWith: { first, _ in first })
    cases =
      schema.cases.isEmpty
      ? nil
      : Dictionary(schema.cases.map { ($0.name, Self.payload($0)) }, uniquingKeysWith: { first, _ in first })
    steps =
      schema.migration?.steps.filter { $0.toVersion == schema.modelVersion }.flatMap(\.operations).map(\.recordedText)
      ?? []
  }

  private static func payload(_ info: ModelSchema.CaseInfo) -> [String: String] {
    let keys = info.labels.isEmpty ? info.payload.indices.map { "_\($0)" } : info.labels
    return Dictionary(zip(keys, info.payload.map { RecordedType($0).text }), uniquingKeysWith: { first, _ in first })
  }

  /// - Throws: a `DecodingError` if it is no recorded schema.
  init(json: Data) throws { self = try JSONDecoder().decode(Self.self, from: json) }

  /// The schema as a file, with its checksum. One line for each key, so that a merge of two branches shows what both changed.
  func json() throws -> Data {
    var schema = self
    schema.checksum = try contentChecksum()
    return try Self.encoder([.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]).encode(schema) + Data("\n".utf8)
  }

  func contentChecksum() throws -> String {
    var schema = self
    schema.checksum = ""
    return try Self.checksum(Self.encoder([.sortedKeys, .withoutEscapingSlashes]).encode(schema))
  }

  /// A 64-bit FNV-1a hash as hexadecimal digits.
  static func checksum(_ bytes: Data) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }

  private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    return encoder
  }
}

extension RecordedSchema.Field {
  init(_ field: FieldInfo) {
    type = RecordedType(field.type).text
    // Throws only for a value that cannot be archived, which the first encoding reports.
    let (one, other) = (try? field.makeDefault?(), try? field.makeDefault?())
    if let one, one == other, one.isLiteral {
      initial = one.isNull && field.isOptional ? nil : one.description
    } else {
      initial = field.makeDefault == nil ? nil : "a value"
    }
    archive = field.archive == .always ? nil : field.archive.rawValue
    json = field.json.recordedText
  }
}

extension ArchiveValue {
  /// Whether the value is the same in each run. A date or a UUID usually is not, and a record has the version of another model.
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

extension MigrationOperation {
  /// The operation with its values. Of a closure, only the description is known.
  fileprivate var recordedText: String {
    switch self {
    case .rename(_, _, overwriting: true), .move(_, _, _, overwriting: true): "\(self), overwriting"
    case .rename, .move, .drop, .custom: description
    case .setDefault(let path, let value): "set the default of \(path): \(value)"
    case .replaceNull(let path, let value): "replace null of \(path): \(value)"
    case .convert(let path, .mapping(let table, let otherwise)):
      "convert \(path) by " + table.map { "\($0): \($1)" }.sorted().joined(separator: ", ")
        + (otherwise.map { ", otherwise \($0)" } ?? "")
    case .convert: description
    case .optional(let operation): "\(operation.recordedText), if present"
    }
  }
}

extension JSONField {
  /// The paths, and whether there is a transformer; `nil` for the key alone.
  fileprivate var recordedText: String? {
    let paths =
      switch source {
      case .automatic: ""
      case .absent: "none"
      case .entireObject: "the entire object"
      case .path(let path): "\(path)"
      case .firstOf(let paths): "first of " + paths.map(\.description).joined(separator: ", ")
      case .paths(let paths): "all of " + paths.map(\.description).joined(separator: ", ")
      }
    let text = [paths, transform == nil ? "" : "with a transformer"]
    return text.allSatisfy(\.isEmpty) ? nil : text.filter { !$0.isEmpty }.joined(separator: ", ")
  }
}
