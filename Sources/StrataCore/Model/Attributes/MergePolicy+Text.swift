extension MergePolicy: CustomStringConvertible, LosslessStringConvertible {
  /// The policy as text, for reports and the command line: `serverWins`, `byID(id,keep)`, `lines|serverWins`. In a key,
  /// each comma, parenthesis, bar and `\` is escaped with a `\`.
  public var description: String {
    switch rule {
    case .automatic: "automatic"
    case .conflict: "conflict"
    case .server: "serverWins"
    case .local: "localWins"
    case .keepLocal: "keepLocal"
    case .recursive: "recursive"
    case .byID(let key, let unlisted):
      "byID(\(key.description.escaping(Self.special))\(unlisted.map { ",\($0.rawValue)" } ?? ""))"
    case .maximum: "max"
    case .minimum: "min"
    case .sumOfDeltas: "sumOfDeltas"
    case .union: "union"
    case .addWins: "addWins"
    case .append: "append"
    case .lines: "lines"
    case .lastWriter(let key): "lastWriter(\(key.escaping(Self.special + ["\\"])))"
    case .ifPresent(let policy): policy.alternatives.count > 1 ? "(\(policy)).ifPresent" : "\(policy).ifPresent"
    case .orElse(let policy, let other): "\(policy)|\(other)"
    case .custom: "custom"
    case .resolver(let name, _): name
    }
  }

  /// Parses a policy from its ``description``. Returns `nil` for any other text. A policy with custom code cannot be
  /// parsed.
  public init?(_ description: String) {
    if let (first, other) = Self.split(description, at: "|") {
      guard let first = MergePolicy(first), let other = MergePolicy(other) else { return nil }
      self = first.orElse(other)
      return
    }
    if description.hasSuffix(".ifPresent") {
      var text = description.dropLast(10)
      if text.hasPrefix("("), text.hasSuffix(")") { text = text.dropFirst().dropLast() }
      guard let policy = MergePolicy(String(text)) else { return nil }
      self = policy.ifPresent
      return
    }
    let scalars = description.unicodeScalars
    let name = String(scalars.prefix { $0 != "(" })
    let arguments = scalars.dropFirst(name.unicodeScalars.count)
    guard arguments.isEmpty || arguments.last == ")",
      let policy = Self.named(name, arguments.isEmpty ? nil : String(arguments.dropFirst().dropLast()))
    else { return nil }
    self = policy
  }

  private static let special: [Unicode.Scalar] = [",", "(", ")", "|"]

  /// Splits the text at the first separator that is outside parentheses and not escaped with a `\`. Returns `nil` if
  /// there is none.
  private static func split(_ text: String, at separator: Unicode.Scalar) -> (String, String)? {
    var (depth, isEscaped) = (0, false)
    let place = text.unicodeScalars.firstIndex { scalar in
      defer { isEscaped = scalar == "\\" && !isEscaped }
      if isEscaped { return false }
      depth += scalar == "(" ? 1 : scalar == ")" ? -1 : 0
      return scalar == separator && depth == 0
    }
    return place.map { (String(text[..<$0]), String(text.unicodeScalars[$0...].dropFirst())) }
  }

  /// The textual forms of all policies that can be parsed, for use in error messages.
  public static let names = [
    "automatic", "conflict", "serverWins", "localWins", "keepLocal", "recursive", "byID(key)", "byID(key+key)",
    "byID(key,keep|remove|removeUnlessEdited)", "lastWriter(key)", "max", "min", "sumOfDeltas", "union", "addWins",
    "append", "lines", "policy.ifPresent", "(policy|policy).ifPresent", "policy|policy",
  ]

  /// The policies without parameters. The parser looks up the name of a policy in this list.
  private static let plain: [MergePolicy] = [
    .automatic, .conflict, .serverWins, .localWins, .keepLocal, .recursive, .max, .min, .sumOfDeltas, .union, .addWins,
    .append, .lines,
  ]

  private static func named(_ name: String, _ arguments: String?) -> MergePolicy? {
    guard let arguments else { return name == "byID" ? .byID() : plain.first { $0.description == name } }
    let parts = split(arguments, at: ",")
    let text = parts?.0 ?? arguments
    guard let key = IdentityKey(parsing: name == "lastWriter" ? text.escaping(["+"]) : text) else { return nil }
    switch (name, parts?.1) {
    case ("byID", nil): return .byID(key)
    case ("byID", let unlisted?): return Unlisted(rawValue: unlisted).map { .byID(key, unlisted: $0) }
    case ("lastWriter", nil) where key.keys.count == 1: return .lastWriter(by: key.keys[0])
    default: return nil
    }
  }
}
