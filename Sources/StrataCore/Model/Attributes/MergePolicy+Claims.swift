extension MergePolicy {
  /// Laws of a policy, for one value and a base that stays the same; an array counts as its elements without order.
  public struct Claims: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Two sides that exchange their values come to the same, whichever is called the server.
    public static let commutative = Claims(rawValue: 1)
    /// Three sides come to the same, whichever two of them meet first.
    public static let associative = Claims(rawValue: 2)
    /// Merging the same server's value again changes nothing.
    public static let idempotent = Claims(rawValue: 4)
    /// Where one side has the base's value, the other side's is the result.
    public static let respectsBase = Claims(rawValue: 8)
  }

  /// The laws that the policy keeps.
  ///
  /// ``sumOfDeltas`` is not idempotent: the same change counts again until the base moves on. Nor is ``lines``, where a
  /// text has equal lines. ``lastWriter(by:)`` is not associative, since a model has one time for all of its fields, and
  /// its laws need times that do not run backwards. ``max`` and ``min`` keep theirs among values of one kind.
  /// ``union`` does not respect the base, which is what makes it associative. Nothing is claimed for own code.
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
