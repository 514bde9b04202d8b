import Foundation

extension FoundationRecord {
  /// Whether a class is one of Foundation's, AppKit's or UIKit's by its name.
  static func isKnown(_ typeName: String) -> Bool { names[typeName] != nil || structures[typeName] != nil }

  /// The key of the archive that a field of a known class has; `nil` for any other.
  ///
  /// AppKit and UIKit have the same names for some fields: then it is the key that begins as the class does.
  static func rawKey(of key: String, in typeName: String) -> String? {
    let keys = names[typeName]?.filter { $0.value == key }.map(\.key).sorted() ?? []
    return keys.first { $0.hasPrefix(typeName.prefix(2)) } ?? keys.first
  }

  /// The fields of a record as its class encodes them: those under keys of the archive, and the others.
  static func keyed(_ record: ModelRecord) -> (
    raw: [(key: String, value: Value)], others: [(key: String, value: Value)]
  ) {
    let raw =
      switch structures[record.typeName] {
      case .attributedString?: keyedText(record)
      case .indexSet?: keyedRanges(record)
      case .value?: keyedValue(record)
      case nil: nil as [(key: String, value: Value)]?
      }
    guard let raw else { return ([], record.fields) }
    let parts = parts(of: record.typeName)
    return (raw, record.fields.filter { !parts.contains($0.key) })
  }

  private static func keyedText(_ record: ModelRecord) -> [(key: String, value: Value)]? {
    guard let text = record["string"]?.stringValue, let runs = record["runs"]?.arrayValue else { return nil }
    var attributes: [Value] = []
    var places: [SameValue: Int] = [:]
    var info = Data()
    var location = 0
    for run in runs {
      guard let length = run["length"]?.intValue, length >= 0, run["location"]?.intValue == location,
        let values = run["attributes"]
      else { return nil }
      location += length
      let place = places[SameValue(values)] ?? attributes.count
      if place == attributes.count {
        places[SameValue(values)] = place
        attributes.append(values)
      }
      append(length, to: &info)
      append(place, to: &info)
    }
    guard location <= text.utf16.count else { return nil }
    let string = (key: "NSString", value: Value.string(text))
    if runs.isEmpty { return [string] }
    if runs.count == 1, location == text.utf16.count { return [string, ("NSAttributes", attributes[0])] }
    return [string, ("NSAttributes", .array(attributes)), ("NSAttributeInfo", .data(info))]
  }

  private static func keyedRanges(_ record: ModelRecord) -> [(key: String, value: Value)]? {
    guard let ranges = record["ranges"]?.arrayValue else { return nil }
    var numbers: [(Int, Int)] = []
    for range in ranges {
      guard let location = range["location"]?.intValue, let length = range["length"]?.intValue, location >= 0,
        length >= 0
      else { return nil }
      numbers.append((location, length))
    }
    let count = (key: "NSRangeCount", value: Value.integer(numbers.count))
    switch numbers.count {
    case 0: return [count]
    case 1: return [count, ("NSLocation", .integer(numbers[0].0)), ("NSLength", .integer(numbers[0].1))]
    default:
      var data = Data()
      for (location, length) in numbers {
        append(location, to: &data)
        append(length, to: &data)
      }
      return [count, ("NSRangeData", .data(data))]
    }
  }

  /// Foundation marks what a value is with a number: 1 is a point, 2 a size, 3 a rectangle and 4 a range.
  private static func keyedValue(_ record: ModelRecord) -> [(key: String, value: Value)]? {
    func text(_ value: Value, _ keys: [String]) -> String? {
      let numbers = keys.compactMap { value[$0]?.doubleValue }
      guard numbers.count == keys.count else { return nil }
      return "{" + numbers.map(\.description).joined(separator: ", ") + "}"
    }
    if let point = record["point"].flatMap({ text($0, ["x", "y"]) }) {
      return [("NS.special", 1), ("NS.pointval", .string(point))]
    }
    if let size = record["size"].flatMap({ text($0, ["width", "height"]) }) {
      return [("NS.special", 2), ("NS.sizeval", .string(size))]
    }
    if let rect = record["rect"], let origin = text(rect, ["x", "y"]), let size = text(rect, ["width", "height"]) {
      return [("NS.special", 3), ("NS.rectval", .string("{\(origin), \(size)}"))]
    }
    if let range = record["range"], let location = range["location"], let length = range["length"] {
      return [("NS.special", 4), ("NS.rangeval.location", location), ("NS.rangeval.length", length)]
    }
    return nil
  }

  /// Adds an integer with 7 bits in each byte, the lowest first, and the eighth bit where more follow.
  private static func append(_ number: Int, to data: inout Data) {
    var rest = UInt(bitPattern: number)
    while rest >= 0x80 {
      data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    data.append(UInt8(rest))
  }
}

extension FoundationValue {
  /// What `NSDecimalNumber` encodes: eight digits to the base of 65,536, the smallest first, in little-endian order.
  static func keyed(_ decimal: Decimal) -> [(key: String, value: PropertyList.Object)] {
    // No digits with a sign is how a decimal says that it is not a number.
    let parts = DecimalParts(decimal) ?? DecimalParts(isNegative: true, mantissa: 0, exponent: 0)
    let (mantissa, exponent) = parts.withinRange
    let digits = (0..<8).map { UInt16(truncatingIfNeeded: mantissa >> UInt128(16 * $0)) }
    let length = 8 - digits.reversed().prefix { $0 == 0 }.count
    return [
      ("NS.exponent", .integer(Int128(exponent))), ("NS.length", .integer(Int128(length))),
      ("NS.negative", .bool(parts.isNegative)), ("NS.compact", .bool(true)),
      ("NS.mantissa", .data(Data(digits.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }))),
      ("NS.mantissa.bo", .integer(1)),
    ]
  }
}
