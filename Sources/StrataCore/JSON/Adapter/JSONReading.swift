/// What an adapter asks of reading, carried through nested models.
final class JSONReading: Sendable {
  /// Mappings that differ from the models' own, by the identity of the schema.
  let plans: [ObjectIdentifier: JSONPlan]
  let unknownKeys: JSONUnknownKeys
  /// How much a text may claim.
  let limits: ArchiveLimits

  /// What reading without an adapter asks for.
  static let standard = JSONReading(plans: [:], unknownKeys: .ignore)

  init(plans: [ObjectIdentifier: JSONPlan], unknownKeys: JSONUnknownKeys, limits: ArchiveLimits = ArchiveLimits()) {
    self.plans = plans
    self.limits = limits
    self.unknownKeys = unknownKeys
  }

  func plan(of schema: ModelSchema) -> JSONPlan {
    plans.isEmpty ? schema.jsonPlan : plans[ObjectIdentifier(schema)] ?? schema.jsonPlan
  }
}

extension DecodingContext {
  /// What an adapter asks of reading JSON.
  var json: JSONReading {
    get { options as? JSONReading ?? .standard }
    set { options = newValue }
  }

  /// Whether the fields of a model can be read from the text, and nothing else is asked for.
  func readsDirectly(_ plan: JSONPlan) -> Bool {
    json.unknownKeys == .ignore && !collectsErrors && (plan.isPlain || plan.problem == nil && plan.otherKeys != nil)
  }
}

/// What happens to keys of JSON that no field reads.
public enum JSONUnknownKeys: String, Sendable, Hashable {
  /// Nothing.
  case ignore
  /// They are kept in the model's ``UnknownFields``, where it has them, archived, and written again; so is what is beside
  /// fields in objects and arrays that their paths lead through.
  case capture
  /// Reading throws an error with the code `unknownKey`.
  case refuse
}
