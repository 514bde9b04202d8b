/// The path of a value in a merge or a difference: `labels[id=3].name`.
public struct MergePath: Sendable, Hashable, CustomStringConvertible {
  /// A step of a path, which begins at the outermost value.
  public enum Component: Sendable, Hashable {
    /// The value under a key.
    case key(String)
    /// An index of an array.
    case index(Int)
    /// The element of an array that has this identity: the value of its key, or the values of its keys as an array.
    case element(key: IdentityKey, id: ArchiveValue)
    /// The element of an array or the key of a map that has this content.
    case value(ArchiveValue)
  }

  /// The object at which the steps begin; `nil` if they begin at the root.
  private var origin: (places: ObjectPlaces, object: Int)?
  private var steps: [Component]

  /// Creates a path of these steps. Without steps, it is the path of the root.
  public init(_ components: [Component] = []) { steps = components }

  /// Creates a path that begins at an object of a graph. The path of the object is shared, not copied.
  init(_ components: [Component], from object: Int, in places: ObjectPlaces) {
    steps = components
    if places.count(of: object) > 0 { origin = (places, object) }
  }

  /// The steps from the root; empty for the root itself.
  ///
  /// - Complexity: linear in their number.
  public var components: [Component] {
    get { (origin.map { $0.places.components(to: $0.object) } ?? []) + steps }
    set { (origin, steps) = (nil, newValue) }
  }

  /// The number of steps.
  var count: Int { (origin.map { $0.places.count(of: $0.object) } ?? 0) + steps.count }

  /// The steps as text: keys separated by dots, and elements in brackets; `.` for the root. Each dot, bracket, equals
  /// sign or backslash in a key has a backslash before it.
  public var description: String {
    let components = components
    guard !components.isEmpty else { return "." }
    var text = ""
    for component in components {
      switch component {
      case .key(let key):
        if !text.isEmpty { text += "." }
        text += Self.escaped(key)
      case .index(let index): text += "[\(index)]"
      case .element(let key, let id):
        text += "[\(key.keys.map(Self.escaped).joined(separator: "+"))=\(Self.text(of: id))]"
      case .value(let value): text += "[\(Self.text(of: value))]"
      }
    }
    return text
  }

  /// The first key, which is a field of the model that was merged.
  var firstKey: String? {
    let first = origin.flatMap { $0.places.firstStep(to: $0.object) } ?? steps.first
    return if case .key(let key)? = first { key } else { nil }
  }

  private static func escaped(_ key: String) -> String {
    var text = ""
    for character in key {
      if ".[]\\=".contains(character) { text.append("\\") }
      text.append(character)
    }
    return text
  }

  private static func text(of value: ArchiveValue) -> String {
    // A value without a form in JSON is shown by its kind.
    guard let data = try? JSONWriter().write(value), data.count <= 200 else { return "(\(value.kind))" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension MergePath {
  public static func == (left: Self, right: Self) -> Bool {
    if let one = left.origin, let other = right.origin, one.places === other.places, one.object == other.object {
      return left.steps == right.steps
    }
    return left.count == right.count && left.fingerprint == right.fingerprint && left.components == right.components
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }

  /// A hash that is computed step by step, so that it is the same whether a path begins at an object or at the root.
  private var fingerprint: Int {
    steps.reduce(origin.map { $0.places.fingerprint(of: $0.object) } ?? 0, Self.fingerprint)
  }

  static func fingerprint(_ before: Int, _ step: Component) -> Int {
    var hasher = Hasher()
    hasher.combine(before)
    hasher.combine(step)
    return hasher.finalize()
  }
}

extension MergePath.Component {
  /// Keys are compared by their bytes: two spellings of one text are two keys of an object. NaN equals itself, so that
  /// each step is found again.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.key(let one), .key(let other)): ExactKey.isSame(one, other)
    case (.index(let one), .index(let other)): one == other
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
    case .element(let key, let id):
      hasher.combine(key)
      hasher.combine(id)
    case .value(let value): hasher.combine(value)
    }
  }
}

/// A pattern of the paths that a policy is for: `labels[*].name`.
///
/// Keys are separated by dots; `*` matches any key and `[*]` any element. A `\` before a dot, a bracket, a star or a
/// backslash makes it literal.
public struct MergeSelector: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  enum Component: Sendable, Hashable {
    case key(String), anyKey, anyElement
  }

  let components: [Component]
  public let description: String

  /// Creates a pattern from text; `.` matches the root.
  public init(parsing text: String) {
    description = text
    var parts: [Component] = []
    var current = "", isEscaped = false, wasEscaped = false
    func end(_ current: inout String, _ wasEscaped: inout Bool) {
      if !current.isEmpty { parts.append(current == "*" && !wasEscaped ? .anyKey : .key(current)) }
      (current, wasEscaped) = ("", false)
    }
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if isEscaped {
        current.append(character)
        (isEscaped, wasEscaped) = (false, true)
      } else if character == "\\" {
        isEscaped = true
      } else if character == "." {
        end(&current, &wasEscaped)
      } else if character == "[", rest.hasPrefix("*]") {
        end(&current, &wasEscaped)
        rest.removeFirst(2)
        parts.append(.anyElement)
      } else {
        current.append(character)
      }
    }
    end(&current, &wasEscaped)
    components = parts
  }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  /// Whether the pattern matches a path.
  package func matches(_ path: [MergePath.Component]) -> Bool { Self.matches(components[...], path) }

  /// Whether the rest of a pattern matches a path.
  static func matches(_ components: ArraySlice<Component>, _ path: [MergePath.Component]) -> Bool {
    path.count == components.count
      && zip(components, path).allSatisfy { pattern, component in
        switch (pattern, component) {
        case (.key(let wanted), .key(let key)): ExactKey.isSame(wanted, key)
        case (.anyKey, .key), (.anyElement, .index), (.anyElement, .element), (.anyElement, .value): true
        default: false
        }
      }
  }
}

extension MergePath {
  /// The path without the identities of elements, for error messages.
  var keysOnly: String {
    MergePath(
      components.map { component in
        switch component {
        case .element, .value: .index(-1)
        default: component
        }
      }
    ).description.replacing("[-1]", with: "[*]")
  }
}
