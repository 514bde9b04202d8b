/// What an adapter asks of reading, carried through nested models.
package struct JSONReading: Sendable {
  /// Mappings that differ from the models' own, by the identity of the schema.
  var plans: [ObjectIdentifier: JSONPlan] = [:]
  var unknownKeys = JSONUnknownKeys.ignore
  /// Whether reading goes on behind an error, to find the others.
  var collectsErrors = false

  /// Whether the fields of a model can be read from the text, and nothing else is asked for.
  func takesDirectRoad(_ plan: JSONPlan) -> Bool {
    unknownKeys == .ignore && !collectsErrors && (plan.isPlain || plan.problem == nil && plan.otherKeys != nil)
  }

  func plan(of schema: ModelSchema) -> JSONPlan {
    plans.isEmpty ? schema.jsonPlan : plans[ObjectIdentifier(schema)] ?? schema.jsonPlan
  }
}

/// What happens to keys of JSON that no field reads.
public enum JSONUnknownKeys: String, Sendable, Hashable {
  /// Nothing.
  case ignore
  /// They are kept in the model's ``UnknownFields``, where it has them, archived, and written again.
  ///
  /// A key that is also an archive key of the model is lost: its place in the archive is taken.
  case capture
  /// Reading throws an error with the code `unknownKey`.
  case refuse
}
