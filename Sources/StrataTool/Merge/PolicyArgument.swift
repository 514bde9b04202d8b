internal import ArgumentParser
internal import StrataCore

/// A `--policy` argument, such as `labels[*].name=serverWins`, or `max` for all paths.
struct PolicyArgument {
  /// The path to which the policy applies, or `nil` if it applies to all paths.
  let path: ValuePath?
  let policy: MergePolicy

  init(_ text: String) throws {
    var end = text.startIndex
    var isEscaped = false
    while end < text.endIndex, isEscaped || text[end] != "=" {
      isEscaped = !isEscaped && text[end] == "\\"
      end = text.index(after: end)
    }
    let rule = end < text.endIndex ? String(text[text.index(after: end)...]) : text
    guard let policy = MergePolicy(rule) else {
      throw ValidationError(
        "--policy: the rule “\(rule)” is unknown; the known rules are \(MergePolicy.names.joined(separator: ", "))")
    }
    self.policy = policy
    guard end < text.endIndex else {
      path = nil
      return
    }
    let name = String(text[..<end])
    guard !name.isEmpty else {
      throw ValidationError("--policy requires a path before “=”; use “.” for the whole document")
    }
    guard Self.hasStarsOnly(name) else {
      throw ValidationError("--policy: list elements can be selected only with [*]; write \\[ for a literal bracket")
    }
    path = ValuePath(parsing: name)
  }

  /// Returns whether each unescaped opening bracket is the beginning of `[*]`.
  private static func hasStarsOnly(_ path: String) -> Bool {
    var rest = Substring(path)
    while let character = rest.popFirst() {
      if character == "\\" { _ = rest.popFirst() } else if character == "[", !rest.hasPrefix("*]") { return false }
    }
    return true
  }
}

extension ValuePath {
  /// Returns whether this path, which may contain `[*]`, matches any path in the value.
  func leadsSomewhere(in value: ArchiveValue, at path: [ValuePath.Component] = []) -> Bool {
    if matches(path) { return true }
    switch value {
    case .object(let object):
      return object.entries.contains { leadsSomewhere(in: $0.value, at: path + [.key($0.key)]) }
    case .record(let record):
      return record.fields.contains { leadsSomewhere(in: $0.value, at: path + [.key($0.key)]) }
    case .array(let elements), .set(let elements):
      return elements.enumerated().contains { leadsSomewhere(in: $1, at: path + [.index($0)]) }
    default: return false
    }
  }
}
