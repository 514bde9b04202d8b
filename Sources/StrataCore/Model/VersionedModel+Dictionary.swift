extension VersionedModel {
  /// Creates the model from a dictionary of field values.
  ///
  /// If a key is absent, the field gets its default. `.null` sets an optional to nil. A `nil` dictionary is equivalent to an empty one. A
  /// nested model can be given as a record, as in ``dictionaryValue``, or as an object with the keys of its fields. All other values must
  /// have the types of their fields. For example, a date cannot be given as text.
  ///
  /// - Parameters:
  ///   - dictionary: the values, under the keys of the current version.
  ///   - validates: whether the model must satisfy its rules (see ``Validating``).
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `typeMismatch`
  ///   for a value whose type does not match its field, `missingValue` if a field without a default is absent, and
  ///   `invalid` if the model breaks a rule.
  public init(dictionary: [String: ArchiveValue]?, validates: Bool = true) throws {
    let context = DecodingContext(
      source: .dictionary, includesExcluded: true, finishing: .gathering(validates: validates))
    self = try context.checked { try Self.decode(dictionary: dictionary ?? [:], in: context) }
  }

  /// The values of all fields by key, including fields that are excluded from archives. The value of a nil field is
  /// `.null`. For an enum, the only key is the name of the case. The value of that key is an object with the associated
  /// values by label.
  ///
  /// - Throws: ``ArchiveError`` if a value cannot be encoded.
  /// - Complexity: linear in the size of the object.
  public var dictionaryValue: [String: ArchiveValue] {
    get throws {
      let record = try record(includingExcluded: true)
      guard !Self.schema.isEnumeration else {
        return Dictionary(record.fields.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      }
      // The record may also contain unknown keys that the model keeps. The dictionary omits them, because they are not fields.
      return Dictionary(uniqueKeysWithValues: Self.schema.allKeys.map { ($0, record[$0] ?? .null) })
    }
  }

  static func decode(dictionary: [String: ArchiveValue], in context: DecodingContext) throws -> Self {
    try schema.check()
    guard !schema.isEnumeration else { return try decodeCase(dictionary: dictionary, in: context) }
    try schema.checkKeys(dictionary.keys)
    return try decode(fields: .slots(schema.allKeys.map { dictionary[$0] }), in: context)
  }
}

extension VersionedModel {
  private static func decodeCase(
    dictionary: [String: ArchiveValue], in context: DecodingContext
  ) throws -> Self {
    guard dictionary.count == 1, let (name, payload) = dictionary.first else {
      throw ArchiveError(
        .typeMismatch,
        "the dictionary of an enum must have exactly one key, but this dictionary has \(dictionary.count) keys",
        typeName: schema.name)
    }
    let record = ModelRecord(typeName: schema.name, modelVersion: schema.modelVersion, fields: [(name, payload)])
    return try makeCase(of: .record(record), in: context)
  }
}

extension ModelSchema {
  /// Throws an error with the code `unknownKey` if one of the keys is not the key of a field.
  package func checkKeys(_ keys: some Sequence<String>) throws {
    let known = Set(allKeys)
    // The error names the first unknown key in sorted order, so that the message is the same in every run. The order of a dictionary
    // differs from run to run.
    guard let unknown = keys.filter({ !known.contains($0) }).min() else { return }
    throw ArchiveError(
      .unknownKey, "the model does not declare the key \(unknown); its keys are \(allKeys.joined(separator: ", "))",
      path: [.key(unknown)], typeName: name)
  }
}
