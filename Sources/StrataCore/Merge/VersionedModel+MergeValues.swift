public import Foundation

// These methods call `fold(_:_:_:in:)`, which implements the merge. VersionedModel+MergeObjects.swift declares the same methods for
// classes.

extension VersionedModel {
  /// Merges another object's values into this one, key by key.
  ///
  /// Each field is merged by its own policy, or by the policy given for this call. By default the source's value wins, even if it is null.
  /// Nested models are merged key by key, elements of lists are matched by identity if they have one, and class instances keep their
  /// identity. If an error is thrown, all objects are unchanged. If the model has a ``MergeState``, its base is used, as in
  /// `merge(_:base:options:)`.
  ///
  /// ```swift
  /// let report = try issue.mergeValues(from: refreshed)
  /// print(report.changedKeys)  // ["title"]
  /// ```
  ///
  /// - Parameters:
  ///   - source: the object to merge from; it is not changed.
  ///   - keys: the keys to merge; all by default.
  ///   - policy: overrides the policies of the fields.
  ///   - validates: whether the result must satisfy the model's rules (see ``Validating``).
  /// - Returns: a report of the changes.
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `invalidSchema` for a policy that
  ///   does not fit its field, `mergeFailed` if a hook or a policy fails or returns a value that the field cannot hold, and `invalid` if
  ///   the result breaks a rule of the model.
  /// - Complexity: linear in the number of values and references in both objects and in all objects reachable from them; n log n if a list
  ///   was reordered.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a JSON document. At every depth, only the keys that the document contains are changed. An explicit null clears an optional
  /// field.
  ///
  /// - Throws: the errors that ``MergeSource`` documents for JSON, and the errors of `mergeValues(from:)`. If an error is thrown, all
  ///   objects are unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Merges a source, such as a model, a JSON document or an archive, with the given options. If the base is known, this is a three-way
  /// merge.
  ///
  ///     try issue.merge(.json(data), base: before)
  ///
  /// With a base, a change made by only one side is applied, also in nested models and in lists whose elements have identities. A value
  /// that both sides changed differently is merged by the field's policy. If that policy is ``MergePolicy/automatic``, the difference is a
  /// conflict: the local value is kept, and the report contains the base, local and incoming values. If an error is thrown, all objects are
  /// unchanged.
  ///
  /// - Parameters:
  ///   - source: the source of the merge.
  ///   - base: the server's state that the local edits started from; by default the base in the model's ``MergeState``, if it has one.
  ///   - options: the options of this merge.
  /// - Returns: a report of the changes.
  /// - Throws: the errors of `mergeValues(from:)`, and those that ``MergeSource`` documents for each form; `mergeFailed` if there are
  ///   conflicts and ``MergeOptions/conflicts`` treats them as errors.
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
  /// The models' ``PostDecoding`` hooks and rules do not run. The report therefore lacks the changes that hooks would make, and the actual
  /// merge may still fail because the result breaks a rule.
  ///
  /// - Parameters: the same as for `merge(_:base:options:)`.
  /// - Throws: the same errors as `merge(_:base:options:)`, except for errors of hooks and rules.
  public func mergePreview(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try foldPreview(source, base, options)
  }
}

// If a mutating merge method is called on a struct that was declared with `let`, the compiler's own error message suggests making the type
// a class. The following overloads produce a better error. They return optionals only because an overload must differ from the original
// method in its type.
extension VersionedModel {
  /// Produces a compile-time error with a suggested fix if the method is called on a struct that was declared with `let`.
  @available(*, unavailable, message: "merging changes the model; declare the model with var")
  @_disfavoredOverload
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport? { nil }

  /// Produces a compile-time error with a suggested fix if the method is called on a struct that was declared with `let`.
  @available(*, unavailable, message: "merging changes the model; declare the model with var")
  @_disfavoredOverload
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport? { nil }

  /// Produces a compile-time error with a suggested fix if the method is called on a struct that was declared with `let`.
  @available(
    *, unavailable, message: "merging changes the model; declare the model with var, or call mergePreview instead"
  )
  @_disfavoredOverload
  @discardableResult
  public func merge(
    _ source: MergeSource, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport? { nil }
}
