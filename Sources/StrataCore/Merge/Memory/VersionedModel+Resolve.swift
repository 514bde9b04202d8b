/// How somebody decides a conflict.
public enum MergeResolution: Sendable, Hashable {
  /// The value that the side had when they met.
  case base, server
  /// What is here now, also where it was edited since.
  case local
  case value(ArchiveValue)
}

extension VersionedModel {
  /// The conflicts of earlier merges that nobody resolved yet; empty where the model has no ``MergeState``.
  ///
  /// Where an older version of the model wrote them, they have been through its steps.
  public var mergeConflicts: [MergeReport.Entry] {
    // A property cannot throw: what cannot be read is an error of the next merge.
    guard let snapshot = try? MergeSnapshot(self), let state = try? snapshot.state else { return [] }
    // Conflicts whose values no step can upgrade are shown as they were archived, and resolving one throws.
    return (try? state.upgraded(for: Self.self).conflicts) ?? state.conflicts
  }

  /// Decides a conflict: the value takes its place, and the model no longer remembers the conflict.
  ///
  /// Where an object here has the identity of the value, that object is meant.
  ///
  /// - Parameters:
  ///   - conflict: one of ``mergeConflicts``, or of a report's ``MergeReport/conflicts``.
  ///   - resolution: the side that is right, or another value, in the type of the field. ``MergeResolution/local``
  ///     leaves what is here now.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where the path no longer leads anywhere or the value is not
  ///   what the field holds, and `invalid` where the result breaks a rule. Every object is then as it was.
  public mutating func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    try decide(conflict, resolution)
  }

  /// Says that the server has taken this object as it is: it is the base of later merges, and no conflict is kept.
  ///
  /// To be called when a push was answered with success. Without it the next answer tells as much, but for
  /// ``MergePolicy/sumOfDeltas``: what the server sends back counts like what it counted itself. Without a
  /// ``MergeState`` nothing happens.
  ///
  /// - Throws: ``ArchiveError`` where a field cannot be encoded, or a class does not take over fields.
  public mutating func acceptedByServer() throws {
    try rememberAsBase()
  }

  private mutating func decide(_ conflict: MergeReport.Entry, _ resolution: MergeResolution) throws {
    let snapshot = try MergeSnapshot(self)
    let graph = snapshot.graph
    var editor = PathEditor { try graph.record($0) }
    var root = snapshot.root
    if resolution != .local {
      let value: ArchiveValue? =
        switch resolution {
        case .base: conflict.base
        case .local: nil
        case .server: conflict.server
        case .value(let value): value
        }
      do {
        let located = try value.map(LocalObjects(graph, root).located)
        guard let edited = try editor.set(located, at: conflict.path.components[...], in: root) else {
          throw PathEditor.lost
        }
        root = edited
      } catch { throw ArchiveError.wrap(error).inType(snapshot.schema.name) }
    }
    if let key = snapshot.stateKey, var state = try snapshot.state?.upgraded(for: Swift.type(of: dynamicModel)) {
      state.conflicts.removeAll { $0.path == conflict.path }
      root = try editor.set(state.value, at: [.key(key)], in: root) ?? root
    }
    // Its own code runs on an object, too, of which nothing else changed.
    if let number = snapshot.rootNumber, editor.updates[number] == nil {
      editor.updates[number] = try graph.record(number)
    }
    let updates = try editor.updates.sorted { $0.key < $1.key }.map { number, record in
      ObjectLinking.Update(number: number, before: try graph.record(number), record: record)
    }
    let linking = try ObjectLinking(graph, nil, root: root, updates: updates) { _ in throw PathEditor.lost }
    let commit = MergeCommit(
      graph: graph, linking: linking, root: snapshot.root, rootNumber: snapshot.rootNumber, validates: true,
      runsHooks: snapshot.catalog.finishesMerged, mustAdopt: true)
    _ = try commit.run(&self) {
      try $1.made(Self.self, $0, in: $2)
    } adopt: {
      try $0.adoptFields(of: $1)
    }
  }
}

extension VersionedModel where Self: AnyObject {
  /// Decides a conflict: the value takes its place, and the object no longer remembers the conflict.
  public func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    var object = self
    try object.decide(conflict, resolution)
  }

  /// Says that the server has taken this object as it is: it is the base of later merges, and no conflict is kept.
  public func acceptedByServer() throws {
    var object = self
    try object.rememberAsBase()
  }
}

/// Finds the objects here whose values a report has.
private struct LocalObjects {
  private struct Identity: Hashable {
    let typeName: String
    let value: ArchiveValue
  }

  private let graph: MergeGraph
  private var numbers: [Identity: Int] = [:]
  private var keys: [String: String] = [:]

  init(_ graph: MergeGraph, _ root: ArchiveValue) throws {
    self.graph = graph
    var waiting: [Int] = []
    var seen = Set<Int>()
    func visit(_ value: ArchiveValue) { value.forEachReference { if seen.insert($0).inserted { waiting.append($0) } } }
    visit(root)
    while let number = waiting.popLast() {
      let record = try graph.record(number)
      let schema = graph.schema(number)
      if let key = schema.identityKey, let id = record[key], !id.isNull {
        for name in [schema.name] + schema.superclasses.map(\.name) {
          keys[name] = key
          numbers[Identity(typeName: name, value: id)] = number
        }
      }
      visit(.record(record))
    }
  }

  func located(_ value: ArchiveValue) -> ArchiveValue {
    value.mapRecords { record in
      if let key = keys[record.typeName], let id = record[key],
        let number = numbers[Identity(typeName: record.typeName, value: id)]
      {
        return .reference(number)
      }
      return .record(ModelRecord(shape: record.shape, values: record.values.map(located)))
    }
  }
}
