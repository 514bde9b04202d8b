/// The options of one merge, which override those of the models.
public struct MergeOptions: Sendable {
  /// The result if both sides changed a value and no rule decides.
  public enum ConflictHandling: String, Sendable, Hashable, CaseIterable {
    /// The local value, so that no edit is lost. The report has all three values.
    case keepLocal
    /// The server's value.
    case takeServer
    /// The merge throws `mergeFailed` with the paths, and nothing is changed.
    case fail
  }

  /// The policy of every field; `nil` for the fields' own policies.
  public var policy: MergePolicy?
  /// Policies for paths and patterns of paths, which override all others. If several match, the last one wins. A path
  /// with an index is an error with the code `invalidSchema`.
  public var policies: [(path: ValuePath, policy: MergePolicy)] = []
  /// The result of conflicts.
  public var conflicts: ConflictHandling = .keepLocal
  /// Whether elements with an identity and keys of dictionaries are kept that the source does not list. By default,
  /// they are removed if the base has them and they were not edited locally. Without a base, they are kept if the
  /// source is a document, and removed if it is a model, a list of models or a patch. A policy by identity can override
  /// this for one list.
  public var unlisted: Unlisted?
  /// The keys of the fields to merge; all by default.
  public var keys: [String]?
  /// Whether the result must keep the model's rules (see ``Validating``).
  public var validates = true

  /// Creates options. By default, each field has its own policy, and conflicts keep the local value.
  public init(
    policy: MergePolicy? = nil, policies: KeyValuePairs<ValuePath, MergePolicy> = [:],
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

  /// - Throws: ``ArchiveError`` with the code `invalidSchema` for a policy whose path has an index, because an element can
  ///   have different indices on the sides.
  func check() throws {
    for (path, _) in policies {
      for case .index(let index) in path.components {
        throw ArchiveError(
          .invalidSchema,
          "the policy for \(path) names the index \(index), which can be another element on each side; name an element by "
            + "its identity, as in the path of a report, or all with [*]")
      }
    }
  }
}
