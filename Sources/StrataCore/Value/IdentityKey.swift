/// The key, or the combination of keys, whose values identify a model among all models of its type.
///
///     static let mergeRules = MergeRules(identity: ["owner", "name"])
///
/// A model has no identity if any key of a combination is absent or null in the model.
public struct IdentityKey: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
  /// The keys that together identify a model. There is at least one key.
  public let keys: [String]

  /// Creates an identity from a combination of keys.
  ///
  /// - Precondition: `keys` is not empty.
  public init(_ keys: [String]) {
    precondition(!keys.isEmpty, "an identity must have at least one key")
    self.keys = keys
  }

  /// Creates an identity from one key.
  public init(_ key: String) { keys = [key] }

  public init(stringLiteral key: String) { self.init(key) }

  public init(arrayLiteral keys: String...) { self.init(keys) }

  /// Returns the identity of a model with the given fields: the value of a single key, or an array of the values of several keys. Returns
  /// `nil` if a value is absent, or if there are several keys and one of their values is null.
  package func value(in fields: (String) -> ArchiveValue?) -> ArchiveValue? {
    guard keys.count > 1 else { return fields(keys[0]) }
    var values: [ArchiveValue] = []
    for key in keys {
      guard let value = fields(key), !value.isNull else { return nil }
      values.append(value)
    }
    return .array(values)
  }
}

extension IdentityKey {
  /// Compares keys by their bytes. The keys of records are compared in the same way.
  public static func == (left: Self, right: Self) -> Bool {
    left.keys.count == right.keys.count && zip(left.keys, right.keys).allSatisfy(ExactKey.isSame)
  }

  public func hash(into hasher: inout Hasher) {
    for key in keys { hasher.combine(ExactKey(key)) }
  }
}

extension IdentityKey: CustomStringConvertible {
  /// The keys joined by `+`, as shown in paths: `owner+name`. A `+` or a `\` in a key is escaped with a `\`.
  public var description: String {
    keys.map { $0.escaping(["\\", "+"]) }.joined(separator: "+")
  }

  /// Parses keys in the form of ``description``. Returns `nil` if a key is empty, or if the text ends with a single `\`.
  public init?(parsing text: String) {
    var keys = [""], isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped || (scalar != "\\" && scalar != "+") {
        keys[keys.count - 1].unicodeScalars.append(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else {
        keys.append("")
      }
    }
    guard !isEscaped, !keys.contains("") else { return nil }
    self.init(keys)
  }
}

extension String {
  /// Returns the text with a `\` inserted before each special character.
  func escaping(_ special: [Unicode.Scalar]) -> String {
    guard unicodeScalars.contains(where: special.contains) else { return self }
    var text = UnicodeScalarView()
    for scalar in unicodeScalars {
      if special.contains(scalar) { text.append("\\") }
      text.append(scalar)
    }
    return String(text)
  }
}

extension ArchiveValue {
  package subscript(key: IdentityKey) -> ArchiveValue? { key.value { self[$0] } }
}

extension ModelRecord {
  package subscript(key: IdentityKey) -> ArchiveValue? { key.value { self[$0] } }
}
