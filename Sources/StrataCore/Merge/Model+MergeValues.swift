public import Foundation

// Each of these says what comes in; `fold` does the work. Model+MergeObjects has them for classes.

extension Model {
  /// Folds another object's values into this one, key by key.
  ///
  /// Each field follows its own policy, or the one given for this call; by default the source's value wins, a null
  /// too. Nested models are merged key by key, lists of models with an identity by it, and objects of classes stay
  /// themselves. All or nothing: when anything fails, every object is as it was. Where the model keeps a ``MergeState``,
  /// it knows the base, as with `mergeValues(from:base:options:)`.
  ///
  /// - Parameters:
  ///   - source: the object whose values are taken; it stays as it is.
  ///   - keys: the keys to merge; all of them unless given.
  ///   - policy: overrides the policies of the fields.
  ///   - validates: whether the result must keep the model's rules (see ``Validating``).
  /// - Returns: what changed.
  /// - Throws: ``ArchiveError`` with the code `unknownKey` for a key that the model does not declare, `invalidSchema` for
  ///   a policy that cannot work for its field, and `mergeFailed` where a hook or a policy fails or yields what the
  ///   field cannot hold; `invalid` where the result breaks a rule of the model.
  /// - Complexity: linear in the number of values and references of both, and of all objects that they lead to; where a
  ///   list was put into another order, n log n.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds another object's values into this one, by the options of this call.
  ///
  /// - Throws: as `mergeValues(from:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(from source: Self, options: MergeOptions) throws -> MergeReport {
    try fold(.model(source), nil, options)
  }

  /// Merges what a server has with what was edited here, since both started from `base`.
  ///
  /// What only one side changed counts, in nested models and in lists with identities too. What both changed, each in
  /// its own way, follows the field's policy; where that is ``MergePolicy/automatic``, it is a conflict, the local
  /// value stays, and the report has all three.
  ///
  /// - Parameters:
  ///   - source: the server's state.
  ///   - base: the server's state that the local edits started from.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(from:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(
    from source: Self, base: Self, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.model(source), base, options)
  }

  /// Folds an object of another model in: the keys that both declare are merged, by the policies of this model, and the
  /// others stay. The same holds for models inside.
  ///
  /// - Throws: as `mergeValues(from:)`.
  @discardableResult
  @_disfavoredOverload
  public mutating func mergeValues<Source: Model>(
    from source: Source, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  // MARK: JSON

  /// Folds a JSON document in: only the keys that it holds are touched, at every depth. An explicit null is a value.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON or a key of a field stands
  ///   twice, `typeMismatch` where a value is not what a field holds, `missingValue` where an object that is new here
  ///   lacks a key without a default, and as `mergeValues(from:)`. Every object is then unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.text(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON document in that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON document in by the options of this call.
  ///
  /// - Throws: as `mergeValues(fromJSON:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(fromJSON json: Data, options: MergeOptions) throws -> MergeReport {
    try fold(.text(json), nil, options)
  }

  /// Folds a JSON document in that was read before, by the options of this call.
  @discardableResult
  public mutating func mergeValues(fromJSON json: Value, options: MergeOptions) throws -> MergeReport {
    try fold(.json(json), nil, options)
  }

  /// Folds a JSON document in, where it is known what both sides started from.
  ///
  /// Keys that the document lacks are left alone at every depth, base or not.
  ///
  /// - Parameters:
  ///   - json: the document.
  ///   - base: the server's state that the local edits started from; with `nil` the one that the model remembers.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(fromJSON:)`; also `mergeFailed` where conflicts are to fail.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, base: Self?, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.text(json), base, options)
  }

  /// Folds a JSON document in that was read before, where it is known what both sides started from.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, base: Self?, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.json(json), base, options)
  }

  // MARK: Patches

  /// Folds in what a JSON Merge Patch (RFC 7396) changes: at every depth a null clears, and what it does not hold is left
  /// alone.
  ///
  /// A field that it clears must be able to be nil; a key of a dictionary goes. A server's patch says what changed there,
  /// so it is a patch of the base where that is known, and of this object's JSON where it is not.
  ///
  /// - Throws: as `mergeValues(fromJSON:)`; `typeMismatch` where a field that is cleared holds no null.
  @discardableResult
  public mutating func mergeValues(
    applyingMergePatch patch: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.mergePatch(patch), base, options)
  }

  /// Folds in what a JSON Patch (RFC 6902) changes.
  ///
  /// What the patch removes becomes null, at every depth; a key of a dictionary goes. It is a patch of the base's JSON
  /// where that is known, and of this object's where it is not.
  ///
  /// - Throws: as `mergeValues(fromJSON:)`; also `mergeFailed` where an operation cannot be applied, for instance where
  ///   a test fails, and `limitExceeded` as ``JSONPatch/applied(to:limits:)``.
  @discardableResult
  public mutating func mergeValues(
    applying patch: JSONPatch, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.patch(patch), base, options)
  }

  // MARK: Archives

  /// Folds an archive of this model in, whichever version of it wrote the archive.
  ///
  /// What it holds is upgraded first. Keys that it lacks then are left alone at every depth, and null is a value, but for
  /// conditional references, which archives leave out as null.
  ///
  /// - Throws: as ``ArchiveDecoder``, and as `mergeValues(from:base:options:)`.
  @discardableResult
  public mutating func mergeValues(
    fromArchive data: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.archive(data), base, options)
  }

  /// Folds a record in, of this or an older version: part of a model, as ``ArchiveDecoder/decodeValue(from:)`` or a
  /// step makes one.
  ///
  /// - Throws: as `mergeValues(fromArchive:)`.
  @discardableResult
  public mutating func mergeValues(
    fromRecord record: Record, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try fold(.record(record), base, options)
  }
}
