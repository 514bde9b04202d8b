/// The JSON form of a model that follows from its own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// The mapping of the fields.
  let plan: JSONPlan
  /// The kinds that a tag distinguishes, or the error in their declaration.
  let kinds: Result<JSONKinds, ArchiveError>

  init(_ schema: ModelSchema) {
    plan = JSONPlan(schema)
    kinds = Result { try JSONKinds(schema) }.mapError(ArchiveError.wrap)
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
}
