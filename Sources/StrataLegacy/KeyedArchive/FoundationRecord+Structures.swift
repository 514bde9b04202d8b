import Foundation
internal import StrataCore

// Classes whose fields are restructured, not only renamed. Each is followed by its encoding.

extension FoundationRecord {
  // MARK: NSAttributedString

  /// The text, and runs of UTF-16 units with their attributes.
  ///
  /// Several runs may share their attributes. The budget counts the attributes once for each run.
  static func attributedString(_ fields: KeyedFields, _ budget: WorkBudget) throws -> KeyedFields {
    guard case .string(let text)? = fields["NSString"] else { return fields }
    let length = text.utf16.count
    var runs: [ArchiveValue] = []
    func add(_ location: Int, _ length: Int, _ attributes: ArchiveValue) {
      runs.append([
        "location": .integer(location), "length": .integer(length), "attributes": attributes,
      ])
    }
    switch (fields["NSAttributeInfo"], fields["NSAttributes"]) {
    case (.data(let info)?, .array(let attributes)?):
      let numbers = try integers(info, "NSAttributeInfo")
      var location = 0
      var sizes = [Int](repeating: 0, count: attributes.count)
      for run in stride(from: 0, to: numbers.count, by: 2) {
        let (count, index) = (numbers[run], numbers[run + 1])
        guard count <= length - location, attributes.indices.contains(index) else {
          throw ArchiveError(.damaged, "a run of attributes is outside of the text", path: [.key("NSAttributeInfo")])
        }
        if sizes[index] == 0 { sizes[index] = attributes[index].size }
        try budget.spend(values: 3 + sizes[index])
        add(location, count, attributes[index])
        location += count
      }
    case (nil, let attributes?): add(0, length, attributes)
    case (nil, nil): break
    default: return fields
    }
    return with(
      fields, replacing: ["NSString", "NSAttributes", "NSAttributeInfo"],
      by: [
        ("string", .string(text)), ("runs", .array(runs)),
      ])
  }

  static func encodeAttributedString(_ record: ModelRecord) -> [(key: String, value: ArchiveValue)]? {
    guard let text = record["string"]?.stringValue, let runs = record["runs"]?.arrayValue else { return nil }
    var attributes: [ArchiveValue] = []
    var indices: [ArchiveValue: Int] = [:]
    var info = Data()
    var location = 0
    for run in runs {
      guard let length = run["length"]?.intValue, length >= 0, run["location"]?.intValue == location,
        let values = run["attributes"], length <= text.utf16.count - location
      else { return nil }
      location += length
      let index = indices[values] ?? attributes.count
      if index == attributes.count {
        indices[values] = index
        attributes.append(values)
      }
      append(length, to: &info)
      append(index, to: &info)
    }
    let string = (key: "NSString", value: ArchiveValue.string(text))
    if runs.isEmpty { return [string] }
    if runs.count == 1, location == text.utf16.count { return [string, ("NSAttributes", attributes[0])] }
    return [string, ("NSAttributes", .array(attributes)), ("NSAttributeInfo", .data(info))]
  }

  // MARK: NSIndexSet

  static func indexSet(_ fields: KeyedFields) throws -> KeyedFields {
    guard let count = fields["NSRangeCount"]?.intValue else { return fields }
    var numbers: [Int] = []
    if fields["NSRangeData"] != nil {
      numbers = try integers(fields.data("NSRangeData"), "NSRangeData")
    } else if count == 1 {
      numbers = [try fields.integer("NSLocation"), try fields.integer("NSLength")]
    }
    guard count >= 0, count == numbers.count / 2 else {
      throw ArchiveError(.damaged, "an index set has not as many ranges as it says", path: [.key("NSRangeCount")])
    }
    let ranges = stride(from: 0, to: numbers.count, by: 2).map { range(numbers[$0], numbers[$0 + 1]) }
    return with(
      fields, replacing: ["NSRangeCount", "NSRangeData", "NSLocation", "NSLength"], by: [("ranges", .array(ranges))])
  }

  static func encodeIndexSet(_ record: ModelRecord) -> [(key: String, value: ArchiveValue)]? {
    guard let ranges = record["ranges"]?.arrayValue else { return nil }
    var numbers: [(Int, Int)] = []
    for range in ranges {
      guard let location = range["location"]?.intValue, let length = range["length"]?.intValue, location >= 0,
        length >= 0
      else { return nil }
      numbers.append((location, length))
    }
    let count = (key: "NSRangeCount", value: ArchiveValue.integer(numbers.count))
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

  // MARK: NSValue

  static func value(_ fields: KeyedFields) throws -> KeyedFields {
    func numbers(_ key: String, _ names: [String]) throws -> ArchiveValue {
      let text = try fields.string(key)
      let parts = text.split(whereSeparator: { "{}, ".contains($0) }).map { Double($0) }
      guard parts.count == names.count else {
        throw ArchiveError(.damaged, "\(names.count) numbers in braces are expected", path: [.key(key)])
      }
      var object = ArchiveObject()
      for (name, number) in zip(names, parts) {
        guard let number else { throw ArchiveError(.damaged, "a number is expected", path: [.key(key)]) }
        object[name] = .double(number)
      }
      return .object(object)
    }
    let found: (String, ArchiveValue, [String])
    if fields["NS.pointval"] != nil {
      found = ("point", try numbers("NS.pointval", ["x", "y"]), ["NS.pointval"])
    } else if fields["NS.sizeval"] != nil {
      found = ("size", try numbers("NS.sizeval", ["width", "height"]), ["NS.sizeval"])
    } else if fields["NS.rectval"] != nil {
      found = ("rect", try numbers("NS.rectval", ["x", "y", "width", "height"]), ["NS.rectval"])
    } else if fields["NS.rangeval.location"] != nil {
      let keys = ["NS.rangeval.location", "NS.rangeval.length"]
      found = ("range", range(try fields.integer(keys[0]), try fields.integer(keys[1])), keys)
    } else {
      return withoutPrefix(fields, of: "NSValue")
    }
    return with(fields, replacing: found.2 + ["NS.special"], by: [(found.0, found.1)])
  }

  /// `NS.special` is the kind of the value: 1 is a point, 2 a size, 3 a rectangle and 4 a range.
  static func encodeValue(_ record: ModelRecord) -> [(key: String, value: ArchiveValue)]? {
    func text(_ value: ArchiveValue, _ keys: [String]) -> String? {
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

  // MARK: Parts

  private static func range(_ location: Int, _ length: Int) -> ArchiveValue {
    ["location": .integer(location), "length": .integer(length)]
  }

  private static func with(
    _ fields: KeyedFields, replacing old: [String], by new: [(key: String, value: ArchiveValue)]
  ) -> KeyedFields {
    var result = KeyedFields(keys: new.map(\.key), values: new.map(\.value))
    let replaced = Set(old + result.keys)
    for (key, value) in zip(fields.keys, fields.values) where !replaced.contains(key) {
      result.keys.append(key)
      result.values.append(value)
    }
    return result
  }

  /// Decodes pairs of LEB128 integers: 7 bits per byte, the lowest first; the eighth bit is set if more follow.
  private static func integers(_ data: Data, _ key: String) throws -> [Int] {
    var numbers: [Int] = []
    var number = 0
    var shift = 0
    for byte in data {
      guard shift < 63 else { throw ArchiveError(.damaged, "an integer of more than 63 bits", path: [.key(key)]) }
      number |= Int(byte & 0x7F) << shift
      shift += 7
      if byte < 0x80 {
        numbers.append(number)
        (number, shift) = (0, 0)
      }
    }
    guard shift == 0, numbers.count.isMultiple(of: 2) else {
      throw ArchiveError(.damaged, "pairs of integers are expected", path: [.key(key)])
    }
    return numbers
  }

  /// Appends an integer in LEB128.
  private static func append(_ number: Int, to data: inout Data) {
    var rest = UInt(bitPattern: number)
    while rest >= 0x80 {
      data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    data.append(UInt8(rest))
  }
}
