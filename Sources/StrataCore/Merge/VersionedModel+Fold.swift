extension VersionedModel {
  /// Merges a source into this object: matches the objects of the base, the local model and the server, merges each object once, resolves
  /// references, and commits all changes or none.
  ///
  /// - Parameter base: the state that both sides started from; by default the base in the model's ``MergeState``, if it has one.
  mutating func fold(
    _ source: MergeSource, _ base: Self?, _ options: MergeOptions, in json: JSONReading = JSONReading.standard
  ) throws -> MergeReport {
    let name = try checkedSchema(options).name
    var (report, additions) = try Measured.work("merge", name) { try folded(source, base, options, json) }
    // At this point, the merge no longer retains the objects that it created. If only weak references refer to a new object, it has already
    // been released, and the report mentions it.
    report.noteReleased(additions.filter { $0.object == nil }.map(\.path))
    return report
  }

  /// Runs a merge without changing any object and returns its report.
  func foldPreview(_ source: MergeSource, _ base: Self?, _ options: MergeOptions) throws -> MergeReport {
    _ = try checkedSchema(options)
    var merge = Merge(try MergeSnapshot(self), options, model: self)
    try merge.read(source, base, .standard)
    return try merge.preview(merge.run())
  }

  private func checkedSchema(_ options: MergeOptions) throws -> ModelSchema {
    let schema = Swift.type(of: dynamicModel).schema
    try schema.check()
    try options.check()
    try schema.checkKeys(options.keys ?? [])
    return schema
  }

  private mutating func folded(
    _ source: MergeSource, _ base: Self?, _ options: MergeOptions, _ json: JSONReading
  ) throws -> (MergeReport, [NewObject]) {
    var merge = Merge(try MergeSnapshot(self), options, model: self)
    try merge.read(source, base, json)
    let outcome = try merge.run()
    let report = try merge.commit(outcome, into: &self) { value, commit, context in
      try commit.made(Self.self, value, in: context)
    } adopt: {
      try $0.adoptFields(of: $1)
    }
    return (report, merge.additions(outcome))
  }
}

/// A weak reference to an object that a merge created, with the object's path. The reference becomes `nil` if the object is released after
/// the merge.
struct NewObject {
  weak let object: AnyObject?
  let path: ValuePath
}

extension MergeReport {
  /// Adds entries for new objects that no longer exist, because only weak references refer to them.
  ///
  /// - Parameter paths: the paths of the objects.
  fileprivate mutating func noteReleased(_ paths: [ValuePath]) {
    guard !paths.isEmpty else { return }
    var all = Set(paths)
    let known = Dictionary(entries.map { ($0.path, $0) }) { $1 }
    entries.removeAll { all.contains($0.path) }
    entries += paths.filter { all.remove($0) != nil }.map { path in
      Entry(
        path: path, outcome: .local, rule: "new, but released because only weak references refer to it",
        base: known[path]?.base, local: known[path]?.local, server: known[path]?.server, result: nil)
    }
  }
}
