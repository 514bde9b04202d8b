/// A path of keys through nested records and objects: `user.login`.
///
/// In text a dot separates two keys; `\.` is a dot inside a key and `\\` a backslash.
public struct ValuePath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The keys, outermost first. Never empty.
  public let keys: [String]
  /// The keys as steps, for the functions that walk values.
  package let steps: [ArchiveError.PathComponent]

  /// Creates a path of one key. Dots and backslashes are parts of the key.
  public init(key: String) { self.init(keys: [key]) }

  /// Creates a path of several keys. Dots and backslashes are parts of the keys.
  public init(_ first: String, _ rest: String...) { self.init(keys: [first] + rest) }

  package init(keys: [String]) {
    self.keys = keys.isEmpty ? [""] : keys
    steps = self.keys.map { .key($0) }
  }

  /// Parses a path.
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
