/// The JSON form that follows from a model's own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// The mapping of the fields.
  let plan: JSONPlan
  /// The enum cases or subclasses that a tag distinguishes, or the error in the declaration of the tags.
  let kinds: Result<JSONKinds, ArchiveError>

  init(_ schema: ModelSchema) {
    plan = JSONPlan(schema)
    kinds = Result { try JSONKinds(schema) }.mapError(ArchiveError.wrap)
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
}
