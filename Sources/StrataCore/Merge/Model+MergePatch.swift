public import Foundation

extension Model {
  /// Applies a JSON Merge Patch (RFC 7396) to what JSON holds of the object, and merges the fields that it changes.
  ///
  /// A null clears: the field must be able to be nil, and a key of a dictionary goes. The patch is applied to the base
  /// where that is known, since a server's patch says what changed there.
  ///
  /// - Throws: as `mergeValues(fromJSON:)`.
  @discardableResult
  public mutating func mergeValues(
    applyingMergePatch patch: Data, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let patch = try JSONReader().read(patch)
    guard patch.objectValue != nil else {
      throw ArchiveError.mismatch(expected: "a merge patch that is an object", found: patch.kind).inType(
        Self.schema.name)
    }
    return try mergeValues(fromPatched: base, options) { JSONMergePatch.apply(patch, to: $0) }
  }

  /// Applies a JSON Patch (RFC 6902) to what JSON holds of the object, and merges the fields that it changes.
  ///
  /// A field that the patch removes becomes null. The patch is applied to the base where that is known, since a server's
  /// patch says what changed there.
  ///
  /// - Throws: as `mergeValues(fromJSON:)`; also `mergeFailed` where an operation cannot be applied, for instance where
  ///   a test fails.
  @discardableResult
  public mutating func mergeValues(
    applying patch: JSONPatch, base: Self? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try mergeValues(fromPatched: base, options) { try patch.applied(to: $0) }
  }

  private mutating func mergeValues(
    fromPatched base: Self?, _ options: MergeOptions, _ patch: (Value) throws -> Value
  ) throws -> MergeReport {
    let origin = try base ?? rememberedBase ?? self
    let before = try JSONReader().read(origin.jsonData())
    guard case .object(let after) = try patch(before) else {
      throw ArchiveError(
        .mergeFailed, "the patch makes something else than an object of the model", typeName: Self.schema.name)
    }
    // What the patch does not touch is left alone.
    var partial = Object()
    for entry in after.entries where before[entry.key] != entry.value { partial[entry.key] = entry.value }
    for key in before.objectValue?.keys ?? [] where after[key] == nil { partial[key] = .null }
    return try mergeValues(fromJSON: .object(partial), base: base, options: options)
  }
}
