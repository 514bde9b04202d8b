public import Foundation

// `fold` does the work. VersionedModel+MergeObjects has the same methods for classes.

extension VersionedModel {
  /// Merges another object's values into this one, key by key.
  ///
  /// Each field follows its own policy, or the one given for this call. By default the source's value wins, even if it
  /// is null. Nested models are merged key by key, lists of models with an identity by it, and instances of classes
  /// keep their identity. All or nothing: if an error is thrown, all objects are unchanged. If the model has a
  /// ``MergeState``, that has the base, as with `merge(_:base:options:)`.
  ///
  /// ```swift
  /// let report = try issue.mergeValues(from: refreshed)
  /// print(report.changedKeys)  // ["title"]
  /// ```
  ///
  /// - Parameters:
  ///   - source: the object whose values are taken; it is not changed.
  ///   - keys: the keys to merge; all by default.
  ///   - policy: overrides the policies of the fields.
  ///   - validates: whether the result must keep the model's rules (see ``Validating``).
  /// - Returns: a report of the changes.
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `invalidSchema`
  ///   for a policy that cannot work for its field, and `mergeFailed` if a hook or a policy fails or returns a value
  ///   that the field cannot hold; `invalid` if the result breaks a rule of the model.
  /// - Complexity: linear in the number of values and references of both, and of all objects that are reachable from
  ///   them; n log n if a list was reordered.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document. Only the keys that it contains are changed, at every depth. An explicit null is a value.
  ///
  /// - Throws: the errors that ``MergeSource`` documents for JSON, and those of `mergeValues(from:)`. All objects are
  ///   then unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a source in any form, by the options of this call, and with the base of both sides if it is known.
  ///
  ///     try issue.merge(.json(data), base: before)
  ///
  /// With a base, a change that only one side made counts, in nested models and in lists with identities too. A value
  /// that both sides changed differently follows the field's policy. If that is ``MergePolicy/automatic``, it is a
  /// conflict: the local value stays, and the report has all three values. All or nothing: if an error is thrown, all
  /// objects are unchanged.
  ///
  /// - Parameters:
  ///   - source: the source of the merge.
  ///   - base: the server's state that the local edits started from; by default the base that the model remembers.
  ///   - options: the options of this merge.
  /// - Returns: a report of the changes.
  /// - Throws: the errors of `mergeValues(from:)`, and those that ``MergeSource`` documents for each form; `mergeFailed`
  ///   if there are conflicts and the options make them errors.
  @discardableResult
  public mutating func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(source, base, options)
  }

  /// Returns the report of `merge(_:base:options:)` without changing any object.
  ///
  ///     let report = try issue.mergePreview(.json(body), base: before)
  ///     if !report.conflicts.isEmpty { ask(report) }
  ///
  /// ``PostDecoding`` hooks and rules of the models do not run. The report lacks the changes of those hooks, and a rule
  /// can still refuse the merge.
  ///
  /// - Parameters: as for `merge(_:base:options:)`.
  /// - Throws: the same errors as `merge(_:base:options:)`, except for those hooks and rules.
  public func mergePreview(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try foldPreview(source, base, options)
  }
}

// The compiler's own message for a constant struct asks for a class. The optional result makes these overloads.
extension VersionedModel {
  /// Reports the remedy for a constant struct.
  @available(*, unavailable, message: "a merge changes the model; declare it with var")
  @_disfavoredOverload
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport? { nil }

  /// Reports the remedy for a constant struct.
  @available(*, unavailable, message: "a merge changes the model; declare it with var")
  @_disfavoredOverload
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport? { nil }

  /// Reports the remedy for a constant struct.
  @available(*, unavailable, message: "a merge changes the model; declare it with var, or use mergePreview")
  @_disfavoredOverload
  @discardableResult
  public func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport? { nil }
}
