public import Foundation

/// Which fields of a model are written, by their keys. Models inside are written whole.
public enum JSONFieldSelection: Sendable, Hashable {
  case all
  case only(Set<String>)
  case excluding(Set<String>)
}

extension JSONAdapter {
  /// The JSON text of a model: keys in the order of the schema, so that equal models become equal bytes.
  ///
  /// - Throws: ``ArchiveError`` with the code `notEncodable` for what JSON has no form for, and `rejected` where a
  ///   transformer refuses a value; the path tells where.
  public func encode(
    _ root: Root, nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    try written(root, nulls, isPretty: isPretty, sortsKeys: sortsKeys)
  }

  /// JSON of a model, as a value: only null, booleans, numbers, strings, arrays and objects.
  public func encodeValue(_ root: Root, nulls: JSONNulls? = nil) throws -> Value { try value(of: root, nulls) }

  /// The JSON text of several models, in their order.
  public func encodeArray(
    _ roots: [Root], nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    let values = try roots.enumerated().map { index, root in
      do { return try value(of: root, nulls) } catch { throw ArchiveError.at(.index(index), error) }
    }
    return try written(.array(values), isPretty: isPretty, sortsKeys: sortsKeys)
  }
}

extension JSONAdapter where Root: Model {
  /// The JSON text of some of a model's fields: the body of a request.
  ///
  /// - Throws: also ``ArchiveError`` with the code `unknownKey` where the model does not declare a field.
  public func encode(
    _ root: Root, fields: JSONFieldSelection, nulls: JSONNulls? = nil, isPretty: Bool = false, sortsKeys: Bool = false
  ) throws -> Data {
    try written(encodeValue(root, fields: fields, nulls: nulls), isPretty: isPretty, sortsKeys: sortsKeys)
  }

  /// JSON of some of a model's fields, as a value.
  public func encodeValue(_ root: Root, fields: JSONFieldSelection, nulls: JSONNulls? = nil) throws -> Value {
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
        .unknownKey, "the model declares no field \(unknown); its fields are \(schema.allKeys.joined(separator: ", "))",
        path: [.key(unknown)], typeName: schema.name)
    }
    if case .excluding = fields { return declared.subtracting(named) }
    return named
  }

  /// What changed between two models as a JSON Merge Patch (RFC 7396): changed keys alone, null for what is gone,
  /// objects inside key by key, arrays whole. An empty object where nothing changed.
  ///
  /// Applied to the JSON of `old`, written without nulls, it gives that of `new`. A merge patch has no other way to
  /// say null than to remove a key: for a server that tells the two apart, write the changed fields with
  /// `encode(_:fields:)`.
  public func jsonPatch(from old: Root, to new: Root) throws -> Value {
    try JSONMergePatch.patch(from: value(of: old, .omit), to: value(of: new, .omit))
  }

  /// What changed between two models as the text of a JSON Merge Patch (RFC 7396).
  public func jsonPatchData(from old: Root, to new: Root) throws -> Data {
    try written(jsonPatch(from: old, to: new), isPretty: false, sortsKeys: false)
  }

  /// Folds a JSON object into a model by this adapter's mappings: only the fields that the document holds are touched.
  ///
  /// All or nothing, and with the policies of the fields, as `mergeValues(fromJSON:)`.
  @discardableResult
  public func merge(
    _ json: Data, into root: inout Root, forKeys keys: [String]? = nil, policy: MergePolicy? = nil,
    validates: Bool = true
  ) throws -> MergeReport {
    try merge(parsed(json), into: &root, forKeys: keys, policy: policy, validates: validates)
  }

  /// Folds a JSON object in that was parsed before.
  @discardableResult
  public func merge(
    _ json: Value, into root: inout Root, forKeys keys: [String]? = nil, policy: MergePolicy? = nil,
    validates: Bool = true
  ) throws -> MergeReport {
    try merge(json, into: &root, options: MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON object in by the options of this call, and by what both sides started from where that is known.
  ///
  /// - Parameters:
  ///   - json: the document.
  ///   - root: the model, which stays as it is where anything fails.
  ///   - base: the server's state that the local edits started from; the one that the model remembers unless given.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(fromJSON:)`.
  @discardableResult
  public func merge(
    _ json: Data, into root: inout Root, base: Root? = nil, options: MergeOptions
  ) throws -> MergeReport {
    try merge(parsed(json), into: &root, base: base, options: options)
  }

  /// Folds a JSON object in that was parsed before.
  @discardableResult
  public func merge(
    _ json: Value, into root: inout Root, base: Root? = nil, options: MergeOptions
  ) throws -> MergeReport {
    try root.fold(.json(json), base, options, in: context(.first, finishesModels: false).json)
  }
}
