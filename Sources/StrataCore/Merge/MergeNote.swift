/// What was decided at one place.
struct MergeNote {
  /// The entity from which the path leads away; `nil` for a root that is no object.
  let object: Int?
  let path: [MergePath.Component]
  let outcome: MergeReport.Outcome
  let rule: String
  let sides: MergeSides
  let result: ArchiveValue?
  /// Whether this decides the value at the path and all that is inside of it.
  var decides = true

  /// The entry of a report where there are no objects.
  var entry: MergeReport.Entry {
    MergeReport.Entry(
      path: MergePath(path), outcome: outcome, rule: rule, base: sides.base, local: sides.local, server: sides.server,
      result: result)
  }
}
