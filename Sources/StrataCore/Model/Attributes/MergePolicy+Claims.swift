extension MergePolicy {
  /// The algebraic laws that a merge policy satisfies. The laws apply to merges of a single value with a base that does not change. They
  /// ignore the order of array elements.
  public struct Claims: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Exchanging the values of the two sides does not change the result.
    public static let commutative = Claims(rawValue: 1)
    /// Merging three sides gives the same result, no matter which two are merged first.
    public static let associative = Claims(rawValue: 2)
    /// Merging the same server value a second time changes nothing.
    public static let idempotent = Claims(rawValue: 4)
    /// If one side still has the base's value, the result is the other side's value.
    public static let respectsBase = Claims(rawValue: 8)
  }

  /// The algebraic laws that the policy satisfies.
  ///
  /// ``sumOfDeltas`` is not idempotent, because a second merge with the same base counts the same change again.
  /// ``lines`` is not idempotent if a text has equal lines. ``lastWriter(by:)`` is not associative, because a model has
  /// one time for all of its fields. The other laws of ``lastWriter(by:)`` require times that never go backwards. The
  /// laws of ``max`` and ``min`` hold if all values are of the same kind. ``union`` ignores the base, which makes it
  /// associative. Policies with custom code claim no laws.
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
