/// The decision that a merge made at one path.
struct MergeNote {
  /// The number of the entity (the matched objects) in which the path begins; `nil` for a root that is not an object.
  let object: Int?
  let path: [ValuePath.Component]
  let outcome: MergeReport.Outcome
  let rule: String
  let sides: MergePolicy.Sides
  let result: ArchiveValue?
  /// Whether this note decides the value at the path and everything inside that value.
  var decides = true

  /// The corresponding report entry, for values that contain no objects.
  var entry: MergeReport.Entry {
    MergeReport.Entry(
      path: ValuePath(path), outcome: outcome, rule: rule, base: sides.base, local: sides.local, server: sides.server,
      result: result)
  }
}
