/// A model that says how its objects are merged, wherever they stand.
///
///     extension Issue: Mergeable {
///       static let mergeRules = MergeRules(default: .lastWriter(by: "updatedAt"), identity: "number")
///     }
public protocol Mergeable: VersionedModel {
  /// The rules. A `static let`, made once.
  static var mergeRules: MergeRules { get }
}

/// How objects of one model are merged.
public struct MergeRules: Sendable {
  /// The policy of fields that have none of their own.
  public let policy: MergePolicy
  /// The key, or the keys together, that identify a model. Arrays of models are merged by it.
  public let identity: IdentityKey?

  /// A default that none of the fields which follow it can use, and an identity that the model does not declare, are
  /// errors of the declaration, with the code `invalidSchema`. Of a class only the identity is checked: subclasses may
  /// bring the fields.
  ///
  /// - Parameters:
  ///   - policy: for fields that have none of their own.
  ///   - identity: the key, or the keys together, that identify a model; `nil` for `id`, if the model has such a field.
  public init(default policy: MergePolicy = .automatic, identity: IdentityKey? = nil) {
    self.policy = policy
    self.identity = identity
  }
}
