package import Foundation
import StrataCore
package import StrataLegacy

/// Property lists in a form that tolerates mutation: each byte determines the next element, and every sequence of bytes is valid.
///
/// Changing a random byte of a binary property list mostly makes it invalid, so a fuzzer would create few meaningful ones.
package enum TableForm {
  /// The strings that a byte can select.
  package static let texts = [
    "$null", "$class", "$classname", "$classes", "$classhints", "NS.objects", "NS.keys", "NS.string", "NS.time",
    "NS.data", "NS.relative", "NS.base", "NS.uuidbytes", "NSString", "NSArray", "NSMutableArray", "NSDictionary",
    "NSSet", "NSCountedSet", "NSDate", "NSURL", "NSUUID", "NSNumber", "NSDecimalNumber", "NSNull", "NSData",
    "NSIndexSet",
    "NSAttributedString", "NSValue", "NSColor", "NSOrderedSet", "NSObject", "NS.intval", "NS.dblval", "NS.boolval",
    "NS.mantissa", "NS.exponent", "NS.length", "NS.negative", "NS.mantissa.bo", "NS.count", "NS.count0", "NS.object0",
    "NS.object.0", "NS.key.0", "NSRangeCount", "NSRangeData", "NSLocation", "NSLength", "NSAttributes",
    "NSAttributeInfo", "NS.pointval", "NS.rangeval.location", "NS.rangeval.length", "CF$UID", "$$class", "$0",
    "MTLModelVersion", "externalRepresentation", "App.Leaf", "_TtC3App4Knot", "Form", "Knot", "name", "next", "others",
    "parent", "any", "byName", "id", "b", "w", "r", "f", "p", "n", "o", "u", "d", "m", "login", "k", "t", "c", "x", "",
    "https://a.b/c?d", "{1, 2}", "é", "root",
  ]

  /// Returns the property list that the bytes describe. The first byte is the number of the root object.
  package static func propertyList(of data: Data) -> PropertyList {
    var bytes = data[...]
    func next() -> Int { Int(bytes.popFirst() ?? 0) }
    let root = next()
    var objects: [PropertyList.Object] = []
    while !bytes.isEmpty, objects.count < 4096 { objects.append(object(next)) }
    let count = max(1, objects.count)
    if objects.isEmpty { objects = [.null] }
    func within(_ number: Int) -> Int { number % count }
    objects = objects.map { object in
      switch object {
      case .array(let elements): .array(elements.map(within))
      case .set(let elements): .set(elements.map(within))
      case .dictionary(let entries):
        .dictionary(entries.map { .init(key: within($0.key), value: within($0.value)) })
      default: object
      }
    }
    return PropertyList(objects: objects, root: within(root))
  }

  /// Returns the keyed archive whose objects the bytes describe. Reference 0 is the archive's own `$null`.
  package static func keyedArchive(of data: Data) -> PropertyList {
    var list = propertyList(of: data)
    let count = list.objects.count
    let texts = ["$null", "$archiver", "NSKeyedArchiver", "$version", "$objects", "$top", "root"]
    list.objects += texts.map { .string($0) }
    list.objects += [
      .integer(100_000), .uid(UInt64(list.root + 1)), .dictionary([.init(key: count + 6, value: count + 8)]),
      .array([count] + Array(0..<count)),
      .dictionary([
        .init(key: count + 1, value: count + 2), .init(key: count + 3, value: count + 7),
        .init(key: count + 4, value: count + 10), .init(key: count + 5, value: count + 9),
      ]),
    ]
    list.root = list.objects.count - 1
    return list
  }

  private static func object(_ next: () -> Int) -> PropertyList.Object {
    let head = next()
    let low = head >> 4
    switch head & 0xF {
    case 0: return .null
    case 1: return .bool(low & 1 == 1)
    case 2: return .integer(WideInteger(Int128(low) - 4))
    case 3:
      return .integer(WideInteger((0..<min(low, 15) + 1).reduce(Int128(0)) { sum, _ in sum << 8 | Int128(next()) }))
    case 4: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits(low, next))))
    case 5: return .double(Double(bitPattern: bits(low, next)))
    case 6:
      let seconds = Double(bitPattern: bits(low, next))
      return .date(Date(timeIntervalSinceReferenceDate: seconds.isFinite ? seconds : 0))
    case 7: return .data(Data((0..<low).map { _ in UInt8(truncatingIfNeeded: next()) }))
    case 8: return .string(String(decoding: (0..<low).map { _ in UInt8(truncatingIfNeeded: next()) }, as: UTF8.self))
    case 9, 10: return .string(texts[next() % texts.count])
    case 11: return .uid(UInt64(next()))
    case 12: return .array((0..<low).map { _ in next() })
    case 13: return .set((0..<low).map { _ in next() })
    default: return .dictionary((0..<low).map { _ in .init(key: next(), value: next()) })
    }
  }

  /// Returns eight bytes: `count` bytes from `next`, followed by zeros. A small `count` results in a round number.
  private static func bits(_ count: Int, _ next: () -> Int) -> UInt64 {
    var bits: UInt64 = 0
    for place in 0..<8 { bits = bits << 8 | (place < count ? UInt64(next()) : 0) }
    return bits
  }
}
