/// How JSON holds a model by its own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// How the fields are read and written.
  let plan: JSONPlan
  /// How the cases of an enum are identified.
  let tagging: JSONTagging

  init(_ schema: ModelSchema) {
    plan = JSONPlan(typeName: schema.name, fields: schema.fields, keepsUnknownFields: schema.keepsUnknownFields)
    tagging = (schema.type as? any JSONTagged.Type)?.jsonTagging ?? .external
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
  package var jsonTagging: JSONTagging { notes(JSONNotes.self).tagging }
}
