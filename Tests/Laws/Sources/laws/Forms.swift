import Foundation
import Strata

// The forms of a value in JSON and in an archive. They are derived from the documentation and not from the library.

extension Plain {
  /// The value as an object key, or `nil` if it cannot be one.
  var keyText: String? {
    guard case .scalar(let scalar) = inner, case .text(let text) = scalar.jsonTree ?? .null else {
      if case .scalar(.integer(let integer)) = inner { return "\(integer)" }
      return nil
    }
    return text
  }

  private var inner: Plain { if case .opaque(let value, _) = self { value } else { self } }

  /// The value as JSON, or `nil` if JSON cannot represent it.
  var jsonTree: JSONTree? {
    func trees(_ values: [Plain]) -> [JSONTree]? {
      let trees = values.map(\.jsonTree)
      return trees.contains(nil) ? nil : trees.compactMap { $0 }
    }
    func object(_ pairs: [(String, Plain)]) -> [JSONTree.Member]? {
      trees(pairs.map(\.1)).map { zip(pairs, $0).map { JSONTree.Member(key: $0.0, value: $1) } }
    }
    func dictionary(_ pairs: [(Plain, Plain)]) -> JSONTree? {
      object(pairs.compactMap { key, value in key.keyText.map { ($0, value) } }).map { .object($0) }
    }
    switch self {
    case .null: return .null
    case .scalar(let scalar): return scalar.jsonTree
    case .list(let elements): return trees(elements).map { .array($0) }
    case .set(let elements): return trees(Array(elements)).map { .array($0) }
    case .dictionary(let pairs): return dictionary(pairs.map { ($0.key, $0.value) })
    case .ordered(let pairs): return dictionary(pairs.map { ($0.key, $0.value) })
    case .model(let model):
      let members = object(model.kind.keys.compactMap { key in model.fields[key].map { (key, $0) } })
      let tag = model.kind.tag.map { [JSONTree.Member(key: $0.key, value: .text($0.name))] } ?? []
      return members.map { .object(tag + $0) }
    case .choice(let choice):
      return object(choice.values.map { ($0.key, $0.value) }).map {
        .object([.init(key: choice.name, value: .object($0))])
      }
    case .opaque(let value, _): return value.jsonTree
    }
  }

  /// Whether a JSON document represents the same value. Elements of sets and keys of objects may be in any order.
  func agrees(with tree: JSONTree) -> Bool {
    switch (self, tree) {
    case (.opaque(let value, _), _): return value.agrees(with: tree)
    case (.list(let elements), .array(let trees)):
      return elements.count == trees.count && zip(elements, trees).allSatisfy { $0.agrees(with: $1) }
    case (.set(let elements), .array(let trees)):
      guard elements.count == trees.count else { return false }
      return elements.allSatisfy { element in trees.contains { element.agrees(with: $0) } }
    case (.dictionary(let pairs), .object(let members)):
      return pairs.count == members.count
        && pairs.allSatisfy { key, value in members.contains { $0.key == key.keyText && value.agrees(with: $0.value) } }
    case (.ordered(let pairs), .object(let members)):
      return pairs.count == members.count
        && zip(pairs, members).allSatisfy { $0.key.keyText == $1.key && $0.value.agrees(with: $1.value) }
    case (.model(let model), .object(let members)):
      return model.fields.count + (model.kind.tag == nil ? 0 : 1) == members.count
        && model.fields.allSatisfy { key, value in members.contains { $0.key == key && value.agrees(with: $0.value) } }
    case (.choice(let choice), .object(let members)):
      guard members.count == 1, members[0].key == choice.name, case .object(let values) = members[0].value else {
        return false
      }
      return values.count == choice.values.count
        && choice.values.allSatisfy { key, value in values.contains { $0.key == key && value.agrees(with: $0.value) } }
    default: return jsonTree == tree
    }
  }

  /// Whether the value's type is only `Codable`. A dictionary of such values is encoded by its own `Codable` conformance.
  private var isCodable: Bool {
    switch self {
    case .opaque(_, let isCodable): isCodable
    case .list(let elements): elements.contains(where: \.isCodable)
    case .set(let elements): elements.contains(where: \.isCodable)
    case .dictionary(let pairs): pairs.values.contains(where: \.isCodable)
    case .ordered(let pairs): pairs.contains(where: \.value.isCodable)
    case .null, .scalar, .model, .choice: false
    }
  }

  /// Returns the value in the form that it has in an archive, where models are records.
  func archived(inOldForm isOld: Bool = false) -> ArchiveValue {
    func dictionary(_ pairs: [(Plain, Plain)]) -> ArchiveValue {
      let keys = pairs.map { pair -> String? in
        if case .scalar(.text(let scalars)) = pair.0.inner { String(String.UnicodeScalarView(scalars)) } else { nil }
      }
      if pairs.contains(where: { $0.1.isCodable }) {
        return .object(
          ArchiveObject(pairs.map { .init(key: $0.0.keyText ?? "", value: $0.1.archived(inOldForm: isOld)) }))
      }
      guard keys.contains(nil) else {
        return .object(
          ArchiveObject(zip(keys, pairs).map { .init(key: $0 ?? "", value: $1.1.archived(inOldForm: isOld)) }))
      }
      return .map(pairs.map { ArchiveValue.MapEntry(key: $0.0.archived(), value: $0.1.archived(inOldForm: isOld)) })
    }
    switch self {
    case .null: return .null
    case .scalar(let scalar): return scalar.archived
    case .list(let elements): return .array(elements.map { $0.archived(inOldForm: isOld) })
    case .set(let elements): return .set(elements.map { $0.archived(inOldForm: isOld) })
    case .dictionary(let pairs): return dictionary(pairs.map { ($0.key, $0.value) })
    case .ordered(let pairs): return dictionary(pairs.map { ($0.key, $0.value) })
    case .model(let model): return .record(model.record(inOldForm: isOld))
    case .choice(let choice):
      let values = ArchiveObject(choice.values.map { .init(key: $0.key, value: $0.value.archived(inOldForm: isOld)) })
      return .record(ModelRecord(typeName: choice.type, modelVersion: 1, fields: [(choice.name, .object(values))]))
    case .opaque(let value, _): return value.archived(inOldForm: isOld)
    }
  }
}

extension PlainModel {
  /// Returns the model as a record of the current version. In the old form, it and all nested models are of version 1.
  func record(inOldForm isOld: Bool = false) -> ModelRecord {
    var record = ModelRecord(
      typeName: kind.name, modelVersion: isOld ? 1 : kind.version,
      fields: kind.keys.compactMap { key in
        fields[key].map { ((isOld ? kind.oldKeys[key] : nil) ?? key, $0.archived(inOldForm: isOld)) }
      })
    if kind.name == "Puppy" { record.superclasses = [.init(typeName: "Being", modelVersion: 1)] }
    return record
  }
}

extension Scalar {
  var jsonTree: JSONTree? {
    switch self {
    case .bool(let bool): .bool(bool)
    case .integer(let integer): .number("\(integer)")
    case .double(let bits): Double(bitPattern: bits).isFinite ? .number("\(Double(bitPattern: bits))") : nil
    case .float(let bits): Float(bitPattern: bits).isFinite ? .number("\(Float(bitPattern: bits))") : nil
    case .text(let scalars): .text(String(String.UnicodeScalarView(scalars)))
    case .data(let data): .text(data.base64EncodedString())
    case .date(let bits): .text(Self.text(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))))
    case .url(let text): .text(text)
    case .uuid(let uuid): .text(uuid.uuidString)
    case .decimal(let decimal): .number("\(decimal)")
    }
  }

  private static func text(_ date: Date) -> String {
    let whole = date.timeIntervalSince1970.rounded(.down)
    let fraction = date.timeIntervalSince1970 - whole
    let text = Date(timeIntervalSince1970: whole).formatted(.iso8601)
    return fraction == 0 ? text : text.dropLast() + "\(fraction)".dropFirst() + "Z"
  }

  var archived: ArchiveValue {
    switch self {
    case .bool(let bool): .bool(bool)
    case .integer(let integer): .integer(integer)
    case .double(let bits): .double(Double(bitPattern: bits))
    case .float(let bits): .float(Float(bitPattern: bits))
    case .text(let scalars): .string(String(String.UnicodeScalarView(scalars)))
    case .data(let data): .data(data)
    case .date(let bits): .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .url(let text): URL(string: text).map { .url($0) } ?? .null
    case .uuid(let uuid): .uuid(uuid)
    case .decimal(let decimal): .decimal(decimal)
    }
  }
}
