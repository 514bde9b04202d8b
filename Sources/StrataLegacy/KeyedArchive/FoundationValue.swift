import Foundation
internal import StrataCore

/// A class of Foundation's whose objects are values: which classes there are, and the keys that tell their encodings.
///
/// How each is read and written is in the files for scalars and for collections.
enum FoundationValue {
  case string, number, decimal, date, data, array, set, countedSet, dictionary, url, uuid, null

  private static let names: [String: FoundationValue] = [
    "NSString": .string, "NSMutableString": .string, "NSNumber": .number, "NSDecimalNumber": .decimal,
    "NSDecimalNumberPlaceholder": .decimal, "NSDate": .date, "NSCalendarDate": .date, "NSData": .data,
    "NSMutableData": .data, "NSArray": .array, "NSMutableArray": .array, "NSOrderedSet": .array,
    "NSMutableOrderedSet": .array, "NSSet": .set, "NSMutableSet": .set, "NSCountedSet": .countedSet,
    "NSDictionary": .dictionary, "NSMutableDictionary": .dictionary, "NSURL": .url, "NSUUID": .uuid, "NSNull": .null,
  ]

  /// The class of an object; `nil` for another class, and where the keys of a known encoding are missing. Both stay
  /// records with all that they hold.
  init?(_ type: KeyedClass, keys: [String]) {
    guard let found = Self.find(type), found.reads(keys) else { return nil }
    self = found
  }

  /// The class by its name alone.
  static func find(_ type: KeyedClass) -> FoundationValue? {
    if let found = names[type.name] { return found }
    // Foundation has private classes under its public ones. A program's own subclass is not among them.
    guard type.name.hasPrefix("_NS") || type.name.hasPrefix("__NS") || type.name.hasPrefix("Foundation.") else {
      return nil
    }
    return type.chain.lazy.compactMap { names[$0] }.first
  }

  /// Whether keys are those of a known encoding.
  func reads(_ keys: [String]) -> Bool {
    switch self {
    case .string: keys.contains("NS.string") || keys.contains("NS.bytes")
    case .number: keys.contains { $0 == "NS.boolval" || $0 == "NS.intval" || $0 == "NS.dblval" }
    case .decimal: keys.contains("NS.mantissa")
    case .date: keys.contains("NS.time")
    case .data: keys.contains("NS.data") || keys.contains("NS.bytes")
    // A key that only begins like one of these is of another encoding, and what is under it would be lost.
    case .array, .set: keys.isEmpty || keys.contains { Self.objects.has($0) }
    case .countedSet: keys.contains { Self.objects.has($0) || $0 == "NS.count" }
    case .dictionary: keys.isEmpty || keys.contains { Self.objects.has($0) || Self.keys.has($0) }
    case .url: keys.contains("NS.relative")
    case .uuid: keys.contains("NS.uuidbytes")
    case .null: true
    }
  }

  /// Whether the elements are in an array of their own inside the object.
  var isCollection: Bool {
    switch self {
    case .array, .set, .countedSet, .dictionary: true
    default: false
    }
  }

  /// The value of an object.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` where a key holds something else than the class writes.
  func make(_ fields: KeyedFields, _ digests: ValueDigests) throws -> ArchiveValue {
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

  /// How a value is written as an object of its own; `nil` for one that is no class of Foundation's, or that a property
  /// list holds itself.
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

/// How an object of a class of Foundation's is written.
struct FoundationEncoding {
  /// What is under a key.
  enum Part {
    case inlined(PropertyList.Object)
    /// An object of its own; nil where there is none.
    case object(ArchiveValue?)
    /// An array of objects, which errors name by the keys where they are given.
    case list([ArchiveValue], keys: [String]?)
  }

  /// The class and its superclasses.
  let chain: [String]
  let parts: [(key: String, part: Part)]
  /// The class for programs that change what they open.
  var mutable: String?

  init(_ chain: [String], mutable: String? = nil, _ parts: [(key: String, part: Part)]) {
    self.chain = chain
    self.parts = parts
    self.mutable = mutable
  }
}
