/// What one merge does differently from what its models say.
public struct MergeOptions: Sendable {
  /// What the result has where both sides changed a value and no rule decides.
  public enum ConflictHandling: String, Sendable, Hashable, CaseIterable {
    /// The local value, so that no edit is lost; the report has all three.
    case keepLocal
    /// The server's value.
    case takeServer
    /// The merge throws `mergeFailed` with the paths, and nothing is changed.
    case fail
  }

  /// The policy of every field; `nil` for each its own.
  public var policy: MergePolicy?
  /// Policies for paths, which win over all others; of several that match, the last one.
  public var policies: [(path: MergeSelector, policy: MergePolicy)] = []
  /// The value of a conflict.
  public var conflicts: ConflictHandling = .keepLocal
  /// What becomes of elements with an identity and of keys of dictionaries that the source does not list. Unless given, they go where the
  /// base has them and they were not edited here. Without a base they stay where a document comes in, and go where a model, a list of
  /// models or a patch does. A policy by identity can say it for one list.
  public var unlisted: Unlisted?
  /// The keys of the fields to merge; all unless given.
  public var keys: [String]?
  /// Whether the result must keep the model's rules (see ``Validating``).
  public var validates = true

  /// Each field by its own policy, and conflicts keep the local value.
  public init(
    policy: MergePolicy? = nil, policies: KeyValuePairs<MergeSelector, MergePolicy> = [:],
    conflicts: ConflictHandling = .keepLocal, unlisted: Unlisted? = nil, keys: [String]? = nil,
    validates: Bool = true
  ) {
    self.policy = policy
    self.policies = policies.map { ($0.key, $0.value) }
    self.conflicts = conflicts
    self.unlisted = unlisted
    self.keys = keys
    self.validates = validates
  }
}
