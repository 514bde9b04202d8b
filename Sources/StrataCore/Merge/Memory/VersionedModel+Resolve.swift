/// The value that resolves a conflict.
public enum MergeResolution: Sendable, Hashable {
  /// The base value or the server's value that the conflict recorded.
  case base, server
  /// The current local value, even if it was edited after the conflict.
  case local
  /// A value that the caller specifies.
  case value(ArchiveValue)
}

extension VersionedModel {
  /// The unresolved conflicts of earlier merges; empty if the model has no ``MergeState``.
  ///
  /// A conflict recorded by an older version of the model has the path and the values of that version (see
  /// ``MergeReport/Entry/isOutdated``).
  public var mergeConflicts: [MergeReport.Entry] {
    // This property ignores an error in the stored state. The next merge throws the error.
    (try? MergeSnapshot(self).state)?.conflicts ?? []
  }

  /// Resolves a conflict: sets the value at its path and removes the conflict from the model's ``MergeState``.
  ///
  /// If the chosen value is an object and a local object has the same identity, the field refers to the local object.
  ///
  /// - Parameters:
  ///   - conflict: one of ``mergeConflicts``, or of a report's ``MergeReport/conflicts``.
  ///   - resolution: the winning side, or a value of the field's type. ``MergeResolution/local`` keeps the current value.
  /// - Throws: ``ArchiveError`` with the code `mergeFailed` if the path no longer exists or refers to several elements with the same
  ///   identity, if the value does not fit the field, if the value refers to an object whose fields are not known, or if the conflict is
  ///   outdated and the resolution is `.server` or `.base`. The code is `invalid` if the result breaks a rule. If an error is thrown, all
  ///   objects are unchanged.
  public mutating func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    try decide(conflict, resolution)
  }

  /// Declares that the server has accepted this object unchanged. The object becomes the base of later merges, and all conflicts are
  /// removed.
  ///
  /// Call this method after a successful push. If you do not, merging the next response has the same effect, except for
  /// ``MergePolicy/sumOfDeltas``, which counts the value that the server sends back as a second change. Without a ``MergeState``, this
  /// method does nothing.
  ///
  /// - Throws: ``ArchiveError`` if a field cannot be encoded, or if the fields of a class cannot be replaced.
  public mutating func markSynced() throws {
    try rememberAsBase()
  }

  private mutating func decide(_ conflict: MergeReport.Entry, _ resolution: MergeResolution) throws {
    let snapshot = try MergeSnapshot(self)
    let graph = snapshot.graph
    let type = Swift.type(of: dynamicModel)
    var state = try snapshot.state
    if conflict.isOutdated {
      let fields = try graph.fields(of: snapshot.root)
      let hasField = conflict.path.firstKey.map { fields?[$0] != nil } ?? true
      guard resolution == .local || hasField && resolution != .server && resolution != .base else {
        throw ArchiveError(
          .mergeFailed,
          "the conflict at \(conflict.path.keysOnly) was recorded by an older version of the model, "
            + (hasField
              ? "so its values cannot be used; resolve it with .value(…), or change the model and resolve it with .local"
              : "and this version has no field with this key; change the model, and resolve the conflict with .local"),
          typeName: snapshot.schema.name)
      }
    }
    var resolved = try ResolvedValue(snapshot)
    var (root, updates) = (snapshot.root, [Int: ModelRecord]())
    if resolution != .local {
      let value: ArchiveValue? =
        switch resolution {
        case .base: conflict.base
        case .local: nil
        case .server: conflict.server
        case .value(let value): value
        }
      do {
        let found = try value.map { try resolved.value($0, isServers: resolution == .server, state, type) }
        let edit = try PathEdit(root, conflict.path, to: found, in: graph)
        (root, updates) = (edit.root, edit.updates)
      } catch { throw ArchiveError.wrap(error).inType(snapshot.schema.name) }
    }
    // The root object is updated even if its fields did not change, so that its hooks and rules run.
    if let number = snapshot.rootNumber, updates[number] == nil { updates[number] = try graph.record(number) }
    if let key = snapshot.stateKey, state != nil {
      state?.forget(conflict)
      if let number = snapshot.rootNumber { updates[number]?[key] = state?.value } else { root[key] = state?.value }
    }
    let changes = try updates.sorted { $0.key < $1.key }.map { number, record in
      ObjectLinking.Update(number: number, before: try graph.record(number), record: record)
    }
    let linking = try ObjectLinking(graph, resolved.merger?.matching, root: root, updates: changes) {
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
  /// Resolves a conflict: sets the value at its path and removes the conflict from the object's ``MergeState``.
  public func resolve(_ conflict: MergeReport.Entry, with resolution: MergeResolution) throws {
    var object = self
    try object.decide(conflict, resolution)
  }

  /// Declares that the server has accepted this object unchanged. The object becomes the base of later merges, and all conflicts are
  /// removed.
  public func markSynced() throws {
    var object = self
    try object.rememberAsBase()
  }
}
