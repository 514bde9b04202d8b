/// A dictionary whose values can come in parts.
package protocol PartialDictionary {
  /// Whether its keys are those of an object or a map; else it is an array of pairs, in their order.
  static var isKeyed: Bool { get }
  static var partType: any Archivable.Type { get }
  /// The keys and values that JSON or an archive holds.
  static func partPairs(of value: ArchiveValue, in context: DecodingContext) throws -> [(
    key: ArchiveValue, value: ArchiveValue
  )]
  /// The key that JSON or an archive holds, as a value of the dictionary.
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
