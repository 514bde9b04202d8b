/// A path into a JSON document: `user.login`, `coordinates[0]`, `labels[*].name`.
///
/// In text a dot separates two keys, `[2]` is the third element of an array, and `[*]` every element of one.
/// `\.` is a dot inside a key, `\[` a bracket, and `\\` a backslash. No other character is special, so `@count` is an
/// ordinary key.
public struct JSONPath: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// One step of a path.
  public enum Step: Sendable, Hashable {
    /// Into an object.
    case key(String)
    /// Into an array.
    case index(Int)
    /// Into every element of an array. The following steps are read from each element, and nothing can be written.
    case each
  }

  /// The steps, outermost first; none for the whole document.
  public let steps: [Step]

  /// Whether the text had an empty key between others, like `a..b`, which is probably a typing mistake.
  private(set) var isMisspelled = false

  /// A path of steps, taken literally.
  public init(_ steps: [Step]) { self.steps = steps }

  /// A path of one key, taken literally.
  public init(key: String) { steps = [.key(key)] }

  public init(stringLiteral value: String) { self.init(parsing: value) }

  /// Parses a path.
  public init(parsing text: String) {
    var steps: [Step] = []
    var rest = Substring(text)
    var needsKey = true
    while needsKey || !rest.isEmpty {
      if rest.first == "[", let (step, after) = Self.bracket(rest) {
        steps.append(step)
        rest = after
        needsKey = rest.first == "."
        if needsKey { rest.removeFirst() }
        // After an element, only a dot or the next element is expected. Anything else begins a key all the same.
        continue
      }
      let key = Self.key(&rest)
      steps.append(.key(key))
      needsKey = rest.first == "."
      if needsKey { rest.removeFirst() }
    }
    self.steps = steps
    isMisspelled = steps.count > 1 && steps.contains(.key(""))
  }

  public static func == (left: JSONPath, right: JSONPath) -> Bool { left.steps == right.steps }

  public func hash(into hasher: inout Hasher) { hasher.combine(steps) }

  /// Removes a key from the start of the text, up to a dot or an index.
  private static func key(_ rest: inout Substring) -> String {
    var key = ""
    while let character = rest.first {
      if character == "." || character == "[" && bracket(rest) != nil { break }
      rest.removeFirst()
      if character == "\\", let next = rest.first, next == "." || next == "\\" || next == "[" {
        key.append(next)
        rest.removeFirst()
      } else {
        key.append(character)
      }
    }
    return key
  }

  private static func bracket(_ text: Substring) -> (Step, Substring)? {
    guard let end = text.firstIndex(of: "]") else { return nil }
    let inside = text[text.index(after: text.startIndex)..<end]
    let after = text[text.index(after: end)...]
    guard after.isEmpty || after.first == "." || after.first == "[" else { return nil }
    if inside == "*" { return (.each, after) }
    guard !inside.isEmpty, inside.utf8.allSatisfy({ 48...57 ~= $0 }), let index = Int(inside) else { return nil }
    return (.index(index), after)
  }

  public var description: String {
    var text = ""
    for (place, step) in steps.enumerated() {
      switch step {
      case .key(let key):
        if place > 0 { text += "." }
        text += key.replacing("\\", with: "\\\\").replacing(".", with: "\\.").replacing("[", with: "\\[")
      case .index(let index): text += "[\(index)]"
      case .each: text += "[*]"
      }
    }
    return text
  }

  /// The path in the form of errors, up to the first step into every element.
  var components: [ArchiveError.PathComponent] {
    var components: [ArchiveError.PathComponent] = []
    for step in steps {
      switch step {
      case .key(let key): components.append(.key(key))
      case .index(let index): components.append(.index(index))
      case .each: return components
      }
    }
    return components
  }

  /// The key that the path begins with; `nil` if it does not begin with a key.
  var firstKey: ExactKey? { if case .key(let key)? = steps.first { ExactKey(key) } else { nil } }

  /// The key, if the path has no other steps.
  var onlyKey: String? { if steps.count == 1, case .key(let key)? = steps.first { key } else { nil } }

  var readsEach: Bool { steps.contains(.each) }
}
