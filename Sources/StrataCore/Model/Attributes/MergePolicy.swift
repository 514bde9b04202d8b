/// What merging does with a value that both sides changed, each in its own way.
///
/// There are up to three values: *base*, what both started from, *local*, what the program has, and *server*, what came
/// in. Where the base is known and only one side changed, that side counts, whatever the policy, but for
/// ``keepLocal``, ``union`` and ``ifPresent``. Where both have the same value, that is the result, but for
/// ``sumOfDeltas``. Without a base every difference counts as one that both sides made.
///
/// Policies are values: a field has one, a type, a path of one call; ``ifPresent`` and ``orElse(_:)`` make new ones.
/// Their ``description`` is what reports and the command line call them. ``claims`` says which laws each one keeps.
///
/// A policy of a field that can do nothing for its type, as ``lines`` for a number, is an error of the declaration: the
/// first encoding, decoding or merge of the model throws ``ArchiveError`` with the code `invalidSchema`. Fields of the type
/// ``ArchiveValue``, and of types that archive themselves in a way of their own, may have any. Policies of one call are not checked.
///
/// The names are those of the field: last writer, sum of deltas (PN-counter), union (G-set) and add-wins (OR-set) as in
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
    case resolver(name: String, @Sendable (MergeSides) throws -> ArchiveValue?)
  }

  let rule: Rule

  init(_ rule: Rule) { self.rule = rule }

  // MARK: One side

  /// What a field does that says nothing. Without a base the server's value counts, null too, as in Mantle. With one,
  /// nested models, objects and dictionaries are merged key by key, arrays of models that name their identity by it
  /// (``MergeRules/identity``), and anything else that both sides changed is a conflict.
  public static var automatic: MergePolicy { MergePolicy(.automatic) }

  /// A difference is a conflict, also inside nested models.
  public static var conflict: MergePolicy { MergePolicy(.conflict) }

  /// The server's value, null and absence included: what Mantle does. With ``ifPresent`` it counts unless it is null.
  public static var serverWins: MergePolicy { MergePolicy(.server) }

  /// The local value, null and absence included.
  public static var localWins: MergePolicy { MergePolicy(.local) }

  /// The local value always, also where only the server changed it: for what is no server's business.
  public static var keepLocal: MergePolicy { MergePolicy(.keepLocal) }

  /// The value of the side whose model was written last, as the field `key` next to it says: a date, a number, or text
  /// in ISO 8601. Of equal times the greater value counts, so that both sides come to the same. A side without a
  /// time loses; where neither has one it is a conflict. The field of the time itself is merged by ``max``, unless it
  /// has a policy of its own.
  public static func lastWriter(by key: String) -> MergePolicy { MergePolicy(.lastWriter(key: key)) }

  // MARK: Ordered values

  /// The greater one: of numbers, dates, booleans and texts (by Unicode scalars). Null and absent are below everything;
  /// values of different kinds are a conflict.
  public static var max: MergePolicy { MergePolicy(.maximum) }

  /// The smaller one, as ``max``; null and absent are above everything.
  public static var min: MergePolicy { MergePolicy(.minimum) }

  /// Numbers: what both sides added is added up, `local + server - base`; equal changes count twice. A missing number
  /// counts as 0. Without a base the server's number counts. Beyond the range of 64 bits it is a conflict.
  public static var sumOfDeltas: MergePolicy { MergePolicy(.sumOfDeltas) }

  // MARK: Collections and text

  /// Arrays and sets: what either side has. A removal does not survive (a grow-only set). The base does not count; an
  /// absent or null side is empty. An array has its elements once, in the order of ``addWins``.
  public static var union: MergePolicy { MergePolicy(.union) }

  /// Arrays and sets: additions of both sides come in and removals of both sides go; an element that one side
  /// removed and the other added anew stays. Without a base the same as ``union``. In an array elements stand once, in
  /// the base's order as the sides changed it; where both put elements in one place, the server's come first.
  public static var addWins: MergePolicy { MergePolicy(.addWins) }

  /// Arrays and texts that only grow at the end: what both have, what the server added, what was added here. Anything
  /// else is a conflict. Without a base both may have added to what they have in common.
  public static var append: MergePolicy { MergePolicy(.append) }

  /// Texts, line by line, as diff3 does: changes of both sides in different lines come together; changes in the same
  /// or neighbouring lines, and texts that differ in more than 4,000 lines, are a conflict. Without a base the server's text counts.
  public static var lines: MergePolicy { MergePolicy(.lines) }

  // MARK: Nested values

  /// Nested models, objects and dictionaries key by key, by the policies of their own types; anything else as ``automatic``. From
  /// JSON a partial object is enough.
  public static var recursive: MergePolicy { MergePolicy(.recursive) }

  /// Arrays and sets of models or objects: elements with the same value under `key` are merged, those that either side
  /// inserted survive, and one that one side moved is moved.
  ///
  /// - Parameters:
  ///   - key: the key that tells elements apart. Elements without one are identified by their content.
  ///   - unlisted: what becomes of elements that the source does not list; as ``MergeOptions/unlisted`` unless given.
  public static func byID(_ key: IdentityKey = "id", unlisted: Unlisted? = nil) -> MergePolicy {
    MergePolicy(.byID(key: key, unlisted: unlisted))
  }

  // MARK: Own code

  /// A value made of two, without looking at the base. `nil` stands for absent on the way in, and for "keep the
  /// local value" on the way out. Without a base it is asked for equal values too.
  public static func custom(
    _ merge: @escaping @Sendable (_ local: ArchiveValue?, _ server: ArchiveValue?) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.custom(merge))
  }

  /// A value made of three where both sides changed it; `nil` says that it is a conflict.
  ///
  /// - Parameters:
  ///   - name: what reports call the rule.
  ///   - resolve: makes the value. What it throws ends the merge, and nothing is changed.
  public static func resolving(
    _ name: String, _ resolve: @escaping @Sendable (MergeSides) throws -> ArchiveValue?
  ) -> MergePolicy {
    MergePolicy(.resolver(name: name, resolve))
  }

  // MARK: Composition

  /// The same policy, with null and absence of the server's value clearing nothing.
  public var ifPresent: MergePolicy { MergePolicy(.ifPresent(self)) }

  /// The same policy, with another one where it finds a conflict in the value itself: `.lines.orElse(.serverWins)`.
  /// What conflicts inside nested values stays a conflict.
  public func orElse(_ other: MergePolicy) -> MergePolicy { MergePolicy(.orElse(self, other)) }
}

/// What a merge does with local elements that have an identity and local keys of dictionaries where the source does not list them.
public enum Unlisted: String, Sendable, Hashable, CaseIterable {
  /// They stay.
  case keep
  /// They go, edited or not. Those inserted here since the base stay.
  case remove
  /// They go unless they were edited here since the base. Without a base they go.
  case removeUnlessEdited
}

/// The values that a policy decides between; `nil` stands for absent.
public struct MergeSides: Sendable, Hashable {
  /// What both sides started from.
  public var base: ArchiveValue?
  /// Whether the base is known: else ``base`` is `nil` because nobody knows it.
  public var isBaseKnown: Bool
  /// What the program has.
  public var local: ArchiveValue?
  /// What came in.
  public var server: ArchiveValue?

  /// The values of both sides and of what they started from; `nil` is what is absent.
  ///
  /// - Parameter isBaseKnown: `false` where nobody knows the base.
  public init(base: ArchiveValue?, isBaseKnown: Bool = true, local: ArchiveValue?, server: ArchiveValue?) {
    self.base = base
    self.isBaseKnown = isBaseKnown
    self.local = local
    self.server = server
  }
}
