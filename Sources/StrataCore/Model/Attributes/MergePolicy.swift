/// The rule for merging a value that both sides changed in different ways.
///
/// A policy compares up to three values: *base*, the common ancestor of both sides, *local*, the program's own value, and *server*, the
/// incoming value. If the base is known and only one side changed, the result is that side's value with every policy except ``keepLocal``,
/// ``union`` and ``ifPresent``. If both sides have the same value, that value is the result with every policy except ``sumOfDeltas``.
/// Without a base, every difference is treated as a change on both sides.
///
/// A policy can be declared for a field or a type, or given for a path in a single merge call. ``ifPresent`` and ``orElse(_:)`` create new
/// policies from existing ones. Reports and the command line use the ``description`` of a policy. ``claims`` lists the laws that each
/// policy satisfies.
///
/// Declaring a policy that cannot apply to the field's type, such as ``lines`` for a number, is a mistake: the first encoding, decoding or
/// merge of the model throws ``ArchiveError`` with the code `invalidSchema`. Fields of type ``ArchiveValue`` and of types with their own
/// coding may have any policy. Policies that are passed to a merge call are not checked.
///
/// The names follow the literature: last writer, sum of deltas (PN-counter), union (G-set) and add-wins (OR-set) as in Shapiro et al., "A
/// comprehensive study of convergent and commutative replicated data types", 2011.
public struct MergePolicy: Sendable {
  indirect enum Rule: Sendable {
    case automatic, conflict, server, local, keepLocal, recursive
    case byID(key: IdentityKey, unlisted: Unlisted?)
    case maximum, minimum, sumOfDeltas
    case union, addWins, append, lines
    case lastWriter(key: String)
    case ifPresent(MergePolicy)
    case orElse(MergePolicy, MergePolicy)
    case custom(@Sendable (_ local: ArchiveValue?, _ server: ArchiveValue?) throws -> ArchiveValue?)
    case resolver(name: String, @Sendable (MergePolicy.Sides) throws -> ArchiveValue?)
  }

  let rule: Rule

  init(_ rule: Rule) { self.rule = rule }

  // MARK: Choosing one side

  /// The default policy, for fields that declare no policy. Without a base, the result is the server's value, even if it is null, as in
  /// Mantle. With a base, nested models, objects and dictionaries are merged key by key. Arrays of models that declare an identity are
  /// merged by that identity (``MergeRules/identity``). Any other value that both sides changed is a conflict.
  public static var automatic: MergePolicy { MergePolicy(.automatic) }

  /// Every difference is a conflict, including differences inside nested models.
  public static var conflict: MergePolicy { MergePolicy(.conflict) }

  /// The server's value, even if it is null or absent, as in Mantle. Add ``ifPresent`` to keep the local value in that
  /// case.
  public static var serverWins: MergePolicy { MergePolicy(.server) }

  /// The local value, even if it is null or absent.
  public static var localWins: MergePolicy { MergePolicy(.local) }

  /// The local value, even if only the server's value changed. Use this policy for values that the server does not own.
  public static var keepLocal: MergePolicy { MergePolicy(.keepLocal) }

  /// The value of the side that was written last, according to the time in the sibling field `key`: a date, a number, or text in ISO 8601.
  /// If the times are equal, the greater value is used, so that both sides get the same result. A side without a time loses. If neither
  /// side has a time, the difference is a conflict. The time field itself is merged by ``max``, unless the field declares a different
  /// policy.
  public static func lastWriter(by key: String) -> MergePolicy { MergePolicy(.lastWriter(key: key)) }

  // MARK: Ordered values

  /// The greater value of two numbers, dates, booleans or texts (compared by Unicode scalars). Null and absent values
  /// are less than all others. Values of different kinds are a conflict.
  public static var max: MergePolicy { MergePolicy(.maximum) }

  /// The smaller value, compared as in ``max``. Null and absent values are greater than all others.
  public static var min: MergePolicy { MergePolicy(.minimum) }

  /// For numbers: the sum of both sides' changes, `local + server - base`. If both sides made the same change, the change counts twice. A
  /// missing number is treated as 0, but if both sides removed the number, it stays removed. Without a base, the result is the server's
  /// number. A sum that does not fit in 64 bits is a conflict.
  public static var sumOfDeltas: MergePolicy { MergePolicy(.sumOfDeltas) }

  // MARK: Collections and text

  /// For arrays and sets: the elements of both sides, ignoring the base (a grow-only set). An element that only one side removed comes
  /// back. An absent or null value is treated as empty. A merged array contains each element once, in the same order as with ``addWins``.
  public static var union: MergePolicy { MergePolicy(.union) }

  /// For arrays and sets: applies the additions and removals of both sides. An element that one side removed and the other side added again
  /// is kept. Without a base, the result is the same as with ``union``. A merged array contains each element once, in the order of the base
  /// with both sides' changes applied. If both sides insert at the same position, the server's elements come first.
  public static var addWins: MergePolicy { MergePolicy(.addWins) }

  /// For arrays and texts that only grow at the end: the common part, then the server's additions, then the local
  /// additions. Any other change is a conflict. Without a base, the common prefix of both sides is used as the base.
  public static var append: MergePolicy { MergePolicy(.append) }

  /// For texts: merges line by line, like diff3, and combines changes of both sides to different lines. Changes to the
  /// same line or to adjacent lines are a conflict, and so are texts that differ in more than 4,000 lines. Without a
  /// base, the result is the server's text.
  public static var lines: MergePolicy { MergePolicy(.lines) }

  // MARK: Nested values

  /// For nested models, objects and dictionaries: merges key by key, using the policies that the nested types declare.
  /// Any other value is merged as with ``automatic``. An incoming JSON object may contain only some of the keys.
  public static var recursive: MergePolicy { MergePolicy(.recursive) }

  /// For arrays and sets of models or objects: merges elements that have the same value under `key`, keeps the insertions of both sides,
  /// and applies moves made by one side.
  ///
  /// - Parameters:
  ///   - key: the key that identifies elements. Elements without this key are identified by their content.
  ///   - unlisted: how the merge treats local elements that are missing from the server's value; by default as in
  ///     ``MergeOptions/unlisted``.
  public static func byID(_ key: IdentityKey = "id", unlisted: Unlisted? = nil) -> MergePolicy {
    MergePolicy(.byID(key: key, unlisted: unlisted))
  }

  // MARK: Custom policies

  /// Computes the merged value from the local and the server's value, without the base. The closure receives `nil` for an absent value. If
  /// the closure returns `nil`, the local value is kept. If the base is unknown, the closure is called even if both sides have the same
  /// value.
  public static func custom(
    _ merge: @escaping @Sendable (_ local: ArchiveValue?, _ server: ArchiveValue?) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.custom(merge))
  }

  /// Computes the merged value from the base and both sides, if both sides changed the value. If the closure returns `nil`, the change is a
  /// conflict.
  ///
  /// - Parameters:
  ///   - name: the name of the rule in reports.
  ///   - resolve: computes the merged value. If the closure throws, the merge throws the same error and changes nothing.
  public static func resolving(
    _ name: String, _ resolve: @escaping @Sendable (MergePolicy.Sides) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.resolver(name: name, resolve))
  }

  // MARK: Composition

  /// The same policy, except that the local value is kept if the server's value is null or absent.
  public var ifPresent: MergePolicy { MergePolicy(.ifPresent(self)) }

  /// The same policy, with a fallback that resolves conflicts in the value itself: `.lines.orElse(.serverWins)`.
  /// Conflicts inside nested values remain conflicts.
  public func orElse(_ other: MergePolicy) -> MergePolicy { MergePolicy(.orElse(self, other)) }
}

/// How a merge treats local array elements and dictionary keys that are missing from the server's value. Applies to arrays whose elements
/// have an identity, and to dictionaries.
public enum Unlisted: String, Sendable, Hashable, CaseIterable {
  /// Keeps local elements and keys that are missing from the server's value.
  case keep
  /// Removes local elements and keys that are missing from the server's value, even if they were edited locally. Elements that were
  /// inserted locally since the base are kept.
  case remove
  /// Removes local elements and keys that are missing from the server's value, unless they were edited locally since the base. Without a
  /// base, all of them are removed.
  case removeUnlessEdited
}

extension MergePolicy {
  /// The values passed to the closure of a custom policy: the base, the local value and the server's value. A value that is absent is
  /// `nil`.
  public struct Sides: Sendable, Hashable {
    /// The common ancestor of both sides; `nil` if the value was absent or the base is unknown.
    public var base: ArchiveValue?
    /// Whether the base is known. If false, ``base`` is `nil`.
    public var isBaseKnown: Bool
    /// The program's own value; `nil` if it is absent.
    public var local: ArchiveValue?
    /// The incoming value from the server; `nil` if it is absent.
    public var server: ArchiveValue?

    /// Creates the values passed to the closure of a custom policy. A value that is absent is `nil`.
    ///
    /// - Parameter isBaseKnown: `false` if the base is unknown.
    public init(base: ArchiveValue?, isBaseKnown: Bool = true, local: ArchiveValue?, server: ArchiveValue?) {
      self.base = base
      self.isBaseKnown = isBaseKnown
      self.local = local
      self.server = server
    }
  }
}
