extension MergePolicy {
  /// The laws of a policy, for one value and a constant base. An array counts as its elements without order.
  public struct Claims: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The result is the same if the two sides exchange their values.
    public static let commutative = Claims(rawValue: 1)
    /// Three sides have the same result, whichever two of them merge first.
    public static let associative = Claims(rawValue: 2)
    /// Merging the same server's value again changes nothing.
    public static let idempotent = Claims(rawValue: 4)
    /// If one side has the base's value, the result is the other side's value.
    public static let respectsBase = Claims(rawValue: 8)
  }

  /// The laws that the policy keeps.
  ///
  /// ``sumOfDeltas`` is not idempotent: the same change counts again until the base advances. Nor is ``lines``, if a
  /// text has equal lines. ``lastWriter(by:)`` is not associative, because a model has one time for all of its fields,
  /// and its laws need times that do not run backwards. The laws of ``max`` and ``min`` hold for values of one kind.
  /// ``union`` does not respect the base, which makes it associative. Custom code claims nothing.
  public var claims: Claims {
    switch rule {
    case .automatic, .conflict, .recursive: [.idempotent, .respectsBase]
    case .byID(_, let unlisted): unlisted == .keep ? [.idempotent] : [.idempotent, .respectsBase]
    case .server, .local: [.associative, .idempotent, .respectsBase]
    case .keepLocal: [.associative, .idempotent]
    case .maximum, .minimum: [.commutative, .associative, .idempotent, .respectsBase]
    case .sumOfDeltas: [.commutative, .associative, .respectsBase]
    case .union: [.commutative, .associative, .idempotent]
    case .addWins: [.commutative, .associative, .idempotent, .respectsBase]
    case .lastWriter: [.commutative, .idempotent, .respectsBase]
    case .append: [.idempotent, .respectsBase]
    case .lines: [.respectsBase]
    case .ifPresent(let policy): policy.claims.intersection([.idempotent])
    case .orElse(let policy, let other):
      policy.claims.intersection(other.claims).intersection([.idempotent, .respectsBase])
    case .custom, .resolver: []
    }
  }
}
