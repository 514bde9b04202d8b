/// A model that declares how its objects are merged, wherever they occur in the merged data.
///
///     extension Issue: Mergeable {
///       static let mergeRules = MergeRules(default: .lastWriter(by: "updatedAt"), identity: "number")
///     }
public protocol Mergeable: VersionedModel {
  /// The model's merge rules. Declare this property as a `static let`, because the rules should be created only once.
  static var mergeRules: MergeRules { get }
}

/// The rules for merging objects of one model.
public struct MergeRules: Sendable {
  /// The default policy, for fields that do not declare a policy.
  public let policy: MergePolicy
  /// The key, or combination of keys, that identifies an object of the model. Arrays of such objects are merged by this identity.
  public let identity: IdentityKey?

  /// Creates merge rules. The first use of the model throws an error with the code `invalidSchema` if no field can use the default policy,
  /// or if the model does not declare one of the identity's keys. In a class, only the identity is checked, because subclasses may have
  /// additional fields.
  ///
  /// - Parameters:
  ///   - policy: the default policy, for fields that do not declare a policy.
  ///   - identity: the key, or combination of keys, that identifies an object. If `nil`, objects are identified by `id` if the model has
  ///     such a field.
  public init(default policy: MergePolicy = .automatic, identity: IdentityKey? = nil) {
    self.policy = policy
    self.identity = identity
  }
}
