/// Where in nested values a merge or a difference came to something: `labels[id=3].name`.
public struct MergePath: Sendable, Hashable, CustomStringConvertible {
  /// A step from the outside in.
  public enum Component: Sendable, Hashable {
    /// The value under a key.
    case key(String)
    /// A place in an array.
    case index(Int)
    /// The element of an array that has this identity: the value of its key, or the values of its keys as an array.
    case element(key: IdentityKey, id: ArchiveValue)
    /// The element of an array or the key of a map that has this content.
    case value(ArchiveValue)
  }

  /// The object that the steps below lead away from; `nil` where they begin at the root.
  private var origin: (places: ObjectPlaces, object: Int)?
  private var steps: [Component]

  /// A path of these steps; without any it means the root.
  public init(_ components: [Component] = []) { steps = components }

  /// A path that begins at an object of a graph, whose own path it shares with all others that do.
  init(_ components: [Component], from object: Int, in places: ObjectPlaces) {
    steps = components
    if places.count(of: object) > 0 { origin = (places, object) }
  }

  /// The steps; none is the whole.
  ///
  /// - Complexity: linear in their number.
  public var components: [Component] {
    get { (origin.map { $0.places.components(to: $0.object) } ?? []) + steps }
    set { (origin, steps) = (nil, newValue) }
  }

  /// How many steps there are.
  var count: Int { (origin.map { $0.places.count(of: $0.object) } ?? 0) + steps.count }

  /// The steps as text: keys with dots between them, elements in brackets; `.` where there are none. A key with a dot,
  /// a bracket or a backslash in it has a backslash before each of them.
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
    // What JSON has no form for is shown by its kind. Nothing but the text shown comes of it.
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

  /// A number that is made step by step, so that a path which begins at an object has that of all its steps at once.
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
  /// Keys count by their bytes: two spellings of one text are two keys of an object. What is not a number is the same as
  /// itself, so that each step is found again.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.key(let one), .key(let other)): ExactKey.isSame(one, other)
    case (.index(let one), .index(let other)): one == other
    case (.element(let one, let id), .element(let other, let otherID)):
      one == other && SameValue(id) == SameValue(otherID)
    case (.value(let one), .value(let other)): SameValue(one) == SameValue(other)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .key(let key): hasher.combine(ExactKey(key))
    case .index(let index): hasher.combine(index)
    case .element(let key, let id):
      hasher.combine(key)
      hasher.combine(SameValue(id))
    case .value(let value): hasher.combine(SameValue(value))
    }
  }
}

/// Which paths a policy is for: `labels[*].name`.
///
/// Keys are divided by dots; `*` stands for any key and `[*]` for any element. `\` before a dot, a bracket, a star or a
/// backslash takes it as it is.
public struct MergeSelector: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  enum Component: Sendable, Hashable {
    case key(String), anyKey, anyElement
  }

  let components: [Component]
  public let description: String

  /// The paths that the text spells; `.` is the whole.
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

  /// Whether a path is one that this names.
  package func matches(_ path: [MergePath.Component]) -> Bool { Self.matches(components[...], path) }

  /// Whether the rest of a pattern is one of a path.
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
  /// The path without the values that tell elements apart, for messages of errors.
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
