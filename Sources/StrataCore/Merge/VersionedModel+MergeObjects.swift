public import Foundation

// A class instance is merged without being assigned to, so it can be stored in a constant. Otherwise, these methods are the same as those
// in VersionedModel+MergeValues.swift.

extension VersionedModel where Self: AnyObject {
  /// Merges another object's values into this one, key by key.
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document. Only keys that the document contains are changed, at every depth.
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a source of any form with the given options.
  @discardableResult
  public func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(source, base, options)
  }
}
