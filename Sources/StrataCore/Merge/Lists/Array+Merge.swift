extension Array where Element: VersionedModel {
  /// Merges a list of models into this one by identity. Elements in both lists are merged, and elements that the server inserted are added.
  /// The order is the server's, except that local insertions and moves keep their positions.
  ///
  /// The result is the same as for a model that holds the list in a field with the policy ``MergePolicy/byID(_:unlisted:)``. If a single
  /// key identifies the elements, however, unchanged elements are only compared and not created again. Class instances keep their identity.
  /// Either all changes are made, or none.
  ///
  ///     let report = try issues.mergeValues(from: refreshed, by: "number")
  ///
  /// - Parameters:
  ///   - source: the server's list.
  ///   - key: the key that identifies elements; by default the identity of the model's ``MergeRules``, or else `id`.
  ///   - unlisted: how to treat elements that the source does not list. By default, they are removed unless they were edited locally since
  ///     the base.
  ///   - base: the list that both sides started from; `nil` if it is not known.
  ///   - options: the options of this merge. Paths begin with an element, as in `[*].name`.
  /// - Throws: the same errors as `merge(_:base:options:)` for a model; `unknownKey` if the model does not declare the key, or if the
  ///   options specify keys, because these apply only to a single model.
  /// - Complexity: linear in the size of the lists, if no element was moved.
  @discardableResult
  public mutating func mergeValues(
    from source: [Element], by key: IdentityKey? = nil, unlisted: Unlisted = .removeUnlessEdited,
    base: [Element]? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    let key = try Self.identityKey(key, options)
    if let report = try mergeByBytes(source, key, unlisted, base, options) { return report }
    return try merge(MergeSource(form: .list(source)), key, unlisted, base, options)
  }

  /// Merges a source that contains an array into this list by identity, like `mergeValues(from:by:)`. In existing elements, only the keys
  /// that the source contains are changed.
  ///
  ///     let report = try issues.merge(.json(body), by: "number")
  ///
  /// - Parameter source: a JSON array, or an archive of an array.
  /// - Throws: the same errors as `merge(_:base:options:)` for a model; `typeMismatch` if the source is not an array; and `mergeFailed` for
  ///   a patch, because a patch applies only to a single model.
  @discardableResult
  public mutating func merge(
    _ source: MergeSource, by key: IdentityKey? = nil, unlisted: Unlisted = .removeUnlessEdited,
    base: [Element]? = nil, options: MergeOptions = MergeOptions()
  ) throws -> MergeReport {
    try merge(source, Self.identityKey(key, options), unlisted, base, options)
  }

  private static func identityKey(_ key: IdentityKey?, _ options: MergeOptions) throws -> IdentityKey {
    let key = key ?? Element.schema.identityKey ?? "id"
    try Element.schema.check()
    try options.check()
    guard options.keys == nil else {
      throw ArchiveError(
        .unknownKey, "a merge of a list cannot be limited to some keys; merge each model with the option keys instead",
        typeName: Element.schema.name)
    }
    try Element.schema.checkKeys(key.keys)
    return key
  }

  /// Merges the lists by comparing their encoded bytes, so that unchanged models are not created again. Returns `nil` if the lists cannot
  /// be merged in this way.
  private mutating func mergeByBytes(
    _ source: [Element], _ key: IdentityKey, _ unlisted: Unlisted, _ base: [Element]?, _ options: MergeOptions
  ) throws -> MergeReport? {
    var catalog = SchemaCatalog()
    Element._collectSchemas(into: &catalog)
    let merge = ListMerge(
      Element.schema, catalog, key: key, unlisted: unlisted, isBaseKnown: base != nil, options)
    guard let merge else { return nil }
    var bytes = ElementBytes()
    let ranges = (try bytes.add(self), try bytes.add(source), try bytes.add(base ?? []))
    let sides = [self, source, base ?? []]
    let found = try merge.run(bytes, ranges.0, ranges.1, ranges.2) { side, place in
      try sides[side][place].shallowRecord(ReferencedObjects())
    }
    guard let (changes, known) = found else { return nil }
    var report = known
    report.isChangedInside = changes.changeList(of: count)
    let graph = MergeGraph(), list = ArchiveValue.array([])
    let commit = MergeCommit(
      graph: graph, linking: try ObjectLinking(graph, nil, root: list, updates: []) { _ in throw PathEdit.lost },
      root: list, rootNumber: nil, validates: options.validates, runsHooks: catalog.finishesMerged, mustAdopt: true)
    let finished = try commit.run(&self) { _, commit, context in
      try sides[0].applying(changes, source, by: key, graph, runsHooks: commit.runsHooks, in: context)
    } adopt: {
      $0 = $1
    }
    if !finished.isEmpty { report.entries += finished.flatMap { $0.entries() } }
    return report
  }

  private mutating func merge(
    _ source: MergeSource, _ key: IdentityKey, _ unlisted: Unlisted, _ base: [Element]?, _ options: MergeOptions
  ) throws -> MergeReport {
    let snapshot = try MergeSnapshot(self, Element.schema)
    var merge = Merge(snapshot, options, listPolicy: .byID(key, unlisted: unlisted))
    do { try merge.read(source, base, .standard) } catch {
      throw ArchiveError.wrap(error).inType(Element.schema.name)
    }
    let local = self
    return try merge.commit(merge.run(), into: &self) { merged, commit, context in
      guard let merged = merged.arrayValue, let before = snapshot.root.arrayValue else {
        throw ArchiveError(.mergeFailed, "the merge result is not a list", typeName: Element.schema.name)
      }
      return try local.applying(
        ListChanges(of: merged, since: before, by: key), [], by: key, commit.graph, runsHooks: commit.runsHooks,
        in: context)
    } adopt: {
      $0 = $1
    }
  }
}
