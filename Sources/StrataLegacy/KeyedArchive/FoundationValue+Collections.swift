import Foundation
internal import StrataCore

// Decodes and encodes Foundation's collections.

extension FoundationValue {
  static let objects = KeyedFields.Elements(list: "NS.objects", prefix: "NS.object.")
  /// The keys under which a counted set stores its elements. A counted set never stores them in a single array.
  static let counted = KeyedFields.Elements(list: "NS.objects", prefix: "NS.object")
  static let keys = KeyedFields.Elements(list: "NS.keys", prefix: "NS.key.")

  private static func encoding(_ name: String, _ parts: [(key: String, part: FoundationEncoding.Part)])
    -> FoundationEncoding
  {
    FoundationEncoding(["NS" + name, "NSObject"], mutable: "NSMutable" + name, parts)
  }

  // MARK: NSArray

  static func array(_ fields: KeyedFields) throws -> ArchiveValue { .array(try fields.elements(objects)) }

  static func array(_ elements: [ArchiveValue]) -> FoundationEncoding {
    encoding("Array", [("NS.objects", .list(elements, keys: nil))])
  }

  // MARK: NSSet and NSCountedSet

  static func set(_ fields: KeyedFields, _ digests: ValueDigests) throws -> ArchiveValue {
    .set(try digests.unique(fields.elements(objects)))
  }

  /// Decodes a counted set as a map from its elements to their counts, or as an ordinary set if the archiver wrote no
  /// counts.
  static func countedSet(_ fields: KeyedFields, _ digests: ValueDigests) throws -> ArchiveValue {
    guard fields["NS.count"] != nil else { return .set(try digests.unique(fields.elements(objects))) }
    let count = try fields.integer("NS.count")
    var byKey: [String: ArchiveValue] = [:]
    for (key, value) in zip(fields.keys, fields.values) { byKey[key] = value }
    let found = fields.keys.count { Self.counted.has($0) || Self.objects.has($0) }
    guard count == found else {
      throw ArchiveError(
        .damaged, "the number of elements in a set does not match its count", path: [.key("NS.count")])
    }
    var entries: [ArchiveValue.MapEntry] = []
    for index in 0..<count {
      guard let element = byKey["NS.object\(index)"], let times = byKey["NS.count\(index)"]?.intValue else {
        throw ArchiveError(.damaged, "element \(index) of a set is missing", path: [.index(index)])
      }
      entries.append(ArchiveValue.MapEntry(key: element, value: .integer(times)))
    }
    return .map(try digests.unique(entries, keepsFirst: true))
  }

  static func set(_ elements: [ArchiveValue]) -> FoundationEncoding {
    encoding("Set", [("NS.objects", .list(elements, keys: nil))])
  }

  // MARK: NSDictionary

  static func dictionary(_ fields: KeyedFields, _ digests: ValueDigests) throws -> ArchiveValue {
    let keys = try fields.elements(Self.keys)
    let values = try fields.elements(objects)
    guard keys.count == values.count else {
      throw ArchiveError(.damaged, "a dictionary has \(keys.count) keys but \(values.count) values")
    }
    let names = keys.compactMap(\.stringValue)
    if names.count == keys.count {
      return .object(ArchiveObject(zip(names, values).map { ArchiveObject.Entry(key: $0, value: $1) }))
    }
    return .map(try digests.unique(zip(keys, values).map { ArchiveValue.MapEntry(key: $0, value: $1) }))
  }

  static func dictionary(_ object: ArchiveObject) -> FoundationEncoding {
    let keys = object.keys
    let values = object.entries.map(\.value)
    return encoding(
      "Dictionary",
      [("NS.keys", .list(keys.map { .string($0) }, keys: keys)), ("NS.objects", .list(values, keys: keys))])
  }

  static func dictionary(_ entries: [ArchiveValue.MapEntry]) -> FoundationEncoding {
    encoding(
      "Dictionary",
      [("NS.keys", .list(entries.map(\.key), keys: nil)), ("NS.objects", .list(entries.map(\.value), keys: nil))])
  }
}
