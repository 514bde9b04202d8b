/// Brings conflicts to today's versions of the models: what the three sides had is put into copies of the base, which go
/// through the steps, and where these differ then are the conflicts.
///
/// Objects are matched, and not expanded: each is looked at once, whatever refers to it.
struct ConflictUpgrade {
  private let type: any VersionedModel.Type
  private let catalog: SchemaCatalog
  private let objects: [ModelRecord]
  private let graph = MergeGraph()

  /// - Parameter objects: the base, and what it refers to, as they were archived.
  init(_ type: any VersionedModel.Type, _ catalog: SchemaCatalog, _ objects: [ModelRecord]) {
    self.type = type
    self.catalog = catalog
    self.objects = objects
  }

  /// - Returns: the conflicts that have no place in the base and stay as they are, and the others upgraded.
  func upgraded(
    _ conflicts: [MergeReport.Entry]
  ) throws -> (kept: [MergeReport.Entry], upgraded: [MergeReport.Entry]) {
    let tree = PathTree(conflicts.map(\.path.components))
    let edits = try [\MergeReport.Entry.base, \.local, \.server].map { side in
      try tree.setting(conflicts.map { $0[keyPath: side].map(markingVersions) }, in: .reference(0)) { number in
        guard objects.indices.contains(number) else { throw PathTree.lost }
        return objects[number]
      }
    }
    let lost = edits.reduce(into: Set()) { $0.formUnion($1.lost) }
    guard lost.isEmpty else {
      // What has no place in the base cannot be upgraded with it.
      func part(_ isLost: Bool) -> [MergeReport.Entry] {
        conflicts.indices.filter { lost.contains($0) == isLost }.map { conflicts[$0] }
      }
      let rest = try ConflictUpgrade(type, catalog, objects).upgraded(part(false))
      return (part(true) + rest.kept, rest.upgraded)
    }
    guard !conflicts.isEmpty else { return ([], []) }
    let roots = try edits.map { edit in
      let all = objects.indices.map { edit.updates[$0] ?? objects[$0] }
      let reader = PartReader(graph, .mergedArchive)
      try reader.take(all.map { .record($0) }, for: type)
      return try reader.read(type, type.schema.isObject ? .reference(0) : .record(all[0]))
    }
    let merger = try ValueMerger(
      matching: .init(base: roots[0], local: roots[1], server: roots[2]), graph, catalog,
      rootStructure: type.schema.isObject ? nil : type.schema)
    var result = try entries(tree, conflicts.map(\.path), roots, conflicts.map(\.rule), merger)
    guard result.contains(where: { $0 == nil }) else { return ([], result.compactMap(\.self)) }
    let moved = try moved(conflicts, result.compactMap { $0?.path.components }, roots, merger)
    result += try entries(
      PathTree(moved.map(\.components)), moved, roots, moved.map { _ in "both changed it" }, merger)
    return ([], result.compactMap(\.self))
  }

  /// Of an object that a report names without saying anything of it, no version is known to go through steps.
  private func markingVersions(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      guard record.values.isEmpty, let schema = catalog[record.typeName], schema.isObject else {
        return .record(record.mapValues(markingVersions))
      }
      return .record(ModelRecord(typeName: schema.name, modelVersion: schema.modelVersion))
    }
  }

  /// The conflicts at paths; `nil` where the sides do not differ.
  private func entries(
    _ tree: PathTree, _ paths: [MergePath], _ roots: [ArchiveValue], _ rules: [String], _ merger: ValueMerger
  ) throws -> [MergeReport.Entry?] {
    var ambiguous = Set<Int>()
    let sides = try roots.map { try tree.values(in: $0, ambiguous: &ambiguous) { try graph.record($0) } }
    func shown(_ value: ArchiveValue?) throws -> ArchiveValue? {
      try value.map { try graph.shown($0) { try graph.record($0) } }
    }
    return try paths.indices.map { place in
      guard !merger.same(sides[1][place], sides[2][place]) else { return nil }
      let own = try shown(sides[1][place])
      return MergeReport.Entry(
        path: MergePath(paths[place].components), outcome: .conflict, rule: rules[place],
        base: try shown(sides[0][place]), local: own, server: try shown(sides[2][place]), result: own)
    }
  }

  // MARK: What a step moved

  /// The paths at which the sides differ, besides those of conflicts that stay at their paths.
  private func moved(
    _ conflicts: [MergeReport.Entry], _ known: [[MergePath.Component]], _ roots: [ArchiveValue], _ merger: ValueMerger
  ) throws -> [MergePath] {
    let steps = conflicts.lazy.flatMap(\.path.components)
    let key = steps.compactMap { if case .element(let key, _) = $0 { key } else { nil } }.first ?? "id"
    var paths: [MergePath] = []
    func compare(_ local: ModelRecord, _ server: ModelRecord, _ path: ([MergePath.Component]) -> MergePath) throws {
      let difference = ValueDifference(
        from: try comparable(.record(local), merger), to: try comparable(.record(server), merger), elementsBy: key)
      paths += difference.changes.filter { $0.kind != .reordered }.map { path($0.path.components) }
    }
    if case .record(let local) = roots[1], case .record(let server) = roots[2] {
      try compare(local, server) { MergePath($0) }
    }
    let ways = try merger.ways(from: roots[1]) { try graph.record($0) }
    let places = ObjectPlaces(ways)
    for way in ways {
      guard let members = merger.matching?.entities[way.object], let local = members[.local].first,
        let server = members[.server].first
      else { continue }
      try compare(graph.record(local), graph.record(server)) { MergePath($0, from: way.object, in: places) }
    }
    // What stays at its path needs no other one: in a list a difference may name the same element by its place.
    func list(_ path: [MergePath.Component]) -> [MergePath.Component]? {
      let keys = Array(path.prefix { if case .key = $0 { true } else { false } })
      return keys.count < path.count ? keys : nil
    }
    let (same, lists) = (PathTree(known), Set(known.compactMap(list)))
    return paths.filter { path in
      let path = path.components
      return !same.covers(path) && list(path).map { !lists.contains($0) } ?? true
    }
  }

  /// A value in which objects are what tells them apart: elements of arrays by their identities, any others by what
  /// they are matched with.
  private func comparable(_ value: ArchiveValue, _ merger: ValueMerger) throws -> ArchiveValue {
    guard value.hasReferences else { return value }
    switch value {
    case .reference(let number): return .reference(merger.matching?.canonical(number) ?? number)
    case .array(let elements):
      return .array(
        try elements.map { element in
          guard case .reference(let number) = element,
            let (key, id) = try graph.schema(number).identity(of: graph.record(number))
          else { return try comparable(element, merger) }
          return .object(ArchiveObject([.init(key: key, value: id)]))
        })
    case .set, .map: return value.mapReferences { .reference(merger.matching?.canonical($0) ?? $0) }
    default: return try value.mapInside { try comparable($0, merger) }
    }
  }
}
