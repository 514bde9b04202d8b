extension VersionedModel {
  /// Makes the model of field values by key.
  ///
  /// A key that is absent takes the field's default, `.null` makes an optional nil, and no dictionary stands for an empty
  /// one. An object inside is a record, as ``dictionaryValue`` gives it, or an object with the keys of its own fields.
  /// The other values are in the types of the fields: dates are no text.
  ///
  /// - Parameters:
  ///   - dictionary: values under today's keys.
  ///   - validates: whether the model must keep its rules (see ``Validating``).
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `typeMismatch`
  ///   where a value is not what the field holds, `missingValue` where a field without a default is absent, `invalid`
  ///   where a rule is broken.
  public init(dictionary: [String: ArchiveValue]?, validates: Bool = true) throws {
    let context = DecodingContext(
      source: .dictionary, includesExcluded: true, finishing: .gathering(validates: validates))
    self = try context.checked { try Self.make(dictionary: dictionary ?? [:], in: context) }
  }

  /// The values of all fields by key, those that archives leave out too; nil is `.null`. Of an enum it is the case, and under it an object
  /// of the associated values by their labels.
  ///
  /// - Throws: ``ArchiveError`` where a value cannot be encoded.
  /// - Complexity: linear in the size of the object.
  public var dictionaryValue: [String: ArchiveValue] {
    get throws {
      let record = try record(includingExcluded: true)
      guard !Self.schema.isEnumeration else {
        return Dictionary(record.fields.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      }
      // Unknown keys that the model keeps are no fields.
      return Dictionary(uniqueKeysWithValues: Self.schema.allKeys.map { ($0, record[$0] ?? .null) })
    }
  }

  static func make(dictionary: [String: ArchiveValue], in context: DecodingContext) throws -> Self {
    try schema.check()
    guard !schema.isEnumeration else { return try make(dictionaryOfCase: dictionary, in: context) }
    try schema.checkKeys(dictionary.keys)
    return try make(.slots(schema.allKeys.map { dictionary[$0] }), in: context)
  }
}

extension VersionedModel {
  private static func make(
    dictionaryOfCase dictionary: [String: ArchiveValue], in context: DecodingContext
  ) throws -> Self {
    guard dictionary.count == 1, let (name, payload) = dictionary.first else {
      throw ArchiveError(
        .typeMismatch, "an enum is a dictionary of one case, and there are \(dictionary.count) keys",
        typeName: schema.name)
    }
    let record = ModelRecord(typeName: schema.name, modelVersion: schema.modelVersion, fields: [(name, payload)])
    return try makeCase(of: .record(record), in: context)
  }
}

extension ModelSchema {
  /// Throws where one of the keys is no field's.
  package func checkKeys(_ keys: some Sequence<String>) throws {
    let known = Set(allKeys)
    // The order of a dictionary is another with each run of the program.
    guard let unknown = keys.filter({ !known.contains($0) }).min() else { return }
    throw ArchiveError(
      .unknownKey, "the model declares no key \(unknown); its keys are \(allKeys.joined(separator: ", "))",
      path: [.key(unknown)], typeName: name)
  }
}
