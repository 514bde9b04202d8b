internal import Foundation
internal import StrataCore

/// A type as a recorded schema spells it: `[Label]?`, `String enum(closed|open)`.
///
/// A model has its registered name, because the name of a Swift type is not archived.
indirect enum RecordedType: Equatable {
  case optional(RecordedType)
  case array(RecordedType)
  case set(RecordedType)
  case dictionary(RecordedType, RecordedType)
  /// A type with raw values. The values are those of its cases, former ones included; `nil` if they are unknown.
  case enumeration(String, [String]?)
  case named(String)

  init(_ type: Any.Type) {
    switch TypeShape(of: type).kind {
    case .scalar, .opaque: self = .named(String(describing: type))
    case .untyped: self = .named("ArchiveValue")
    case .optional(let wrapped): self = .optional(RecordedType(wrapped))
    case .array(let element): self = .array(RecordedType(element))
    case .set(let element): self = .set(RecordedType(element))
    case .dictionary(let keys, let values): self = .dictionary(RecordedType(keys), RecordedType(values))
    case .model(let model): self = .named(model.schema.name)
    case .rawValue(let raw, _): self = .enumeration(String(describing: raw), Self.values(type))
    }
  }

  /// The raw values of a type that lists its cases, sorted. A type with an unknown case reads any other value as well.
  private static func values(_ type: Any.Type) -> [String]? {
    guard let listed = type as? any (CaseIterable & RawRepresentable).Type else { return nil }
    func texts<T: CaseIterable & RawRepresentable>(_ type: T.Type) -> [String] {
      type.allCases.map { "\($0.rawValue)" }
    }
    func former<T: CaseAliasing>(_ type: T.Type) -> [String] { type.formerRawValues.keys.map { "\($0)" } }
    let aliases = (type as? any CaseAliasing.Type).map { former($0) } ?? []
    let others = type is any UnknownCaseRepresentable.Type ? [anyOther] : []
    return Set((texts(listed) + aliases).map(escaped) + others).sorted()
  }

  /// The mark of a type that also reads values without a case.
  private static let anyOther = "*"

  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      if "%()|*".unicodeScalars.contains(scalar) {
        result += "%" + String(scalar.value, radix: 16)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }

  // MARK: Text

  var text: String {
    switch self {
    case .optional(let type): type.text + "?"
    case .array(let element): "[\(element.text)]"
    case .set(let element): "Set<\(element.text)>"
    case .dictionary(let keys, let values): "[\(keys.text): \(values.text)]"
    case .enumeration(let raw, let values): raw + " enum" + (values.map { "(\($0.joined(separator: "|")))" } ?? "")
    case .named(let name): name
    }
  }

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
    } else {
      type = name(&text)
    }
    while text.skip("?") { type = .optional(type) }
    return type
  }

  private static func name(_ text: inout Substring) -> RecordedType {
    var depth = 0
    let end = text.indices.first { index in
      switch text[index] {
      case "<", "(": depth += 1
      case ")": depth -= 1
      case ">" where depth > 0: depth -= 1
      case ">", "?", "]", ":": return depth == 0
      default: break
      }
      return false
    }
    let name = text[..<(end ?? text.endIndex)]
    text = text[name.endIndex...]
    guard let mark = name.range(of: " enum") else { return .named(String(name)) }
    let values = name[mark.upperBound...]
    return .enumeration(
      String(name[..<mark.lowerBound]),
      values.isEmpty ? nil : values.dropFirst().dropLast().split(separator: "|").map(String.init))
  }

  // MARK: Comparing

  /// Whether two types have the same shape. Where one of them does not list its raw values, the lists are not compared.
  func isSame(as other: RecordedType) -> Bool {
    switch (self, other) {
    case (.optional(let one), .optional(let other)), (.array(let one), .array(let other)),
      (.set(let one), .set(let other)):
      one.isSame(as: other)
    case (.dictionary(let key, let value), .dictionary(let otherKey, let otherValue)):
      key.isSame(as: otherKey) && value.isSame(as: otherValue)
    case (.enumeration(let raw, let values), .enumeration(let otherRaw, let others)):
      raw == otherRaw && (values == nil || others == nil || values == others)
    case (.named(let one), .named(let other)): one == other
    default: false
    }
  }

  /// Whether each archived value of this type is read as a value of another type, without a step.
  func isRead(as other: RecordedType) -> Bool {
    switch (self, other) {
    case (_, .optional(let other)): wrapped.isRead(as: other)
    case (.array(let one), .array(let other)), (.set(let one), .set(let other)): one.isRead(as: other)
    case (.dictionary(let key, let value), .dictionary(let otherKey, let otherValue)):
      key.isRead(as: otherKey) && value.isRead(as: otherValue)
    case (.enumeration(let raw, let values), .enumeration(let otherRaw, let others)):
      raw == otherRaw
        && (values == nil || others.map { $0.contains(Self.anyOther) || Set(values ?? []).isSubset(of: $0) } ?? true)
    case (.enumeration(let raw, _), .named(let name)): raw == name
    case (.named(let one), .named(let other)): one == other || Self.widenings[one]?.contains(other) ?? false
    default: false
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
