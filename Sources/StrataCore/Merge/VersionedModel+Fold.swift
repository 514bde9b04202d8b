import Foundation

extension VersionedModel {
  /// Folds what comes in into this object: matches the objects of all sides, merges each of them once, sets references, and
  /// takes all of it over, or nothing.
  ///
  /// - Parameter base: what both sides started from, where the caller knows; else what the model remembers counts.
  mutating func fold(
    _ source: MergeSource, _ base: Self?, _ options: MergeOptions, in json: JSONReading = JSONReading.standard
  ) throws -> MergeReport {
    if isOfSubclass {
      var object = dynamicModel
      return try object.foldItself(source, base, options, json)
    }
    return try foldItself(source, base, options, json)
  }

  private mutating func foldItself(
    _ source: MergeSource, _ base: (any VersionedModel)?, _ options: MergeOptions, _ json: JSONReading
  ) throws -> MergeReport {
    let schema = Self.schema
    try schema.check()
    try schema.checkKeys(options.keys ?? [])
    var (report, additions) = try folded(source, base, options, json)
    // Nothing of the merge holds the new objects any more.
    report.letGo(additions.filter { $0.object == nil }.map(\.path))
    return report
  }

  private mutating func folded(
    _ source: MergeSource, _ base: (any VersionedModel)?, _ options: MergeOptions, _ json: JSONReading
  ) throws -> (MergeReport, [NewObject]) {
    var merge = try ModelMerge(self, options)
    try merge.read(source, base, json)
    let outcome: ModelMerge<Self>.Outcome
    do { outcome = try merge.run() } catch { throw Self.failure(error) }
    let report = try merge.commit(outcome, into: &self)
    return (report, merge.additions(outcome))
  }

  private static func failure(_ error: any Error) -> ArchiveError {
    let known = error as? ArchiveError
    switch known?.code {
    case .mergeFailed?, .missingValue?, .limitExceeded?: return known ?? ArchiveError.wrap(error)
    default: break
    }
    // What a policy threw is the cause, and not that it is no error of ours.
    let cause = known?.code == .rejected ? known?.underlyingError ?? error : error
    return ArchiveError(
      .mergeFailed, "the values cannot be merged", path: known?.codingPath ?? [], typeName: schema.name,
      underlying: cause)
  }
}

/// An object that a merge made, and where it stands.
struct NewObject {
  weak let object: AnyObject?
  let path: MergePath
}

extension MergeReport {
  /// Says that new objects are gone again: only weak references led to them.
  ///
  /// - Parameter paths: where they stood.
  fileprivate mutating func letGo(_ paths: [MergePath]) {
    guard !paths.isEmpty else { return }
    var all = Set(paths)
    var told: [MergePath: Entry] = [:]
    var rest: [Entry] = []
    for entry in entries {
      if all.contains(entry.path) { told[entry.path] = entry } else { rest.append(entry) }
    }
    entries =
      rest
      + paths.filter { all.remove($0) != nil }.map { path in
        Entry(
          path: path, outcome: .local, rule: "new, and only a weak reference leads to it, so it was let go of",
          base: told[path]?.base, local: told[path]?.local, server: told[path]?.server, result: nil)
      }
  }
}
