/// How somebody decides a conflict.
public enum MergeResolution: Sendable, Hashable {
  /// The value that the side had when they met.
  case base, server
  /// What is here now, also where it was edited since.
  case local
  /// Another value.
  case value(ArchiveValue)
}

extension VersionedModel {
  /// The conflicts of earlier merges that nobody resolved yet; empty where the model has no ``MergeState``.
  ///
  /// One that an older version of the model recorded has the path and the values of that version (``MergeReport/Entry/isOutdated``).
  public var mergeConflicts: [MergeReport.Entry] {
    // A property cannot throw: what cannot be read is an error of the next merge.
    (try? MergeSnapshot(self).state)?.conflicts ?? []
  }

  /// Decides a conflict: the value takes its place, and the model no longer remembers the conflict.
  ///
  /// Where an object here has the identity of the value, that object is meant.
  ///
  /// - Parameters:
  ///   - conflict: one of ``mergeConflicts``, or of a report's ``MergeReport/conflicts``.
  ///   - resolution: the side that is right, or another value, in the type of the field. ``MergeResolution/local``
  ///     leaves what is here now.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` where the path no longer leads anywhere or to several
  ///   elements with one identity, where the value is not what the field holds, or where it names an object of which
  ///   nobody has the fields. An outdated conflict throws it for `.server` and `.base`. The code is `invalid` where the
  ///   result breaks a rule. Every object is then as it was.
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
  public mutating func markSynced() throws {
    try rememberAsBase()
  }

  private mutating func decide(_ conflict: MergeReport.Entry, _ resolution: MergeResolution) throws {
    let snapshot = try MergeSnapshot(self)
    let graph = snapshot.graph
    let type = Swift.type(of: dynamicModel)
    var state = try snapshot.state
    if conflict.isOutdated, resolution == .server || resolution == .base {
      throw ArchiveError(
        .mergeFailed,
        "an older version of the model recorded the conflict at \(conflict.path.keysOnly), so its values are not in today's form; resolve it "
          + "with .value(…), or change the model and resolve it with .local", typeName: snapshot.schema.name)
    }
    var resolved = try ResolvedValue(snapshot)
    var paths: [[MergePath.Component]] = []
    var values: [ArchiveValue?] = []
    if resolution != .local {
      let value: ArchiveValue? =
        switch resolution {
        case .base: conflict.base
        case .local: nil
        case .server: conflict.server
        case .value(let value): value
        }
      paths.append(conflict.path.components)
      do {
        values.append(try value.map { try resolved.value($0, isServers: resolution == .server, state, type) })
      } catch { throw ArchiveError.wrap(error).inType(snapshot.schema.name) }
    }
    if let key = snapshot.stateKey, state != nil {
      state?.forget(conflict)
      paths.append([.key(key)])
      values.append(state?.value)
    }
    var edit = try PathTree(paths).setting(values, in: snapshot.root) { try graph.record($0) }
    guard edit.lost.isEmpty else { throw PathTree.lost.inType(snapshot.schema.name) }
    guard edit.ambiguous.isEmpty else {
      throw ArchiveError(
        .mergeFailed,
        "several elements have the identity that the path names (\(conflict.path.keysOnly)), so the value may be for "
          + "another one; change the element itself, and resolve the conflict with .local",
        typeName: snapshot.schema.name)
    }
    // Its own code runs on an object, too, of which nothing else changed.
    if let number = snapshot.rootNumber, edit.updates[number] == nil {
      edit.updates[number] = try graph.record(number)
    }
    let updates = try edit.updates.sorted { $0.key < $1.key }.map { number, record in
      ObjectLinking.Update(number: number, before: try graph.record(number), record: record)
    }
    let linking = try ObjectLinking(graph, resolved.merger?.matching, root: edit.root, updates: updates) {
      try resolved.newRecord(of: $0)
    }
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
  public func markSynced() throws {
    var object = self
    try object.rememberAsBase()
  }
}
