public import Foundation

// An object of a class is merged without being assigned to, so a constant that holds it is enough. Everything else is as
// the methods of the same names in Model+MergeValues say.

extension Model where Self: AnyObject {
  /// Folds another object's values into this one, key by key.
  @discardableResult
  public func mergeValues(
    from source: Self, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds another object's values into this one, by the options of this call.
  @discardableResult
  public func mergeValues(from source: Self, options: MergeOptions) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, options)
  }

  /// Merges what a server has with what was edited here, since both started from `base`.
  @discardableResult
  public func mergeValues(
    from source: Self, base: Self, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), base, options)
  }

  /// Folds an object of another model in: the keys that both declare are merged, by the policies of this model, and the
  /// others stay. The same holds for models inside.
  @discardableResult
  @_disfavoredOverload
  public func mergeValues<Source: Model>(
    from source: Source, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.model(source), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  // MARK: JSON

  /// Folds a JSON document in: only the keys that it holds are touched, at every depth. An explicit null is a value.
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.text(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON document in that was read before.
  @discardableResult
  public func mergeValues(
    fromJSON json: Value, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON document in by the options of this call.
  @discardableResult
  public func mergeValues(fromJSON json: Data, options: MergeOptions) throws -> MergeReport {
    var object = self
    return try object.fold(.text(json), nil, options)
  }

  /// Folds a JSON document in that was read before, by the options of this call.
  @discardableResult
  public func mergeValues(fromJSON json: Value, options: MergeOptions) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), nil, options)
  }

  /// Folds a JSON document in, where it is known what both sides started from.
  @discardableResult
  public func mergeValues(
    fromJSON json: Data, base: Self?, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.text(json), base, options)
  }

  /// Folds a JSON document in that was read before, where it is known what both sides started from.
  @discardableResult
  public func mergeValues(
    fromJSON json: Value, base: Self?, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.json(json), base, options)
  }

  // MARK: Patches

  /// Folds in what a JSON Merge Patch (RFC 7396) changes: at every depth a null clears, and what it does not hold is left
  /// alone.
  @discardableResult
  public func mergeValues(
    applyingMergePatch patch: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.mergePatch(patch), base, options)
  }

  /// Folds in what a JSON Patch (RFC 6902) changes.
  @discardableResult
  public func mergeValues(
    applying patch: JSONPatch, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.patch(patch), base, options)
  }

  // MARK: Archives

  /// Folds an archive of this model in, whichever version of it wrote the archive.
  @discardableResult
  public func mergeValues(
    fromArchive data: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.archive(data), base, options)
  }

  /// Folds a record in, of this or an older version: part of a model, as ``ArchiveDecoder/decodeValue(from:)`` or a
  /// step makes one.
  @discardableResult
  public func mergeValues(
    fromRecord record: Record, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    var object = self
    return try object.fold(.record(record), base, options)
  }
}
