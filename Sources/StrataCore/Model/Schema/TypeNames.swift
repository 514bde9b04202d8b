extension ModelSchema {
  /// Returns the name of a generic argument, used in the name of a generic model. For a model or a collection, the
  /// result is the registered name. For any other type, the result is the type's own name, qualified by its enclosing
  /// types (`Space.Item`).
  ///
  /// The module is omitted, as in the names of models. An enclosing function is also omitted, because it has no stable
  /// name.
  public static func argumentName<T>(_ type: T.Type) -> String {
    let plain = String(describing: type)
    if let type = TypeShape.archivable(type), type._archiveTypeName != plain { return type._archiveTypeName }
    var reader = QualifiedName(String(reflecting: type))
    let qualified = reader.withoutModules()
    // If the type is not nested in another type, its plain name needs no qualification.
    return qualified.prefix { $0 != "<" }.contains(".") || qualified.contains("<") ? qualified : plain
  }

  /// Returns the name of a model that is declared in an extension. The name is computed at run time, because the declaration does not show
  /// whether the extended type is generic. If the type is generic, the arguments are part of the name, as in `Box<Int>.Item`, or are
  /// appended to an explicitly given name.
  public static func name<T>(_ type: T.Type, _ name: String, isGiven: Bool) -> String {
    var reader = QualifiedName(String(reflecting: type))
    let qualified = reader.withoutModules()
    guard let first = qualified.firstIndex(of: "<"), let last = qualified.lastIndex(of: ">") else { return name }
    return isGiven ? name + qualified[first...last] : qualified
  }
}

/// Parses a name in the form that `String(reflecting:)` returns: `Module.Space.Box<Module.Space.Item>`, `Module.(Item
/// in _0123)` for a private type, and `Module.(unknown context at $0123).Item` for a type in a function.
private struct QualifiedName {
  private let text: [Character]
  private var place = 0

  init(_ text: String) { self.text = Array(text) }

  mutating func withoutModules() -> String {
    var name = ""
    var parts: [String] = []
    func flush() {
      // The first part of a name is the module, which is removed. A name after generic arguments is nested in the
      // generic type and does not begin with a module.
      let isFirst = !name.hasSuffix(">.")
      name += (isFirst && parts.count > 1 ? parts.dropFirst() : parts[...]).joined(separator: ".")
      parts = []
    }
    while place < text.count {
      switch text[place] {
      case ".":
        if parts.isEmpty, name.hasSuffix(">") { name.append(".") }
        place += 1
      case "(" where !parts.isEmpty:
        if let part = context() { parts.append(part) }
      case let character where character.isLetter || character.isNumber || character == "_" || character == "`":
        parts.append(word())
      default:
        flush()
        name.append(text[place])
        place += 1
      }
    }
    flush()
    return name
  }

  private mutating func word() -> String {
    let start = place
    if text[place] == "`" {
      place += 1
      while place < text.count, text[place] != "`" { place += 1 }
      place = min(place + 1, text.count)
    } else {
      while place < text.count, text[place].isLetter || text[place].isNumber || text[place] == "_" { place += 1 }
    }
    return String(text[start..<place])
  }

  /// Parses the part of a name in parentheses that begins at the current position. Returns `Item` for `(Item in _0123)`, and `nil` for
  /// `(unknown context at $0123)`.
  private mutating func context() -> String? {
    let start = place + 1
    while place < text.count, text[place] != ")" { place += 1 }
    let inside = String(text[start..<min(place, text.count)])
    place = min(place + 1, text.count)
    return inside.contains(" in ") ? inside.split(separator: " ").first.map(String.init) : nil
  }
}
