/// A model that declares how its objects are merged, wherever they occur.
///
///     extension Issue: Mergeable {
///       static let mergeRules = MergeRules(default: .lastWriter(by: "updatedAt"), identity: "number")
///     }
public protocol Mergeable: VersionedModel {
  /// The rules. Declare them as a `static let`, so that they are created once.
  static var mergeRules: MergeRules { get }
}

/// The rules for merging objects of one model.
public struct MergeRules: Sendable {
  /// The policy of fields that declare none.
  public let policy: MergePolicy
  /// The key, or the keys together, that identify a model. Arrays of models are merged by it.
  public let identity: IdentityKey?

  /// A default that no field can use, and an identity that the model does not declare, are mistakes in the declaration,
  /// with the code `invalidSchema`. In a class, only the identity is checked, because subclasses may have further
  /// fields.
  ///
  /// - Parameters:
  ///   - policy: for fields that declare none.
  ///   - identity: the key, or the keys together, that identify a model; `nil` for `id`, if the model has such a field.
  public init(default policy: MergePolicy = .automatic, identity: IdentityKey? = nil) {
    self.policy = policy
    self.identity = identity
  }
}
