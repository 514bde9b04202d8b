public import Foundation

// These methods are not `mutating`, so a class instance can be merged even if it is stored in a constant. Merging changes the instance, not
// the constant. In all other respects, the methods match those in VersionedModel+MergeValues.swift.

extension VersionedModel where Self: AnyObject {
  /// Merges another object's values into this one, key by key.
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document. At every depth, only the keys that the document contains are changed.
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a source, such as a model, a JSON document or an archive, with the given options.
  @discardableResult
  public func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(source, base, options)
  }
}
