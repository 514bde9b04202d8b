/// The rule for a value that both sides of a merge changed in different ways.
///
/// There are up to three values: *base*, the common ancestor of both sides, *local*, the program's own value, and
/// *server*, the incoming value. If the base is known and only one side changed, that side's value is the result with
/// every policy except ``keepLocal``, ``union`` and ``ifPresent``. If both sides have the same value, that value is the
/// result, except for ``sumOfDeltas``. Without a base, every difference counts as a change on both sides.
///
/// Policies are values: a field can have one, a type, or a path of one call. ``ifPresent`` and ``orElse(_:)`` create
/// new ones. Reports and the command line use their ``description``. ``claims`` lists the laws that each policy keeps.
///
/// A field's policy that cannot apply to its type, such as ``lines`` for a number, is a mistake in the declaration: the
/// first encoding, decoding or merge of the model throws ``ArchiveError`` with the code `invalidSchema`. Fields of the
/// type ``ArchiveValue``, and of types with their own coding, may have any policy. Policies of one call are not checked.
///
/// The names follow the literature: last writer, sum of deltas (PN-counter), union (G-set) and add-wins (OR-set) as in
/// Shapiro et al., "A comprehensive study of convergent and commutative replicated data types", 2011.
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

  // MARK: One side

  /// The policy of a field that declares none. Without a base, the result is the server's value, even null, as in
  /// Mantle. With a base, nested models, objects and dictionaries are merged key by key, and arrays of models that
  /// declare an identity by that identity (``MergeRules/identity``). Anything else that both sides changed is a conflict.
  public static var automatic: MergePolicy { MergePolicy(.automatic) }

  /// A difference is a conflict, also inside nested models.
  public static var conflict: MergePolicy { MergePolicy(.conflict) }

  /// The server's value, including null and absence, as in Mantle. With ``ifPresent``, unless it is null.
  public static var serverWins: MergePolicy { MergePolicy(.server) }

  /// The local value, including null and absence.
  public static var localWins: MergePolicy { MergePolicy(.local) }

  /// Always the local value, even if only the server changed it: for values that the server does not own.
  public static var keepLocal: MergePolicy { MergePolicy(.keepLocal) }

  /// The value of the side whose model was written last, according to the field `key` next to it: a date, a number, or
  /// text in ISO 8601. If the times are equal, the greater value is the result, so that both sides agree. A side
  /// without a time loses. If neither side has a time, it is a conflict. The field with the time is merged by ``max``,
  /// unless it has its own policy.
  public static func lastWriter(by key: String) -> MergePolicy { MergePolicy(.lastWriter(key: key)) }

  // MARK: Ordered values

  /// The greater value: of numbers, dates, booleans and texts (by Unicode scalars). Null and absent are below
  /// everything. Values of different kinds are a conflict.
  public static var max: MergePolicy { MergePolicy(.maximum) }

  /// The smaller value, like ``max``. Null and absent are above everything.
  public static var min: MergePolicy { MergePolicy(.minimum) }

  /// Numbers: adds up the changes of both sides, `local + server - base`. Equal changes count twice. A missing number
  /// counts as 0. Without a base, the result is the server's number. Beyond the range of 64 bits it is a conflict.
  public static var sumOfDeltas: MergePolicy { MergePolicy(.sumOfDeltas) }

  // MARK: Collections and text

  /// Arrays and sets: the elements of both sides. A removal does not survive (a grow-only set). The base is ignored. An
  /// absent or null side is empty. An array has each element once, in the order of ``addWins``.
  public static var union: MergePolicy { MergePolicy(.union) }

  /// Arrays and sets: keeps additions of both sides and removes the removals of both sides. An element that one side
  /// removed and the other side added again stays. Without a base the same as ``union``. An array has each element
  /// once, in the base's order as changed by the sides. If both sides insert at one position, the server's elements come first.
  public static var addWins: MergePolicy { MergePolicy(.addWins) }

  /// Arrays and texts that only grow at the end: the common part, then the server's additions, then the local
  /// additions. Any other change is a conflict. Without a base, the common beginning of both sides serves as the base.
  public static var append: MergePolicy { MergePolicy(.append) }

  /// Texts, line by line, like diff3: changes of both sides in different lines are combined. Changes in the same or
  /// neighbouring lines, and texts that differ in more than 4,000 lines, are a conflict. Without a base, the result is the server's text.
  public static var lines: MergePolicy { MergePolicy(.lines) }

  // MARK: Nested values

  /// Nested models, objects and dictionaries key by key, by the policies of their own types. Anything else like
  /// ``automatic``. From JSON, a partial object is enough.
  public static var recursive: MergePolicy { MergePolicy(.recursive) }

  /// Arrays and sets of models or objects: merges elements with the same value under `key`, keeps the insertions of
  /// both sides, and applies a move by one side.
  ///
  /// - Parameters:
  ///   - key: the key that identifies elements. Elements without one are identified by their content.
  ///   - unlisted: the treatment of elements that the source does not list; like ``MergeOptions/unlisted`` unless given.
  public static func byID(_ key: IdentityKey = "id", unlisted: Unlisted? = nil) -> MergePolicy {
    MergePolicy(.byID(key: key, unlisted: unlisted))
  }

  // MARK: Own code

  /// A value computed from the two sides, without the base. As an argument, `nil` means absent; as a result, it keeps
  /// the local value. Without a base, the closure is called for equal values, too.
  public static func custom(
    _ merge: @escaping @Sendable (_ local: ArchiveValue?, _ server: ArchiveValue?) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.custom(merge))
  }

  /// A value computed from all three sides, if both sides changed it. A result of `nil` is a conflict.
  ///
  /// - Parameters:
  ///   - name: the name of the rule in reports.
  ///   - resolve: computes the value. An error that it throws ends the merge, and nothing is changed.
  public static func resolving(
    _ name: String, _ resolve: @escaping @Sendable (MergePolicy.Sides) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.resolver(name: name, resolve))
  }

  // MARK: Composition

  /// The same policy, except that null and absence of the server's value clear nothing.
  public var ifPresent: MergePolicy { MergePolicy(.ifPresent(self)) }

  /// The same policy, with another one for conflicts in the value itself: `.lines.orElse(.serverWins)`. Conflicts
  /// inside nested values remain conflicts.
  public func orElse(_ other: MergePolicy) -> MergePolicy { MergePolicy(.orElse(self, other)) }
}

/// The treatment of local elements with an identity, and of local keys of dictionaries, that the source does not list.
public enum Unlisted: String, Sendable, Hashable, CaseIterable {
  /// They are kept.
  case keep
  /// They are removed, edited or not. Elements inserted locally since the base are kept.
  case remove
  /// They are removed unless they were edited locally since the base. Without a base they are removed.
  case removeUnlessEdited
}

extension MergePolicy {
  /// The values that a policy decides between; `nil` means absent.
  public struct Sides: Sendable, Hashable {
    /// The common ancestor of both sides.
    public var base: ArchiveValue?
    /// Whether the base is known. If not, ``base`` is `nil`.
    public var isBaseKnown: Bool
    /// The program's own value.
    public var local: ArchiveValue?
    /// The incoming value.
    public var server: ArchiveValue?

    /// The values of both sides and of their base; `nil` means absent.
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
