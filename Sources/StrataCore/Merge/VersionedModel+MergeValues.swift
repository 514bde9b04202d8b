public import Foundation

// `fold` does the work. Model+MergeObjects has the same methods for classes.

extension VersionedModel {
  /// Merges another object's values into this one, key by key.
  ///
  /// Each field follows its own policy, or the one given for this call; by default the source's value wins, a null
  /// too. Nested models are merged key by key, lists of models with an identity by it, and objects of classes stay
  /// themselves. All or nothing: when anything fails, every object is as it was. Where the model keeps a
  /// ``MergeState``, it knows the base, as with `merge(_:base:options:)`.
  ///
  /// ```swift
  /// let report = try issue.mergeValues(from: refreshed)
  /// print(report.changedKeys)  // ["title"]
  /// ```
  ///
  /// - Parameters:
  ///   - source: the object whose values are taken; it stays as it is.
  ///   - keys: the keys to merge; all of them unless given.
  ///   - policy: overrides the policies of the fields.
  ///   - validates: whether the result must keep the model's rules (see ``Validating``).
  /// - Returns: what changed.
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `invalidSchema`
  ///   for a policy that cannot work for its field, and `mergeFailed` where a hook or a policy fails or yields what the
  ///   field cannot hold; `invalid` where the result breaks a rule of the model.
  /// - Complexity: linear in the number of values and references of both, and of all objects that they lead to; where a
  ///   list was put into another order, n log n.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document: only the keys that it holds are touched, at every depth. An explicit null is a value.
  ///
  /// - Throws: as ``MergeSource`` says of JSON, and as `mergeValues(from:)`. Every object is then unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: ArchiveValue, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges what comes in, in any form, by the options of this call, and by what both sides started from where that is
  /// known.
  ///
  ///     try issue.merge(.json(data), base: before)
  ///
  /// With a base, what only one side changed counts, in nested models and in lists with identities too. What both
  /// changed, each in its own way, follows the field's policy; where that is ``MergePolicy/automatic``, it is a
  /// conflict, the local value stays, and the report has all three. All or nothing: when anything fails, every object
  /// is as it was.
  ///
  /// - Parameters:
  ///   - source: what comes in.
  ///   - base: the server's state that the local edits started from; the one that the model remembers unless given.
  ///   - options: what this merge does differently.
  /// - Returns: what changed.
  /// - Throws: as `mergeValues(from:)`; what ``MergeSource`` says of each form; `mergeFailed` where conflicts are to
  ///   fail.
  @discardableResult
  public mutating func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(source, base, options)
  }

  /// The report of `merge(_:base:options:)`, without merging: no object changes.
  ///
  ///     let report = try issue.mergePreview(.json(body), base: before)
  ///     if !report.conflicts.isEmpty { ask(report) }
  ///
  /// Hooks and rules of the models do not run. The report lacks the changes of hooks, and a rule can still refuse the merge.
  ///
  /// - Parameters: as for `merge(_:base:options:)`.
  /// - Throws: as `merge(_:base:options:)`, except for hooks and rules.
  public func mergePreview(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try foldPreview(source, base, options)
  }
}
