import Foundation
internal import StrataCore

/// Converts objects of some Foundation, AppKit and UIKit classes to records whose field names are clearer than the keys
/// in the archive.
enum FoundationRecord {
  /// Converts the encoded fields of an object to the fields of a record. The fields of Foundation, AppKit and UIKit
  /// classes are renamed or restructured.
  static func fields(of typeName: String, _ fields: KeyedFields, _ budget: WorkBudget) throws -> KeyedFields {
    switch structures[typeName] {
    case .attributedString?: try attributedString(fields, budget)
    case .indexSet?: try indexSet(fields)
    case .value?: try value(fields)
    case nil:
      if let names = names[typeName] { renamed(fields, names) } else { withoutPrefix(fields, of: typeName) }
    }
  }

  /// The kinds of objects whose fields are restructured, not only renamed.
  enum Structure { case attributedString, indexSet, value }

  static let structures: [String: Structure] = [
    "NSAttributedString": .attributedString, "NSMutableAttributedString": .attributedString,
    "NSConcreteAttributedString": .attributedString, "NSConcreteMutableAttributedString": .attributedString,
    "NSIndexSet": .indexSet, "NSMutableIndexSet": .indexSet, "NSValue": .value,
  ]

  /// Returns the names of all fields that restructuring can produce for the records of a class. Empty if the class is
  /// not restructured.
  static func parts(of typeName: String) -> [String] {
    switch structures[typeName] {
    case .attributedString?: ["string", "runs"]
    case .indexSet?: ["ranges"]
    case .value?: ["point", "size", "rect", "range"]
    case nil: []
    }
  }

  /// Returns whether the records of a class have the same fields as the archived objects.
  static func keepsFields(of typeName: String) -> Bool {
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

  /// Removes the prefix `NS.` from the field names of a Foundation class for which no clearer names are known.
  static func withoutPrefix(_ fields: KeyedFields, of typeName: String) -> KeyedFields {
    guard typeName.hasPrefix("NS") || typeName.hasPrefix("_NS") else { return fields }
    let prefixed = fields.keys.filter { $0.hasPrefix("NS.") }
    guard !prefixed.isEmpty else { return fields }
    return renamed(
      fields, Dictionary(prefixed.map { ($0, String($0.dropFirst(3))) }, uniquingKeysWith: { first, _ in first }))
  }

  /// Renames fields. A field keeps its name if a field with the new name already exists.
  private static func renamed(_ fields: KeyedFields, _ names: [String: String]) -> KeyedFields {
    var taken = Set(fields.keys)
    var result = fields
    for (index, key) in fields.keys.enumerated() {
      if let name = names[key], taken.insert(name).inserted { result.keys[index] = name }
    }
    return result
  }

  // MARK: Writing

  /// Returns whether this type has clearer field names for the given class of Foundation, AppKit or UIKit.
  static func isKnown(_ typeName: String) -> Bool { names[typeName] != nil || structures[typeName] != nil }

  /// Returns the key under which archives store a field of a known class, or `nil` for any other field.
  ///
  /// An AppKit key and a UIKit key can have the same field name: both `NSName` and `UIFontName` become `name`. In this
  /// case, the key that begins with the first two letters of the class name is returned.
  static func rawKey(of key: String, in typeName: String) -> String? {
    let keys = names[typeName]?.filter { $0.value == key }.map(\.key).sorted() ?? []
    return keys.first { $0.hasPrefix(typeName.prefix(2)) } ?? keys.first
  }

  /// Splits the fields of a record into two lists for encoding. `raw` contains the restructured fields, converted back
  /// to the encoding of the Foundation class, with the keys of the archive. `others` contains all other fields, with
  /// their names in the record.
  static func keyed(_ record: ModelRecord) throws -> (
    raw: [(key: String, value: ArchiveValue)], others: [(key: String, value: ArchiveValue)]
  ) {
    let raw =
      switch structures[record.typeName] {
      case .attributedString?: try encodeAttributedString(record)
      case .indexSet?: encodeIndexSet(record)
      case .value?: encodeValue(record)
      case nil: nil as [(key: String, value: ArchiveValue)]?
      }
    guard let raw else { return ([], record.fields) }
    let parts = parts(of: record.typeName)
    return (raw, record.fields.filter { !parts.contains($0.key) })
  }
}
