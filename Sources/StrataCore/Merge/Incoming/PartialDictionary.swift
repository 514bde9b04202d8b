/// A dictionary type that a merge can read entry by entry, even if models in its values lack keys.
package protocol PartialDictionary {
  /// Whether the dictionary is encoded as an object or a map. Otherwise, the dictionary is encoded as an array of key–value pairs, in
  /// order.
  static var isKeyed: Bool { get }
  static var partType: any Archivable.Type { get }
  /// Returns the keys and values of a dictionary in JSON or in an archive.
  static func partPairs(of value: ArchiveValue, in context: DecodingContext) throws -> [(
    key: ArchiveValue, value: ArchiveValue
  )]
  /// Converts a key from JSON or an archive to the archived form of the dictionary's key type.
  static func partKey(_ key: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue
}

extension Dictionary: PartialDictionary where Key: Archivable, Value: Archivable {
  package static var isKeyed: Bool { true }

  package static var partType: any Archivable.Type { Value.self }

  package static func partPairs(of value: ArchiveValue, in context: DecodingContext) throws -> [(
    key: ArchiveValue, value: ArchiveValue
  )] {
    try pairs(of: value, takesPairs: context.source == .json)
  }

  package static func partKey(_ key: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue {
    try makeKey(key, context).archivedValue(includingExcluded: true)
  }
}
