/// How JSON holds a model by its own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// How the fields are read and written.
  let plan: JSONPlan
  /// How the cases of an enum are identified.
  let tagging: JSONTagging
  let taggingProblem: ArchiveError?

  init(_ schema: ModelSchema) {
    plan = JSONPlan(schema)
    tagging = (schema.type as? any JSONTagged.Type)?.jsonTagging ?? .external
    taggingProblem = tagging.problem(schema)
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
  package var jsonTaggingProblem: ArchiveError? { notes(JSONNotes.self).taggingProblem }

  /// How the cases of an enum are identified.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping`.
  func jsonTagging() throws -> JSONTagging {
    let notes = notes(JSONNotes.self)
    if let problem = notes.taggingProblem { throw problem }
    return notes.tagging
  }
}
