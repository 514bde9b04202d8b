public import Foundation

// An object of a class is merged without being assigned to, so a constant that holds it is enough. Everything else is
// as the methods of the same names in Model+MergeValues say.

extension VersionedModel where Self: AnyObject {
  /// Merges another object's values into this one, key by key.
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document: only the keys that it holds are touched, at every depth.
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document that was read before.
  @discardableResult
  public func mergeValues(
    fromJSON json: ArchiveValue, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges what comes in, in any form, by the options of this call.
  @discardableResult
  public func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(source, base, options)
  }
}
