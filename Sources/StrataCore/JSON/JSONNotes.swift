/// The JSON mapping that a model itself declares. It is computed once and stored with the schema.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  let plan: JSONPlan
  /// The enum cases or subclasses with their JSON tags, or an error if the declaration of the tags is invalid.
  let kinds: Result<JSONKinds, ArchiveError>

  init(_ schema: ModelSchema) {
    plan = JSONPlan(schema)
    kinds = Result { try JSONKinds(schema) }.mapError(ArchiveError.wrap)
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
}
