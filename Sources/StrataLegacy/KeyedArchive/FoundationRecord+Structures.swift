import Foundation
internal import StrataCore

// Decodes and encodes the Foundation classes whose fields are renamed and restructured in records: attributed strings,
// index sets and `NSValue`.

extension FoundationRecord {
  // MARK: NSAttributedString

  /// Decodes the text of an attributed string, and its runs. Each run has attributes and a length in UTF-16 code units.
  ///
  /// Several runs may share the same attributes. The budget counts the attributes once for each run, because each run
  /// gets a copy.
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
          throw ArchiveError(
            .damaged, "a run of attributes is out of range for the text", path: [.key("NSAttributeInfo")])
        }
        if sizes[index] == 0 { sizes[index] = attributes[index].size }
        try budget.spend(values: 3 + sizes[index])
        add(location, count, attributes[index])
        location += count
      }
      // If some attributes are not used by any run, keep the encoded fields, because a list of runs would lose these
      // attributes.
      guard !sizes.contains(0) else { return fields }
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

  static func encodeAttributedString(_ record: ModelRecord) throws -> [(key: String, value: ArchiveValue)]? {
    guard let text = record["string"]?.stringValue, let runs = record["runs"]?.arrayValue else { return nil }
    var attributes: [ArchiveValue] = []
    // Equal attributes are found by their digests. `==` would also treat 0 and -0 as equal, and different Unicode
    // normalization forms of the same text.
    let digests = ValueDigests(WorkBudget(ArchiveLimits()))
    var indices: [ValueDigest: Int] = [:]
    var info = Data()
    var location = 0
    for run in runs {
      guard run.holds(["location", "length", "attributes"]),
        let length = run["length"]?.intValue, length >= 0, run["location"]?.intValue == location,
        let values = run["attributes"], length <= text.utf16.count - location
      else { return nil }
      location += length
      let digest = try digests.digest(of: values)
      let index = indices[digest] ?? attributes.count
      if index == attributes.count {
        indices[digest] = index
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
      throw ArchiveError(
        .damaged, "the number of ranges in an index set does not match its count", path: [.key("NSRangeCount")])
    }
    let ranges = stride(from: 0, to: numbers.count, by: 2).map { range(numbers[$0], numbers[$0 + 1]) }
    return with(
      fields, replacing: ["NSRangeCount", "NSRangeData", "NSLocation", "NSLength"], by: [("ranges", .array(ranges))])
  }

  static func encodeIndexSet(_ record: ModelRecord) -> [(key: String, value: ArchiveValue)]? {
    guard let ranges = record["ranges"]?.arrayValue else { return nil }
    var numbers: [(Int, Int)] = []
    for range in ranges {
      guard range.holds(["location", "length"]), let location = range["location"]?.intValue,
        let length = range["length"]?.intValue, location >= 0, length >= 0
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

  /// The kinds of `NSValue` that archives store as text, such as `{1, 2}`. `name` is the field of the record, `key` is
  /// the key in the archive, `special` is the value of `NS.special`, and `parts` are the names of the numbers in the
  /// text.
  private static let texts: [(name: String, key: String, special: Int, parts: [String])] = [
    ("point", "NS.pointval", 1, ["x", "y"]), ("size", "NS.sizeval", 2, ["width", "height"]),
    ("rect", "NS.rectval", 3, ["x", "y", "width", "height"]),
  ]

  static func value(_ fields: KeyedFields) throws -> KeyedFields {
    if let kind = texts.first(where: { fields[$0.key] != nil }) {
      let numbers = try fields.string(kind.key).split { "{}, ".contains($0) }.map { Double($0) }
      guard numbers.count == kind.parts.count else {
        throw ArchiveError(
          .damaged, "the value must consist of \(kind.parts.count) numbers in braces", path: [.key(kind.key)])
      }
      var object = ArchiveObject()
      for (name, number) in zip(kind.parts, numbers) {
        guard let number else {
          throw ArchiveError(.damaged, "a component of the value is not a number", path: [.key(kind.key)])
        }
        object[name] = .double(number)
      }
      return with(fields, replacing: [kind.key, "NS.special"], by: [(kind.name, .object(object))])
    }
    guard fields["NS.rangeval.location"] != nil else { return withoutPrefix(fields, of: "NSValue") }
    let keys = ["NS.rangeval.location", "NS.rangeval.length"]
    return with(
      fields, replacing: keys + ["NS.special"],
      by: [("range", range(try fields.integer(keys[0]), try fields.integer(keys[1])))])
  }

  /// Encodes an `NSValue`. The integer under the key `NS.special` identifies the kind of value. The kind 4 is a range.
  static func encodeValue(_ record: ModelRecord) -> [(key: String, value: ArchiveValue)]? {
    let parts = parts(of: "NSValue").filter { record[$0] != nil }
    guard parts.count == 1, let value = record[parts[0]] else { return nil }
    guard let kind = texts.first(where: { $0.name == parts[0] }) else {
      guard value.holds(["location", "length"]), let location = value["location"]?.intValue,
        let length = value["length"]?.intValue
      else { return nil }
      return [
        ("NS.special", 4), ("NS.rangeval.location", .integer(location)), ("NS.rangeval.length", .integer(length)),
      ]
    }
    let numbers = kind.parts.compactMap { value[$0]?.doubleValue?.description }
    guard value.holds(kind.parts), numbers.count == kind.parts.count else { return nil }
    let pairs = stride(from: 0, to: numbers.count, by: 2).map { "{\(numbers[$0]), \(numbers[$0 + 1])}" }
    let text = pairs.count == 1 ? pairs[0] : "{\(pairs[0]), \(pairs[1])}"
    return [("NS.special", .integer(kind.special)), (kind.key, .string(text))]
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

  /// Decodes pairs of LEB128 integers. Each byte holds seven bits of an integer, starting with the lowest seven. The
  /// highest bit of a byte is set if more bytes of the same integer follow.
  private static func integers(_ data: Data, _ key: String) throws -> [Int] {
    var numbers: [Int] = []
    var number = 0
    var shift = 0
    for byte in data {
      guard shift < 63 else {
        throw ArchiveError(.damaged, "an integer has more than the maximum of 63 bits", path: [.key(key)])
      }
      number |= Int(byte & 0x7F) << shift
      shift += 7
      if byte < 0x80 {
        numbers.append(number)
        (number, shift) = (0, 0)
      }
    }
    guard shift == 0, numbers.count.isMultiple(of: 2) else {
      throw ArchiveError(.damaged, "the value must consist of pairs of integers", path: [.key(key)])
    }
    return numbers
  }

  /// Appends an integer in the LEB128 encoding, as decoded by ``integers(_:_:)``.
  private static func append(_ number: Int, to data: inout Data) {
    var rest = UInt(bitPattern: number)
    while rest >= 0x80 {
      data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    data.append(UInt8(rest))
  }
}

extension ArchiveValue {
  /// Whether the value is an object with exactly these keys. An object with other keys cannot be written in the
  /// encoding of the Foundation class.
  fileprivate func holds(_ keys: [String]) -> Bool { objectValue.map { Set($0.keys) == Set(keys) } ?? false }
}
