import Foundation
internal import StrataCore

/// The Foundation classes whose objects are decoded as plain values instead of records.
enum FoundationValue {
  case string, number, decimal, date, data, array, set, countedSet, dictionary, url, uuid, null

  private static let names: [String: FoundationValue] = [
    "NSString": .string, "NSMutableString": .string, "NSNumber": .number, "NSDecimalNumber": .decimal,
    "NSDecimalNumberPlaceholder": .decimal, "NSDate": .date, "NSCalendarDate": .date, "NSData": .data,
    "NSMutableData": .data, "NSArray": .array, "NSMutableArray": .array, "NSOrderedSet": .array,
    "NSMutableOrderedSet": .array, "NSSet": .set, "NSMutableSet": .set, "NSCountedSet": .countedSet,
    "NSDictionary": .dictionary, "NSMutableDictionary": .dictionary, "NSURL": .url, "NSUUID": .uuid, "NSNull": .null,
  ]

  /// Creates the case for a class. Returns `nil` if objects of the class are not decoded as plain values, or if `keys`
  /// does not match a known encoding of the class. The object is then decoded as a record with all its fields.
  init?(_ type: KeyedClass, keys: [String]) {
    guard let found = Self.find(type), found.reads(keys) else { return nil }
    self = found
  }

  /// Finds the case for a class by the class name, without checking the object's keys.
  static func find(_ type: KeyedClass) -> FoundationValue? {
    if let found = names[type.name] { return found }
    // Foundation has private subclasses of its public classes, which are decoded like the public classes. Objects of a
    // program's own subclasses become records instead.
    guard type.name.hasPrefix("_NS") || type.name.hasPrefix("__NS") || type.name.hasPrefix("Foundation.") else {
      return nil
    }
    return type.chain.lazy.compactMap { names[$0] }.first
  }

  /// Whether these keys match a known encoding of the class.
  func reads(_ keys: [String]) -> Bool {
    switch self {
    case .string: keys.contains("NS.string") || keys.contains("NS.bytes")
    case .number: keys.contains { $0 == "NS.boolval" || $0 == "NS.intval" || $0 == "NS.dblval" }
    case .decimal: keys.contains("NS.mantissa")
    case .date: keys.contains("NS.time")
    case .data: keys.contains("NS.data") || keys.contains("NS.bytes")
    // A key with a different suffix, such as `NS.objects.new`, is a sign of an unknown encoding. Decoding such an
    // object as a collection would lose the value of the key.
    case .array, .set: keys.isEmpty || keys.contains { Self.objects.has($0) }
    case .countedSet: keys.contains { Self.objects.has($0) || $0 == "NS.count" }
    case .dictionary: keys.isEmpty || keys.contains { Self.objects.has($0) || Self.keys.has($0) }
    case .url: keys.contains("NS.relative")
    case .uuid: keys.contains("NS.uuidbytes")
    case .null: true
    }
  }

  /// Whether the class is a collection, which stores its elements in a separate array of the property list.
  var isCollection: Bool {
    switch self {
    case .array, .set, .countedSet, .dictionary: true
    default: false
    }
  }

  /// Decodes the value of an object.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` if a key holds a value that the class does not write.
  func decode(_ fields: KeyedFields, _ digests: ValueDigests) throws -> ArchiveValue {
    switch self {
    case .null: .null
    case .string: try Self.string(fields)
    case .number: try Self.number(fields)
    case .decimal: try Self.decimal(fields)
    case .date: try Self.date(fields)
    case .data: try Self.data(fields)
    case .array: try Self.array(fields)
    case .set: try Self.set(fields, digests)
    case .countedSet: try Self.countedSet(fields, digests)
    case .dictionary: try Self.dictionary(fields, digests)
    case .url: try Self.url(fields)
    case .uuid: try Self.uuid(fields)
    }
  }

  /// Returns the encoding of a value that is written as a separate object. Returns `nil` if the value has no Foundation
  /// class, or if property lists can store the value directly.
  static func encoding(of value: ArchiveValue) -> FoundationEncoding? {
    switch value {
    case .null: FoundationEncoding(["NSNull", "NSObject"], [])
    case .string(let text): string(text)
    case .date(let date): self.date(date)
    case .uuid(let uuid): self.uuid(uuid)
    case .decimal(let decimal): self.decimal(decimal)
    case .url(let url): self.url(url)
    case .array(let elements): array(elements)
    case .set(let elements): set(elements)
    case .object(let object): dictionary(object)
    case .map(let entries): dictionary(entries)
    default: nil
    }
  }
}

/// The encoding of a value as an object of a Foundation class.
struct FoundationEncoding {
  /// The value under one key of the object.
  enum Part {
    case inlined(PropertyList.Object)
    /// A reference to a separate object, or nil.
    case object(ArchiveValue?)
    /// An array of references to objects. If `keys` is not `nil`, the path of an error contains an element's key
    /// instead of its index.
    case list([ArchiveValue], keys: [String]?)
  }

  /// The name of the class, followed by the names of its superclasses.
  let chain: [String]
  let parts: [(key: String, part: Part)]
  /// The name of the mutable subclass, such as `NSMutableArray`, or `nil` if there is none. An archive with this name
  /// can be read by programs that modify unarchived collections in place.
  var mutable: String?

  init(_ chain: [String], mutable: String? = nil, _ parts: [(key: String, part: Part)]) {
    self.chain = chain
    self.parts = parts
    self.mutable = mutable
  }
}
