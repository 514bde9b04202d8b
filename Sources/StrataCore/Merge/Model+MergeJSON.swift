public import Foundation

extension Model {
  /// Folds a JSON object in: only the keys that the document holds are touched. An explicit null is a value.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidJSON` where the text is no JSON or a key of a field stands
  ///   twice, `typeMismatch` where a value is not what a field holds, and as `mergeValues(from:)`. The object is then unchanged.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try mergeValues(fromJSON: json, options: MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON object in that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, forKeys keys: [String]? = nil, policy: MergePolicy? = nil, validates: Bool = true
  ) throws -> MergeReport {
    try mergeValues(fromJSON: json, options: MergeOptions(policy: policy, keys: keys, validates: validates))
  }

  /// Folds a JSON object in by the options of this call, and by what both sides started from where that is known.
  ///
  /// Keys that the document lacks are left alone, base or not. With a base, a nested object may be partial.
  ///
  /// - Parameters:
  ///   - json: the document.
  ///   - base: the server's state that the local edits started from; the one that the model remembers unless given.
  ///   - options: what this merge does differently.
  /// - Throws: as `mergeValues(fromJSON:)`.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Data, base: Self? = nil, options: MergeOptions
  ) throws -> MergeReport {
    let value = try JSONReader().withRoot(of: json, depthLimit: JSONReader.maximumDepth) { root in
      // Of two values for one field, nobody knows which one another reader of the same text took.
      if root.kind == .object { _ = try Self.schema.jsonPlan.keys.places(in: root, of: Self.schema.jsonPlan) }
      return try root.value(duplicateKeys: .lastWins)
    }
    return try mergeValues(fromJSON: value, base: base, options: options)
  }

  /// Folds a JSON object in that was read before.
  @discardableResult
  public mutating func mergeValues(
    fromJSON json: Value, base: Self? = nil, options: MergeOptions
  ) throws -> MergeReport {
    let context = DecodingContext(source: .json, finishesModels: false)
    return try merge(fromJSON: json, base: base, options, in: context)
  }

  /// Folds a JSON object in by the mappings of a context, which does not finish models: only the result is.
  mutating func merge(
    fromJSON json: Value, base: Self? = nil, _ options: MergeOptions, in context: DecodingContext
  ) throws -> MergeReport {
    if isOfSubclass {
      func merge<M: Model>(_ object: M) throws -> MergeReport {
        var object = object
        return try object.merge(fromJSON: json, base: base?.dynamicModel as? M, options, in: context)
      }
      return try merge(dynamicModel)
    }
    let present = try Self.schema.keys(inJSON: json, in: context)
    let base = try base ?? rememberedBase
    let neighbours = ObjectNeighbours()
    let own = try shallowRecord(neighbours)
    // The source is a whole object: what the document lacks has the values that the server had, or else the target's.
    let overlaid = try Self.schema.record(
      overlaying: json, on: base?.shallowRecord(neighbours) ?? own, neighbours,
      mergesNested: base != nil || options.policy?.isRecursive ?? false, in: context)
    let plain = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
    let source = try MergeCommit.made(Self.self, overlaid, in: plain, neighbours)
    return try merge(
      source, source.shallowRecord(neighbours), neighbours, present: present, base: base, options,
      takesUnknownFields: context.json.unknownKeys == .capture && options.keys == nil)
  }
}
