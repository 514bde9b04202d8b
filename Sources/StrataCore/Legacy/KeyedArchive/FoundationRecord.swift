import Foundation

/// Classes of Foundation, AppKit and UIKit whose objects stay records, under clearer names of fields.
enum FoundationRecord {
  /// The fields of a record of a class: those of a known class by their own names, those of any other as they are.
  static func fields(of typeName: String, _ fields: KeyedFields) throws -> KeyedFields {
    switch structures[typeName] {
    case .attributedString?: try attributedString(fields)
    case .indexSet?: try indexSet(fields)
    case .value?: try value(fields)
    case nil:
      if let names = names[typeName] { renamed(fields, names) } else { plainlyNamed(fields, of: typeName) }
    }
  }

  /// The classes whose fields are put together in another way, and not only under other names.
  enum Structure { case attributedString, indexSet, value }

  static let structures: [String: Structure] = [
    "NSAttributedString": .attributedString, "NSMutableAttributedString": .attributedString,
    "NSConcreteAttributedString": .attributedString, "NSConcreteMutableAttributedString": .attributedString,
    "NSIndexSet": .indexSet, "NSMutableIndexSet": .indexSet, "NSValue": .value,
  ]

  /// The fields that a class is put together to.
  static func parts(of typeName: String) -> [String] {
    switch structures[typeName] {
    case .attributedString?: ["string", "runs"]
    case .indexSet?: ["ranges"]
    case .value?: ["point", "size", "rect", "range"]
    case nil: []
    }
  }

  /// Whether the fields of a class stay what they are.
  static func isPlain(_ typeName: String) -> Bool {
    !typeName.hasPrefix("NS") && !typeName.hasPrefix("_NS") && !isKnown(typeName)
  }

  private static let color = [
    "NSColorSpace": "colorSpace", "NSRGB": "rgb", "NSWhite": "white", "NSCMYK": "cmyk", "NSComponents": "components",
    "NSCustomColorSpace": "customColorSpace", "NSCatalogName": "catalogName", "NSColorName": "name",
    "NSColor": "color", "UIRed": "red", "UIGreen": "green", "UIBlue": "blue", "UIAlpha": "alpha", "UIWhite": "white8",
    "UIColorComponentCount": "componentCount",
  ]
  private static let font = [
    "NSName": "name", "NSSize": "size", "NSfFlags": "flags", "UIFontName": "name", "UIFontPointSize": "size",
    "UIFontTraits": "traits", "UIFontDescriptor": "descriptor", "UIFontTextStyleForScaling": "textStyleForScaling",
  ]
  static let names: [String: [String: String]] = [
    "NSTimeZone": ["NS.name": "name", "NS.data": "data"],
    "NSLocale": ["NS.identifier": "identifier"],
    "NSCalendar": [
      "NS.identifier": "identifier", "NS.timezone": "timeZone", "NS.locale": "locale", "NS.firstwkdy": "firstWeekday",
      "NS.mindays": "minimumDaysInFirstWeek", "NS.gstartdate": "gregorianStartDate",
    ],
    "NSError": ["NSCode": "code", "NSDomain": "domain", "NSUserInfo": "userInfo"],
    "NSColor": color, "UIColor": color, "UICachedDeviceRGBColor": color, "UIDeviceRGBColor": color,
    "NSFont": font, "UIFont": font, "UICTFont": font,
  ]

  /// The fields of any other class of Foundation's without the `NS.` that it puts before them.
  private static func plainlyNamed(_ fields: KeyedFields, of typeName: String) -> KeyedFields {
    guard typeName.hasPrefix("NS") || typeName.hasPrefix("_NS") else { return fields }
    let marked = fields.keys.filter { $0.hasPrefix("NS.") }
    guard !marked.isEmpty else { return fields }
    return renamed(
      fields, Dictionary(marked.map { ($0, String($0.dropFirst(3))) }, uniquingKeysWith: { first, _ in first }))
  }

  /// Fields under other names; one whose new name is taken keeps its own.
  private static func renamed(_ fields: KeyedFields, _ names: [String: String]) -> KeyedFields {
    var taken = Set(fields.keys)
    var result = fields
    for (place, key) in fields.keys.enumerated() {
      if let name = names[key], taken.insert(name).inserted { result.keys[place] = name }
    }
    return result
  }

  // MARK: Texts with attributes

  /// The text, and runs of characters (UTF-16 units) with their attributes.
  private static func attributedString(_ fields: KeyedFields) throws -> KeyedFields {
    guard case .string(let text)? = fields["NSString"] else { return fields }
    let length = text.utf16.count
    var runs: [Value] = []
    func add(_ location: Int, _ length: Int, _ attributes: Value) {
      runs.append([
        "location": .integer(location), "length": .integer(length), "attributes": attributes,
      ])
    }
    switch (fields["NSAttributeInfo"], fields["NSAttributes"]) {
    case (.data(let info)?, .array(let attributes)?):
      let numbers = try integers(info, "NSAttributeInfo")
      var location = 0
      for place in stride(from: 0, to: numbers.count, by: 2) {
        let (count, index) = (numbers[place], numbers[place + 1])
        guard count <= length - location, attributes.indices.contains(index) else {
          throw ArchiveError(.damaged, "a run of attributes is outside of the text", path: [.key("NSAttributeInfo")])
        }
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

  // MARK: Ranges and geometry

  private static func indexSet(_ fields: KeyedFields) throws -> KeyedFields {
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

  private static func range(_ location: Int, _ length: Int) -> Value {
    ["location": .integer(location), "length": .integer(length)]
  }

  private static func value(_ fields: KeyedFields) throws -> KeyedFields {
    func numbers(_ key: String, _ names: [String]) throws -> Value {
      let text = try fields.string(key)
      let parts = text.split(whereSeparator: { "{}, ".contains($0) }).map { Double($0) }
      guard parts.count == names.count else {
        throw ArchiveError(.damaged, "\(names.count) numbers in braces are expected", path: [.key(key)])
      }
      var object = Object()
      for (name, number) in zip(names, parts) {
        guard let number else { throw ArchiveError(.damaged, "a number is expected", path: [.key(key)]) }
        object[name] = .double(number)
      }
      return .object(object)
    }
    let found: (String, Value, [String])
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
      return plainlyNamed(fields, of: "NSValue")
    }
    return with(fields, replacing: found.2 + ["NS.special"], by: [(found.0, found.1)])
  }

  // MARK: Parts

  private static func with(
    _ fields: KeyedFields, replacing old: [String], by new: [(key: String, value: Value)]
  ) -> KeyedFields {
    var result = KeyedFields(keys: new.map(\.key), values: new.map(\.value))
    for (key, value) in zip(fields.keys, fields.values) where !old.contains(key) && !result.keys.contains(key) {
      result.keys.append(key)
      result.values.append(value)
    }
    return result
  }

  /// Pairs of integers with 7 bits in each byte, the lowest first, and the eighth bit where more follow.
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
}
