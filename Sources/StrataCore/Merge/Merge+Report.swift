extension Merge {
  /// Returns the path of each object that is in the merge result or was removed by the merge. Also returns the entity numbers of the
  /// objects in the result.
  func places(
    _ merger: ValueMerger, _ result: ArchiveValue
  ) throws -> (all: PathTable, reachable: Set<Int>) {
    guard let matching = merger.matching, base != nil || !merger.notes.isEmpty else {
      return (PathTable([]), [])
    }
    var known = Set<PathTable.Way>()
    let before = try merger.ways(from: snapshot.root, found: { known.insert($0) }, { try graph.record($0) })
    var ways = try merger.ways(from: snapshot.rootNumber.map { .reference($0) } ?? result, known: known) {
      try merger.mergedRecord($0)
    }
    let reachable = Set(ways.map(\.object))
    for way in before where !reachable.contains(way.object) { ways.append(try wayToRemovedObject(way, matching)) }
    return (PathTable(ways), reachable)
  }

  /// Returns a path for an object that the merge removed. If the object has an identity, the path consists of its class name and its
  /// identity, because a different object may now have the old path.
  private func wayToRemovedObject(_ way: PathTable.Way, _ matching: ObjectMatching) throws -> PathTable.Way {
    guard matching.entities.indices.contains(way.object), let number = matching.entities[way.object][.local].first
    else { return way }
    let schema = graph.schema(number)
    guard let (key, id) = try graph.identity(of: graph.record(number), schema) else { return way }
    return PathTable.Way(object: way.object, owner: nil, steps: [.key(schema.name), .element(key: key, id: id)])
  }

  /// Adds a note to the merge report for each object that was edited locally but is no longer referenced after the merge. These edits are
  /// lost.
  func noteLostEdits(_ merger: inout ValueMerger, _ reachable: Set<Int>) throws {
    guard base != nil, let matching = merger.matching else { return }
    for entity in try merger.ownEdits(.local).sorted() where !reachable.contains(entity) {
      guard let number = matching.entities[entity][.local].first, number != snapshot.rootNumber else { continue }
      let sides = MergePolicy.Sides(
        base: matching.entities[entity][.base].first.map { .reference($0) }, local: .reference(number),
        server: matching.entities[entity][.server].first.map { .reference($0) })
      // An object without an identity is reported as part of the value that contains it, so it gets no note of its own.
      guard matching.entities[entity].hasIdentity else { continue }
      merger.notes.append(
        MergeNote(
          object: entity, path: [], outcome: .server, rule: "edited locally, but no longer referenced",
          sides: sides, result: nil))
    }
  }

  func entry(_ note: MergeNote, _ merger: ValueMerger, _ places: PathTable) throws -> MergeReport.Entry {
    let path = note.object.map { ValuePath(note.path, from: $0, in: places) } ?? ValuePath(note.path)
    return MergeReport.Entry(
      path: path, outcome: note.outcome, rule: note.rule, base: try shown(note.sides.base, merger),
      local: try shown(note.sides.local, merger), server: try shown(note.sides.server, merger),
      result: try shown(note.result, merger, isResult: true))
  }

  private func shown(_ value: ArchiveValue?, _ merger: ValueMerger, isResult: Bool = false) throws -> ArchiveValue? {
    guard let value, value.hasReferences else { return value }
    return try graph.shown(value) { try isResult ? merger.mergedRecord($0) : graph.record($0) }
  }

  /// Returns report entries for the fields of a model that the model's own code, such as a decoding hook, changed after the merge.
  func entries(of change: MergeCommit.Finished, _ outcome: Outcome) -> [MergeReport.Entry] {
    let entity = change.number.flatMap { outcome.linking.entity(of: $0) }
    return change.entries(besides: snapshot.stateKey) { steps in
      entity.map { ValuePath(steps, from: $0, in: outcome.places) } ?? ValuePath(steps)
    }
  }
}

extension MergeCommit.Finished {
  /// Returns a report entry for each field that the model's own code changed after the merge.
  func entries(
    besides stateKey: String? = nil, path: ([ValuePath.Component]) -> ValuePath = { ValuePath($0) }
  ) -> [MergeReport.Entry] {
    zip(after.keys, after.values).compactMap { key, value in
      let old = before[key]
      guard !old.isEqual(to: value), key != stateKey else { return nil }
      return MergeReport.Entry(
        path: path(steps + [.key(key)]), outcome: .merged, rule: "changed by the model's own code", base: nil,
        local: old?.mapReferences { _ in .null }, server: nil, result: value.mapReferences { _ in .null })
    }
  }
}
