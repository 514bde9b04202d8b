/// How JSON holds a model by its own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// How the fields are read and written.
  let plan: JSONPlan
  /// How the fields are grouped in the text.
  let layout: JSONLayout
  /// How the cases of an enum are identified.
  let tagging: JSONTagging

  init(_ schema: ModelSchema) {
    plan = JSONPlan(typeName: schema.name, fields: schema.fields, keepsUnknownFields: schema.keepsUnknownFields)
    layout = JSONLayout(schema.fields.map { ($0.key, $0.jsonPath.keys) }, typeName: schema.name)
    tagging = (schema.type as? any JSONTagged.Type)?.jsonTagging ?? .external
  }
}

extension ModelSchema {
  package var jsonPlan: JSONPlan { notes(JSONNotes.self).plan }
  var jsonLayout: JSONLayout { notes(JSONNotes.self).layout }
  package var jsonTagging: JSONTagging { notes(JSONNotes.self).tagging }

  /// Whether the model and all that it may hold, at any depth, are in JSON as their fields are archived.
  package var hasPlainJSON: Bool {
    answer(to: jsonAnswer) { catalog in
      catalog.ambiguousNames.isEmpty
        && catalog.schemas.allSatisfy { $0.isEnumeration ? $0.jsonTagging.isPlain : $0.jsonPlan.isPlain }
    }
  }
}
