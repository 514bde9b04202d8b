/// The decision of a merge about the value at one path. Report entries are created from these notes.
struct MergeNote {
  /// The number of the entity (a group of matching objects) that ``path`` starts from; `nil` if it starts from a root that is not an
  /// object.
  let object: Int?
  let path: [ValuePath.Component]
  let outcome: MergeReport.Outcome
  let rule: String
  let sides: MergePolicy.Sides
  let result: ArchiveValue?
  /// Whether this decision supersedes conflicts that earlier merges recorded at this path or below it.
  var decides = true

  /// The report entry for this decision. Used only if the values contain no references to objects.
  var entry: MergeReport.Entry {
    MergeReport.Entry(
      path: ValuePath(path), outcome: outcome, rule: rule, base: sides.base, local: sides.local, server: sides.server,
      result: result)
  }
}
