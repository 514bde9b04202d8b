/// How JSON holds a model by its own declarations.
final class JSONNotes: SchemaNotes {
  static var slot: SchemaNotesSlot { .json }

  /// How the fields are read and written.
  let plan: JSONPlan
  /// How the cases of an enum are identified.
  let tagging: JSONTagging
  /// How the objects of a class are told from those of its subclasses; `nil` where they are not.
  let hierarchy: JSONHierarchy?
  let taggingProblem: ArchiveError?

  init(_ schema: ModelSchema) {
    plan = JSONPlan(schema)
    let tagged = schema.type as? any JSONTagged.Type
    tagging = tagged?.jsonTagging ?? .external
    guard let tagged, schema.isObject else {
      (hierarchy, taggingProblem) = (nil, tagging.problem(schema))
      return
    }
    do { (hierarchy, taggingProblem) = (try JSONHierarchy(tagged, tagging), nil) } catch {
      (hierarchy, taggingProblem) = (nil, ArchiveError.wrap(error))
    }
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
