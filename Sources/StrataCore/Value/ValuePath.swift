/// A path of keys through nested records and objects: `user.login`.
///
/// In text a dot separates two keys; `\.` is a dot inside a key and `\\` a backslash.
public struct ValuePath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The keys, outermost first. Never empty.
  public let keys: [String]
  /// The same as steps, as all walkers of values take them.
  package let steps: [ArchiveError.PathComponent]

  /// A path of one key, taken as it is.
  public init(key: String) { self.init(keys: [key]) }

  /// A path of several keys, each taken as it is.
  public init(_ first: String, _ rest: String...) { self.init(keys: [first] + rest) }

  package init(keys: [String]) {
    self.keys = keys.isEmpty ? [""] : keys
    steps = self.keys.map { .key($0) }
  }

  /// The path that the text spells.
  public init(parsing text: String) {
    var keys: [String] = []
    var current = ""
    var isEscaped = false
    for character in text {
      if isEscaped {
        if character != ".", character != "\\" { current.append("\\") }
        current.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "." {
        keys.append(current)
        current = ""
      } else {
        current.append(character)
      }
    }
    if isEscaped { current.append("\\") }
    keys.append(current)
    self.init(keys: keys)
  }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  public var description: String {
    keys.map { key in
      key.replacing("\\", with: "\\\\").replacing(".", with: "\\.")
    }.joined(separator: ".")
  }
}
