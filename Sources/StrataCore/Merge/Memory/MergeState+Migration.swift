extension MergeState {
  /// Upgrades the base to the current version of the models. Conflicts keep their paths and values, and become outdated if the base
  /// changed.
  ///
  /// - Throws: any error thrown while upgrading the base.
  fileprivate func upgraded(for type: any VersionedModel.Type, in decoding: DecodingContext) throws -> MergeState {
    let catalog = decoding.catalog(of: type)
    guard let base, catalog.hasSubstitutes || ([base] + objects).contains(where: { $0.isOutdated(catalog) }) else {
      return self
    }
    var state = self
    let graph = MergeGraph()
    let context = DecodingContext.mergedArchive
    context.subclasses = decoding.subclasses
    let root = try read(base, type, PartReader(graph, context))
    (state.base, state.objects) = try RememberedGraph.encoded(catalog, root, record: graph.record)
    return state.base == base && state.objects == objects ? self : state.withOutdatedConflicts
  }

  fileprivate var withOutdatedConflicts: MergeState {
    var state = self
    for place in conflicts.indices { state.conflicts[place].isOutdated = true }
    return state
  }
}

extension VersionedModel {
  /// Upgrades the merge state of a decoded object to the current version.
  ///
  /// If the upgrade of the base fails, the base keeps its archived form, and its conflicts become outdated. The object itself can still be
  /// read, but the next merge throws the error.
  mutating func upgradeMergeState(in context: DecodingContext) throws {
    guard context.hasMergeBase, Self.schema.mergeStateKey != nil else { return }
    let snapshot = try MergeSnapshot(self)
    guard let state = try snapshot.state else { return }
    let upgraded = (try? state.upgraded(for: Self.self, in: context)) ?? state.withOutdatedConflicts
    if upgraded != state { try snapshot.set(upgraded, of: &self) }
  }
}

extension ModelRecord {
  fileprivate func isOutdated(_ catalog: SchemaCatalog) -> Bool {
    if let schema = catalog[typeName], schema.name != typeName || modelVersion ?? 0 < schema.modelVersion {
      return true
    }
    for level in superclasses {
      if let schema = catalog[level.typeName], level.modelVersion < schema.modelVersion { return true }
    }
    return values.contains { $0.isOutdated(catalog) }
  }
}

extension ArchiveValue {
  fileprivate func isOutdated(_ catalog: SchemaCatalog) -> Bool {
    if case .record(let record) = self { return record.isOutdated(catalog) }
    return containsInside { $0.isOutdated(catalog) }
  }
}
