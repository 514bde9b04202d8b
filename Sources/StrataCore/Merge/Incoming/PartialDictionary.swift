/// A dictionary whose values can come in parts.
protocol PartialDictionary {
  static var partType: any Archivable.Type { get }
  /// The key that JSON or an archive holds, as a value of the dictionary.
  static func partKey(_ key: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue
}

extension Dictionary: PartialDictionary where Key: Archivable, Value: Archivable {
  static var partType: any Archivable.Type { Value.self }

  static func partKey(_ key: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue {
    try makeKey(key, context).archivedValue(includingExcluded: true)
  }
}
