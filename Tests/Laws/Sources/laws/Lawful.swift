import Foundation
import OrderedCollections
import Strata

/// A type for which the laws are checked.
protocol Lawful {
  /// A random value.
  static func sample(_ source: inout Source) -> Self
  /// The value in the form that the oracle uses.
  var plain: Plain { get }
}

// MARK: Scalars

extension Bool: Lawful {
  static func sample(_ source: inout Source) -> Bool { source.below(2) == 0 }
  var plain: Plain { .scalar(.bool(self)) }
}

extension Lawful where Self: FixedWidthInteger {
  static func sample(_ source: inout Source) -> Self {
    source.below(4) == 0 ? source.oneOf([.min, .max, 100]) : Self(source.below(6))
  }
  var plain: Plain { .integer(self) }
}
extension Int: Lawful {}
extension Int8: Lawful {}
extension UInt64: Lawful {}
extension Int128: Lawful {}

extension Double: Lawful {
  static func sample(_ source: inout Source) -> Double {
    source.oneOf([0, 0.1, -1.5, 3, 1e21, 2.5e-7] + (source.isAny ? [.nan, -.infinity, -0.0] : []))
  }
  var plain: Plain { .scalar(.double(bitPattern)) }
}

extension Float: Lawful {
  static func sample(_ source: inout Source) -> Float {
    source.oneOf([0, 0.1, -1.5, 3, 1e21] + (source.isAny ? [.nan, .infinity, -0.0] : []))
  }
  var plain: Plain { .scalar(.float(bitPattern)) }
}

extension String: Lawful {
  static func sample(_ source: inout Source) -> String {
    source.oneOf(
      ["", "a", "b", "c.d", "Zürich", "a\"\\\n\u{1}/", "🦀", "null"] + (source.isAny ? ["\u{e9}", "e\u{301}"] : []))
  }
  var plain: Plain { .text(self) }
}

extension Data: Lawful {
  static func sample(_ source: inout Source) -> Data {
    Data((0..<source.below(5)).map { _ in source.oneOf([0, 65, 255]) })
  }
  var plain: Plain { .scalar(.data(self)) }
}

extension Date: Lawful {
  static func sample(_ source: inout Source) -> Date {
    Date(timeIntervalSinceReferenceDate: source.oneOf([0, 1, -86_400, 700_000_000.5]))
  }
  var plain: Plain { .scalar(.date(timeIntervalSinceReferenceDate.bitPattern)) }
}

extension URL: Lawful {
  static func sample(_ source: inout Source) -> URL {
    let texts = ["https://example.com", "https://example.com/a?b=c#d", "mailto:a@b.c", "file:///tmp/x"]
    return URL(string: source.oneOf(texts)).unsafelyUnwrapped
  }
  var plain: Plain { .scalar(.url(absoluteString)) }
}

extension UUID: Lawful {
  static func sample(_ source: inout Source) -> UUID {
    let byte = UInt8(source.below(5))
    return UUID(uuid: (byte, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, byte))
  }
  var plain: Plain { .scalar(.uuid(self)) }
}

extension Decimal: Lawful {
  static func sample(_ source: inout Source) -> Decimal {
    let digits = source.oneOf(["0", "1.1", "-20", "3.14159265358979323846264338327950288"])
    return Decimal(string: digits, locale: Locale(identifier: "en_US_POSIX")).unsafelyUnwrapped
  }
  var plain: Plain { .scalar(.decimal(self)) }
}

/// Random values are texts, integers, Booleans, lists and objects that JSON reads back as the same value.
extension ArchiveValue: Lawful {
  static func sample(_ source: inout Source) -> ArchiveValue {
    switch source.below(source.depth > 1 ? 3 : 5) {
    case 0: .string(String.sample(&source))
    case 1: .int(Int64(source.below(5)))
    case 2: .bool(source.below(2) == 0)
    case 3: .array(source.elements { ArchiveValue.sample(&$0) })
    default:
      .object(
        ArchiveObject([ArchiveObject.Entry(key: "k", value: source.elements { ArchiveValue.sample(&$0) }.first ?? 1)]))
    }
  }
  var plain: Plain { .opaque(inside, isCodable: false) }
  private var inside: Plain {
    switch self {
    case .string(let text): .text(text)
    case .int(let integer): .integer(integer)
    case .bool(let bool): bool.plain
    case .array(let elements): .list(elements.map(\.inside))
    case .object(let object):
      .dictionary(Dictionary(uniqueKeysWithValues: object.entries.map { (.text($0.key), $0.value.inside) }))
    default: .text("an ArchiveValue that the suite does not make: \(kind)")
    }
  }
}

// MARK: Containers

extension Optional: Lawful where Wrapped: Lawful {
  static func sample(_ source: inout Source) -> Wrapped? { source.below(3) == 0 ? nil : Wrapped.sample(&source) }
  var plain: Plain { self?.plain ?? .null }
}

extension Array: Lawful where Element: Lawful {
  static func sample(_ source: inout Source) -> [Element] { source.elements { Element.sample(&$0) } }
  var plain: Plain { .list(map(\.plain)) }
}

extension ContiguousArray: Lawful where Element: Lawful {
  static func sample(_ source: inout Source) -> ContiguousArray<Element> {
    ContiguousArray(source.elements { Element.sample(&$0) })
  }
  var plain: Plain { .list(map(\.plain)) }
}

extension Set: Lawful where Element: Lawful {
  static func sample(_ source: inout Source) -> Set<Element> { Set(source.elements { Element.sample(&$0) }) }
  var plain: Plain { .set(Set<Plain>(map(\.plain))) }
}

extension Dictionary: Lawful where Key: Lawful, Value: Lawful {
  static func sample(_ source: inout Source) -> [Key: Value] {
    Dictionary(
      source.elements { (Key.sample(&$0), Value.sample(&$0)) }, uniquingKeysWith: { first, _ in first })
  }
  var plain: Plain {
    .dictionary(Dictionary<Plain, Plain>(uniqueKeysWithValues: map { ($0.key.plain, $0.value.plain) }))
  }
}

extension OrderedSet: Lawful where Element: Lawful {
  static func sample(_ source: inout Source) -> OrderedSet<Element> {
    OrderedSet(source.elements { Element.sample(&$0) })
  }
  var plain: Plain { .list(map(\.plain)) }
}

extension OrderedDictionary: Lawful where Key: Lawful, Value: Lawful {
  static func sample(_ source: inout Source) -> OrderedDictionary<Key, Value> {
    OrderedDictionary(
      source.elements { (Key.sample(&$0), Value.sample(&$0)) }, uniquingKeysWith: { first, _ in first })
  }
  var plain: Plain { .ordered(map { Plain.Pair(key: $0.key.plain, value: $0.value.plain) }) }
}
