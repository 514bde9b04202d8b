import Foundation

extension Model {
  /// Folds what comes in into this object: matches the objects of all sides, merges each of them once, sets references, and
  /// takes all of it over, or nothing.
  ///
  /// - Parameter base: what both sides started from, where the caller knows; else what the model remembers counts.
  mutating func fold(
    _ source: MergeSource, _ base: Self?, _ options: MergeOptions, in json: JSONReading = JSONReading()
  ) throws -> MergeReport {
    guard !isOfSubclass else {
      func fold<M: Model>(_ object: M) throws -> MergeReport {
        var object = object
        return try object.foldItself(source, base, options, json)
      }
      return try fold(dynamicModel)
    }
    return try foldItself(source, base, options, json)
  }

  private mutating func foldItself(
    _ source: MergeSource, _ base: (any Model)?, _ options: MergeOptions, _ json: JSONReading
  ) throws -> MergeReport {
    let schema = Self.schema
    try schema.check()
    try schema.checkKeys(options.keys ?? [])
    do {
      var merge = try ModelMerge(self, options)
      try merge.read(source, base, json)
      let outcome = try merge.run()
      return try merge.commit(outcome, into: &self)
    } catch { throw Self.failure(error) }
  }

  private static func failure(_ error: any Error) -> ArchiveError {
    let known = error as? ArchiveError
    switch known?.code {
    case .rejected?, nil:
      // What a policy threw is the cause, and not that it is no error of ours.
      return ArchiveError(
        .mergeFailed, "the values cannot be merged", path: known?.codingPath ?? [], typeName: schema.name,
        underlying: known?.underlyingError ?? error)
    default: return known ?? ArchiveError.wrap(error)
    }
  }
}
