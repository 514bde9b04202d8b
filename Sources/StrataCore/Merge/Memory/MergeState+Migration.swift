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
    (state.base, state.objects) = try RememberedGraph(decoding.catalog(of: type), root) { try graph.record($0) }
      .encoded()
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
    let graph = MergeGraph()
    var kept: [MergeReport.Entry] = []
    var changed: [MergeReport.Entry] = []
    for conflict in conflicts {
      // What has no place in the base cannot be upgraded with it.
      if (try? raw([conflict], \.local)) == nil { kept.append(conflict) } else { changed.append(conflict) }
    }
    func side(_ value: KeyPath<MergeReport.Entry, ArchiveValue?>) throws -> ArchiveValue {
      let (root, objects) = try raw(changed, value)
      let reader = PartReader(graph, .mergedArchive)
      try reader.take(objects.map { .record($0) }, for: type)
      return try reader.read(type, type.schema.isObject ? .reference(0) : root)
    }
    let sides = (try side(\.base), try side(\.local), try side(\.server))
    let trees = try [sides.0, sides.1, sides.2].map { try tree($0, graph, 0) }
    let paths = changed.map(\.path.components)
    func values(_ tree: ArchiveValue, _ paths: [[MergePath.Component]]) throws -> [ArchiveValue?] {
      var ambiguous = Set<Int>()
      return try PathValues.find(paths.map { $0[...] }, in: tree, ambiguous: &ambiguous) { _ in base }
    }
    var result: [MergeReport.Entry] = []
    func add(_ paths: [[MergePath.Component]], _ rules: [String]) throws -> [[MergePath.Component]] {
      let found = (try values(trees[0], paths), try values(trees[1], paths), try values(trees[2], paths))
      var taken: [[MergePath.Component]] = []
      for (place, path) in paths.enumerated() {
        let (old, own, other) = (found.0[place], found.1[place], found.2[place])
        guard own != other else { continue }
        result.append(
          MergeReport.Entry(
            path: MergePath(path), outcome: .conflict, rule: rules[place], base: old, local: own, server: other,
            result: own))
        taken.append(path)
      }
      return taken
    }
    let same = try add(paths, changed.map(\.rule))
    let key = paths.joined().lazy.compactMap { if case .element(let key, _) = $0 { key } else { nil } }.first
    let moved = ValueDifference(from: trees[1], to: trees[2], elementsBy: key ?? "id").changes
      .filter { $0.kind != .reordered }.map(\.path.components)
    // What stays at its path needs no other one: in a list a difference may name the same element by its place.
    func list(_ path: [MergePath.Component]) -> [MergePath.Component]? {
      let keys = Array(path.prefix { if case .key = $0 { true } else { false } })
      return keys.count < path.count ? keys : nil
    }
    let lists = Set(same.compactMap(list))
    let rest =
      same.count == paths.count
      ? []
      : moved.filter { path in
        !same.contains { path.starts(with: $0) } && list(path).map { !lists.contains($0) } ?? true
      }
    _ = try add(rest, rest.map { _ in "both changed it" })
    var state = self
    state.conflicts = kept + result
    return state
  }

  /// The base as it was archived, with one side's values where the conflicts are.
  private func raw(
    _ conflicts: [MergeReport.Entry], _ value: KeyPath<MergeReport.Entry, ArchiveValue?>
  ) throws -> (root: ArchiveValue, objects: [ModelRecord]) {
    guard let base else { throw PathEditor.lost }
    let all = ([base] + objects).map(Self.withReferences)
    var editor = PathEditor { number in
      guard all.indices.contains(number) else { throw PathEditor.lost }
      return all[number]
    }
    for conflict in conflicts {
      _ = try editor.set(conflict[keyPath: value], at: conflict.path.components[...], in: .reference(0))
    }
    let edited = all.indices.map { editor.updates[$0] ?? all[$0] }
    return (.record(edited[0]), edited)
  }

  /// A record with references instead of the records that were written for them.
  private static func withReferences(_ record: ModelRecord) -> ModelRecord {
    ModelRecord(shape: record.shape, values: record.values.map(withReferences))
  }

  private static func withReferences(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      if record.typeName == referenceName, let number = record["number"]?.intValue { return .reference(number) }
      return .record(withReferences(record))
    }
  }

  /// A value with objects in their places; a cycle ends in null.
  private func tree(_ value: ArchiveValue, _ graph: MergeGraph, _ depth: Int) throws -> ArchiveValue {
    try value.mapReferences { number in
      depth < 32 ? try tree(.record(graph.record(number)), graph, depth + 1) : .null
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
