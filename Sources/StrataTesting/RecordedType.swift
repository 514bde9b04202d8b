internal import Foundation
internal import StrataCore

/// A type as it is written in a recorded schema, such as `[Label]?` or `String enum(closed=closed|open=open)`.
///
/// A model is written with its registered name, because archives do not contain the name of the Swift type.
indirect enum RecordedType: Equatable {
  case optional(RecordedType)
  case array(RecordedType)
  case set(RecordedType)
  case dictionary(RecordedType, RecordedType)
  /// A type with raw values. `cases` contains the name of the case for each raw value, including former raw values;
  /// `nil` if the cases are unknown.
  case enumeration(raw: String, cases: [String: String]?)
  /// A type that encodes itself, such as a type that is only `Codable`. Its encoding is unknown.
  case coded(String)
  case named(String)

  init(_ type: Any.Type) {
    switch TypeShape(of: type).kind {
    case .scalar(let scalar): self = .named(Self.name(of: scalar, type))
    case .opaque: self = .coded(String(describing: type))
    case .untyped: self = .named("ArchiveValue")
    case .optional(let wrapped): self = .optional(RecordedType(wrapped))
    case .array(let element): self = .array(RecordedType(element))
    case .set(let element): self = .set(RecordedType(element))
    case .dictionary(let keys, let values): self = .dictionary(RecordedType(keys), RecordedType(values))
    case .model(let model): self = .named(model.schema.name)
    case .rawValue(let raw, _): self = .enumeration(raw: RecordedType(raw).text, cases: Self.cases(of: type))
    }
  }

  /// Returns the name of a scalar type. The names are constants, because they must be the same on each platform, and
  /// the Swift name of `Decimal` is different on Apple platforms.
  private static func name(of scalar: TypeShape.Scalar, _ type: Any.Type) -> String {
    switch scalar {
    case .bool: "Bool"
    case .integer, .otherFloat: String(describing: type)
    case .float: "Float"
    case .double: "Double"
    case .decimal: "Decimal"
    case .string: "String"
    case .data: "Data"
    case .date: "Date"
    case .url: "URL"
    case .uuid: "UUID"
    }
  }

  /// Returns the cases of a type that conforms to `CaseIterable`; `nil` for any other type.
  private static func cases(of type: Any.Type) -> [String: String]? {
    guard let listed = type as? any (CaseIterable & RawRepresentable).Type else { return nil }
    // The description of a case is its name, unless the type declares its own description. In that case, the names are
    // unknown.
    let hasNames = !(type is any CustomStringConvertible.Type)
    func pairs<T: CaseIterable & RawRepresentable>(_ type: T.Type) -> [(String, String)] {
      type.allCases.map { ("\($0.rawValue)", hasNames ? "\($0)" : "") }
    }
    func former<T: CaseAliasing>(_ type: T.Type) -> [(String, String)] {
      type.formerRawValues.map { ("\($0)", hasNames ? "\($1)" : "") }
    }
    let aliases = (type as? any CaseAliasing.Type).map { former($0) } ?? []
    return Dictionary(pairs(listed) + aliases, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the name of the first enum inside the given type that has raw values but is not `CaseIterable`; `nil` if
  /// there is none.
  ///
  /// A type that accepts arbitrary raw values, such as a structure that wraps a string, is not treated as an enum.
  static func unlistedEnum(in type: Any.Type) -> String? {
    switch TypeShape(of: type).kind {
    case .optional(let inner), .array(let inner), .set(let inner): unlistedEnum(in: inner)
    case .dictionary(let keys, let values): unlistedEnum(in: keys) ?? unlistedEnum(in: values)
    case .rawValue: cases(of: type) == nil && isClosed(type) ? String(describing: type) : nil
    case .scalar, .opaque, .untyped, .model: nil
    }
  }

  private static func isClosed(_ type: Any.Type) -> Bool {
    func isClosed<T: RawRepresentable>(_ type: T.Type) -> Bool {
      let probes: [any Sendable] = ["\u{0}no case", "\u{0}", -0x5354_5241, 0x5354, 0x53 as UInt8]
      return probes.allSatisfy { ($0 as? T.RawValue).flatMap(T.init(rawValue:)) == nil }
        && probes.contains { $0 is T.RawValue }
    }
    return (type as? any RawRepresentable.Type).map { isClosed($0) } ?? false
  }

  /// Returns this type with the cases of its enums filled in. If the cases of an enum are unknown, they are copied from the enum at the
  /// same position in `other`.
  func listingCases(of other: RecordedType) -> RecordedType {
    switch (self, other) {
    case (.optional(let type), _): .optional(type.listingCases(of: other.wrapped))
    case (_, .optional(let other)): listingCases(of: other)
    case (.array(let element), .array(let other)): .array(element.listingCases(of: other))
    case (.set(let element), .set(let other)): .set(element.listingCases(of: other))
    case (.dictionary(let keys, let values), .dictionary(let otherKeys, let otherValues)):
      .dictionary(keys.listingCases(of: otherKeys), values.listingCases(of: otherValues))
    case (.enumeration(let raw, nil), .enumeration(let otherRaw, let cases?)) where raw == otherRaw:
      .enumeration(raw: raw, cases: cases)
    case (.array, _), (.set, _), (.dictionary, _), (.enumeration, _), (.coded, _), (.named, _): self
    }
  }

  // MARK: Text

  var text: String {
    switch self {
    case .optional(let type): type.text + "?"
    case .array(let element): "[\(element.text)]"
    case .set(let element): "Set<\(element.text)>"
    case .dictionary(let keys, let values): "[\(keys.text): \(values.text)]"
    case .enumeration(let raw, let cases):
      raw + Self.mark
        + (cases.map { cases in
          let pairs = cases.map { Self.escaped($0) + ($1.isEmpty ? "" : "=" + Self.escaped($1)) }
          return "(\(pairs.sorted().joined(separator: "|")))"
        } ?? "")
    case .coded(let name): "coded " + Self.escaped(name)
    case .named(let name): Self.escaped(name)
    }
  }

  private static let mark = " enum"
  private static let codedMark = "coded "

  /// Returns the text in ASCII. The separators between the parts of a type are escaped. Non-ASCII characters are also
  /// escaped, because a raw value may begin with a scalar that would combine with the preceding character.
  private static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
  }

  private static let plain = CharacterSet(charactersIn: "!"..."~").subtracting(
    CharacterSet(charactersIn: "%()|=?[]:<>"))

  private static func unescaped(_ text: some StringProtocol) -> String { text.removingPercentEncoding ?? String(text) }

  init(parsing text: String) {
    var rest = Substring(text)
    self = Self.parse(&rest)
  }

  private static func parse(_ text: inout Substring) -> RecordedType {
    var type: RecordedType
    if text.skip("[") {
      let first = parse(&text)
      type = text.skip(": ") ? .dictionary(first, parse(&text)) : .array(first)
      _ = text.skip("]")
    } else if text.skip("Set<") {
      type = .set(parse(&text))
      _ = text.skip(">")
    } else if text.skip(codedMark) {
      type = .coded(word(&text))
    } else {
      let name = word(&text)
      guard text.skip(mark) else {
        type = .named(name)
        return optionals(type, &text)
      }
      guard text.skip("(") else { return optionals(.enumeration(raw: name, cases: nil), &text) }
      let list = text.prefix { $0 != ")" }
      text = text[list.endIndex...].dropFirst()
      let pairs = list.split(separator: "|", omittingEmptySubsequences: false).map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (unescaped(parts[0]), parts.count > 1 ? unescaped(parts[1]) : "")
      }
      type = .enumeration(raw: name, cases: Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
    }
    return optionals(type, &text)
  }

  private static func optionals(_ type: RecordedType, _ text: inout Substring) -> RecordedType {
    var type = type
    while text.skip("?") { type = .optional(type) }
    return type
  }

  private static func word(_ text: inout Substring) -> String {
    let word = text.prefix { !" ?[]:<>()|=".contains($0) }
    text = text[word.endIndex...]
    return unescaped(word)
  }

  // MARK: Comparing

  var isOptional: Bool { if case .optional = self { true } else { false } }

  /// The wrapped type of an optional, or the type itself.
  var unwrapped: RecordedType { if case .optional(let wrapped) = self { wrapped } else { self } }

  /// Returns the type with the current names of its models.
  func renamed(_ names: [String: String]) -> RecordedType {
    switch self {
    case .optional(let type): .optional(type.renamed(names))
    case .array(let element): .array(element.renamed(names))
    case .set(let element): .set(element.renamed(names))
    case .dictionary(let keys, let values): .dictionary(keys.renamed(names), values.renamed(names))
    case .named(let name): .named(names[name] ?? name)
    case .enumeration, .coded: self
    }
  }

  /// Whether two types are the same. The cases of enums are compared only if both types list their cases.
  func isSame(as other: RecordedType) -> Bool {
    switch (self, other) {
    case (.optional(let one), .optional(let other)), (.array(let one), .array(let other)),
      (.set(let one), .set(let other)):
      one.isSame(as: other)
    case (.dictionary(let key, let value), .dictionary(let otherKey, let otherValue)):
      key.isSame(as: otherKey) && value.isSame(as: otherValue)
    case (.enumeration(let raw, let cases), .enumeration(let otherRaw, let others)):
      raw == otherRaw && (cases == nil || others == nil || cases?.keys == others?.keys && self.isRead(as: other))
    case (.coded(let one), .coded(let other)), (.named(let one), .named(let other)): one == other
    default: false
    }
  }

  /// Whether each archived value of this type is decoded as the same value of the other type, without a migration step.
  func isRead(as other: RecordedType) -> Bool {
    switch (self, other) {
    case (_, .optional(let other)): wrapped.isRead(as: other)
    case (.array(let one), .array(let other)), (.set(let one), .set(let other)): one.isRead(as: other)
    case (.dictionary(let key, let value), .dictionary(let otherKey, let otherValue)):
      key.isRead(as: otherKey) && value.isRead(as: otherValue)
    case (.enumeration(let raw, let cases), .enumeration(let otherRaw, let others)):
      raw == otherRaw && Self.areRead(cases, as: others)
    case (.enumeration(let raw, _), .named(let name)): raw == name
    case (.named(let name), .enumeration(let raw, cases: nil)): raw == name
    // The coding of both types is unknown. They are assumed to be compatible.
    case (.coded, .coded): true
    case (.named(let one), .named(let other)): one == other || Self.widenings[one]?.contains(other) ?? false
    default: false
    }
  }

  /// Whether each raw value still represents the same case, which may have been renamed.
  private static func areRead(_ cases: [String: String]?, as others: [String: String]?) -> Bool {
    guard let cases, let others else { return true }
    let oldNames = Set(cases.values), newNames = Set(others.values)
    return cases.allSatisfy { value, name in
      guard let newName = others[value] else { return false }
      // A case is treated as renamed if its old name no longer exists and its new name did not exist before. It keeps its raw value.
      return name == newName || name.isEmpty || newName.isEmpty
        || !newNames.contains(name) && !oldNames.contains(newName)
    }
  }

  private var wrapped: RecordedType { if case .optional(let type) = self { type } else { self } }

  private static let widenings: [String: Set<String>] = [
    "Int8": ["Int16", "Int32", "Int64", "Int", "Int128"], "Int16": ["Int32", "Int64", "Int", "Int128"],
    "Int32": ["Int64", "Int", "Int128"], "Int": ["Int64", "Int128"], "Int64": ["Int", "Int128"],
    "UInt8": ["Int16", "Int32", "Int64", "Int", "Int128", "UInt16", "UInt32", "UInt64", "UInt", "UInt128"],
    "UInt16": ["Int32", "Int64", "Int", "Int128", "UInt32", "UInt64", "UInt", "UInt128"],
    "UInt32": ["Int64", "Int", "Int128", "UInt64", "UInt", "UInt128"], "UInt": ["UInt64", "Int128", "UInt128"],
    "UInt64": ["UInt", "Int128", "UInt128"], "Float": ["Double"],
  ]
}

extension Substring {
  fileprivate mutating func skip(_ prefix: String) -> Bool {
    guard hasPrefix(prefix) else { return false }
    removeFirst(prefix.count)
    return true
  }
}
