/// A path into a value: `user.login`, `coordinates[0]`, `labels[*].name`, `labels[id=3].name`.
///
/// In the dotted spelling, a dot separates two keys. `[2]` is the third element of an array, `*` matches any key and
/// `[*]` matches any element. `.` is the root, which is the value itself. The empty text is the empty key, which can also
/// be written as `""`. To use a dot, a bracket, a star, an equals sign, a quotation mark or a backslash in a key, write a
/// `\` before it. Brackets are parts of a key if they contain anything except digits or one star, or if anything except a
/// dot or a bracket follows them. Therefore `[id=3]` is parsed as a key, although the paths in reports show elements in
/// this form. To refer to such an element, use the path of a report's entry, or
/// `ValuePath([.key("labels"), .element(key: "id", id: 3)])`.
///
/// A path with `*` or `[*]` is a pattern, which can match several paths.
public struct ValuePath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// One component of a path, which selects a value directly inside another value.
  public enum Component: Sendable, Hashable {
    /// The value under the given key.
    case key(String)
    /// The array element at the given index.
    case index(Int)
    /// The value under any key.
    case anyKey
    /// Any element of an array, a set or a map whose keys are not strings.
    case anyElement
    /// The element of an array that has the value `id` under the key `key`. If `key` combines several keys, `id` is an array of
    /// their values.
    case element(key: IdentityKey, id: ArchiveValue)
    /// The element of an array, or the key of a map, that equals this value.
    case value(ArchiveValue)
  }

  /// The object of a graph at which `rest` begins, with the table that contains the path to this object; `nil` if `rest` begins
  /// at the root.
  private var origin: (table: PathTable, object: Int)?
  private var rest: [Component]
  /// Whether the parsed text contained an empty key between or next to other keys, such as `a..b`, which is probably a
  /// typing mistake.
  private(set) var isMisspelled = false

  /// Creates a path from components. A path without components is the path of the root.
  public init(_ components: [Component] = []) { rest = components }

  /// Creates a path with one key. All characters of the key are literal.
  public init(key: String) { rest = [.key(key)] }

  /// Creates a path with several keys. All characters of the keys are literal.
  public init(_ first: String, _ rest: String...) { self.rest = ([first] + rest).map { .key($0) } }

  /// Creates a path that begins at an object of a graph. To save memory, the components from the root to the object are not
  /// copied from `table`.
  init(_ components: [Component], from object: Int, in table: PathTable) {
    (rest, origin) = (components, (table, object))
  }

  /// The components, beginning at the root; empty for the path of the root.
  ///
  /// - Complexity: linear in the number of components.
  public var components: [Component] {
    get { origin.map { $0.table.components(to: $0.object) + rest } ?? rest }
    set { (origin, rest, isMisspelled) = (nil, newValue, false) }
  }

  /// The first component of the path if it is a key, otherwise `nil`.
  package var firstKey: String? {
    let first = origin.flatMap { $0.table.first(to: $0.object) } ?? rest.first
    return if case .key(let key)? = first { key } else { nil }
  }

  /// The key, if the path consists of one key; otherwise `nil`.
  package var onlyKey: String? { components.count == 1 ? firstKey : nil }

  /// Returns whether this pattern matches a path.
  ///
  /// - Parameter path: the components of a path without `*` and `[*]`.
  package func matches(_ path: [Component]) -> Bool {
    components.count == path.count && zip(components, path).allSatisfy { $0.matches($1) }
  }
}

// MARK: Keys and indices

extension ValuePath {
  /// Returns the keys and indices of a path that names one value.
  ///
  /// - Throws: ``ArchiveError`` with the given code if the path contains any component that is neither a key nor an
  ///   index.
  package func steps(_ code: ArchiveError.Code = .typeMismatch) throws(ArchiveError) -> [ArchiveValue.Step] {
    guard let remedy = components.lazy.compactMap(\.remedy).first else { return errorPath }
    throw ArchiveError(code, "the path \(self) must consist of keys and indices: \(remedy)")
  }

  /// The leading keys and indices of the path, up to the first component of any other kind, for use as an error's path.
  package var errorPath: [ArchiveValue.Step] {
    components.prefix { $0.step != nil }.compactMap(\.step)
  }
}

extension ValuePath.Component {
  /// The component as a key or an index; `nil` for any other kind of component.
  package var step: ArchiveValue.Step? {
    switch self {
    case .key(let key): .key(key)
    case .index(let index): .index(index)
    case .anyKey, .anyElement, .element, .value: nil
    }
  }

  /// The component in the form used by error paths. A component that is neither a key nor an index is shown as a key.
  var errorStep: ArchiveValue.Step {
    if case .value(.string(let key)) = self { .key(key) } else { step ?? .key("(key)") }
  }

  package var isKey: Bool { if case .key = self { true } else { false } }

  /// A suggested fix for the error message if this component is used where only keys and indices are allowed; `nil` for a key or an index.
  package var remedy: String? {
    switch self {
    case .key, .index: nil
    case .anyKey: "* matches every key; write \\* for a key named *"
    case .anyElement: "[*] matches every element; write an index, or \\[*] for a key"
    case .element, .value: "a component selects an element by identity or content; write the index of the element"
    }
  }

  /// Returns whether this component, which may be `*` or `[*]`, matches the given component.
  func matches(_ other: Self) -> Bool {
    switch (self, other) {
    case (.anyKey, .key), (.anyElement, .index), (.anyElement, .element), (.anyElement, .value): true
    default: self == other
    }
  }
}

// MARK: Equality

extension ValuePath {
  public static func == (left: Self, right: Self) -> Bool {
    if let one = left.origin, let other = right.origin, one.table === other.table, one.object == other.object {
      return left.rest == right.rest
    }
    return left.fingerprint == right.fingerprint && left.components == right.components
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

  /// A hash computed component by component. Equal paths have equal hashes, even if only one of them has an `origin`.
  private var fingerprint: Int {
    rest.reduce(origin.map { $0.table.fingerprint(of: $0.object) } ?? 0, Self.fingerprint)
  }

  static func fingerprint(_ before: Int, _ component: Component) -> Int {
    var hasher = Hasher()
    hasher.combine(before)
    hasher.combine(component)
    return hasher.finalize()
  }
}

extension ValuePath.Component {
  /// Compares keys by their bytes, because an object can contain two keys that differ only in Unicode normalization. NaN
  /// equals NaN, because every component must equal itself.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.key(let one), .key(let other)): ExactKey.isSame(one, other)
    case (.index(let one), .index(let other)): one == other
    case (.anyKey, .anyKey), (.anyElement, .anyElement): true
    case (.element(let one, let id), .element(let other, let otherID)):
      one == other && id == otherID
    case (.value(let one), .value(let other)): one == other
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .key(let key): hasher.combine(ExactKey(key))
    case .index(let index): hasher.combine(index)
    case .anyKey, .anyElement: break
    case .element(let key, let id):
      hasher.combine(key)
      hasher.combine(id)
    case .value(let value): hasher.combine(value)
    }
  }
}

// MARK: The dotted spelling

// Paths are parsed by Unicode scalars, not by characters: Swift treats a dot followed by a combining mark as one character, but such a dot
// is still a separator.

extension ValuePath {
  private typealias Text = Substring.UnicodeScalarView

  /// Parses a path in the dotted spelling, which is described at ``ValuePath``.
  public init(parsing text: String) {
    self.init()
    guard text != "." else { return }
    var text = Substring(text).unicodeScalars
    var needsKey = true
    while needsKey || !text.isEmpty {
      if let (component, after) = Self.bracket(text) {
        rest.append(component)
        text = after
      } else {
        isMisspelled = isMisspelled || text.first ?? "." == "."
        rest.append(Self.key(&text))
      }
      needsKey = text.first == "."
      if needsKey { text.removeFirst() }
    }
    isMisspelled = isMisspelled && rest.count > 1
  }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  /// Removes the key at the start of the text, up to a dot or a bracket, and returns it as a component.
  private static func key(_ text: inout Text) -> Component {
    let start = text
    var key = String.UnicodeScalarView()
    while let scalar = text.first, scalar != ".", bracket(text) == nil {
      text.removeFirst()
      let isEscape = scalar == "\\" && text.first.map(".[]*=\\\"".unicodeScalars.contains) ?? false
      key.append(isEscape ? text.removeFirst() : scalar)
    }
    return switch String(start[..<text.startIndex]) {
    case "*": .anyKey
    case "\"\"": .key("")
    default: .key(String(key))
    }
  }

  /// Parses an index or a star in brackets at the start of the text. Returns the component and the remaining text, or
  /// `nil` if the text starts with neither.
  private static func bracket(_ text: Text) -> (Component, Text)? {
    guard text.first == "[" else { return nil }
    let inside = text.dropFirst().prefix { $0 == "*" || "0"..."9" ~= $0 }
    var after = text[inside.endIndex...]
    guard after.popFirst() == "]", ".[".unicodeScalars.contains(after.first ?? ".") else { return nil }
    if String(inside) == "*" { return (.anyElement, after) }
    return Int(String(inside)).map { (.index($0), after) }
  }

  /// The dotted spelling. In keys, each dot, bracket, equals sign or backslash is escaped with a backslash. The identity
  /// of an element is written as JSON: `[id=3]`.
  public var description: String { text(escaping: ".[]=\\") }

  /// The dotted spelling, for use as a key of an object that maps paths to values. Only dots, opening brackets and backslashes in
  /// keys are escaped.
  package var memberKey: String { text(escaping: ".[\\") }

  private func text(escaping special: String) -> String {
    let components = components
    var text = ""
    for (place, component) in components.enumerated() {
      if place > 0 {
        switch component {
        case .key, .anyKey: text += "."
        // An empty key before a bracket is written as `""`, because it would otherwise be invisible.
        default: if components[place - 1] == .key("") { text += "\"\"" }
        }
      }
      text += component.text(escaping: special)
    }
    return components.isEmpty ? "." : text == "." ? "\"\"." : text
  }
}

extension ValuePath.Component {
  fileprivate func text(escaping special: String) -> String {
    func escaped(_ key: String) -> String { key.escaping(Array(special.unicodeScalars)) }
    return switch self {
    case .key(let key): key == "*" || key == "\"\"" ? "\\" + key : escaped(key)
    case .index(let index): "[\(index)]"
    case .anyKey: "*"
    case .anyElement: "[*]"
    case .element(let key, let id): "[\(key.keys.map(escaped).joined(separator: "+"))=\(id.pathText)]"
    case .value(let value): "[\(value.pathText)]"
    }
  }
}

// MARK: The spelling of RFC 6901

extension ValuePath {
  /// Parses a JSON pointer (RFC 6901): `/labels/0/name`, or the empty text for the root. All components are parsed as
  /// keys. A key that consists of digits can also refer to an element of an array.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` if the text is not empty and does not begin with a slash,
  ///   or if a `~` is not followed by 0 or 1.
  public init(pointer text: String) throws {
    self.init()
    guard !text.isEmpty else { return }
    guard text.utf8.first == UInt8(ascii: "/") else {
      throw ArchiveError(.invalidJSON, "a JSON pointer must be empty or begin with “/”")
    }
    rest = try text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { token in
      let parts = token.split(separator: "~", omittingEmptySubsequences: false)
      return .key(
        try parts.dropFirst().reduce(into: String(parts[0])) { key, part in
          switch part.first {
          case "0": key += "~"
          case "1": key += "/"
          default: throw ArchiveError(.invalidJSON, "a “~” in a JSON pointer must be followed by “0” or “1”")
          }
          key += String(part.dropFirst())
        })
    }
  }

  /// The path as a JSON pointer (RFC 6901). JSON pointers can express only keys and indices. Other components are written
  /// as in ``description``.
  public var pointer: String {
    tokens.map { token in
      "/" + token.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
    }.joined()
  }

  /// The reference tokens of the path's JSON pointer (RFC 6901), before escaping. Indices are written as digits.
  var tokens: [String] {
    components.map { component in
      switch component {
      case .key(let key): key
      case .index(let index): String(index)
      case .anyKey, .anyElement, .element, .value: component.text(escaping: "")
      }
    }
  }
}
