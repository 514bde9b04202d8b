import Foundation

/// A class of Foundation's whose objects are plain values.
enum FoundationValue {
  case string, number, decimal, date, data, array, set, countedSet, dictionary, url, uuid, null

  private static let names: [String: FoundationValue] = [
    "NSString": .string, "NSMutableString": .string, "NSNumber": .number, "NSDecimalNumber": .decimal,
    "NSDecimalNumberPlaceholder": .decimal, "NSDate": .date, "NSCalendarDate": .date, "NSData": .data,
    "NSMutableData": .data, "NSArray": .array, "NSMutableArray": .array, "NSOrderedSet": .array,
    "NSMutableOrderedSet": .array, "NSSet": .set, "NSMutableSet": .set, "NSCountedSet": .countedSet,
    "NSDictionary": .dictionary, "NSMutableDictionary": .dictionary, "NSURL": .url, "NSUUID": .uuid, "NSNull": .null,
  ]

  /// The kind of plain value that an object is; `nil` for one of another class, and for one that has not the keys of a
  /// known encoding, which both stay records with all that they hold.
  init?(_ type: KeyedClass, keys: [String]) {
    guard let found = Self.find(type), found.reads(keys) else { return nil }
    self = found
  }

  /// The kind by the class alone.
  static func find(_ type: KeyedClass) -> FoundationValue? {
    if let found = names[type.name] { return found }
    // Foundation has private classes under its public ones. A program's own subclass is not among them.
    guard type.name.hasPrefix("_NS") || type.name.hasPrefix("__NS") || type.name.hasPrefix("Foundation.") else {
      return nil
    }
    return type.chain.lazy.compactMap { names[$0] }.first
  }

  private static let objects = KeyedFields.Elements(list: "NS.objects", prefix: "NS.object.")
  /// The elements of a set beside their counts, which never stand in one array.
  private static let counted = KeyedFields.Elements(list: "NS.objects", prefix: "NS.object")
  private static let keys = KeyedFields.Elements(list: "NS.keys", prefix: "NS.key.")

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

  /// Whether the elements stand in an array of their own inside the object.
  var isCollection: Bool {
    switch self {
    case .array, .set, .countedSet, .dictionary: true
    default: false
    }
  }

  /// The value that an object stands for.
  ///
  /// - Throws: ``ArchiveError`` with the code `damaged` where a key holds something else than the class writes.
  func make(_ fields: KeyedFields, _ digests: ValueDigests) throws -> Value {
    switch self {
    case .null: .null
    case .string: try Self.string(fields)
    case .number: try Self.number(fields)
    case .decimal: .decimal(try Self.decimal(fields))
    case .date: .date(Date(timeIntervalSinceReferenceDate: try fields.double("NS.time")))
    case .data: .data(try fields.data(fields["NS.data"] == nil ? "NS.bytes" : "NS.data"))
    case .array: .array(try fields.elements(Self.objects))
    case .set: .set(try digests.unique(fields.elements(Self.objects)))
    case .countedSet: try Self.countedSet(fields, digests)
    case .dictionary: try Self.dictionary(fields, digests)
    case .url: try Self.url(fields)
    case .uuid: .uuid(try Self.uuid(fields))
    }
  }

  private static func string(_ fields: KeyedFields) throws -> Value {
    if fields["NS.string"] != nil { return .string(try fields.string("NS.string")) }
    return .string(
      try fields.required("NS.bytes", "text in UTF-8") {
        switch $0 {
        case .data(let data): String(validating: data, as: UTF8.self)
        case .string(let text): text
        default: nil
        }
      })
  }

  private static func number(_ fields: KeyedFields) throws -> Value {
    if fields["NS.boolval"] != nil {
      return .bool(try fields.required("NS.boolval", "a boolean") { $0.boolValue ?? $0.intValue.map { $0 != 0 } })
    }
    let key = fields["NS.intval"] == nil ? "NS.dblval" : "NS.intval"
    return try fields.required(key, "a number") { value in
      switch value {
      case .int, .uint, .wideInteger, .float, .double: value
      default: nil
      }
    }
  }

  /// Eight digits to the base of 65,536, the smallest first, each in the byte order that `NS.mantissa.bo` names
  /// (1 is little, 2 is big), of which `NS.length` count.
  private static func decimal(_ fields: KeyedFields) throws -> Decimal {
    let bytes = Array(try fields.data("NS.mantissa"))
    let length = try fields.integer("NS.length")
    let isNegative = try fields.required("NS.negative", "a boolean") { $0.boolValue ?? $0.intValue.map { $0 != 0 } }
    let isBig = fields["NS.mantissa.bo"]?.intValue == 2
    guard (0...8).contains(length), bytes.count >= 2 * length, bytes.count <= 16 else {
      throw ArchiveError(.damaged, "a mantissa has as many digits as its length says", path: [.key("NS.mantissa")])
    }
    // No digits with a sign is how a decimal says that it is not a number.
    guard length > 0 || !isNegative else { return .nan }
    var mantissa: UInt128 = 0
    for place in (0..<length).reversed() {
      let (first, second) = (UInt128(bytes[2 * place]), UInt128(bytes[2 * place + 1]))
      mantissa = mantissa << 16 | (isBig ? first << 8 | second : second << 8 | first)
    }
    let parts = DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: try fields.integer("NS.exponent"))
    guard let decimal = parts.decimal else { throw ArchiveError(.damaged, "a decimal of more than 38 digits") }
    return decimal
  }

  private static func uuid(_ fields: KeyedFields) throws -> UUID {
    let bytes = Array(try fields.data("NS.uuidbytes"))
    guard bytes.count == 16 else {
      throw ArchiveError(.damaged, "a UUID has 16 bytes", path: [.key("NS.uuidbytes")])
    }
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10],
        bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }

  private static func url(_ fields: KeyedFields) throws -> Value {
    let relative = try fields.string("NS.relative")
    // Foundation archived what it does not take for an address today, such as an empty text. That stays what it is.
    switch fields["NS.base"] {
    case nil, .null?:
      // RFC 3986 has no empty scheme, which Foundation lets pass.
      guard relative.utf8.first != UInt8(ascii: ":") else { return .string(relative) }
      return URL(exactly: relative).map { .url($0) } ?? .string(relative)
    case .url(let base)?:
      return URL(string: relative, relativeTo: base.absoluteURL).map { .url($0) }
        ?? ["base": .url(base), "relative": .string(relative)]
    default: throw ArchiveError(.damaged, "an address is relative to another one", path: [.key("NS.base")])
    }
  }

  private static func dictionary(_ fields: KeyedFields, _ digests: ValueDigests) throws -> Value {
    let keys = try fields.elements(Self.keys)
    let values = try fields.elements(objects)
    guard keys.count == values.count else {
      throw ArchiveError(.damaged, "a dictionary has \(keys.count) keys and \(values.count) values")
    }
    let names = keys.compactMap(\.stringValue)
    if names.count == keys.count {
      return .object(Object(zip(names, values).map { Object.Entry(key: $0, value: $1) }))
    }
    return .map(try digests.unique(zip(keys, values).map { Value.MapEntry(key: $0, value: $1) }))
  }

  /// Elements with how often each is in the set; a set where an archiver wrote no counts.
  private static func countedSet(_ fields: KeyedFields, _ digests: ValueDigests) throws -> Value {
    guard fields["NS.count"] != nil else { return .set(try digests.unique(fields.elements(objects))) }
    let count = try fields.integer("NS.count")
    var byKey: [String: Value] = [:]
    for (key, value) in zip(fields.keys, fields.values) { byKey[key] = value }
    let found = fields.keys.count { Self.counted.has($0) || Self.objects.has($0) }
    guard count == found else {
      throw ArchiveError(
        .damaged, "a set does not have as many elements as it says", path: [.key("NS.count")])
    }
    var entries: [Value.MapEntry] = []
    for place in 0..<count {
      guard let element = byKey["NS.object\(place)"], let times = byKey["NS.count\(place)"]?.intValue else {
        throw ArchiveError(.damaged, "element \(place) is missing", path: [.index(place)])
      }
      entries.append(Value.MapEntry(key: element, value: .integer(times)))
    }
    return .map(try digests.unique(entries, keepsFirst: true))
  }
}
