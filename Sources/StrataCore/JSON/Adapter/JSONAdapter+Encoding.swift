public import Foundation

/// Selects, by key, which fields of a model are written. Nested models are always written in full.
public enum JSONFieldSelection: Sendable, Hashable {
  /// Every field that the mapping writes.
  case all
  /// Only the fields with these keys.
  case only(Set<String>)
  /// All fields except those with these keys.
  case excluding(Set<String>)
}

extension JSONAdapter {
  /// Returns the JSON text of a model. Keys are in the order of the schema, so equal models have equal bytes.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` for values that JSON cannot represent, and `rejected` if a transformer rejects
  ///   a value. The error contains the path of the value.
  public func encode(
    _ root: Root, nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    try writer(isPretty: isPretty, sortsKeys: sortsKeys).text(of: root, writing(nulls))
  }

  /// Returns a model's JSON as an ``ArchiveValue`` that consists only of nulls, booleans, numbers, strings, arrays and objects.
  public func encodeValue(_ root: Root, nulls: JSONNulls? = nil) throws -> ArchiveValue { try value(of: root, nulls) }

  /// Returns the JSON text of an array of models, in the given order.
  public func encodeArray(
    _ roots: [Root], nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    try writer(isPretty: isPretty, sortsKeys: sortsKeys).text(of: roots, writing(nulls))
  }
}

extension JSONAdapter where Root: VersionedModel {
  /// Returns the JSON of the given fields. Their values come from a record instead of a model instance.
  ///
  /// - Parameters:
  ///   - record: the values of all fields, in the order of the schema. Fields that are not written may have any value.
  ///   - fields: the keys of the fields to write.
  package func value(of record: ModelRecord, fields: Set<String>) throws -> ArchiveValue {
    var writer = JSONValueWriter(writing(nil), limits: limits, fields: fields)
    return try writer.value(of: .record(record))
  }

  /// Returns the JSON paths that a field is read from and written to; `nil` if the model does not declare the field.
  package func places(ofField key: String) -> (read: [ValuePath], written: [ValuePath])? {
    guard let entry = plan(of: Root.schema).entries.first(where: { $0.field.key == key }) else { return nil }
    return (entry.json.isRead ? entry.paths : [], entry.json.isWritten ? entry.writtenPaths : [])
  }

  /// Returns the JSON text of some of a model's fields, for example as the body of a request.
  ///
  /// - Throws: the same errors as for a whole model, and ``ArchiveError`` with the code `unknownKey` if the model does not declare a field.
  public func encode(
    _ root: Root, fields: JSONFieldSelection, nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    let fields = try keys(fields)
    let (value, writing) = try archived(root, nulls)
    return try writer(isPretty: isPretty, sortsKeys: sortsKeys).text(of: value, writing, fields: fields)
  }

  /// Returns the JSON of some of a model's fields as an ``ArchiveValue``.
  public func encodeValue(_ root: Root, fields: JSONFieldSelection, nulls: JSONNulls? = nil) throws -> ArchiveValue {
    try value(of: root, nulls, fields: keys(fields))
  }

  private func keys(_ fields: JSONFieldSelection) throws -> Set<String>? {
    let schema = Root.schema
    let declared = Set(schema.allKeys)
    let named: Set<String>
    switch fields {
    case .all: return nil
    case .only(let keys), .excluding(let keys): named = keys
    }
    if let unknown = named.subtracting(declared).min() {
      throw ArchiveError(
        .unknownKey,
        "the model does not declare the field \(unknown); its fields are \(schema.allKeys.joined(separator: ", "))",
        path: [.key(unknown)], typeName: schema.name)
    }
    if case .excluding = fields { return declared.subtracting(named) }
    return named
  }
}
