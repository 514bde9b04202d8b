extension MergePolicy: CustomStringConvertible, LosslessStringConvertible {
  /// The policy in the form of reports and the command line: `serverWins`, `byID(id,keep)`, `lines|serverWins`.
  public var description: String {
    switch rule {
    case .automatic: "automatic"
    case .conflict: "conflict"
    case .server: "serverWins"
    case .local: "localWins"
    case .keepLocal: "keepLocal"
    case .recursive: "recursive"
    case .byID(let key, let unlisted): "byID(\(key)\(unlisted.map { ",\($0.rawValue)" } ?? ""))"
    case .maximum: "max"
    case .minimum: "min"
    case .sumOfDeltas: "sumOfDeltas"
    case .union: "union"
    case .addWins: "addWins"
    case .append: "append"
    case .lines: "lines"
    case .lastWriter(let key): "lastWriter(\(key))"
    case .ifPresent(let policy): policy.alternatives.count > 1 ? "(\(policy)).ifPresent" : "\(policy).ifPresent"
    case .orElse(let policy, let other): "\(policy)|\(other)"
    case .custom: "custom"
    case .resolver(let name, _): name
    }
  }

  /// Parses a policy in the form of ``description``; `nil` for any other text. Custom code has no text.
  public init?(_ description: String) {
    var depth = 0
    let bar = description.firstIndex { character in
      depth += character == "(" ? 1 : character == ")" ? -1 : 0
      return character == "|" && depth == 0
    }
    if let bar {
      guard let first = MergePolicy(String(description[..<bar])),
        let other = MergePolicy(String(description[description.index(after: bar)...]))
      else { return nil }
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
    let name = String(description.prefix { $0 != "(" })
    var arguments: [String]?
    if name.count < description.count {
      guard description.hasSuffix(")") else { return nil }
      arguments = description.dropFirst(name.count + 1).dropLast().split(
        separator: ",", omittingEmptySubsequences: false
      ).map(String.init)
    }
    guard let policy = Self.named(name, arguments) else { return nil }
    self = policy
  }

  /// The forms of all policies that have a text, for messages.
  public static let names = [
    "automatic", "conflict", "serverWins", "localWins", "keepLocal", "recursive", "byID(key)", "byID(key+key)",
    "byID(key,keep|remove|removeUnlessEdited)", "lastWriter(key)", "max", "min", "sumOfDeltas", "union", "addWins",
    "append", "lines", "policy.ifPresent", "(policy|policy).ifPresent", "policy|policy",
  ]

  /// The policies without parameters.
  private static let plain: [MergePolicy] = [
    .automatic, .conflict, .serverWins, .localWins, .keepLocal, .recursive, .max, .min, .sumOfDeltas, .union, .addWins,
    .append, .lines,
  ]

  private static func named(_ name: String, _ arguments: [String]?) -> MergePolicy? {
    switch (name, arguments) {
    case ("byID", nil): .byID()
    case (_, nil): plain.first { $0.description == name }
    case ("byID", let arguments?) where arguments.count == 1: IdentityKey(parsing: arguments[0]).map { .byID($0) }
    case ("byID", let arguments?) where arguments.count == 2:
      IdentityKey(parsing: arguments[0]).flatMap { key in
        Unlisted(rawValue: arguments[1]).map { .byID(key, unlisted: $0) }
      }
    case ("lastWriter", let arguments?) where arguments.count == 1 && !arguments[0].isEmpty:
      .lastWriter(by: arguments[0])
    default: nil
    }
  }
}
