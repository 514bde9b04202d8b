extension MergeState {
  /// What merging remembers as today's models would write it: the base through steps, with today's keys and cases, and
  /// the conflicts with it.
  ///
  /// - Throws: as upgrading the base does.
  func upgraded(for type: any VersionedModel.Type, in decoding: DecodingContext) throws -> MergeState {
    guard let base, isOutdated(decoding.catalog(of: type)) else { return self }
    var state = try upgraded(for: type)
    let graph = MergeGraph()
    let context = DecodingContext.mergedArchive
    context.subclasses = decoding.subclasses
    let root = try read(base, type, PartReader(graph, context))
    (state.base, state.objects) = try RememberedGraph.encoded(decoding.catalog(of: type), root, record: graph.record)
    return state
  }

  /// Whether the base may hold something that today's models would write in another way.
  private func isOutdated(_ catalog: SchemaCatalog) -> Bool {
    catalog.hasSubstitutes || ([base].compactMap(\.self) + objects).contains { $0.isOutdated(catalog) }
  }

  /// The conflicts as today's versions of the models have them: their paths and values go through the same steps as
  /// the base, of which they are changes.
  ///
  /// - Throws: as upgrading the base does.
  func upgraded(for type: any VersionedModel.Type) throws -> MergeState {
    guard !conflicts.isEmpty, let base else { return self }
    var catalog = SchemaCatalog()
    type.collectSchemas(into: &catalog)
    guard isOutdated(catalog) else { return self }
    // One copy of the base has one value at a path. Of several conflicts about one path, which elements with one
    // identity have, the second goes into another copy, and so on, as far as that is no work without end.
    var rounds: [[MergeReport.Entry]] = []
    var counts: [MergePath: Int] = [:]
    var kept: [MergeReport.Entry] = []
    for conflict in conflicts {
      let round = counts[conflict.path, default: 0]
      counts[conflict.path] = round + 1
      guard round < Self.mostRounds else {
        kept.append(conflict)
        continue
      }
      if round == rounds.count { rounds.append([]) }
      rounds[round].append(conflict)
    }
    var state = self
    let all = ([base] + objects).map { $0.mapValues(Self.withReferences) }
    let upgraded = try rounds.map { try ConflictUpgrade(type, catalog, all).upgraded($0) }
    state.conflicts = kept + upgraded.flatMap(\.kept) + upgraded.flatMap(\.upgraded)
    return state
  }

  /// How many conflicts about one path are upgraded; any further ones stay as they were archived.
  private static let mostRounds = 8

  /// A value with references instead of the records that were written for them.
  private static func withReferences(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      if record.typeName == referenceName, let number = record["number"]?.intValue { return .reference(number) }
      return .record(record.mapValues(withReferences))
    }
  }
}

extension VersionedModel {
  /// Brings what merging remembers to today's version, with the object that remembers it.
  ///
  /// What cannot be upgraded stays as it was archived: the object itself could be read, and a merge says what is wrong.
  mutating func upgradeMergeState(in context: DecodingContext) throws {
    guard context.hasMergeBase, Self.schema.mergeStateKey != nil else { return }
    let snapshot = try MergeSnapshot(self)
    // What cannot be upgraded is an error of the next merge, not of decoding.
    guard let state = try snapshot.state, let upgraded = try? state.upgraded(for: Self.self, in: context),
      upgraded != state
    else { return }
    try snapshot.set(upgraded, of: &self)
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
