/// The options of a single merge. Policies in the options override the policies that the models declare.
public struct MergeOptions: Sendable {
  /// How to handle a conflict, in which both sides changed the same value and no merge policy decides the result.
  public enum ConflictHandling: String, Sendable, Hashable, CaseIterable {
    /// The local value is kept, so no edit is lost. The report contains the base, local and incoming values.
    case keepLocal
    /// The server's value is used.
    case takeServer
    /// The merge throws `mergeFailed` with the paths of the conflicts, and changes nothing.
    case fail
  }

  /// A policy that replaces the policies of all fields; `nil` to use the policy that each field declares.
  public var policy: MergePolicy?
  /// Policies for paths and path patterns, which override all other policies. If several match a path, the last one wins. A path that
  /// contains an index causes an error with the code `invalidSchema`.
  public var policies: [(path: ValuePath, policy: MergePolicy)] = []
  /// How to handle values that both sides changed, if no policy decides the result.
  public var conflicts: ConflictHandling = .keepLocal
  /// How to treat elements with an identity and dictionary keys that the source does not list. By default, unlisted elements and keys are
  /// removed if the base has them and they were not edited locally. Without a base, they are kept if the source is a document, and removed
  /// if the source is a model, a list of models or a patch. A policy by identity can override this option for a single list.
  public var unlisted: Unlisted?
  /// The keys of the fields to merge; all by default.
  public var keys: [String]?
  /// Whether the result must satisfy the model's rules (see ``Validating``).
  public var validates = true

  /// Creates options. By default, each field is merged by its own policy, and conflicts keep the local value.
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

  /// Checks the paths of the policies.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` for a policy whose path contains an index, because an element can have a
  ///   different index on each side.
  func check() throws {
    for (path, _) in policies {
      for case .index(let index) in path.components {
        throw ArchiveError(
          .invalidSchema,
          "the policy for \(path) selects the index \(index), which may be a different element on each side; select "
            + "the element by its identity, or select all elements with [*]"
        )
      }
    }
  }
}
